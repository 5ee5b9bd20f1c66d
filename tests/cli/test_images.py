"""``-p --image``, pictures in ``session show``, and ``images gc``."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path

import pytest

from local_agent.config.paths import Paths
from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.pictures import Picture
from local_agent.objects.store import SPARED_SECONDS, ObjectFolder
from local_agent.store.store import Store
from tests.cli.program import run
from tests.store.samples import VERSION
from tests.support.ollama_server import ModelSpec, OllamaServer
from tests.support.pictures import drawn, huge_png

NAME = "c\x1b]0;at [b]\u202e.png"


@pytest.fixture(autouse=True)
def seeing(server: OllamaServer) -> None:
    server.models["llama3.2:3b"] = ModelSpec("llama3.2:3b", capabilities=("completion", "vision"))


def age(objects: ObjectFolder) -> None:
    long_ago = time.time() - SPARED_SECONDS - 60
    for path in objects.folder.rglob("*"):
        os.utime(path, (long_ago, long_ago))


async def test_a_picture_goes_with_a_prompt_is_shown_and_stays_while_anything_needs_it(
    server: OllamaServer, project: Path, home: Path
) -> None:
    server.script("A cat.")
    data = drawn()
    (project / NAME).write_bytes(data)
    (project / "other.jpg").write_bytes(drawn("JPEG"))

    answered = run("-p", "What is it?", "--image", NAME, "--image", "other.jpg", cwd=project)
    assert (answered.code, answered.out) == (0, "A cat.\n")
    sent = [base64.b64decode(each) for each in server.chats[0].body["messages"][-1]["images"]]
    assert sent == [data, drawn("JPEG")]

    (listed,) = json.loads(run("session", "list", "--json", cwd=project).out)
    shown = run("session", "show", listed["handle"], cwd=project).out
    assert "\n  [picture] c\u241b]0;at [b].png 8x6 87 B\n  [picture] other.jpg 8x6 " in shown
    document = json.loads(run("session", "show", "--json", listed["handle"], cwd=project).out)
    pictures = document["messages"][1]["pictures"]
    assert document["entries"][0]["pictures"] == pictures
    assert [each["mime"] for each in pictures] == ["image/png", "image/jpeg"]
    assert "path" not in pictures[0] and base64.b64encode(data).decode() not in json.dumps(document)

    objects = ObjectFolder(Paths.discover().picture_objects)
    queued, drafted, needless = (objects.put(drawn(seed=seed)) for seed in (1, 2, 3))
    age(objects)
    young = objects.put(drawn(seed=4))
    foreign = objects.folder / needless[:2] / ".DS_Store"
    foreign.write_bytes(b"not ours")
    store = Store.open(Paths.discover().database, program_version=VERSION)
    picture = document["entries"][0]["pictures"][0]
    mine = [Picture(**{**picture, "sha256": digest}) for digest in (queued, drafted)]
    await store.save_draft("/elsewhere", None, Draft("", (Prompt("q", (mine[0],)),), (mine[1],)))
    await store.close()

    before = {each.digest for each in objects.all()}
    listing = run("images", "gc", cwd=project)
    assert listing.out.startswith(needless[:16]) and len(listing.out.splitlines()) == 1
    assert (
        listing.line
        == "Nothing refers to these: 1 picture, 87 B. Remove them with: local-agent images gc --apply"
    )
    assert {each.digest for each in objects.all()} == before

    removed = json.loads(run("images", "gc", "--apply", "--json", cwd=project).out)
    assert [each["digest"] for each in removed["removed"]] == [needless]
    assert {each.digest for each in objects.all()} == before - {needless} and young in before
    assert foreign.exists()
    assert run("images", "gc", "--apply", cwd=project).line.startswith("Every picture is needed")


def test_a_bad_picture_is_one_line_and_nothing_is_asked(
    server: OllamaServer, project: Path, home: Path
) -> None:
    (project / "huge.png").write_bytes(huge_png())

    refused = run("-p", "What?", "--image", "huge.png", cwd=project)
    assert (refused.code, refused.out) == (2, "")
    assert refused.line == "huge.png has 20,000 x 20,000 pixels; a side may have 16,384."
    assert run("--image", "huge.png", cwd=project).line.startswith("--image needs -p TEXT.")
    missing = run("-p", "What?", "--image", "none.png", "--output", "json", cwd=project)
    assert json.loads(missing.out)["error"]["line"] == "none.png is not there."
    assert server.chats == [] and json.loads(run("session", "list", "--json", cwd=project).out) == []


def test_a_model_without_vision_is_one_line_and_nothing_is_kept(server: OllamaServer, project: Path) -> None:
    server.models["llama3.2:3b"] = ModelSpec("llama3.2:3b")
    (project / "cat.png").write_bytes(drawn())

    refused = run("-p", "What?", "--image", "cat.png", "--model", "llama3.2:3b", cwd=project)
    assert refused.code == 1
    line = "llama3.2:3b can't be shown pictures. Choose one with vision: /model, or --model NAME."
    assert refused.line == line
    assert server.chats == [] and json.loads(run("session", "list", "--json", cwd=project).out) == []


def test_without_a_database_nothing_is_tidied_up(project: Path, home: Path) -> None:
    objects = ObjectFolder(Paths.discover().picture_objects)
    objects.put(drawn())
    age(objects)

    refused = run("images", "gc", "--apply", cwd=project)
    assert (refused.code, len(list(objects.all()))) == (2, 1)
    assert refused.line.startswith("There is no database at ")
