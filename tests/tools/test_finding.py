"""``grep``, ``glob`` and ``ls``: what may be seen is found, the rest is a number."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from shutil import which

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_agent.domain.tools import ResultStatus, ToolFailed
from local_agent.tools.matching import Matching, TooSlow, required_literal
from local_agent.tools.output import byte_length
from local_agent.tools.sieve import Sieve
from local_agent.tools.text_file import encoding_of
from tests.support.processes import session_members
from tests.tools.calling import Around, box, call, failure, prepared, run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project with everything in it that must not be seen."""
    root = tmp_path / "project"
    files = {
        "README.md": "needle in the readme\n",
        "src/main.py": "import os\n\n\ndef main():\n    return 'needle'\n",
        "src/app.ts": "const needle = 1\r\nlet x\r\n",
        "src/deep/er/x.py": "Needle\n",
        "src/.env": "TOKEN=needle\n",
        "src/.env.example": "TOKEN=\n",
        "private/plan.md": "needle\n",
        "notes/secret.txt": "needle\n",
        "notes/open.txt": "nothing\n",
        "dist/bundle.js": "needle\n",
        ".git/config": "needle\n",
        ".gitignore": "dist/\n",
        ".agentignore": "private/\nsecret.*\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    (root / "logo.bin").write_bytes(b"\0needle")
    (root / "wide.txt").write_bytes("\ufeffa needle\n".encode("utf-16-le"))
    (root / "latin.txt").write_bytes("größe needle\n".encode("latin-1"))
    os.mkfifo(root / "pipe")
    (root / "link.py").symlink_to("src/main.py")
    return root


async def test_hits_stand_below_their_files(root: Path) -> None:
    result = await call(box(root), "grep", pattern="needle")
    assert result.text.split("\n") == [
        "[5 hits in 5 files; 3 paths are hidden from tools]",
        "README.md",
        "  1: needle in the readme",
        "latin.txt",
        "  1: größe needle",
        "src/app.ts",
        "  1: const needle = 1",
        "src/main.py",
        "  5:     return 'needle'",
        "wide.txt",
        "  1: a needle",
    ]
    assert result.summary == "5 hits in 5 files"


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({"pattern": "needle", "ignore_case": True, "path": "src"}, ["app.ts", "deep/er/x.py", "main.py"]),
        ({"pattern": "NEEDLE", "ignore_case": "true", "glob": "*.py"}, ["deep/er/x.py", "main.py"]),
        ({"pattern": "needle", "glob": "src/**/*.{py,ts}"}, ["app.ts", "main.py"]),
        ({"pattern": "needle", "path": "src/main.py"}, ["main.py"]),
        ({"pattern": r"= \d$"}, ["app.ts"]),
        ({"pattern": "^def \\w+\\("}, ["main.py"]),
        ({"pattern": "größe"}, []),
    ],
)
async def test_a_search_keeps_to_what_is_asked_for(
    root: Path, arguments: dict[str, object], files: list[str]
) -> None:
    lines = (await call(box(root), "grep", **arguments)).text.split("\n")[1:]
    found = [line for line in lines if not line.startswith(" ")]
    assert found == ([f"src/{name}" for name in files] or ["latin.txt"])


async def test_what_is_ignored_is_searched_when_it_is_named(root: Path) -> None:
    tools = box(root)
    assert (await call(tools, "grep", pattern="needle", path="dist")).text.endswith(
        "dist/bundle.js\n  1: needle"
    )
    assert (await call(tools, "glob", pattern="*", path="dist")).text.endswith("\ndist/bundle.js")
    assert (await call(tools, "read", path="dist/bundle.js")).text.endswith("\tneedle")


