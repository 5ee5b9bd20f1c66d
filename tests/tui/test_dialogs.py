"""The dialogs: Enter and Esc do the safe thing, everything else is a decision."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Static

from local_agent.domain.errors import LocalAgentError, StoreError
from local_agent.domain.sessions import Holder
from local_agent.tui.screens.demo import DemoScreen, Progress
from local_agent.tui.screens.dialog import Dialog
from local_agent.tui.screens.draft_choice import DraftAnswer, DraftDialog
from local_agent.tui.screens.held import HeldAnswer, HeldDialog
from local_agent.tui.screens.host_consent import ConsentAnswer, HostConsentDialog
from local_agent.tui.screens.not_opened import NotOpenedAnswer, NotOpenedDialog
from local_agent.tui.screens.stop_turn import StopAnswer, StopTurnDialog
from local_agent.tui.widgets.bar import Bar
from tests.tui.pilots import listening, screen_text, until
from tests.tui.stage import Stage

HOLDER = Holder(4242, "laptop", "pts/3", "2026-01-01T10:00:00.000Z", 2)


def held() -> Dialog[HeldAnswer]:
    return HeldDialog("a1b2c3d", HOLDER)


def draft() -> Dialog[DraftAnswer]:
    return DraftDialog("a1b2c3d")


def consent() -> Dialog[ConsentAnswer]:
    return HostConsentDialog("gpu-box", "http://gpu-box:11434")


def unopened() -> Dialog[NotOpenedAnswer]:
    return NotOpenedDialog(StoreError("The disk is full.", "Make room on it."), readable=True, damaged=True)


DIALOGS: list[tuple[Callable[[], Screen[object]], object]] = [
    (held, HeldAnswer.CANCEL),
    (draft, DraftAnswer.CANCEL),
    (StopTurnDialog, StopAnswer.LET_IT_RUN),
    (consent, ConsentAnswer.NO),
    (unopened, NotOpenedAnswer.RETRY),
]


async def answer(make: Callable[[], Screen[object]], *keys: str, size: tuple[int, int] = (80, 24)) -> object:
    app = Stage(make())
    async with app.run_test(size=size) as pilot:
        await listening(pilot)
        await pilot.press(*keys)
        await until(pilot, lambda: app.given)
    return app.given[0]


@pytest.mark.parametrize("key", ["enter", "escape"])
@pytest.mark.parametrize(("make", "safe"), DIALOGS)
async def test_enter_and_esc_give_the_safe_answer(
    make: Callable[[], Screen[object]], safe: object, key: str
) -> None:
    assert await answer(make, key) is safe


@pytest.mark.parametrize(
    ("make", "keys", "given"),
    [
        (held, ("r",), HeldAnswer.READ_ONLY),
        (held, ("down", "enter"), HeldAnswer.READ_ONLY),
        (held, ("t", *"Take over", "enter"), HeldAnswer.TAKE_OVER),
        (held, ("t", "escape"), HeldAnswer.CANCEL),
        (draft, ("k",), DraftAnswer.KEEP_BOTH),
        (draft, ("d",), DraftAnswer.DISCARD_BOTH),
        (draft, ("tab", "tab", "enter"), DraftAnswer.DISCARD_BOTH),
        (StopTurnDialog, ("s",), StopAnswer.STOP),
        (consent, ("y",), ConsentAnswer.NOW),
        (consent, ("a",), ConsentAnswer.ALWAYS),
        (unopened, ("u",), NotOpenedAnswer.GO_ON),
        (unopened, ("l",), NotOpenedAnswer.LEAVE),
        (unopened, ("r",), NotOpenedAnswer.READ),
        (unopened, ("s", "enter"), NotOpenedAnswer.RETRY),
    ],
)
async def test_other_answers_have_a_key_of_their_own(
    make: Callable[[], Screen[object]], keys: tuple[str, ...], given: object
) -> None:
    assert await answer(make, *keys) is given


async def test_what_is_being_typed_when_a_dialog_comes_up_is_no_answer() -> None:
    app = Stage(dialog := draft())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen is dialog)
        assert not dialog.listening and dialog.row_list.highlighted is None
        for key in ("d", "k", "enter", "escape", "down", "d"):
            app.post_message(Key(key, key if len(key) == 1 else None))
        await listening(pilot)
        assert not app.given and dialog.row_list.highlighted == 0
        await pilot.press("k")
        await until(pilot, lambda: app.given)
    assert app.given == [DraftAnswer.KEEP_BOTH]


async def test_taking_over_wants_the_words() -> None:
    app = Stage(dialog := held())
    async with app.run_test(size=(80, 24)) as pilot:
        await listening(pilot)
        await pilot.press("t", "enter")
        await until(pilot, lambda: "Nothing was changed." in screen_text(pilot))
        await pilot.press(*"yes", "enter")
        await pilot.pause()
        assert app.screen is dialog
        assert not app.given
        await pilot.press(*"take over", "enter")
        await until(pilot, lambda: app.given)
    assert app.given == [HeldAnswer.TAKE_OVER]


async def test_a_holder_and_a_host_are_named() -> None:
    app = Stage(held())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Process 4242 on pts/3 of laptop" in screen_text(pilot))
    app = Stage(consent())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "gpu-box is not this machine." in screen_text(pilot))
        words = " ".join(screen_text(pilot).split())
        assert "Your conversation will leave this machine for http://gpu-box:11434, over plain http" in words


async def test_https_is_not_called_plain() -> None:
    app = Stage(HostConsentDialog("gpu-box", "https://gpu-box"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "for https://gpu-box." in screen_text(pilot))


@pytest.mark.parametrize(("make", "safe"), DIALOGS)
async def test_all_answers_are_in_sight_in_the_smallest_terminal(
    make: Callable[[], Screen[object]], safe: object
) -> None:
    app = Stage(dialog := make())
    async with app.run_test(size=(30, 12)) as pilot:
        await until(pilot, lambda: app.screen is dialog)
        assert isinstance(dialog, Dialog)
        await until(pilot, lambda: dialog.row_list.region.height == dialog.row_list.option_count)
        assert dialog.region.contains_region(dialog.row_list.region)


@dataclass(frozen=True)
class Came:
    """So far."""

    done: int
    total: int

    @property
    def line(self) -> str:
        return f"{self.done} of {self.total}"


class Download:
    """A fetch that goes on when it is told to, and knows whether it was cancelled."""

    def __init__(self) -> None:
        self.more = asyncio.Event()
        self.begun = 0
        self.cancelled = False
        self.fails = False

    async def __call__(self, progress: Callable[[Progress], None]) -> Path:
        self.begun += 1
        await asyncio.to_thread(progress, Came(30, 90))
        try:
            await self.more.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.fails:
            raise LocalAgentError("The index does not answer.", "Try again later.")
        return Path("/cache/model.gguf")


async def test_a_download_shows_how_far_it_is_and_gives_the_path() -> None:
    download = Download()
    app = Stage(screen := DemoScreen(download))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "30 of 90" in screen_text(pilot))
        assert screen.query_one(Bar).share == pytest.approx(1 / 3)
        assert "93 MB" in screen_text(pilot)
        download.more.set()
        await until(pilot, lambda: app.given)
    assert app.given == [Path("/cache/model.gguf")]


async def test_a_download_is_cancelled_by_esc() -> None:
    download = Download()
    app = Stage(DemoScreen(download))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: download.begun)
        await pilot.press("escape")
        await until(pilot, lambda: app.given and download.cancelled)
    assert app.given == [None]


async def test_a_failed_download_says_why_and_can_be_tried_again() -> None:
    download = Download()
    download.fails = True
    download.more.set()
    app = Stage(screen := DemoScreen(download))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen.failed)
        await until(
            pilot,
            lambda: (
                str(screen.query_one("#line", Static).content)
                == "The index does not answer. Try again later."
            ),
        )
        assert not app.given
        download.fails = False
        await pilot.press("r")
        await until(pilot, lambda: app.given)
    assert download.begun == 2
    assert app.given == [Path("/cache/model.gguf")]
