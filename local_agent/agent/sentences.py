"""What the loop tells the person: one plain sentence for each ending, with the way out."""

from __future__ import annotations

from collections.abc import Sequence

from local_agent.domain.entries import ToolCall
from local_agent.domain.errors import ModelError, ModelErrorKind, OutcomeUnknown
from local_agent.domain.text import one_line

_KEPT = "What arrived is kept; retry to ask again."
_NAMES_SHOWN = 5
_NAME_WIDTH = 40


def cut_off() -> ModelError:
    """The stream ended without ``done``."""
    return ModelError(ModelErrorKind.CUT_OFF, "The reply was cut off before the model was done.", _KEPT)


def empty(at_limit: bool = False, max_output: int = 0) -> ModelError:
    """A whole reply with nothing in it; at its limit it was in the middle of a call."""
    if at_limit:
        return ModelError(
            ModelErrorKind.EMPTY,
            f"The reply reached its limit of {max_output:,} tokens before anything of it could be used.",
            "Raise model.max_output, or ask for smaller steps.",
        )
    return ModelError(
        ModelErrorKind.EMPTY, "The model sent an empty reply.", "Retry, or choose another model."
    )


def only_thinking(at_limit: bool, max_output: int) -> ModelError:
    """A whole reply that is thinking and no answer."""
    if at_limit:
        return ModelError(
            ModelErrorKind.ONLY_THINKING,
            f"The model spent its output limit of {max_output:,} tokens on thinking and wrote no answer.",
            "Raise model.max_output, or turn thinking off.",
        )
    return ModelError(
        ModelErrorKind.ONLY_THINKING,
        "The model ended after thinking, without an answer.",
        "Retry, or turn thinking off.",
    )


def repeating() -> ModelError:
    """The model went round in circles."""
    return ModelError(
        ModelErrorKind.REPEATING,
        "The model repeated itself over and over and was stopped.",
        "What it wrote is kept; retry, or choose another model.",
    )


def silent(seconds: float) -> ModelError:
    """The watchdog's limit passed without output."""
    return ModelError(
        ModelErrorKind.SILENT,
        f"Nothing arrived for {seconds:g} seconds, the limit that model.watchdog_seconds sets.",
        _KEPT,
    )


def too_long(tokens: int, window: int) -> ModelError:
    """The request is far larger than the context window; it was not sent."""
    return ModelError(
        ModelErrorKind.CONTEXT_OVERFLOW,
        f"This needs about {tokens:,} tokens and the context window holds {window:,}: it was not sent.",
        "Shorten the question, leave turns out with /context, or set a larger ollama.num_ctx.",
    )


def question_too_long(tokens: int, most: int) -> ModelError:
    """The question alone is larger than what fits; it was neither stored nor sent."""
    return ModelError(
        ModelErrorKind.CONTEXT_OVERFLOW,
        f"The question is too long: about {tokens:,} tokens, and {most:,} fit. It was not sent.",
        "Shorten it, mention a part of the file, or set a larger ollama.num_ctx.",
    )


def window_too_small(tokens: int, most: int) -> ModelError:
    """What goes along with every question is larger than what fits."""
    return ModelError(
        ModelErrorKind.CONTEXT_OVERFLOW,
        f"Instructions and tools alone need about {tokens:,} tokens, and {most:,} fit: nothing can be asked.",
        "Set a larger ollama.num_ctx, or tools.enabled to false.",
    )


def out_of_requests(made: int) -> ModelError:
    """The turn has made all the requests that it may."""
    return ModelError(
        ModelErrorKind.LIMIT,
        f"The model made {made} requests in this turn and is not done.",
        "Everything is kept; say “go on” to let it work on.",
    )


def no_progress(made: int) -> ModelError:
    """A segment of the turn changed nothing."""
    return ModelError(
        ModelErrorKind.LIMIT,
        f"The model made {made} requests in this turn, and the last of them changed nothing.",
        "Everything is kept; say what to do next, or “go on”.",
    )


def same_call(tool: str, times: int) -> ModelError:
    """The model tries what has failed before."""
    return ModelError(
        ModelErrorKind.REPEATING,
        f"The same call of {one_line(tool, _NAME_WIDTH)} failed {times} times.",
        "Everything is kept; say what to do instead.",
    )


def uncertain(tool: str) -> OutcomeUnknown:
    """A call was begun, and its end is not known."""
    return OutcomeUnknown(
        f"What became of a call of {one_line(tool, _NAME_WIDTH)} is not known; the turn ends here.",
        "Look at it with /recover.",
    )


def asked_again(error: ModelError) -> str:
    """The model stumbled, and gets another try."""
    return f"{error.line} It is asked again."


def recovered(model: str, count: int) -> str:
    """Calls were found in the text of a reply."""
    calls = "a call of a tool" if count == 1 else f"{count} calls of tools"
    return f"{one_line(model, _NAME_WIDTH)} wrote {calls} as text; it is read as such."


SHORTENED = "Older results of tools are left out of what is sent, to fit the context window."


def trimmed(count: int) -> str:
    """Results that were stored in a larger window."""
    results = "A result of a tool is" if count == 1 else f"{count} results of tools are"
    return f"{results} larger than this context window allows: the middle is left out of what is sent."


def smaller_window(model: str, before: int, window: int) -> str:
    """The model does not fit into memory with the window that was chosen for it."""
    return (
        f"{one_line(model, _NAME_WIDTH)} does not fit into memory with a context window of "
        f"{before:,} tokens: it is asked with {window:,} from now on."
    )


def tight(room: int) -> str:
    """The request nearly fills the window."""
    return f"The reply has room for {room:,} tokens."


def at_limit(max_output: int, *, of_window: bool = False) -> str:
    """The answer ended where the output limit is, or the context window."""
    if of_window:
        return f"The reply ended where the context window is full: it had room for {max_output:,} tokens."
    return f"The reply ended at the output limit of {max_output:,} tokens. Ask the model to go on."


def not_run(calls: Sequence[ToolCall]) -> str:
    """The model asked for tools although none was offered."""
    names = [one_line(call.name, _NAME_WIDTH) or "unnamed" for call in calls]
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    shown = ", ".join(names[:_NAMES_SHOWN]) + more
    return f"The model asked for tools that it was not offered ({shown}): they were not run."


def may_be_cut(tokens: int, window: int) -> str:
    """The server's count says that the prompt filled the window."""
    return (
        f"The prompt filled the context window ({tokens:,} of {window:,} tokens): "
        "the server may have cut its beginning."
    )


def silence_note(server: str, reachable: bool, loaded: bool | None, started: bool) -> str:
    """What was found when nothing had arrived for a while. ``server`` is what answers: server or engine."""
    if not reachable:
        return f"the {server} does not answer"
    if loaded is False and not started:
        return f"the {server} answers; the model is not loaded yet"
    found = f"the {server} answers" + (" and the model is loaded" if loaded else "")
    return f"{found}; it may be {'writing a tool call' if started else 'reading the prompt'}"
