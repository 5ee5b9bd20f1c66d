"""What happens between the first paint and the first prompt: the store opens, questions are asked."""

from __future__ import annotations

import asyncio
import gc
import importlib
import sys
from typing import TYPE_CHECKING

from local_agent.domain.drafts import Draft, Prompt, as_one
from local_agent.domain.errors import LocalAgentError
from local_agent.tui.conversation import opening
from local_agent.tui.first_opening import open_runtime
from local_agent.tui.look.quantities import counted

if TYPE_CHECKING:
    from local_agent.runtime.runtime import Runtime
    from local_agent.tui.screens.chat import ChatScreen

_HEAVY = (
    "local_agent.runtime.runtime",
    "local_agent.tui.conversation.stored",
    "local_agent.tui.conversation.turn_view",
    "local_agent.tui.commands.topics",
    "local_agent.llm.ollama",
)
"""Modules that cost too much to be imported before the first paint."""


async def start(screen: ChatScreen) -> None:
    """Open the runtime and whatever the command line asked for."""
    await asyncio.to_thread(_import_heavy)
    runtime = await open_runtime(screen)
    if runtime is None:
        return
    screen.runtime = screen.drafts.runtime = runtime
    draft = await screen.drafts.take(None)
    if runtime.options.resume is not None:
        # Whether it goes along is asked about text.
        draft = as_one(draft)
    opening.put_back(screen, draft)
    await ask_consent(screen, runtime)
    if runtime.wants_demo:
        await _fetch_demo(screen, runtime)
    if runtime.options.resume is None:
        await _offer_sessions(screen, runtime)
    await _first_conversation(screen, runtime, draft)
    # A conversation that opens takes the place of all that the transcript shows.
    for notice in runtime.startup_notices:
        screen.notify_line(notice, "warning")
    # What has been built meanwhile stays too; a full collection in mid-reply would go through all of it.
    gc.freeze()


def _import_heavy() -> None:
    """Load the rest of the program beside the screen, which gets its turn ten times as often meanwhile."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 10)
    try:
        for name in _HEAVY:
            importlib.import_module(name)
    finally:
        sys.setswitchinterval(usual)
        # A full collection holds the screen up for 130 ms, most of it over what stays for good.
        gc.freeze()
        gc.enable()


async def ask_consent(screen: ChatScreen, runtime: Runtime) -> bool:
    """Ask whether the conversation may leave this machine, where it would; True when it may."""
    host = runtime.consent_needed
    if host is None:
        return True
    from local_agent.tui.screens.host_consent import ConsentAnswer, HostConsentDialog

    address = runtime.engines.current.address
    answer = await screen.app.push_screen_wait(HostConsentDialog(host, address, glyphs=screen.glyphs))
    if answer is ConsentAnswer.NO:
        return False
    await runtime.allow_host(remember=answer is ConsentAnswer.ALWAYS)
    return True


async def _offer_sessions(screen: ChatScreen, runtime: Runtime) -> None:
    """Ask whether the sessions of a folder that this project seems to have moved from come along."""
    commit = runtime.git_root_commit
    if commit is None or not (runtime.saved and runtime.writable):
        return
    try:
        old = await runtime.moved.find(commit)
        if old is None:
            return
        from local_agent.tui.screens.moved import MovedAnswer, MovedDialog

        answer = await screen.app.push_screen_wait(MovedDialog(old, glyphs=screen.glyphs))
        if answer is MovedAnswer.BRING:
            await runtime.moved.relink(old, commit)
            screen.notify_line(f"{counted(old.sessions, 'session')} came along. Ctrl+S lists them.")
        elif answer is MovedAnswer.LEAVE:
            await runtime.moved.leave(commit)
    except LocalAgentError as error:
        screen.notify_line(str(error), "warning")


async def use_demo(screen: ChatScreen) -> None:
    """Begin a new conversation with the small demo model in this process."""
    runtime = screen.runtime
    if runtime is None or not await opening.may_leave(screen):
        return
    if await _fetch_demo(screen, runtime):
        await opening.replace(screen, runtime.new_conversation())


def send_once_allowed(screen: ChatScreen, prompt: Prompt) -> None:
    """Send a prompt when the person has consented; without it, it goes back to the composer."""
    queue = screen.turns.queue
    if queue.sending:
        queue.add(prompt)
    else:
        queue.sending = prompt
        screen.run_worker(_ask_once_allowed(screen, prompt), group="opening")


async def _ask_once_allowed(screen: ChatScreen, prompt: Prompt) -> None:
    runtime, refused = screen.runtime, screen.conversation
    if runtime is None or refused is None:
        return
    if await ask_consent(screen, runtime):
        handle = refused.handle
        await refused.close()
        allowed = await runtime.resume(handle) if handle else runtime.new_conversation()
        await opening.replace(screen, allowed)
        screen.send_prompt(prompt)
    else:
        screen.turns.queue.sending = None
        screen.turns.queue.hold()
        screen.load_prompt(prompt)


async def _fetch_demo(screen: ChatScreen, runtime: Runtime) -> bool:
    from local_agent.tui.screens.demo import DemoScreen

    path = await screen.app.push_screen_wait(DemoScreen(runtime.fetch_demo, glyphs=screen.glyphs))
    if path is None:
        return False
    await runtime.use_embedded(path)
    return True


async def _first_conversation(screen: ChatScreen, runtime: Runtime, draft: Draft) -> None:
    if runtime.options.resume is not None:
        # What was typed into this window is meant for the session that it was started with.
        await opening.open_handle(screen, runtime.options.resume, unsent=bool(draft.text))
    if screen.conversation is None:
        await opening.replace(screen, runtime.new_conversation())
    for prompt in screen.turns.queue.take_all():
        screen.send_prompt(prompt)
    screen.show_facts()
