"""Three hundred conversations with a fact in each, and how a person asks for it weeks later."""

from __future__ import annotations

import random
from typing import NamedTuple

SESSIONS = 300
_THINGS = (
    "billing service", "login page", "search index", "mail queue", "image cache", "report job", "audit log",
    "session store", "feature flag", "rate limiter", "backup script", "import wizard", "price table",
    "chat widget", "release train",
)  # fmt: skip
_CHATTER = (
    "Can you explain how this works and where I should look first?",
    "That makes sense, thank you. What would you change about the tests?",
    "Let us keep it simple and come back to the details tomorrow.",
    "The error only shows up on the second run, never on the first one.",
)


class Planted(NamedTuple):
    """``says`` is said once in all; ``asked`` are the words for it."""

    says: str
    asked: str
    shape: str


def planted(number: int) -> Planted:
    """The fact of one conversation, in one of eight shapes."""
    chance = random.Random(number)
    thing, count = _THINGS[number % len(_THINGS)], 1000 + number
    name = "".join(chance.choice("bdfglmnprst") + chance.choice("aeiou") for _ in range(4))
    han = chr(0x4E00 + number) + chr(0x5E00 + number)
    match number % 8:
        case 0:
            return Planted(f"The {thing} listens on port {count}.", f"{thing} {count}", "its words")
        case 1:
            return Planted(f"We call the {thing} {name} from now on.", name, "one rare word")
        case 2:
            return Planted(
                f"Set {name}_retry_{count} in the {thing}.", f"{name} {count}", "parts of snake_case"
            )
        case 3:
            return Planted(f"get{name.title()}Total is in the {thing}.", f"{name}total", "parts of camelCase")
        case 4:
            return Planted(
                f"Die {name.title()}straßenhaltestelle heißt so.", f"{name}strasse", "part of a compound"
            )
        case 5:
            return Planted(f"昨日、{han}タワーに行きました。", han, "two Japanese characters")
        case 6:
            return Planted(f"我们把{han}放在数据库里。", f"{han} 数据库", "Chinese words")
        case _:
            return Planted(
                f"For the {thing} we decided on the {name} approach.",
                f"which {name} approach did they choose back then for {thing}",
                "a whole question, some words not said",
            )


def conversation(number: int) -> list[tuple[str, str]]:
    """Questions and answers, the fact in one of the answers."""
    chance = random.Random(number)
    thing = _THINGS[number % len(_THINGS)]
    exchanges = [(f"{chance.choice(_CHATTER)} ({thing})", chance.choice(_CHATTER)) for _ in range(4)]
    exchanges[chance.randrange(4)] = (
        f"What about the {thing}?",
        f"{chance.choice(_CHATTER)} {planted(number).says}",
    )
    return exchanges
