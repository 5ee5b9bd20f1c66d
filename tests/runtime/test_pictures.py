"""Pictures from a file to the server: the bytes sent are those attached, and a bad one blocks nothing."""

from __future__ import annotations

import base64
import hashlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.entries import EntryStatus, Kind, TurnStatus
from local_agent.domain.errors import LocalAgentError, StoreError, UsageError
from local_agent.domain.events import Event, Notice, TurnEnded
from local_agent.domain.pictures import Picture
from local_agent.domain.requests import MISSING
from local_agent.runtime.conversation import Conversation
from local_agent.runtime.runtime import Runtime
from tests.proofs.faulty_disk import FaultyDisk, failing
from tests.runtime.opened import events_of, opened
from tests.support.ollama_server import HostedServer, ModelSpec, OllamaServer, Turn, error
from tests.support.pictures import drawn, huge_png, turned

SEEING = ModelSpec("seeing:7b", capabilities=("completion", "vision"))
BLIND = ModelSpec("blind:3b")


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with HostedServer(OllamaServer(models=(SEEING,))) as running:
        yield running


@pytest.fixture
def two_models(server: OllamaServer) -> OllamaServer:
    """The blind one was changed last, so it is the one that is chosen."""
    server.models[BLIND.name] = replace(BLIND, modified_at="2026-09-04T10:11:12.123456789+02:00")
    return server


