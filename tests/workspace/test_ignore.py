"""What ignore files say: held against git itself, and never slow whatever they hold."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.workspace.ignore import hidden_from_models, ignored, rules_from

PATTERNS = {
    "*.log": ["a.log", "b/c.log", "log", "a.logs"],
    "/top": ["top", "b/top"],
    "build/": ["build/x", "b/build/x", "buildx"],
    "a/b": ["a/b", "x/a/b"],
    "doc/*.txt": ["doc/a.txt", "doc/b/a.txt"],
    "**/deep/*.py": ["deep/a.py", "x/y/deep/a.py", "x/deep/y/a.py"],
    "src/**": ["src/a", "src/b/c", "b/src/a"],
    "a/**/z": ["a/z", "a/b/z", "a/b/c/z", "a/bz"],
    "[abc].md": ["a.md", "d.md", "x/b.md"],
    "[!abc].md": ["a.md", "d.md"],
    "[a-c]x": ["bx", "dx"],
    "[]a]q": ["]q", "aq", "bq"],
    "x?y": ["xay", "x/y", "xy"],
    "\\#hash": ["#hash"],
    "\\!not": ["!not"],
    "# comment": ["# comment"],
    "trailing   ": ["trailing"],
    "kept\\ ": ["kept ", "kept"],
    "te*s*t*.p?": ["tests.py", "test.py", "tst.py", "x/teasat-a.pq"],
    "foo**bar": ["foobar", "fooxbar", "foo/bar"],
    "*": ["a", "b/c"],
    "[bad": ["[bad", "bad"],
    "/": ["a"],
    "src/*\n!src/keep": ["src/keep", "src/a", "src/b/c"],
    "*\n!keep.txt": ["keep.txt", "drop.txt"],
    "*.txt\n!a.txt\na.*": ["a.txt", "b.txt", "a.c"],
}


@pytest.mark.parametrize("text", PATTERNS)
def test_git_says_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / ".gitignore").write_text(text)
    for name in PATTERNS[text]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    env = {**os.environ, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, env=env, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-oz", "--exclude-standard"],
        cwd=tmp_path, env=env, check=True, capture_output=True, text=True,
    )  # fmt: skip
    seen = set(listed.stdout.split("\0"))
    rules = rules_from(text.split("\n"))
    for name in PATTERNS[text]:
        parts = name.split("/")
        above = ["/".join(parts[:end]) for end in range(1, len(parts))]
        ours = rules is not None and (
            ignored(name, False, [rules]) or any(ignored(folder, True, [rules]) for folder in above)
        )
        assert ours == (name not in seen), name


@pytest.mark.parametrize(
    "pattern",
    ["*a" * 60 + "b", "?*" * 100 + "b", "**/" * 3 + "a*" * 40 + "b", "[a-a]*" * 50 + "b", "[" * 9_000],
)
def test_no_pattern_of_a_cloned_folder_makes_it_slow(pattern: str) -> None:
    rules = rules_from([pattern])
    begin = time.process_time()
    if rules is not None:
        ignored("/".join(["a" * 250] * 12), False, [rules])
    assert time.process_time() - begin < 1.0


def test_what_an_agentignore_names_is_hidden_with_all_that_lies_in_it(tmp_path: Path) -> None:
    (tmp_path / "a" / "private").mkdir(parents=True)
    (tmp_path / "a" / ".agentignore").write_text("private/\n*.key\n!public.key\n")
    assert hidden_from_models(tmp_path, "a/private/deep/x.txt", False)
    assert hidden_from_models(tmp_path, "a/b.key", False)
    assert not hidden_from_models(tmp_path, "a/public.key", False)
    assert not hidden_from_models(tmp_path, "b.key", False)


@given(
    st.lists(st.text("ab/*?[]!^-\\# .{}()|+$&~,\n\u00e9", max_size=12), max_size=6),
    st.text("ab/.[]", max_size=8),
)
def test_any_text_is_an_ignore_file(lines: list[str], path: str) -> None:
    rules = rules_from(lines)
    if rules is not None:
        ignored(path.strip("/") or "a", False, [rules])
