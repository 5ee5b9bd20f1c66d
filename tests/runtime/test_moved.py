"""A project that moved is found by its first commit; its sessions, drafts and notes come along once asked."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.errors import SessionHeld
from local_agent.runtime.runtime import Runtime
from tests.runtime.opened import events_of, opened
from tests.support.ollama_server import OllamaServer


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a repository of one commit."""
    folder = tmp_path / "old"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "a.txt").write_text(str(tmp_path))
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


def moved(project: Path) -> Path:
    return project.rename(project.with_name("new"))


def changed(project: Path, how: str) -> Path:
    """The folder that is worked in afterwards."""
    new = project.with_name("new")
    if how == "still there":
        git(project, "clone", "--quiet", str(project), str(new))
        return new
    moved(project)
    if how in ("another project", "no repository"):
        shutil.rmtree(new / ".git")
    if how == "another project":
        git(new, "init", "--quiet")
        git(new, "commit", "--quiet", "--allow-empty", "-m", "other")
    return new


@asynccontextmanager
async def at(home: Path, server: OllamaServer, folder: Path) -> AsyncIterator[Runtime]:
    async with opened(home, server.url, workspace=folder) as runtime:
        yield runtime


async def talked(home: Path, server: OllamaServer, folder: Path, *questions: str) -> str:
    """Sessions of one question each; the handle of the last."""
    handle = ""
    async with at(home, server, folder) as runtime:
        for question in questions:
            server.script("Yes.")
            conversation = runtime.new_conversation()
            await events_of(conversation.ask(Prompt(question)))
            handle = conversation.handle
            await conversation.close()
    return handle


async def test_what_was_the_old_folders_comes_along(home: Path, server: OllamaServer, project: Path) -> None:
    handle = await talked(home, server, project, "One?", "Two?")
    async with at(home, server, project) as runtime:
        await runtime.notes.add("The port is 5544.")
        await runtime.save_draft(None, Draft("half a thought"))
        old_file = runtime.notes.path
    new = moved(project)
    async with at(home, server, new) as runtime:
        commit = runtime.git_root_commit
        assert commit is not None and await runtime.library.page() == []
        found = await runtime.moved.find(commit)
        assert found is not None and (found.root, found.sessions) == (str(project), 2)
        await runtime.moved.relink(found, commit)
        assert [info.title for info in await runtime.library.page()] == ["Two?", "One?"]
        assert [note.text for note in (await runtime.notes.read()).kept] == ["The port is 5544."]
        assert not old_file.exists()
        draft = await runtime.take_draft(None)
        assert draft is not None and draft.text == "half a thought"
        assert await runtime.moved.find(commit) is None, "asked once"
        server.script("Still yes.")
        await events_of((await runtime.resume(handle)).ask(Prompt("And now?")))
        assert str(new) in server.chats[-1].raw
        assert (await runtime.library.search("One")).passages[0].workspace_root == str(new)


@pytest.mark.parametrize(
    "why", ["still there", "another project", "no repository", "only trash", "here already"]
)
async def test_nothing_is_offered(home: Path, server: OllamaServer, project: Path, why: str) -> None:
    handle = await talked(home, server, project, "One?")
    new = changed(project, why)
    if why == "here already":
        await talked(home, server, new, "Here?")
    async with at(home, server, new) as runtime:
        if why == "only trash":
            await runtime.library.trash(handle)
        assert await runtime.moved.find(runtime.git_root_commit) is None


async def test_a_no_is_for_good(home: Path, server: OllamaServer, project: Path) -> None:
    await talked(home, server, project, "One?")
    new = moved(project)
    for offered in (True, False):
        async with at(home, server, new) as runtime:
            assert runtime.git_root_commit is not None
            assert (await runtime.moved.find(runtime.git_root_commit) is not None) is offered
            await runtime.moved.leave(runtime.git_root_commit)
            assert await runtime.library.page() == []
            assert len(await runtime.library.page(all_workspaces=True)) == 1


async def test_while_a_process_has_a_session_of_it_open_nothing_is_moved(
    home: Path, server: OllamaServer, project: Path
) -> None:
    handle = await talked(home, server, project, "One?")
    async with at(home, server, project) as other:
        held = await other.resume(handle)
        new = moved(project)
        async with at(home, server, new) as runtime:
            assert runtime.git_root_commit is not None
            found = await runtime.moved.find(runtime.git_root_commit)
            assert found is not None
            with pytest.raises(SessionHeld):
                await runtime.moved.relink(found, runtime.git_root_commit)
            assert await runtime.library.page() == []
        await held.close()


async def test_notes_that_are_there_stay(home: Path, server: OllamaServer, project: Path) -> None:
    await talked(home, server, project, "One?")
    async with at(home, server, project) as runtime:
        await runtime.notes.add("Of the old folder.")
        old_file = runtime.notes.path
    new = moved(project)
    async with at(home, server, new) as runtime:
        assert runtime.git_root_commit is not None
        await runtime.notes.add("Of the new folder.")
        found = await runtime.moved.find(runtime.git_root_commit)
        assert found is not None
        await runtime.moved.relink(found, runtime.git_root_commit)
        texts = {note.text for note in (await runtime.notes.read()).kept}
        assert texts == {"Of the new folder.", "Of the old folder."}
        assert not old_file.exists()
