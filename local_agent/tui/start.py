"""What happens between the first paint and the first prompt: the store opens, questions are asked."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING

from local_agent.domain.errors import LocalAgentError
from local_agent.tui import opening
from local_agent.tui.widgets.prompt_pane import PromptPane
from local_agent.tui.widgets.remarks import Remark

if TYPE_CHECKING:
    from local_agent.runtime.runtime import Runtime
    from local_agent.tui.screens.chat import ChatScreen

_HEAVY = ("local_agent.runtime.runtime", "local_agent.tui.turn_view", "local_agent.tui.commands.builtin")
"""Modules that cost too much to be imported before the first paint."""


async def start(screen: ChatScreen) -> None:
    """Open the runtime and whatever the command line asked for."""
    launch = screen.launch
    try:
        await asyncio.to_thread(_import_heavy)
        from local_agent.runtime.runtime import Runtime  # on its thread by now

        runtime = await Runtime.open(launch.options, launch.settings, launch.paths)
    except LocalAgentError as error:
        await screen.transcript.add(Remark(error.line, "error", error.hint, screen.glyphs))
        return
    screen.runtime = screen.drafts.runtime = runtime
    for notice in runtime.startup_notices:
        screen.notify_line(notice, "warning")
    await _ask_consent(screen, runtime)
    await _fetch_demo(screen, runtime)
    await _first_conversation(screen, runtime)


def _import_heavy() -> None:
    for name in _HEAVY:
        importlib.import_module(name)


async def _ask_consent(screen: ChatScreen, runtime: Runtime) -> None:
    host = runtime.consent_needed
    if host is None:
        return
    from local_agent.tui.screens.host_consent import ConsentAnswer, HostConsentDialog

    address = runtime.engines.current.address
    answer = await screen.app.push_screen_wait(HostConsentDialog(host, address, glyphs=screen.glyphs))
    if answer is not ConsentAnswer.NO:
        await runtime.allow_host(remember=answer is ConsentAnswer.ALWAYS)


async def _fetch_demo(screen: ChatScreen, runtime: Runtime) -> None:
    if runtime.wants_demo:
        await get_demo(screen, runtime)


async def get_demo(screen: ChatScreen, runtime: Runtime) -> None:
    """Fetch the demo model in a dialog and use it from the next conversation on."""
    from local_agent.tui.screens.demo import DemoScreen

    path = await screen.app.push_screen_wait(DemoScreen(runtime.fetch_demo, glyphs=screen.glyphs))
    if path is not None:
        await runtime.use_embedded(path)


async def _first_conversation(screen: ChatScreen, runtime: Runtime) -> None:
    opening.put_back(screen, await screen.drafts.take(None))
    if screen.launch.options.resume is not None:
        await opening.open_handle(screen, screen.launch.options.resume)
    if screen.conversation is None:
        await opening.replace(screen, runtime.new_conversation())
    for prompt in screen.turns.queue.take_all():
        screen.pane.post_message(PromptPane.Prompted(prompt))
    screen.show_facts()
