"""Which of very many paths somebody means who has typed a few letters."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

WEIGHED = 4_000
"""Of the paths that hold the letters somewhere, how many are compared at most."""
_STARTS = frozenset("\n/_-. ")


class Ranking:
    """Paths, short ones first, and the order in which a query finds them.

    Ranks are looked for from the best down, and only until enough are found: a letter that most paths
    hold costs no more than one that few do.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        by_length: dict[int, list[str]] = {}
        for path in paths:
            by_length.setdefault(len(path) + 8 * path.count("/", 0, -1), []).append(path)
        # Sorted in many small steps: one long sort would hold up all other threads.
        self.paths: list[str] = []
        for length in sorted(by_length):
            self.paths += sorted(by_length[length])
        folded = [_folded(path) for path in self.paths]
        self._text = _Joined(folded)
        self._names = _Joined([_name(path) for path in folded])
        self._apart_before: tuple[str, Sequence[int]] | None = None
        """A query and all that holds its letters in their order: what a longer one can find at most."""

    def __len__(self) -> int:
        return len(self.paths)

    def find(self, query: str, limit: int = 50) -> list[str]:
        """At most ``limit`` paths, best first; for an empty query those near the top."""
        wanted = _folded(query.removeprefix("./"))
        found: dict[int, None] = {}
        if "\n" not in wanted:
            for number in self._ranked(wanted) if wanted else range(len(self.paths)):
                found[number] = None
                if len(found) == limit:
                    break
        return [self.paths[each] for each in found]

    def _ranked(self, wanted: str) -> Iterator[int]:
        """Numbers of paths, best first, some more than once."""
        if "/" in wanted:
            for part in (f"\n{wanted}", f"/{wanted}"):
                # A folder that is written out is not what is looked for: what lies in it is.
                yield from (
                    each for each in self._text.holding(part) if not f"\n{self._at(each)}".endswith(part)
                )
            yield from self._text.holding(wanted)
        else:
            yield from self._names.holding(f"\n{wanted}")
            yield from self._by_name(wanted)
        yield from self._apart(wanted)

    def _at(self, number: int) -> str:
        return _folded(self.paths[number])

    def _by_name(self, wanted: str) -> list[int]:
        """What holds these letters together: where a word of the name begins, in the name, in its folders."""
        begin, inside, above = [], [], []
        for number in islice(self._text.holding(wanted), WEIGHED):
            name = _name(self._at(number))
            place = name.find(wanted)
            if place < 0:
                above.append(number)
            elif name[place - 1] in _STARTS:
                begin.append(number)
            else:
                inside.append(number)
        return begin + inside + above

    def _apart(self, wanted: str) -> list[int]:
        """What holds the letters in this order, those first that begin words with them."""
        # Possessive: each letter is taken at its first place, so that no path is read twice.
        in_order = re.compile("\n" + "".join(f"[^\n{each}]*+{each}" for each in map(re.escape, wanted)))
        before = self._apart_before
        if before is not None and wanted.startswith(before[0]):
            numbers = [each for each in before[1] if in_order.match(f"\n{self._at(each)}")]
        else:
            numbers = list(islice(self._text.matching(in_order), WEIGHED))
        self._apart_before = (wanted, numbers) if len(numbers) < WEIGHED else None
        return [each for _, each in sorted((_looseness(wanted, self._at(each)), each) for each in numbers)]


class _Joined:
    """Lines in one text, which is searched much faster than a list of them."""

    def __init__(self, lines: Sequence[str]) -> None:
        # A line break stands before each, and at the end.
        self._text = "\n".join(("", *lines, ""))
        self._begins = array("L", _begins(lines))

    def holding(self, part: str) -> Iterator[int]:
        """The numbers of the lines that hold ``part``, once for each time."""
        find = self._text.find
        place = find(part)
        while place >= 0:
            yield bisect_right(self._begins, place) - 1
            place = find(part, place + 1)

    def matching(self, pattern: re.Pattern[str]) -> Iterator[int]:
        """The numbers of the lines that an expression for a line break and what follows matches."""
        return (bisect_right(self._begins, match.start()) - 1 for match in pattern.finditer(self._text))


def _name(path: str) -> str:
    return path[path.rfind("/", 0, -1) + 1 :]


def _folded(text: str) -> str:
    """Without case; as it is where that would change its length, as that of some letters does."""
    lower = text.lower()
    return text if lower == text or len(lower) != len(text) else lower


def _begins(paths: Iterable[str]) -> Iterator[int]:
    place = 0
    for path in paths:
        yield place
        place += len(path) + 1


def _looseness(wanted: str, path: str) -> int:
    """How far the letters lie apart, read from the end: a jump to the start of a word is a small one."""
    cost = 0
    end = len(path)
    for letter in reversed(wanted):
        place = path.rfind(letter, 0, end)
        if place < 0:
            return 1_000
        if place != end - 1:
            cost += 1 if place == 0 or path[place - 1] in _STARTS else 3
        end = place
    return cost + 2 * path.count("/", end, len(path) - 1)
