"""A hostile model writes: nothing outside changes unasked, nothing that is kept from tools at all."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from local_agent.domain.tools import ToolFailed
from local_agent.tools.box import Box
from tests.tools.calling import Around, prepared
from tests.tools.changing.folders import knows, refusal, seen, workspace

WAYS = (
    ("write", {"content": "evil\n"}),
    ("edit", {"old": "secret", "new": "evil"}),
    ("mkdir", {}),
    ("remove", {"recursive": True}),
    ("move", {"to": "stolen"}),
    ("copy", {"to": "stolen"}),
)


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, Box]:
    """A workspace, a folder outside it, and the tools."""
    root, tools = workspace(tmp_path, {"in": b"mine\n", "sub/in": b"mine\n"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"secret\n")
    os.symlink(outside, root / "link")
    os.symlink(outside / "file", root / "filelink")
    os.symlink(outside / "missing", root / "dangling")
    os.symlink("link", root / "chain")
    os.symlink("loop", root / "loop")
    return root, outside, tools


async def unasked(tools: Box, name: str, **arguments: object) -> str:
    """Run a call as AUTO does: what leads outside is asked about, which is nobody's answer here."""
    try:
        intent = await prepared(tools, name, **arguments)
        if intent.outside:
            return "asked"
        ready = await tools.ready(intent, "1", confined=False)
        await ready.run(Around())
    except ToolFailed as failed:
        return str(failed)
    return "ran"


@pytest.mark.parametrize(
    "path",
    [
        "../outside/file",
        "../outside/new",
        "sub/../../outside/file",
        "{outside}/file",
        "{outside}/new/deep",
        "link/file",
        "link/new",
        "chain/file",
        "chain/../outside/new",
        "./sub/../link/file",
        "//{outside}//file",
        "/proc/self/cwd/../../{outside}/new",
        "/proc/self/root{outside}/new",
    ],
)
async def test_a_path_out_is_asked_about_by_every_tool(places: tuple[Path, Path, Box], path: str) -> None:
    root, outside, tools = places
    before = seen(root), seen(outside)
    path = path.replace("{outside}", str(outside))
    located = tools.folder.locate(path)
    assert located.outside
    if located.absolute.is_file():
        knows(tools, path)
    for name, arguments in WAYS:
        assert await unasked(tools, name, path=path, **arguments) != "ran", name
    for name in ("move", "copy"):
        assert await unasked(tools, name, path="in", to=path) != "ran"
    patch = "--- a\n+++ b\n@@\n-secret\n+evil\n".replace(" a", f" {path}").replace(" b", f" {path}")
    assert await unasked(tools, "patch", patch=patch) != "ran"
    assert (seen(root), seen(outside)) == before


@pytest.mark.parametrize("name", ["filelink", "dangling", "link"])
async def test_a_link_out_is_itself_removed_or_moved_and_never_written_through(
    places: tuple[Path, Path, Box], name: str
) -> None:
    root, outside, tools = places
    before = seen(outside)
    assert await unasked(tools, "write", path=name, content="evil") != "ran"
    assert await unasked(tools, "copy", path="in", to=name) != "ran"
    assert await unasked(tools, "copy", path=name, to="stolen") != "ran"
    assert await unasked(tools, "move", path=name, to="moved") == "ran"
    assert os.readlink(root / "moved").startswith(str(outside))
    assert await unasked(tools, "remove", path="moved", recursive=True) == "ran"
    assert "moved" not in seen(root)
    assert seen(outside) == before


def swap_parent(root: Path, outside: Path) -> None:
    (root / "sub").rename(root / "gone")
    os.symlink(outside, root / "sub")


def swap_file(root: Path, outside: Path) -> None:
    (root / "sub/in").unlink()
    os.symlink(outside / "file", root / "sub/in")


def swap_for_hard_link(root: Path, outside: Path) -> None:
    (root / "sub/in").unlink()
    os.link(outside / "file", root / "sub/in")


def swap_for_pipe(root: Path, outside: Path) -> None:
    (root / "sub/in").unlink()
    os.mkfifo(root / "sub/in")


@pytest.mark.parametrize("when", ["before it is ready", "before it runs"])
@pytest.mark.parametrize("swap", [swap_parent, swap_file, swap_for_hard_link, swap_for_pipe])
async def test_what_is_swapped_after_the_look_is_not_followed(
    places: tuple[Path, Path, Box], swap: Callable[[Path, Path], None], when: str
) -> None:
    root, outside, tools = places
    (outside / "in").write_bytes(b"mine\n")
    knows(tools, "sub/in")
    calls = [
        ("write", {"path": "sub/in", "content": "evil\n"}),
        ("edit", {"path": "sub/in", "old": "mine", "new": "evil"}),
        ("remove", {"path": "sub/in"}),
        ("move", {"path": "sub/in", "to": "stolen"}),
        ("copy", {"path": "sub/in", "to": "stolen"}),
    ]
    into = [
        ("write", {"path": "sub/new", "content": "evil\n"}),
        ("mkdir", {"path": "sub/new"}),
        ("move", {"path": "in", "to": "sub/new"}),
        ("copy", {"path": "in", "to": "sub/new"}),
    ]
    intents = [
        await prepared(tools, name, **arguments)
        for name, arguments in (*calls, *(into if swap is swap_parent else ()))
    ]
    made_ready = []
    if when == "before it runs":
        made_ready = [await tools.ready(intent, "1", confined=False) for intent in intents]
    swap(root, outside)
    before = seen(root), seen(outside)
    for number, intent in enumerate(intents):
        with pytest.raises(ToolFailed) as failed:
            ready = made_ready[number] if made_ready else await tools.ready(intent, "1", confined=False)
            await ready.run(Around())
        assert str(failed.value)
    assert (seen(root), seen(outside)) == before