async def test_what_can_not_be_read_is_counted(root: Path) -> None:
    """Here for want of descriptors; a file that is closed to the account is met in the same way."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for number in range(60):
        (root / "src" / f"{number}.py").write_text("needle\n")
    free = [os.open(root, os.O_RDONLY) for _ in range(20)]
    for descriptor in free:
        os.close(descriptor)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(free) + 1, hard))
        text = (await call(box(root), "grep", pattern="needle", path="src")).text
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert re.match(r"\[\d+ hits in \d+ files; \d+ files can't be read; 1 path is hidden", text)


async def test_what_is_not_found_is_an_answer(root: Path) -> None:
    tools = box(root)
    result = await call(tools, "grep", pattern="nowhere", path="notes")
    assert (result.status, result.text) == ("ok", "[no hits in 1 file; 1 path is hidden from tools]")
    assert (
        await call(tools, "glob", pattern="*.rs")
    ).text == "[no paths for *.rs; 2 paths are hidden from tools]"


async def test_a_wrong_pattern_is_given_back_as_plain_text(root: Path) -> None:
    said = await failure(box(root), "grep", pattern="main(")
    assert said.startswith("The pattern is no regular expression: missing ), unterminated subpattern")
    assert said.endswith(r'To find it as it stands: {"pattern": "main\\("}')
    assert "one line of 1 to 1,000" in await failure(box(root), "grep", pattern="")
    assert "is no pattern for paths" in await failure(box(root), "grep", pattern="x", glob="**/**/**/**/x")
    assert "There is no nowhere." in await failure(box(root), "grep", pattern="x", path="nowhere")
    assert "a pipe or a device" in await failure(box(root), "grep", pattern="x", path="pipe")


async def test_more_hits_than_fit_are_counted_and_kept(root: Path) -> None:
    (root / "many.log").write_text("".join(f"error {number}\n" for number in range(3_000)))
    tools = box(root, result_bytes=2_048)
    result = await call(tools, "grep", pattern="error")
    assert byte_length(result.text) <= 2_048
    head, *lines = result.text.split("\n")
    shown = len(lines) - 1
    assert head.startswith(f"[3,000 hits in 1 file; the first {shown} here: narrow the search for the rest")
    kept = tools.folder.outputs.get(result.output).decode()
    assert kept.split("\n")[:3] == ["many.log", "  1: error 0", "  2: error 1"]
    assert result.size == len(kept)
    three = await call(tools, "grep", pattern="error", max=3)
    assert three.text.split("\n")[1:] == ["many.log", "  1: error 0", "  2: error 1", "  3: error 2"]


async def test_a_long_line_is_cut_around_its_match(root: Path) -> None:
    (root / "min.js").write_text("x" * 2_000_000 + "findme" + "y" * 2_000_000)
    line = (await call(box(root), "grep", pattern="findme")).text.split("\n")[2]
    assert line.startswith("  1: " + "x" * 100 + "findme" + "y" * 10)
    assert line.endswith("… [cut: this line has 4,000,006 characters]")
    assert len(line) < 400


async def test_an_expression_without_an_end_is_stopped(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root))  # ripgrep would know that there is nothing to find
    monkeypatch.setattr("local_agent.tools.matching.SECONDS", 0.3)
    (root / "a.txt").write_text("a" * 60 + "!\n")
    tools = box(root)
    said = await failure(tools, "grep", pattern="(a+)+$", path="a.txt")
    assert said == "The pattern takes too long in a.txt. Use a simpler one, without repeats in repeats."
    # The other files are searched all the same.
    result = await call(tools, "grep", pattern="(a+)+$|needle$")
    assert "the pattern takes too long in 1 file" in result.text
    assert "wide.txt\n  1: a needle" in result.text


async def test_a_stop_ends_a_search_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root))
    (root / "a.txt").write_text("a" * 60 + "!\n")
    tools, around = box(root), Around()
    intent = await prepared(tools, "grep", pattern="(a+)+$")
    around.stop.set()
    began = time.monotonic()
    assert (await run(tools, intent, around)).status is ResultStatus.CANCELLED
    assert time.monotonic() - began < 2


HOPELESS = """
import threading
from local_agent.tools import matching
matching.SECONDS = 60
with matching.Matching("(a+)+$", False, threading.Event()) as asked:
    threading.Timer(0.3, lambda: print(asked._worker.pid, flush=True)).start()
    asked.search(b"a" * 60 + b"!", "utf-8")
