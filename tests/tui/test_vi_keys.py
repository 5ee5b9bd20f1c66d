"""Letters move where nothing is typed, when they are asked to; in a list that narrows, control does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.containers import VerticalScroll

from local_agent.config.settings import UISettings
from local_agent.tui.screens.draft_choice import DraftAnswer, DraftDialog
from local_agent.tui.screens.help import HelpScreen
from local_agent.tui.screens.settings import SettingsScreen
from local_agent.tui.screens.themes import ThemesScreen
from tests.runtime.opened import settings_for
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import until
from tests.tui.stage import NOBODY_THERE


async def shown(chat: Chat, kind: type, *keys: str) -> Any:
    """Press keys, and wait for a screen."""
    await chat.pilot.press(*keys)
    await until(chat.pilot, lambda: isinstance(chat.app.screen, kind))
    return chat.app.screen


@pytest.mark.parametrize("vi", [True, False])
async def test_letters_move_in_viewers_and_lists_and_are_text_elsewhere(home: Path, vi: bool) -> None:
    settings = replace(settings_for(NOBODY_THERE), ui=UISettings(vi=vi))
    async with chatting(home, NOBODY_THERE, settings=settings, size=(80, 14)) as chat:
        await until(chat.pilot, lambda: chat.screen.conversation)
        await chat.type("jkgG")
        assert chat.screen.composer.text == "jkgG"
        chat.screen.pane.clear_draft()

        page = (await shown(chat, HelpScreen, "f1")).query_one(VerticalScroll)
        await chat.pilot.press("G")
        await chat.pilot.pause()
        assert (page.scroll_offset.y == page.max_scroll_y > 0) is vi
        await chat.pilot.press("g", "j", "j", "k")
        await until(chat.pilot, lambda: page.scroll_offset.y == (1 if vi else 0))
        await chat.pilot.press("ctrl+d", "ctrl+u", "k")
        await until(chat.pilot, lambda: page.scroll_offset.y == 0)
        await chat.pilot.press("escape")

        chat.screen.action_command("/theme")
        themes = await shown(chat, ThemesScreen)
        await chat.pilot.press("j", "j", "k")
        await chat.pilot.pause()
        assert themes.row_list.highlighted == (1 if vi else 0)
        await chat.pilot.press("G")
        await chat.pilot.pause()
        assert (themes.row_list.highlighted == themes.row_list.option_count - 1) is vi
        await chat.pilot.press("escape")


async def test_the_letters_of_a_question_stay_its_answers(home: Path) -> None:
    settings = replace(settings_for(NOBODY_THERE), ui=UISettings(vi=True))
    async with chatting(home, NOBODY_THERE, settings=settings) as chat:
        await until(chat.pilot, lambda: chat.screen.conversation)
        given: list[DraftAnswer | None] = []
        dialog = DraftDialog("a1b2c3d")
        chat.app.push_screen(dialog, given.append)
        await until(chat.pilot, lambda: chat.app.screen is dialog and dialog.listening)
        await chat.pilot.press("j", "j")
        await chat.pilot.pause()
        assert dialog.row_list.highlighted == 2
        await chat.pilot.press("k")
        await until(chat.pilot, lambda: given)
        assert given == [DraftAnswer.KEEP_BOTH]


async def test_a_list_that_narrows_moves_by_control_and_types_letters(home: Path) -> None:
    async with chatting(home, NOBODY_THERE) as chat:
        await until(chat.pilot, lambda: chat.screen.conversation)
        chat.screen.action_command("/settings")
        settings: SettingsScreen = await shown(chat, SettingsScreen)
        await until(chat.pilot, lambda: settings.selected)
        await chat.pilot.press("ctrl+j", "ctrl+n", "ctrl+j", "ctrl+k")
        await until(chat.pilot, lambda: settings.row_list.highlighted == 2)
        await chat.type("ui")
        await until(chat.pilot, lambda: settings.filter_input.value == "ui")
