"""One key of config.yaml is changed, and every other character of the file stays."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from local_agent.config.edit import edited, typed_value, write_setting
from local_agent.config.file import read_file
from local_agent.config.settings import settings_keys
from local_agent.domain.errors import ConfigError
from tests.config.test_load import VALUES

KEYS = settings_keys()
COMMENTED = """\
# mine, since 2024
ollama:
  host: box:11434   # the big one
  # smaller on battery
  num_ctx: 8192

ui: {theme: "moss", motion: full}  # calm
# the end
"""


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("", "ui.theme", "moss", "ui:\n  theme: moss\n"),
        ("# only words", "ui.theme", "moss", "# only words\nui:\n  theme: moss\n"),
        ("ui:\n", "ui.vi", "true", "ui:\n  vi: true\n"),
        ("ui:  # looks\nmodel:\n", "ui.vi", "true", "ui:  # looks\n  vi: true\nmodel:\n"),
        ("ui: ~\n", "ui.vi", "true", "ui:\n  vi: true\n"),
        ("ui: {}\n", "ui.vi", "true", "ui: {vi: true}\n"),
        ("{ui: {theme: ink}}\n", "model.max_output", "9", "{ui: {theme: ink}, model: {max_output: 9}}\n"),
        ("ui:\n    theme: ink # x\n", "ui.vi", "true", "ui:\n    theme: ink # x\n    vi: true\n"),
        ("ui:\n    theme: ink # x", "ui.theme", "moss", "ui:\n    theme: moss # x"),
        ("ui:\r\n  vi: true\r\n", "ui.theme", "moss", "ui:\r\n  vi: true\r\n  theme: moss\r\n"),
        ("ui:\r\n  vi: true\r\n", "ui.vi", None, "ui:\r\n"),
        ("ui:\n  vi: true\n  # why\n  mouse: false\n", "ui.vi", None, "ui:\n  # why\n  mouse: false\n"),
        ("ui: {vi: true, mouse: false}\n", "ui.vi", None, "ui: {mouse: false}\n"),
        ("ui: {vi: true, mouse: false}\n", "ui.mouse", None, "ui: {vi: true}\n"),
        ("ui: {vi: true}\n", "ui.vi", None, "ui: {}\n"),
        ("model:\n  options:\n    top_k: 3\n\n# x\n", "model.thinking", "low",
         "model:\n  options:\n    top_k: 3\n  thinking: low\n\n# x\n"),
        ("ui:\n  vi: true\n", "model.thinking", None, "ui:\n  vi: true\n"),
    ],
)  # fmt: skip
def test_only_the_key_is_touched(before: str, key: str, value: str | None, after: str) -> None:
    assert edited(before, key, value) == after


@given(
    st.dictionaries(st.sampled_from(sorted(VALUES)), st.sampled_from(["flow", "block"]), max_size=8),
    st.sampled_from(sorted(VALUES)),
    st.booleans(),
    st.data(),
)
def test_any_file_keeps_its_comments_and_its_other_keys(
    present: dict[str, str], key: str, setting: bool, data: st.DataObject
) -> None:
    sections: dict[str, list[str]] = {}
    for name in present:
        sections.setdefault(name.partition(".")[0], []).append(name)
    text = ""
    for number, (section, names) in enumerate(sections.items()):
        pairs = [f"{name.partition('.')[2]}: {VALUES[name][0]}" for name in names]
        text += f"# above {number}\n"
        if present[names[0]] == "flow":
            text += f"{section}: {{{', '.join(pairs)}}}  # at {number}\n"
        else:
            text += f"{section}:  # at {number}\n"
            text += "".join(f"  # of {pair}\n  {pair} # after\n\n" for pair in pairs)
    if data.draw(st.booleans()):
        text = text.rstrip("\n")
    value = VALUES[key][0] if setting else None
    changed = edited(text, key, value)
    expected = yaml.safe_load(text) or {}
    section, _, leaf = key.partition(".")
    if value is not None:
        expected.setdefault(section, {})[leaf] = yaml.safe_load(value)
    elif section in expected:
        expected[section].pop(leaf, None)
    got = yaml.safe_load(changed) or {}
    assert {k: v or {} for k, v in got.items()} == expected
    comments = [line.strip() for line in text.splitlines() if line.strip().startswith("#")]
    assert [line.strip() for line in changed.splitlines() if line.strip().startswith("#")] == comments


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "config.yaml"
    path.parent.mkdir()
    path.write_text(COMMENTED)
    path.chmod(0o640)
    return path


def write(path: Path, key: str, value: object) -> None:
    write_setting(path, KEYS, key, value)


def test_a_change_is_one_line_of_difference(file: Path) -> None:
    write(file, "ollama.num_ctx", 16384)
    assert file.read_text() == COMMENTED.replace("8192", "16384")
    write(file, "ui.theme", "tide")
    write(file, "ollama.num_ctx", 8192)
    assert file.read_text() == COMMENTED.replace('"moss"', "tide")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in file.parent.iterdir()] == ["config.yaml"]


def test_the_file_is_made_where_there_is_none(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.yaml"
    write(path, "model.options", {"temperature": 0.2, "stop": ["a, b", "}"]})
    [found] = read_file(path, KEYS, of_project=False)
    assert found.value == {"temperature": 0.2, "stop": ["a, b", "}"]}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_every_key_can_be_set_and_taken_out_again(file: Path) -> None:
    for key, (text, value, _) in VALUES.items():
        before = {found.key for found in read_file(file, KEYS, of_project=False)}
        write(file, key, yaml.safe_load(text))
        after = {found.key: found.value for found in read_file(file, KEYS, of_project=False)}
        assert after[key] == value
        assert after.keys() == before | {key}
        write(file, key, None)
    assert read_file(file, KEYS, of_project=False) == []
    assert [line for line in file.read_text().splitlines() if line.startswith("#")] == [
        "# mine, since 2024",
        "# the end",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ui: [\n", "line 2: no valid YAML"),
        ("ui:\n  colour: red\n", "line 2: unknown key ui.colour"),
        ("ui:\n  theme: >-\n    ink\n", "several lines"),
        ("ui: !!map {}\n", "can't be changed from here"),
    ],
)
def test_what_can_t_be_changed_safely_stays_as_it_is(file: Path, text: str, says: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        write(file, "ui.theme" if "theme" in text else "ui.vi", "moss" if "theme" in text else True)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert file.read_text() == text


def test_a_link_and_a_read_only_file_are_left_alone(file: Path, tmp_path: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(ConfigError, match="is read-only"):
        write(file, "ui.vi", True)
    elsewhere = tmp_path / "dotfiles.yaml"
    elsewhere.write_text(COMMENTED)
    file.unlink()
    file.symlink_to(elsewhere)
    with pytest.raises(ConfigError, match=r"is a link.*Change ui.vi in .*dotfiles"):
        write(file, "ui.vi", True)
    assert file.is_symlink()
    assert elsewhere.read_text() == COMMENTED


def test_a_folder_that_can_t_be_written_is_one_line(file: Path) -> None:
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("in the way")
    with pytest.raises(ConfigError, match="Can't write"):
        write(file, "ui.vi", True)


@pytest.mark.parametrize(
    ("key", "typed", "value"),
    [
        ("ollama.host", "11434", "11434"),
        ("ollama.model", " qwen3:4b ", "qwen3:4b"),
        ("ollama.keep_alive", "-1", -1),
        ("ollama.num_ctx", "8192", 8192),
        ("model.thinking", "high", "high"),
        ("model.thinking", "false", False),
        ("model.options", "{temperature: 0.2}", {"temperature": 0.2}),
        ("privacy.allowed_hosts", "[box.lan]", ["box.lan"]),
        ("ollama.model", "2020-01-01", "2020-01-01"),
        ("ollama.model", "a # b", "a"),
        ("embedded.gguf", "~/a.gguf", "~/a.gguf"),
    ],
)
def test_what_is_typed_is_what_a_file_would_say(key: str, typed: str, value: object) -> None:
    assert typed_value(KEYS[key], typed) == value


@pytest.mark.parametrize("key", [key for key in VALUES if key not in ("ollama.model", "embedded.gguf")])
def test_what_is_refused_is_refused_in_the_file_s_words(key: str, file: Path) -> None:
    _, _, bad = VALUES[key]
    with pytest.raises(ConfigError) as typed:
        typed_value(KEYS[key], bad)
    file.write_text(f"{key.partition('.')[0]}: {{{key.partition('.')[2]}: {bad}}}\n")
    with pytest.raises(ConfigError) as of_file:
        read_file(file, KEYS, of_project=False)
    assert f"{key} must be {KEYS[key].rule.expects}, not " in typed.value.line
    assert of_file.value.line.startswith(f"{file}, line 1: {key} must be {KEYS[key].rule.expects}, not ")


@pytest.mark.parametrize(
    "typed", ["", "  ", "&a x", "*a", "!!python/object:os.system x", "a: [", "\x00", "\u202ex"]
)
def test_no_typed_text_gets_past_the_check(typed: str) -> None:
    with pytest.raises(ConfigError):
        typed_value(KEYS["ollama.num_ctx"], typed)
