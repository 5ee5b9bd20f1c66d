"""Times, sizes and counts as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from local_agent.domain.sizes import size_words

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def moment(stamp: str) -> datetime | None:
    """A stored UTC time as local time; None when it can't be read."""
    try:
        parsed = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone()


def ago(stamp: str, now: datetime | None = None) -> str:
    """How long ago, in at most ten characters: ``now``, ``2 min``, ``3 h``, ``yesterday``, ``Nov 21``."""
    then = moment(stamp)
    if then is None:
        return ""
    today = (now or datetime.now(UTC)).astimezone()
    seconds = (today - then).total_seconds()
    if seconds < _MINUTE:
        return "now"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min"
    days = (today.date() - then.date()).days
    if days == 0 or seconds < _DAY / 4:
        return f"{int(seconds // _HOUR)} h"
    if days == 1:
        return "yesterday"
    if days < 7:
        return f"{days} days"
    return day(then, today)


def since(stamp: str, now: datetime | None = None) -> str:
    """``ago`` as part of a sentence: ``2 min ago``, ``yesterday``, ``on Nov 21``."""
    text = ago(stamp, now)
    if text.endswith((" min", " h", " days")):
        return f"{text} ago"
    if text in ("", "yesterday"):
        return text
    return "just now" if text == "now" else f"on {text}"


def day(then: datetime, today: datetime) -> str:
    """A date, without its year when it is this year's."""
    if then.year == today.year:
        return f"{then:%b} {then.day}"
    return f"{then:%Y-%m-%d}"


def clock(stamp: str, now: datetime | None = None) -> str:
    """A time of day, with its date when it was not today."""
    then = moment(stamp)
    if then is None:
        return ""
    today = (now or datetime.now(UTC)).astimezone()
    if then.date() == today.date():
        return f"{then:%H:%M}"
    return f"{day(then, today)}, {then:%H:%M}"


def left(stamp: str, now: datetime | None = None) -> str:
    """A time to come, with how far off it is: ``13:29, 4 min left``."""
    then = moment(stamp)
    if then is None:
        return ""
    ahead = (then - (now or datetime.now(UTC))).total_seconds()
    if ahead < 0:
        return f"{clock(stamp, now)}, over"
    if ahead > 10 * _DAY:
        return "for good"
    distance = seconds(ahead) if ahead < 2 * _HOUR else f"{ahead / _HOUR:.0f} h"
    return f"{clock(stamp, now)}, {distance} left"


def size(count: int | None) -> str:
    """Bytes in words; nothing for what is unknown."""
    return "" if count is None else size_words(count)


def tokens(count: int | None) -> str:
    """A token count or window: ``812``, ``6.1k``, ``32k``."""
    if count is None:
        return ""
    if count < 1000:
        return str(count)
    if count % 1024 == 0:
        return f"{count // 1024}k"
    thousands = count / 1000
    return f"{thousands:.1f}k" if thousands < 10 else f"{thousands:.0f}k"


def seconds(duration: float | None) -> str:
    """A duration: ``31 ms``, ``2.4 s``, ``3 min``."""
    if duration is None:
        return ""
    if duration < 1:
        return f"{duration * 1000:.0f} ms"
    if duration < _MINUTE:
        return f"{duration:.1f} s"
    return f"{duration / _MINUTE:.0f} min"


def counted(count: int, noun: str) -> str:
    """``1 turn``, ``14 turns``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def branches_words(count: int) -> str:
    """``1 branch``, ``3 branches``."""
    return f"{count} branch" if count == 1 else f"{count} branches"
