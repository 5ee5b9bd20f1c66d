"""What commands did to files is put back, and done again, as if tools had done it."""

from __future__ import annotations

from pathlib import Path

from local_agent.domain.modes import Mode
from local_agent.domain.moves import Scope
from local_agent.domain.restoring import Standing
from tests.runtime.opened import opened
from tests.runtime.test_time_travel import lay_out
from tests.runtime.travelling import Tree, Worker, tree_of
from tests.support.ollama_server import OllamaServer

COMMANDS = [
    "echo 'count = 2' > app.py && mkdir -p made/deep && echo new > made/deep/new.txt",
    "rm -r folder && chmod 700 run.sh && sed -i s/two/deux/ windows.txt",
    "mv data/old.txt made/ && rmdir data && ln -s made/old.txt old",
    "rm -r made old && touch -r app.py t && printf 'count = 3\\n' > app.py && touch -r t app.py && rm t",
    r"printf one > $'bad\xff' && printf two > 'a [b] name' && mv $'bad\xff' $'worse\xfe'",
    "rm doomed.txt && mkdir doomed.txt && echo inside > doomed.txt/file && printf '\\377\\0' > untouched.bin",
]


async def test_back_to_before_each_of_these_commands(home: Path, server: OllamaServer) -> None:
    async with opened(home, server.url, mode=Mode.AUTO, skip_approvals=True) as runtime:
        work = home.parent / "work"
        lay_out(work, git=False)
        worker = Worker(runtime.new_conversation(), server, work)
        await worker.turn()
        trees: list[Tree] = [tree_of(work)]
        for command in COMMANDS:
            await worker.turn(("bash", {"command": command}))
            trees.append(tree_of(work))

        for turn in range(len(COMMANDS), 0, -1):
            await worker.undo(Scope.BOTH)
            assert tree_of(work) == trees[turn - 1], COMMANDS[turn - 1]
        for turn in range(1, len(trees)):
            await worker.redo(Scope.BOTH)
            assert tree_of(work) == trees[turn], COMMANDS[turn - 1]


async def test_what_nobody_read_before_stays_and_is_named(home: Path, server: OllamaServer) -> None:
    async with opened(home, server.url, mode=Mode.AUTO, skip_approvals=True) as runtime:
        work = home.parent / "work"
        (work / "large.bin").write_bytes(b"a" * 300_000)
        (work / "small.txt").write_text("small\n")
        worker = Worker(runtime.new_conversation(), server, work)
        await worker.turn()
        await worker.turn(
            ("bash", {"command": "printf b >> large.bin; echo b >> small.txt; truncate -s 3T huge"})
        )
        journey = await worker.conversation.time.undo()
        standing = {each.path: each.standing for each in journey.files.paths}
        assert standing == {
            "huge": Standing.BARRED,
            "large.bin": Standing.LOST,
            "small.txt": Standing.RESTORED,
        }
        await worker.go(journey, Scope.BOTH)
        assert (work / "small.txt").read_text() == "small\n"
        assert (work / "large.bin").stat().st_size == 300_001