async def test_a_hard_link_to_a_file_outside_changes_one_name_alone(places: tuple[Path, Path, Box]) -> None:
    root, outside, tools = places
    os.link(outside / "file", root / "hard")
    knows(tools, "hard")
    intent = await prepared(tools, "edit", path="hard", old="secret", new="mine")
    result = await (await tools.ready(intent, "1", confined=False)).run(Around())
    assert "Its other names (hard links) keep the old content." in result.text
    assert seen(outside) == {"file": "secret\n"}
    assert (root / "hard").read_bytes() == b"mine\n"


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        ".git/hooks/pre-commit",
        ".git/config",
        ".GIT/config",
        "sub/.git/config",
        "sub/../.git/config",
        "gitlink/config",
        ".env",
        "sub/.env.local",
        "keys/server.pem",
        ".ssh/authorized_keys",
        "harmless",
        ".agentignore",
        "sub/.AgentIgnore",
        "hidden/x",
        ".",
        "..",
        "/",
    ],
)
async def test_what_is_kept_from_tools_stays_even_when_a_person_agrees(
    places: tuple[Path, Path, Box], path: str
) -> None:
    root, _, tools = places
    for folder in (".git/hooks", "sub/.git", "keys", ".ssh", "hidden"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for name in (".git/config", "sub/.git/config", ".env", "keys/server.pem", "hidden/x"):
        (root / name).write_bytes(b"secret\n")
    (root / ".agentignore").write_bytes(b"hidden/\n")
    os.symlink(".git", root / "gitlink")
    os.symlink(".env", root / "harmless")
    before = seen(root)
    if tools.folder.locate(path).absolute.is_file():
        knows(tools, path)
    for name, arguments in WAYS:
        if path == "harmless" and name in ("remove", "move"):
            # The link itself is neither.
            continue
        assert await refusal(tools, name, path=path, **arguments), name
    for name in ("move", "copy"):
        assert await refusal(tools, name, path="in", to=path)
    assert seen(root) == before


async def test_version_control_names_the_way_out(places: tuple[Path, Path, Box]) -> None:
    _, _, tools = places
    words = await refusal(tools, "write", path=".git/hooks/pre-commit", content="#!/bin/sh\n")
    assert words.endswith("is kept from tools: it belongs to version control, use git with bash.")


async def test_pipes_sockets_devices_and_folders_are_no_files(
    places: tuple[Path, Path, Box], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, _, tools = places
    # A socket can't have a long name.
    monkeypatch.chdir(root)
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for path in ("pipe", "socket", "/dev/null", "/dev/zero", "/dev/tty"):
            for name, arguments in WAYS:
                assert await refusal(tools, name, path=path, **arguments), (name, path)
    assert "is a folder" in await refusal(tools, "write", path="sub", content="evil")
    assert "is a folder" in await refusal(tools, "edit", path="sub", old="a", new="b")
    assert seen(root)["pipe"] == "special"


@pytest.mark.parametrize(
    "path",
    ["", " ", "a\0b", "a\nb", "a\rb", "\x1b[2Jx", "~/x", "$HOME/x", "ä" * 128, "x" * 5_000, "loop", "loop/x"],
    ids=lambda path: ascii(path[:8]),
)
async def test_what_can_be_no_path_is_refused_in_words(places: tuple[Path, Path, Box], path: str) -> None:
    root, _, tools = places
    before = seen(root)
    for name, arguments in WAYS:
        if path == "loop" and name in ("remove", "move", "mkdir"):
            continue
        words = await refusal(tools, name, path=path, **arguments)
        assert words.isprintable() and "Errno" not in words, (name, words)
    for name in ("move", "copy"):
        assert await refusal(tools, name, path="in", to=path)
    assert seen(root) == before


@pytest.mark.parametrize(
    "path", ["-rf", "--help", "*", "; rm -rf x", "$(id)", "a b", "'", "[/x]", "ü", "x" * 255]
)
async def test_names_that_only_look_bad_are_names(places: tuple[Path, Path, Box], path: str) -> None:
    root, _, tools = places
    assert await unasked(tools, "write", path=path, content="a\n") == "ran"
    assert await unasked(tools, "edit", path=path, old="a", new="b") == "ran"
    assert await unasked(tools, "copy", path=path, to="copied") == "ran"
    assert (root / path).read_bytes() == (root / "copied").read_bytes() == b"b\n"
    assert await unasked(tools, "remove", path=path) == "ran"
    assert path not in seen(root)
