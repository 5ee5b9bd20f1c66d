"""Configuration files and variables: what each layer may say, and how a bad one is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_agent.config.file import MAX_BYTES
from local_agent.config.load import ENVIRONMENT, PROJECT_FILE, LoadedSettings, load_settings
from local_agent.config.paths import Paths
from local_agent.config.settings import Settings, settings_keys
from local_agent.domain.errors import ConfigError

VALUES: dict[str, tuple[str, object, str]] = {
    "ollama.host": ("192.168.1.5:11434", "192.168.1.5:11434", "[a]"),
    "ollama.model": ("qwen3:4b", "qwen3:4b", "3"),
    "ollama.num_ctx": ("8192", 8192, "511"),
    "ollama.keep_alive": ("10m", "10m", "1.5"),
    "embedded.gguf": ("/models/a.gguf", Path("/models/a.gguf"), "7"),
    "embedded.threads": ("4", 4, "0"),
    "model.watchdog_seconds": ("90", 90, "-1"),
    "model.max_output": ("512", 512, "'512'"),
    "model.thinking": ("low", "low", "ultra"),
    "model.options": ("{temperature: 0.2, stop: [x]}", {"temperature": 0.2, "stop": ["x"]}, "3"),
    "model.per_model": (
        "{'qwen3:4b': {num_ctx: 8192, options: {seed: 7}}}",
        {"qwen3:4b": {"num_ctx": 8192, "options": {"seed": 7}}},
        "[qwen3]",
    ),
    "privacy.local_only": ("true", True, "1"),
    "privacy.allowed_hosts": ("[box.lan, 10.0.0.2]", ("box.lan", "10.0.0.2"), "box.lan"),
    "sessions.enabled": ("false", False, "never"),
    "memory.notes": ("false", False, "often"),
    "memory.search_tool": ("false", False, "often"),
    "tools.enabled": ("false", False, "some"),
    "tools.mode": ("PLAN", "PLAN", "yolo"),
    "tools.sandbox": ("false", False, "maybe"),
    "tools.history_mib": ("0", 0, "-1"),
    "ui.theme": ("moss", "moss", "nord"),
    "ui.glyphs": ("ascii", "ascii", "emoji"),
    "ui.motion": ("reduced", "reduced", "fast"),
    "ui.vi": ("true", True, "emacs"),
    "ui.mouse": ("false", False, "maybe"),
    "ui.notify": ("bell", "bell", "loud"),
}
"""For every key: YAML for a good value, what it becomes, YAML for a bad one."""

PROJECT_KEYS = {
    "ollama.model", "ollama.num_ctx", "model.thinking", "model.options", "model.max_output",
    "privacy.local_only", "sessions.enabled", "memory.notes", "memory.search_tool", "tools.enabled",
    "ui.theme", "ui.glyphs", "ui.motion", "ui.mouse", "ui.vi", "ui.notify",
}  # fmt: skip


class Ground:
    """A home and a project folder to put files in."""

    def __init__(self, tmp_path: Path) -> None:
        self.paths = Paths(home=tmp_path / "home", cache=tmp_path / "cache")
        self.project = tmp_path / "project"
        self.paths.home.mkdir()
        self.project.mkdir()

    def user(self, content: str | bytes) -> Path:
        return _write(self.paths.config_file, content)

    def of_project(self, content: str | bytes) -> Path:
        return _write(self.project / PROJECT_FILE, content)

    def load(self, **env: str) -> LoadedSettings:
        return load_settings(self.paths, self.project, env)

    def refusal(self, **env: str) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            self.load(**env)
        assert "\n" not in str(caught.value)
        return caught.value


def _write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _yaml(key: str, value: str) -> str:
    section, _, name = key.partition(".")
    return f"# a comment\n{section}:\n  {name}: {value}\n"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_every_key_of_the_model_is_tried_here() -> None:
    assert list(settings_keys()) == list(VALUES)


@pytest.mark.parametrize("key", VALUES)
def test_a_good_value_is_taken_with_its_line(ground: Ground, key: str) -> None:
    text, value, _ = VALUES[key]
    file = ground.user(_yaml(key, text))
    loaded = ground.load()
    assert loaded.settings.value(key) == value
    assert loaded.origins[key] == f"{file}, line 3"
    assert {origin for name, origin in loaded.origins.items() if name != key} == {"default"}


@pytest.mark.parametrize("key", VALUES)
def test_a_bad_value_is_refused_by_file_line_and_key(ground: Ground, key: str) -> None:
    file = ground.user(_yaml(key, VALUES[key][2]))
    error = ground.refusal()
    assert error.line.startswith(f"{file}, line 3: {key} must be ")
    assert error.exit_code == 2


@pytest.mark.parametrize("key", VALUES)
@pytest.mark.parametrize("nothing", ["", "null", "''"])
def test_a_key_without_a_value_is_refused(ground: Ground, key: str, nothing: str) -> None:
    ground.user(_yaml(key, nothing))
    assert "not empty" in ground.refusal().line


@pytest.mark.parametrize("key", VALUES)
def test_a_project_sets_only_what_it_may(ground: Ground, key: str) -> None:
    text, value, _ = VALUES[key]
    file = ground.of_project(_yaml(key, text))
    if key in PROJECT_KEYS:
        assert ground.load().settings.value(key) == value
    else:
        error = ground.refusal()
        assert error.line.startswith(f"{file}, line 3: {key} ")
        assert error.hint == "Put this in your own config.yaml."


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("privacy.local_only", "false"),
        ("sessions.enabled", "true"),
        ("memory.notes", "true"),
        ("memory.search_tool", "true"),
        ("tools.enabled", "true"),
    ],
)
def test_a_project_turns_off_and_never_on(ground: Ground, key: str, value: str) -> None:
    ground.user(_yaml(key, "true" if value == "false" else "false"))
    ground.of_project(_yaml(key, value))
    assert ground.refusal().hint == "Put this in your own config.yaml."


def test_layers_lie_over_each_other_key_by_key(ground: Ground) -> None:
    ground.user("ollama:\n  host: box:1\n  model: mine\n  keep_alive: -1\nui:\n  glyphs: ascii\n")
    ground.of_project("ollama:\n  model: theirs\nui:\n  glyphs: unicode\n")
    loaded = ground.load(OLLAMA_HOST="127.0.0.1:5", LOCAL_AGENT_GLYPHS="ascii")
    assert loaded.settings.ollama.model == "theirs"
    assert loaded.settings.ollama.keep_alive == -1
    assert loaded.settings.ollama.host == "127.0.0.1:5"
    assert loaded.settings.ui.glyphs == "ascii"
    assert loaded.origins["ollama.host"] == "environment, OLLAMA_HOST"
    assert loaded.origins["ollama.model"] == f"{ground.project / PROJECT_FILE}, line 2"


def test_every_variable_sets_its_key(ground: Ground) -> None:
    for variable, key in ENVIRONMENT.items():
        text = VALUES[key][0]
        assert ground.load(**{variable: f" {text} "}).settings.value(key) == text
        assert ground.load(**{variable: "  "}).settings == Settings()


def test_a_bad_variable_is_named(ground: Ground) -> None:
    assert ground.refusal(LOCAL_AGENT_MOTION="wild").line.startswith(
        "LOCAL_AGENT_MOTION must be full or reduced"
    )


@pytest.mark.parametrize(
    "nothing", ["", "\n\n", "# only a comment\n", "---\n", "null\n", "ollama:\n", "\ufeff"]
)
def test_a_file_that_says_nothing_is_the_defaults(ground: Ground, nothing: str) -> None:
    ground.user(nothing)
    assert ground.load().settings == Settings()


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        ("ollama:\n  hots: x\n", 2, "unknown key ollama.hots"),
        ("ollma:\n  host: x\n", 1, "unknown key ollma"),
        ("ollama.host: x\n", 1, "unknown key ollama.host"),
        ("ollama: x\n", 1, "ollama must be a mapping"),
        ("- a\n- b\n", 1, "must be a mapping"),
        ("just words\n", 1, "must be a mapping"),
        ("ollama:\n  model: a\n  model: b\n", 3, "model is set twice (first in line 2)"),
        ("ui:\n  mouse: true\nui:\n  mouse: true\n", 3, "ui is set twice"),
        ("model:\n  options: {a: 1, a: 2}\n", 2, "a is set twice"),
        ("model:\n  options: {a: .nan}\n", 2, "finite"),
        ("model:\n  options: {a: .inf}\n", 2, "finite"),
        ("model:\n  options: {a: {b: 1}}\n", 2, "model.options must be"),
        ("ollama:\n  host: [\n", 3, "no valid YAML"),
        ("ollama:\n\thost: x\n", 2, "no valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "no valid YAML"),
        ("ui:\n  theme: !!python/object:os.system x\n", 2, "no valid YAML"),
        ("ui:\n  theme: \x07\n", 1, "no valid YAML"),
        ("x: &a [1]\nui:\n  theme: *a\n", 3, "aliases"),
        ("? [a]\n: b\n", 1, "unknown key"),
        ("ollama:\n  num_ctx: " + "9" * 5000 + "\n", 2, "ollama.num_ctx must be"),
        ("ollama:\n  num_ctx: true\n", 2, "ollama.num_ctx must be"),
        ("ollama:\n  model: 2020-99-99\nui:\n  motion: 2020-01-01\n", 4, "ui.motion must be"),
        ('ui:\n  theme: "a\\e[31mb"\n', 2, "ui.theme must be"),
        (b"ui:\n  theme: caf\xe9\n", 2, "not UTF-8"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_in_one_line(
    ground: Ground, content: str | bytes, line: int, says: str
) -> None:
    file = ground.user(content)
    error = ground.refusal()
    assert error.line.startswith(f"{file}, line {line}: ")
    assert says in error.line
    assert "\x1b" not in str(error)


def test_a_typo_is_offered_its_key(ground: Ground) -> None:
    ground.user("ollama:\n  modle: x\n")
    assert ground.refusal().hint == "Did you mean ollama.model?"


def test_depth_is_bounded(ground: Ground) -> None:
    ground.user("model:\n  options: {a: " + "[" * 9000 + "]" * 9000 + "}\n")
    assert "nested too deeply" in ground.refusal().line


def test_a_bomb_of_aliases_is_refused(ground: Ground) -> None:
    levels = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    ground.user("\n".join(levels))
    assert "aliases" in ground.refusal().line


def test_a_huge_file_is_refused(ground: Ground) -> None:
    ground.user("#" * (MAX_BYTES + 1))
    assert "is over 64 KB" in ground.refusal().line


def test_a_folder_or_a_pipe_in_place_of_the_file_is_refused(ground: Ground) -> None:
    ground.paths.config_file.mkdir()
    assert ground.refusal().line == f"{ground.paths.config_file} is no file."
    ground.paths.config_file.rmdir()
    os.mkfifo(ground.paths.config_file)
    assert ground.refusal().line == f"{ground.paths.config_file} is no file."


def test_a_dangling_link_is_refused(ground: Ground) -> None:
    ground.paths.config_file.symlink_to(ground.project / "nowhere")
    assert "Can't read" in ground.refusal().line


def test_a_model_file_is_found_beside_the_configuration(ground: Ground, home: Path) -> None:
    ground.user("embedded: {gguf: models/a.gguf}\n")
    assert ground.load().settings.embedded.gguf == ground.paths.home / "models/a.gguf"
    ground.user("embedded: {gguf: ~/a.gguf}\n")
    assert ground.load().settings.embedded.gguf == Path.home() / "a.gguf"
    ground.user("embedded: {gguf: ~nobody-of-this-name/a.gguf}\n")
    assert ground.load().settings.embedded.gguf is not None


def test_without_a_file_nothing_is_imported_to_read_one(ground: Ground) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from local_agent.config.load import load_settings\n"
        "from local_agent.config.paths import Paths\n"
        f"load_settings(Paths.discover(), Path({str(ground.project)!r}))\n"
        "sys.exit(','.join({'yaml', 'pydantic'} & set(sys.modules)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert (run.returncode, run.stderr) == (0, "") or run.stderr == "\n"
