"""A workspace with what a hostile or an ordinary one holds."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with sources, a secret, links out of it, and folders that pose as repositories."""
    base = tmp_path_factory.mktemp("policy").resolve()
    (base / "elsewhere").mkdir()
    (base / "elsewhere" / "notes.txt").write_text("outside")
    root = base / "work"
    for folder in [
        "src/inner",
        "tests",
        "docs",
        ".git",
        "bare",
        "private",
        "tricks",
        "deep/er",
        "node_modules/x",
    ]:
        (root / folder).mkdir(parents=True)
    for name in [
        "README.md",
        "a.txt",
        "b.txt",
        "data.json",
        "Makefile",
        "package.json",
        "build.sh",
        ".env",
        ".env.example",
        "src/main.py",
        "src/inner/x.py",
        "tests/test_main.py",
        "docs/guide.md",
        "bare/HEAD",
        "private/server.pem",
        "tricks/-o",
        "deep/er/.npmrc",
        "node_modules/x/test.key",
    ]:
        (root / name).write_text("x = 1\n")
    (root / "a b.txt").write_text("x = 1\n")
    (root / "out").symlink_to(base / "elsewhere")
    (root / "docs" / "passwd.md").symlink_to("/etc/passwd")
    (root / "docs" / "in.md").symlink_to("guide.md")
    (root / "hidden").symlink_to(".env")
    (root / "tool").symlink_to("/bin/rm")
    (root / "link").symlink_to("src/inner")
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to("/usr/bin/python3")
    (root / ".venv" / "bin" / "pytest").write_text("#!python\n")
    return root
