"""Which paths look as if they held secrets: nothing of them is given to a model, whatever anybody allowed."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path, PurePath

from local_agent.config.paths import HOME_VARIABLE, Paths
from local_agent.domain.errors import ConfigError

FOLDERS = (
    *(".ssh", ".aws", ".azure", ".gnupg", ".kube", ".envs", ".password-store", ".oci", ".sops"),
    *(".config/gcloud", ".config/op", ".local/share/keyrings", "library/keychains"),
    *(".mozilla", ".thunderbird", ".config/google-chrome*", ".config/chromium", ".config/bravesoftware"),
    *(".config/microsoft-edge*", ".config/vivaldi", ".config/opera", "library/cookies", "library/safari"),
    *("application support/google/chrome", "application support/chromium", "application support/firefox"),
)
"""Everything in these, by the last names of their paths."""
FILES = (
    *(".env*", "*.env"),
    *("*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.pkcs12", "*.ppk", "*.jks", "*.keystore"),
    *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "ssh_host_*_key"),
    *("id_rsa[.-]*", "id_dsa[.-]*", "id_ecdsa[.-]*", "id_ed25519[.-]*"),
    *("*.kdb", "*.kdbx", "*.keychain", "*.keychain-db", "*.ovpn"),
    *("credentials", ".credentials", "credentials.json", ".credentials.json", "credentials.toml"),
    *("client_secret*.json", "application_default_credentials.json", ".streamlit/secrets.toml"),
    *(".netrc", "_netrc", ".authinfo", ".pgpass", "pgpass.conf", ".my.cnf", ".mylogin.cnf", ".htpasswd"),
    *(
        ".git-credentials",
        *(f"secret{plural}.{kind}" for plural in ("", "s") for kind in ("json", "yaml", "yml", "toml")),
        ".npmrc",
        ".pypirc",
        ".dockercfg",
        ".vault-token",
        ".vault_pass",
        ".s3cfg",
        ".boto",
    ),
    *(".docker/config.json", ".config/gh/hosts.yml", ".config/hub", ".config/rclone/rclone.conf"),
    *(".config/containers/auth.json", ".m2/settings.xml", ".gradle/gradle.properties", ".rclone.conf"),
    *("*.tfstate", "*.tfstate.*", "*.tfrc", ".terraformrc", "*.tfrc.json"),
    *(".*_history", ".*_history-*", ".histfile", "fish_history", "consolehost_history.txt", ".lesshst"),
    *("logins.json", "key3.db", "key4.db", "cookies.sqlite", "login data", "secring.*"),
    *("etc/shadow*", "etc/gshadow*", "proc/*/environ", "proc/*/task/*/environ"),
)
"""These files, by the last names of their paths."""
EXAMPLES = (
    "*.example",
    "*.sample",
    "*.template",
    "*.dist",
    "*.pub",
    "example.env",
    "sample.env",
    "template.env",
)
"""What their names end in when there is nothing secret in ``FILES``."""


def _pattern(globs: tuple[str, ...], end: str) -> re.Pattern[str]:
    parts = (re.escape(each).replace(r"\*", "[^/]*").replace(r"\[\.\-\]", "[.-]") for each in globs)
    return re.compile(rf"(?:^|/)(?:{'|'.join(parts)}){end}")


_IN_FOLDER = _pattern(FOLDERS, r"(?:/|\Z)")
_FILE = _pattern(FILES, r"\Z")
_EXAMPLE = _pattern(EXAMPLES, r"\Z")


def is_secret(path: PurePath) -> bool:
    """True when a file or folder looks as if it held secrets, by its name and place alone.

    ``path`` is to be resolved: a link is judged by where it leads. Upper and lower case are the same.
    This program's own folder is secret too: it holds the conversations of every workspace.
    """
    text = path.as_posix().casefold()
    if _IN_FOLDER.search(text) or (_FILE.search(text) and not _EXAMPLE.search(text)):
        return True
    return path.is_absolute() and any(path.is_relative_to(home) for home in _own_folders())


def _own_folders() -> tuple[Path, ...]:
    return _discovered(*(os.environ.get(name, "") for name in (HOME_VARIABLE, "HOME", "XDG_CONFIG_HOME")))


@lru_cache(maxsize=4)
def _discovered(*_settings: str) -> tuple[Path, ...]:
    """As written and with its links resolved; the settings are what it is found by."""
    try:
        home = Paths.discover().home
    except ConfigError:
        return ()
    return home, Path(os.path.realpath(home))