def file_of(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def picture(runtime: Runtime, seed: int = 1, name: str = "cat.png") -> Picture:
    return await runtime.pictures.accept_bytes(drawn("PNG", seed=seed), name)


def stored_file(home: Path, picture: Picture) -> Path:
    return home / "images" / "objects" / picture.sha256[:2] / picture.sha256


def images(message: object) -> list[str]:
    """SHA-256 of what a message of a request carries."""
    assert isinstance(message, dict)
    return [hashlib.sha256(base64.b64decode(each)).hexdigest() for each in message.get("images", ())]


def sent(server: OllamaServer) -> list[list[str]]:
    """What the messages of the last request carry, without the system prompt."""
    return [images(message) for message in server.chats[-1].body["messages"][1:]]


def notices(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def end(events: list[Event]) -> TurnStatus:
    assert isinstance(events[-1], TurnEnded)
    return events[-1].status


async def ask(conversation: Conversation, text: str, *pictures: Picture) -> list[Event]:
    return await events_of(conversation.ask(Prompt(text, pictures)))


async def test_the_bytes_sent_are_the_bytes_attached_now_and_later(
    home: Path, server: OllamaServer, tmp_path: Path
) -> None:
    server.script("A cat.", "A dog and the cat.", "Two.", "Still two.")
    cat, dog = drawn("PNG", seed=1), drawn("JPEG", (30, 20), seed=2)
    paths = file_of(tmp_path, "cat.png", cat), file_of(tmp_path, "dog [b].jpg", dog)
    digests = [hashlib.sha256(data).hexdigest() for data in (cat, dog)]
    async with opened(home, server.url) as runtime:
        first, second = [await runtime.pictures.accept(path) for path in paths]
        assert first == Picture(digests[0], "cat.png", "image/png", len(cat), 8, 6)
        assert (second.name, second.mime, second.width, second.height) == (
            "dog [b].jpg",
            "image/jpeg",
            30,
            20,
        )
        for path in paths:
            path.unlink()
        conversation = runtime.new_conversation()
        await ask(conversation, "", first)
        assert sent(server) == [[digests[0]]]
        assert conversation.title == "cat.png"
        await ask(conversation, "And these?", second, first)
        assert sent(server) == [[digests[0]], [], digests[::-1]]
        handle = conversation.handle
        await conversation.close()
    async with opened(home, server.url) as runtime:
        resumed = await runtime.resume(handle)
        assert [entry.pictures for entry in (await resumed.tail()).entries] == [
            (first,),
            (),
            (second, first),
            (),
        ]
        await ask(resumed, "How many animals?")
        fork = await runtime.resume((await runtime.library.fork(handle)).handle)
        await ask(fork, "How many?")
    requests = [chat.body for chat in server.chats]
    for before, after in itertools.pairwise(requests):
        assert after["messages"][: len(before["messages"])] == before["messages"]
        assert after["options"] == before["options"]
    assert sent(server) == [[digests[0]], [], digests[::-1], [], [], [], []]


async def test_a_turned_picture_is_sent_upright_and_without_its_place(
    home: Path, server: OllamaServer
) -> None:
    server.script("Upright.")
    async with opened(home, server.url) as runtime:
        taken = await runtime.pictures.accept_bytes(turned(), "IMG_0001.JPG")
        assert (taken.width, taken.height) == (20, 40)
        await ask(runtime.new_conversation(), "How?", taken)
    assert sent(server) == [[taken.sha256]]


BAD = {
    "a folder": (None, "is a folder."),
    "nothing": (None, "is not there."),
    "a pipe": (None, "is a pipe or a device, not a file."),
    "a device": (None, "is a pipe or a device, not a file."),
    "empty": (b"", "is empty."),
    "text": (b"hello", "is no picture: PNG, JPEG, GIF and WebP can be taken."),
    "66 bytes": (huge_png(), "has 20,000 x 20,000 pixels; a side may have 16,384."),
    "25 MB": (drawn() + bytes(25_000_000), "has 23.8 MiB; at most 20 MiB can be taken."),
    "cut short": (drawn("JPEG", (300, 200))[:700], "is damaged: it was cut short."),
}


@pytest.mark.parametrize("what", BAD)
async def test_a_bad_file_is_refused_with_a_line_that_names_it(
    home: Path, server: OllamaServer, tmp_path: Path, what: str
) -> None:
    data, line = BAD[what]
    path = tmp_path / "x\x1b[31m.png"
    match what:
        case "a folder":
            path.mkdir()
        case "a pipe":
            os.mkfifo(path)
        case "a device":
            path.symlink_to("/dev/zero")
        case "nothing":
            pass
        case _:
            path.write_bytes(data or b"")
    async with opened(home, server.url) as runtime:
        with pytest.raises(UsageError) as refused:
            await runtime.pictures.accept(path)
    assert str(refused.value) == f"x␛[31m.png {line}"
    assert not (home / "images").exists()


@pytest.mark.parametrize("harm", ["gone", "altered"])
async def test_a_picture_that_is_lost_leaves_the_request_and_the_talk_goes_on(
    home: Path, server: OllamaServer, harm: str
) -> None:
    server.script("A cat.", "A dog.", "Words work.", "Still.")
    async with opened(home, server.url) as runtime:
        cat, dog = await picture(runtime), await picture(runtime, 2, "dog.png")
        conversation = runtime.new_conversation()
        await ask(conversation, "", cat)
        await ask(conversation, "And this?", dog)
        if harm == "gone":
            stored_file(home, cat).unlink()
        else:
            stored_file(home, cat).write_bytes(b"something else")
        told = await ask(conversation, "Go on")
        assert end(told) is TurnStatus.SETTLED
        (line,) = notices(told)
        assert line.startswith("cat.png ") and line.endswith("It is left out from here on.")
        assert sent(server) == [[], [], [dog.sha256], [], []]
        assert notices(await ask(conversation, "And on")) == [], "it is said once"
        with pytest.raises(LocalAgentError, match=r"^cat\.png .* Attach it again\."):
            await ask(conversation, "Look again", cat)
        assert [e.text for e in (await conversation.tail()).entries][-2:] == ["And on", "Still."]


async def test_a_picture_that_the_server_refuses_blocks_no_later_turn(
    home: Path, server: OllamaServer
) -> None:
    server.script("Hello.", Turn(error("failed to decode image", 500)), Turn(error("bad", 400)), "Fine.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await ask(conversation, "Hi")
        bad = await picture(runtime)
        assert end(await ask(conversation, "What is it?", bad)) is TurnStatus.FAILED
        assert end(await events_of(conversation.retry())) is TurnStatus.FAILED
        assert end(await ask(conversation, "Never mind")) is TurnStatus.SETTLED
        assert sent(server) == [[], [], []]
        assert [e.pictures for e in (await conversation.tail()).entries if e.kind is Kind.QUESTION][-2:] == [
            (bad,),
            (),
        ]
    assert len(server.chats[2].body["messages"]) == 4 and images(server.chats[2].body["messages"][3]) == [
        bad.sha256
    ]


async def test_a_pinned_model_without_vision_is_refused_before_anything_is_stored(
    home: Path, two_models: OllamaServer
) -> None:
    async with opened(home, two_models.url, model=BLIND.name) as runtime:
        cat = await picture(runtime)
        conversation = runtime.new_conversation()
        await runtime.save_draft(conversation, Draft("What is it?", pictures=(cat,)))
        with pytest.raises(LocalAgentError) as refused:
            await ask(conversation, "What is it?", cat)
        assert (
            str(refused.value)
            == "blind:3b can't be shown pictures. Choose one with vision: /model, or --model NAME."
        )
        assert conversation.info is None and not conversation.busy
        assert await runtime.take_draft(None) == Draft("What is it?", pictures=(cat,))
    assert two_models.chats == []


async def test_a_model_that_nobody_pinned_gives_way_to_one_with_vision(
    home: Path, two_models: OllamaServer
) -> None:
    two_models.script("Hello.", "A cat.", "Still seeing.")
    async with opened(home, two_models.url) as runtime:
        conversation = runtime.new_conversation()
        await ask(conversation, "Hi")
        assert conversation.model == BLIND.name
        told = await ask(conversation, "What is it?", await picture(runtime))
        assert notices(told) == ["seeing:7b answers: blind:3b can't be shown pictures."]
        assert notices(await ask(conversation, "Sure?")) == []
        handle = conversation.handle
        await conversation.close()
        assert (await runtime.resume(handle)).model == SEEING.name
    assert [chat.body["model"] for chat in two_models.chats] == [BLIND.name, SEEING.name, SEEING.name]


async def test_earlier_pictures_are_left_out_for_a_model_without_vision_and_come_back(
    home: Path, two_models: OllamaServer
) -> None:
    two_models.script("A cat.", "I see nothing.", "Nor now.", "The cat.")
    async with opened(home, two_models.url, model=SEEING.name) as runtime:
        cat = await picture(runtime)
        conversation = runtime.new_conversation()
        await ask(conversation, "", cat)
        await conversation.set_model(BLIND.name)
        told = await ask(conversation, "Describe it")
        assert notices(told) == ["blind:3b can't be shown pictures: those of earlier questions are left out."]
        assert sent(two_models) == [[], [], []]
        assert two_models.chats[-1].body["messages"][1]["content"].strip() not in ("", MISSING)
        assert notices(await ask(conversation, "Sure?")) == []
        await conversation.set_model(SEEING.name)
        await ask(conversation, "And you?")
    assert sent(two_models)[0] == [cat.sha256]


async def test_a_conversation_carries_twelve_and_forgetting_makes_room(
    home: Path, server: OllamaServer
) -> None:
    server.script(*["Seen."] * 3, "Only words.", "One.", "One more.")
    async with opened(home, server.url) as runtime:
        many = [await picture(runtime, seed, f"{seed}.png") for seed in range(14)]
        conversation = runtime.new_conversation()
        with pytest.raises(UsageError, match="No earlier question has a picture"):
            await conversation.forget_pictures()
        with pytest.raises(UsageError, match="5 pictures are too many"):
            await ask(conversation, "All", *many[:5])
        for at in (0, 4, 8):
            await ask(conversation, "These", *many[at : at + 4])
        with pytest.raises(UsageError, match="12 pictures at most"):
            await ask(conversation, "One more", many[12])
        before = await runtime.library.fork(conversation.handle)
        assert await conversation.forget_pictures() == 12
        assert await conversation.pictures.history((await conversation.tail(1)).entries[-1].id) == ()
        await ask(conversation, "Go on")
        assert sent(server) == [[]] * 7
        await ask(conversation, "This", many[13])
        assert sent(server) == [[]] * 8 + [[many[13].sha256]]
        tail = await conversation.tail(4)
        assert [entry.pictures for entry in tail.entries if entry.pictures] == [(many[13],)]
        assert not any(e.pictures for e in (await conversation.before(tail.entries[0].id)).entries)
        assert all(stored_file(home, each).exists() for each in many)
        fork = await runtime.resume(before.handle)
        kept = [each for entry in (await fork.tail()).entries for each in entry.pictures]
        assert kept == many[:12], "another branch keeps them"
        await ask(conversation, "Last")
    assert sent(server)[-1] == [] and sent(server)[8] == [many[13].sha256]


async def test_a_run_that_is_not_saved_leaves_no_picture_on_disk(home: Path, server: OllamaServer) -> None:
    server.script("A cat.")
    async with opened(home, server.url, save=False) as runtime:
        cat = await picture(runtime)
        await ask(runtime.new_conversation(), "What?", cat)
    assert sent(server) == [[cat.sha256]]
    assert files_in(home) == []


async def test_a_stopped_question_keeps_its_pictures(home: Path, server: OllamaServer) -> None:
    server.script("Seen.")
    async with opened(home, server.url) as runtime:
        cat = await picture(runtime)
        conversation = runtime.new_conversation()
        asking = conversation.ask(Prompt("What?", (cat,)))
        conversation.stop()
        assert end(await events_of(asking)) is TurnStatus.INTERRUPTED
        entries = (await conversation.tail()).entries
        if entries:
            assert entries[-1].pictures == (cat,) and entries[-1].status is EntryStatus.SETTLED
        assert end(await ask(conversation, "Again", cat)) is TurnStatus.SETTLED


async def test_pictures_wait_with_their_question_while_nothing_can_be_written(
    home: Path, server: OllamaServer
) -> None:
    server.script("A cat.", "Still.")
    async with failing(home, server.url) as bench:
        cat = await picture(bench.runtime)
        conversation = bench.runtime.new_conversation()
        bench.disk.fault, bench.disk.first, bench.disk.last = FaultyDisk.protect, 1, 1 << 30
        await ask(conversation, "What is it?", cat)
        await ask(conversation, "Sure?")
        assert sent(server) == [[cat.sha256], [], []]
        assert conversation.unsaved
        assert [entry.pictures for entry in (await conversation.tail()).entries] == [(cat,), (), (), ()]
        with pytest.raises(StoreError, match="What is on screen is not saved yet"):
            await conversation.forget_pictures()
        aside = conversation.set_aside()
        assert aside is not None and "[picture] cat.png 8x6 87 B" in aside.read_text()
        bench.disk.mend()
        bench.disk.last = 0
        await conversation.save()
        assert not conversation.unsaved
        assert await conversation.forget_pictures() == 1
        handle = conversation.handle
        await conversation.close()
        assert await bench.runtime.pictures.unused() == []
    async with opened(home, server.url) as runtime:
        stored = await runtime.library.preview(handle)
        assert [entry.text for entry in stored.entries][:2] == ["What is it?", "A cat."]
        assert stored_file(home, cat).exists()


async def test_a_picture_that_takes_too_long_is_given_up_and_the_next_is_taken(
    home: Path, server: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(home, server.url) as runtime:
        with monkeypatch.context() as patched:
            patched.setattr("local_agent.runtime.pictures.DECODE_SECONDS", 0.01)
            with pytest.raises(LocalAgentError, match=r"^large\.png can't be decoded in 0 seconds\.$"):
                await runtime.pictures.accept_bytes(drawn("PNG", (4_000, 4_000)), "large.png")
        assert (await picture(runtime)).name == "cat.png"
