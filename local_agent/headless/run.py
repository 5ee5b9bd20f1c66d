"""One prompt without a screen: opens the runtime, asks, prints, keeps the session."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.settings import Settings
from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import TurnStatus
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.events import Event
from local_agent.headless.approving import Answers, FromInput, Nobody
from local_agent.headless.consent import not_allowed
from local_agent.headless.receipt import Receipt
from local_agent.runtime.conversation import Conversation
from local_agent.runtime.runtime import Runtime

EXIT_INTERRUPTED = 128 + signal.SIGINT


class Output(Protocol):
    """A form of output: the events as they come, then the receipt."""

    def show(self, event: Event) -> None:
        """Take one event."""

    def finish(self, receipt: Receipt) -> None:
        """Take the end."""


async def answer(
    text: str,
    images: Sequence[Path],
    options: LaunchOptions,
    settings: Settings,
    paths: Paths,
    output: Output,
    say: Callable[[str], None],
    answers_from: int | None = None,
) -> int:
    """Ask once, with pictures from ``images``; the exit code.

    What would have to be asked is refused, unless the descriptor ``answers_from`` gives the answers.

    Errors outside the turn are raised after the receipt is written.
    """
    receipt = Receipt()
    try:
        runtime = await Runtime.open(options, settings, paths, on_wait=partial(_tell_wait, say))
        try:
            await _make_ready(runtime, say)
            pictures = [await runtime.pictures.accept(path) for path in images]
            prompt = Prompt(text, tuple(pictures))
            answers = Nobody(say) if answers_from is None else FromInput(answers_from, say)
            return await _ask(runtime.new_conversation(), prompt, output, receipt, answers)
        finally:
            await runtime.close()
    except LocalAgentError as error:
        receipt.fail(error)
        output.finish(receipt)
        raise


def _tell_wait(say: Callable[[str], None], waiting: bool) -> None:
    if waiting:
        say("The database is in use: waiting for it.")


async def _make_ready(runtime: Runtime, say: Callable[[str], None]) -> None:
    for notice in runtime.startup_notices:
        say(notice)
    host = runtime.consent_needed
    if host is not None:
        raise not_allowed(host, runtime.paths.config_file)
    if runtime.wants_demo:
        told: list[str] = []
        await runtime.use_embedded(await runtime.fetch_demo(lambda step: _tell_once(step.line, told, say)))


def _tell_once(line: str, told: list[str], say: Callable[[str], None]) -> None:
    """Say each stage once, not each megabyte."""
    stage = line.partition(",")[0]
    if stage not in told:
        told.append(stage)
        say(line)


async def _ask(
    conversation: Conversation, prompt: Prompt, output: Output, receipt: Receipt, answers: Answers
) -> int:
    received: list[signal.Signals] = []
    read = True
    try:
        with _stopping_on_signals(conversation, received):
            async with aclosing(conversation.ask(prompt)) as events:
                async for event in events:
                    receipt.note(event)
                    read = read and _show(output, event)
                    answers.asked(event, conversation.answer)
                    if not read:
                        conversation.stop()
            if (news := await conversation.save_at_last()) is not None:
                receipt.note(news)
                read = read and _show(output, news)
            receipt.model, receipt.title = conversation.model, conversation.title
    finally:
        answers.close()
        await conversation.close()
    if not read:
        return 0
    receipt.refused = answers.refused
    output.finish(receipt)
    if receipt.status == TurnStatus.SETTLED and receipt.unsaved is None and not receipt.refused:
        return 0
    return EXIT_INTERRUPTED if signal.SIGINT in received else 1


def _show(output: Output, event: Event) -> bool:
    """False when nobody reads the answer any more."""
    try:
        output.show(event)
    except BrokenPipeError:
        return False
    return True


@contextmanager
def _stopping_on_signals(conversation: Conversation, received: list[signal.Signals]) -> Iterator[None]:
    """The first signal stops the turn and keeps what arrived; a second one cancels without waiting."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        if received and task is not None:
            task.cancel()
        received.append(number)
        conversation.stop()

    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [signal.Signals[name] for name in names]
    with suppress(NotImplementedError):  # Windows: Ctrl+C cancels the task instead
        for number in numbers:
            loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        with suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)
