"""Which names are kept from every tool, and which are ordinary."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from local_agent.config.secrets import is_secret

SECRET = """
.env
.ENV
.Env.Local
src/.env.production
.envrc
.env.example.local
config/prod.env
.envs/.production/.django
server.pem
tls/SERVER.KEY
signing.p12
cert.pfx
vault.kdbx
android.keystore
AuthKey_123.p8
id_rsa
keys/id_ed25519
id_ed25519_sk
id_rsa.bak
id_ecdsa-old
ssh_host_ed25519_key
.ssh
.ssh/config
home/me/.ſsh/known_hosts
.ssh/id_rsa.pub
.aws/credentials
.aws/config
.gnupg/pubring.kbx
.netrc
_netrc
.pgpass
.docker/config.json
x/.docker/config.json
.kube/config
credentials
credentials.json
client_secret_42.json
.npmrc
packages/a/.npmrc
.pypirc
.git-credentials
infra/terraform.tfstate
terraform.tfstate.backup
.terraformrc
.bash_history
.zsh_history
.python_history
.local/share/fish/fish_history
.local/share/keyrings/login.keyring
.mozilla/firefox/x.default/prefs.js
.config/google-chrome/Default/Preferences
.config/google-chrome-beta/Local State
Library/Keychains/login.keychain-db
Library/Application Support/Google/Chrome/Default/History
logins.json
key4.db
cookies.sqlite
Default/Login Data
.config/gcloud/access_tokens.db
.config/gh/hosts.yml
.password-store/mail.gpg
.streamlit/secrets.toml
secrets.yaml
secret.json
.vault_pass
/etc/shadow
/proc/self/environ
/proc/42/task/43/environ
/proc/self/root/etc/shadow
"""
ORDINARY = """
.env.example
.env.sample
.env.template
deploy/.env.dist
example.env
env.py
environment.yml
env/bin/activate
src/env
.venv/bin/python
monkey.py
keyboard.key.md
key.md
keys.json
keyring.py
turkey
pem.txt
id_rsa.pub
id_ed25519.pub
id_rsa_parser.py
valid_rsa
my.ssh.md
ssh/config
aws/credentials.py
credentials/views.py
credentials.md
secrets.py
local_agent/config/secrets.py
client_secret.py
docker/config.json
.docker/Dockerfile
kube/config
config
config.json
npmrc
netrc.md
package.json
terraform/main.tf
history.md
.history/today
bash_history.md
cookies.py
logins.py
gcloud/config
README.md
.git/config
.gitignore
.github/workflows/ci.yml
/etc/passwd
/proc/self/status
.
/
"""


@pytest.mark.parametrize("path", SECRET.split("\n")[1:-1])
def test_is_kept_from_tools(path: str) -> None:
    assert is_secret(PurePosixPath(path))
    assert is_secret(PureWindowsPath(path))


@pytest.mark.parametrize("path", ORDINARY.split("\n")[1:-1])
def test_is_ordinary(path: str) -> None:
    assert not is_secret(PurePosixPath(path))


def test_the_programs_own_folder_is_secret_by_every_way_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.setenv("LOCAL_AGENT_HOME", str(tmp_path / "link"))
    for path in ("link", "link/local-agent.db", "real", "real/logs/local-agent.log"):
        assert is_secret(tmp_path / path), path
    assert not is_secret(tmp_path / "really")
    monkeypatch.setenv("LOCAL_AGENT_HOME", str(tmp_path / "really"))
    assert is_secret(tmp_path / "really/x") and not is_secret(tmp_path / "real")