"""


def test_a_hopeless_search_ends_with_the_program() -> None:
    program = subprocess.Popen([sys.executable, "-c", HOPELESS], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    worker = int(program.stdout.readline())
    assert session_members(worker) == [worker]
    program.kill()
    program.wait()
    program.stdout.close()
    end = time.monotonic() + 2
    while session_members(worker) and time.monotonic() < end:
        time.sleep(0.01)
    assert not session_members(worker)


def test_nothing_is_left_of_a_search_that_was_stopped(root: Path) -> None:
    ended = threading.Event()
    with Matching("(a+)+$", False, ended) as matching:
        assert matching.search(b"aaa", "utf-8").lines == 1
        worker = matching._worker
        assert worker is not None
        threading.Timer(0.1, ended.set).start()
        with pytest.raises(TooSlow):
            matching.search(b"a" * 60 + b"!", "utf-8")
        assert worker.poll() is not None


@settings(max_examples=100, deadline=None)
@given(
    st.text(alphabet="ab.*+?\\d^$x1", max_size=8), st.lists(st.text(alphabet="abx1d", max_size=6), max_size=5)
)
def test_no_line_is_missed_for_want_of_a_literal(pattern: str, lines: list[str]) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error:
        return
    literal = required_literal(pattern)
    assert all(literal in line for line in lines if compiled.search(line))


ripgrep = pytest.mark.skipif(which("rg") is None, reason="ripgrep is not installed")
TEXTS = (
    *(b"", b"\n", b"abc 12\nfoo_bar\n", b"a\r\nab \r\n", b"x\n\n\nx", b"no end", b"A B C\tD", b"{}[]()"),
    *(
        "größe ² K ſ\n".encode(),
        "ab 12\n".encode("utf-16"),
        b"\0a12",
        b"a\x1cb",
        b"caf\xe9 12",
        b"\x85 a\x0bb",
    ),
)

PIECES = (
    *(*"ab1 ._^$|*+?{K", "ß", r"\d", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B", r"\."),
    *("(?:a", ")", "(", "[a-c]", "[^a]", r"[\d_]", r"[^\s]", "{2}", "{1,}", "++", "??"),
)


@ripgrep
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(PIECES),
        min_size=1,
        max_size=6,
    ),
    st.booleans(),
)
def test_ripgrep_sifts_nothing_out_that_matches(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], ignore_case: bool
) -> None:
    pattern = "".join(parts)
    sieve = Sieve.of(pattern, ignore_case, Path("/nowhere"))
    try:
        re.compile(pattern)
    except re.error:
        return
    if sieve is None:
        return
    folder = tmp_path_factory.mktemp("texts")
    descriptors = []
    for number, text in enumerate(TEXTS):
        (folder / str(number)).write_bytes(text)
        descriptors.append(os.open(folder / str(number), os.O_RDONLY))
    try:
        passed = sieve.passed(descriptors)
        with Matching(pattern, ignore_case, threading.Event()) as matching:
            for descriptor, text in zip(descriptors, TEXTS, strict=True):
                encoding = encoding_of(text)
                if encoding and matching.search(text[encoding.mark :], encoding.codec).lines:
                    assert descriptor in passed, (pattern, text)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


@ripgrep
async def test_a_search_says_the_same_without_ripgrep(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = box(root)
    searches: list[dict[str, object]] = [
        {"pattern": r"n\w+e$"},
        {"pattern": "NEEDLE", "ignore_case": True},
        {"pattern": r"^\s*$"},
        {"pattern": r"[a-z]+\("},
        {"pattern": "(needle|nothing)"},
        {"pattern": "(?i)NEEDLE"},
    ]
    sieved = [await call(tools, "grep", **arguments) for arguments in searches]
    monkeypatch.setenv("PATH", str(root))
    assert Sieve.of("a*", False, root) is None
    assert [await call(tools, "grep", **arguments) for arguments in searches] == sieved


def test_a_ripgrep_of_the_workspace_is_not_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "rg").write_text("#!/bin/sh\ntouch ran\n")
    (root / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", str(root))
    assert Sieve.of("a*", False, root) is None
    assert Sieve.of("a*", False, root / "src") is not None


def test_literals_are_found_where_they_are_plain() -> None:
    cases = {
        "def main": "def main",
        r"def \w+_tool\b": "_tool",
        r"foo\.bar\(x\)": "foo.bar(x)",
        "colou?r": "colo",
        "a+bc": "bc",
        "a|b": "",
        "(abc)": "",
        r"\x41bc": "",
        "ab{2}": "",
        r"\d\d": "",
    }
    assert {pattern: required_literal(pattern) for pattern in cases} == cases


@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", "", ["link.py", "src/deep/er/x.py", "src/main.py"]),
        ("**/*.py", "src", ["src/deep/er/x.py", "src/main.py"]),
        ("src/*.py", "", ["src/main.py"]),
        ("*.py", "src/deep", ["src/deep/er/x.py"]),
        ("main.*", "", ["src/main.py"]),
        ("src/*", "", ["src/.env.example", "src/app.ts", "src/deep/", "src/main.py"]),
        ("*.{ts,md}", "", ["README.md", "src/app.ts"]),
        ("er/", "", ["src/deep/er/"]),
        ("bundle.js", "", []),
        ("secret.txt", "", []),
        ("plan.md", "", []),
        ("config", "", []),
        ("!x", "", []),
        ("[", "", []),
    ],
)
async def test_patterns_mean_paths(root: Path, pattern: str, path: str, found: list[str]) -> None:
    text = (await call(box(root), "glob", pattern=pattern, path=path)).text
    assert text.split("\n")[1:] == found


async def test_a_pattern_may_be_written_from_the_root_and_never_leads_out(root: Path) -> None:
    tools = box(root)
    assert (await call(tools, "glob", pattern=f"{root}/src/*.ts")).text.endswith("\nsrc/app.ts")
    assert 'can\'t hold "..": give the folder as path' in await failure(tools, "glob", pattern="../*")
    assert "is no pattern" in await failure(tools, "glob", pattern="")
    assert "is no pattern" in await failure(tools, "glob", pattern="{a,b}" * 10)
    assert "is no folder: use read" in await failure(tools, "glob", pattern="*", path="README.md")


async def test_many_paths_are_cut_and_kept(root: Path) -> None:
    for number in range(500):
        (root / f"file_{number:03}.txt").touch()
    tools = box(root, result_bytes=2_048)
    result = await call(tools, "glob", pattern="file_*.txt")
    assert byte_length(result.text) <= 2_048
    assert result.text.startswith("[500 paths for file_*.txt, the first 134 here: narrow the pattern for")
    assert len(tools.folder.outputs.get(result.output).split(b"\n")) == 500


async def test_a_folder_is_listed_with_sizes_and_what_is_hidden_is_a_number(root: Path) -> None:
    tools = box(root)
    assert (await call(tools, "ls", path="src")).text.split("\n") == [
        "[src: 4 names; 1 path is hidden from tools]",
        "deep/",
        ".env.example  7 B",
        "app.ts  25 B",
        "main.py  44 B",
    ]
    assert (await call(tools, "ls")).text.split("\n") == [
        "[.: 12 names; 1 path is hidden from tools]",
        ".git/  (ignored)",
        "dist/  (ignored)",
        "notes/",
        "src/",
        ".agentignore  18 B",
        ".gitignore  6 B",
        "README.md  21 B",
        "latin.txt  13 B",
        "link.py  (link)",
        "logo.bin  7 B",
        "pipe  (no file)",
        "wide.txt  20 B",
    ]
    assert "main.py is no folder: use read" in await failure(tools, "ls", path="src/main.py")
    assert "is kept from tools: an .agentignore hides it" in await failure(tools, "ls", path="private")
    (root / "none").mkdir()
    assert (await call(tools, "ls", path="none/")).text == "[none: 0 names]"


async def test_an_agentignore_holds_whatever_a_gitignore_brings_back(root: Path) -> None:
    (root / "notes" / ".gitignore").write_text("!secret.txt\n")
    tools = box(root)
    for name, arguments in {
        "glob": {"pattern": "secret*"},
        "grep": {"pattern": "needle", "path": "notes"},
        "ls": {"path": "notes"},
    }.items():
        assert "secret.txt" not in (await call(tools, name, **arguments)).text
    with pytest.raises(ToolFailed, match=r"\.agentignore hides it"):
        await prepared(tools, "read", path="notes/secret.txt")
