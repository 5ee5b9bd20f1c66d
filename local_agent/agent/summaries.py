"""What a summary is asked for with, whether it is of use, and the one that the program puts together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from local_agent.agent.repetition import repeats
from local_agent.domain.entries import Entry, Kind, ToolCall
from local_agent.domain.ports import DonePart, Reply
from local_agent.domain.text import normalise, one_line
from local_agent.domain.tree import results_by_call

# Short and plain: models of one to four billion parameters have to follow it.
_ASK = """\
Summarise {what}, so that the work can go on from the summary alone.
Do not answer anything in it, and call no tools. Write only the summary, in the language of the conversation,
in at most {words} words. Say, as far as there is something to say:
- the goal
- what was decided
- which files were changed, and their state
- what failed
- what is next
Keep names, paths, commands and numbers exactly as they are."""
_FOCUS = "\nAbove all, keep what is about: {focus}"
_WORDS_PER_TOKEN = 0.6
_FOCUS_LIMIT = 400
READER = "You summarise conversations briefly and exactly."

BY_PROGRAM = "Put together by the program, because the model's summary was of no use:"

_PIECE = 6
"""One message takes this part of what a transcript has room for at most."""
_CALL = 160
_CHANGING = ("write", "edit", "patch", "mkdir", "move", "copy", "remove")
_PLACES = ("path", "to")
_LINE = 120
_FILES = 20


def instruction(room: int, focus: str = "", *, what: str = "our conversation up to here") -> str:
    """What asks for a summary of at most ``room`` tokens."""
    text = _ASK.format(what=what, words=int(room * _WORDS_PER_TOKEN))
    return text + (_FOCUS.format(focus=one_line(focus, _FOCUS_LIMIT)) if focus.strip() else "")


def transcript(path: Sequence[Entry], left: Sequence[Entry], earlier: str, limit: int) -> str:
    """What leaves the window as text of about ``limit`` bytes, cut in the middle."""
    pieces = [clipped(piece, limit // _PIECE) for piece in _pieces(path, left)]
    if earlier.strip():
        pieces.insert(0, clipped(f"Summary of what came before:\n{normalise(earlier)}", limit // 3))
    return _without_middle(pieces, limit)


def useless(reply: Reply, done: DonePart | None, most: int) -> str:
    """Why a reply is no summary; empty for one. ``most``: bytes of what it would replace."""
    text = reply.text.strip()
    if reply.calls:
        return "it called a tool"
    if not text:
        return "it was nothing but thinking" if reply.thinking.strip() else "it was empty"
    if done is not None and done.reason == "length":
        return "it was cut off where its room ended"
    if repeats(text):
        return "it repeats itself"
    if _size(text) >= most:
        return "it is longer than what it would replace"
    return ""


def put_together(path: Sequence[Entry], left: Sequence[Entry], earlier: str, limit: int) -> str:
    """A summary of at most ``limit`` bytes without a model: what was asked, changed and answered last."""
    questions = [f"- {_asked(entry)}" for entry in left if entry.kind in (Kind.QUESTION, Kind.COMMAND)]
    files = [f"- {line}" for line in _changed(left)]
    answers = [e.text for e in left if e.kind is Kind.ASSISTANT and e.readable and e.text.strip()]
    parts = [
        ("Before that:", [clipped(normalise(earlier), limit // 4)] if earlier.strip() else []),
        ("Asked:", [_without_middle(questions, limit // 3, "\n")] if questions else []),
        ("Calls that change files:", [_without_middle(files, limit // 6, "\n")] if files else []),
        ("The last answer began:", [clipped(normalise(answers[-1]).strip(), limit // 5)] if answers else []),
    ]
    told = "\n\n".join("\n".join((heading, *lines)) for heading, lines in parts if lines)
    return clipped(f"{BY_PROGRAM}\n\n{told}".rstrip(), limit, tail=False)


def clipped(text: str, limit: int, *, tail: bool = True) -> str:
    """At most ``limit`` bytes of a text: its beginning and, with ``tail``, its end."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    mark = " … "
    room = max(0, limit - len(mark.encode()))
    head = room * 2 // 3 if tail else room
    end = data[len(data) - (room - head) :].decode("utf-8", "ignore") if room > head else ""
    return (data[:head].decode("utf-8", "ignore") + mark + end).rstrip()


def _pieces(path: Sequence[Entry], left: Sequence[Entry]) -> Iterator[str]:
    results = results_by_call(path)
    for entry in left:
        if not entry.readable:
            continue
        answers = results.get(entry.id, {})
        match entry.kind:
            case Kind.QUESTION:
                yield f"Person: {_asked_in_full(entry)}"
            case Kind.COMMAND:
                yield f"Person ran: {normalise(entry.text)}{_result(answers.get(0))}"
            case Kind.ASSISTANT:
                if entry.text.strip():
                    yield f"Assistant: {normalise(entry.text).strip()}"
                for number, call in enumerate(entry.calls):
                    yield f"Assistant called {_call(call)}{_result(answers.get(number))}"
            case _:
                pass


def _call(call: ToolCall) -> str:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
    return f"{one_line(call.name, _LINE)} {one_line(arguments, _CALL)}"


def _result(result: Entry | None) -> str:
    if result is None or not result.readable:
        return ""
    return f" -> {_size(result.text):,} bytes: {one_line(result.text[: _CALL * 8], _CALL)}"


def _asked(entry: Entry) -> str:
    if not entry.readable:
        return "(a question that can't be read)"
    first = one_line(entry.text.strip().partition("\n")[0], _LINE)
    return first or _pictures(entry)


def _asked_in_full(entry: Entry) -> str:
    pictures = _pictures(entry)
    return " ".join(part for part in (normalise(entry.text).strip(), pictures) if part)


def _pictures(entry: Entry) -> str:
    names = ", ".join(one_line(picture.name, _LINE) for picture in entry.pictures)
    return f"(pictures: {names})" if names else ""


def _changed(left: Iterable[Entry]) -> list[str]:
    """What the model wanted done to files, a line for each, the newest last."""
    found: dict[str, None] = {}
    for entry in left:
        for call in entry.calls:
            if entry.kind is Kind.ASSISTANT and call.name in _CHANGING:
                places = [str(call.arguments[name]) for name in _PLACES if name in call.arguments]
                line = f"{call.name} {one_line(' -> '.join(places), _LINE)}".rstrip()
                found.pop(line, None)
                found[line] = None
    return list(found)[-_FILES:]


def _without_middle(pieces: Sequence[str], limit: int, joint: str = "\n\n") -> str:
    """The first piece and as many of the last ones as fit, with a word on what is missing between."""
    whole = joint.join(pieces)
    if _size(whole) <= limit or len(pieces) < 2:
        return clipped(whole, limit)
    first = clipped(pieces[0], limit // 3)
    room = limit - _size(first) - 2 * len(joint) - 40
    last: list[str] = []
    for piece in reversed(pieces[1:]):
        room -= _size(piece) + len(joint)
        if room < 0:
            break
        last.append(piece)
    missing = len(pieces) - 1 - len(last)
    return joint.join((first, *((f"(… {missing} left out …)",) if missing else ()), *reversed(last)))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
