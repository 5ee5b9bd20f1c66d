"""Opens the database for the screen, and asks how to go on where that is refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from local_agent.domain.errors import Damaged, LocalAgentError, OnlyReadable, StoreError

if TYPE_CHECKING:
    from local_agent.runtime.runtime import Runtime
    from local_agent.store.damage import Damage
    from local_agent.tui.screens.chat import ChatScreen
    from local_agent.tui.screens.not_opened import NotOpenedAnswer

WAITING = "the database is in use, waiting"


async def open_runtime(screen: ChatScreen) -> Runtime | None:
    """The runtime in the way that the person chose; None when they left or there is none to be had."""
    from local_agent.runtime.runtime import Runtime  # on its thread by now

    launch = screen.launch
    options, reading = launch.options, False
    while True:
        try:
            if reading:
                return await Runtime.read(options, launch.settings, launch.paths)
            return await Runtime.open(
                options,
                launch.settings,
                launch.paths,
                on_wait=lambda waiting: screen.show_facts(WAITING if waiting else ""),
            )
        except StoreError as error:
            refusal = error
        except LocalAgentError as error:
            await _remark(screen, error)
            return None
        answer = await _ask(screen, refusal)
        if answer == answer.LEAVE:
            await screen.leave(1)
            return None
        reading = answer == answer.READ
        if answer == answer.GO_ON:
            options = replace(options, save=False, resume=None)


async def _ask(screen: ChatScreen, error: StoreError) -> NotOpenedAnswer:
    """What the person wants; setting the file aside is done here, and then it is opened again."""
    from local_agent.tui.screens.not_opened import NotOpenedAnswer, NotOpenedDialog

    damage = await _damage(screen, error) if isinstance(error, Damaged) else None
    readable = isinstance(error, OnlyReadable) or (damage is not None and damage.readable)
    dialog = NotOpenedDialog(error, readable=readable, damaged=damage is not None, glyphs=screen.glyphs)
    answer = await screen.app.push_screen_wait(dialog)
    if answer is NotOpenedAnswer.SET_ASIDE and damage is not None:
        await _set_aside(screen, damage)
    return answer


async def _damage(screen: ChatScreen, error: StoreError) -> Damage | None:
    """Proof that the file is damaged; without it nothing is set aside."""
    from local_agent.store.damage import find_damage

    screen.show_facts("the database is being checked")
    try:
        return await asyncio.to_thread(find_damage, screen.launch.paths.database)
    except (OSError, StoreError):
        return None
    finally:
        screen.show_facts()


async def _set_aside(screen: ChatScreen, damage: Damage) -> None:
    from local_agent.store.damage import set_aside

    try:
        aside = await asyncio.to_thread(set_aside, screen.launch.paths.database, damage)
    except StoreError as error:
        await _remark(screen, error)
    else:
        screen.notify_line(f"The damaged database is kept as {aside}; this is a new one.", "warning")


async def _remark(screen: ChatScreen, error: LocalAgentError) -> None:
    from local_agent.tui.widgets.remarks import Remark

    await screen.transcript.add(Remark(error.line, "error", error.hint, screen.glyphs))
