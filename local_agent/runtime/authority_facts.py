"""What the model may do in a conversation right now, for the runtime view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_agent.domain.text import one_line

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation

_UNCONFINED = "nothing: commands run with all that you may do"


async def authority_facts(conversation: Conversation) -> dict[str, object]:
    """Label to value; empty lists are left out."""
    hands, offered = conversation.hands, conversation.planner.offered
    facts: dict[str, object] = {
        "mode": str(conversation.mode),
        "tools": len(offered) if offered else "none: the model is offered none",
        "confined in AUTO": hands.sandbox.describe() if hands.sandbox is not None else _UNCONFINED,
        "rules": len(hands.authority.rules()),
    }
    if hands.authority.problem:
        facts["rules"] = hands.authority.problem
    for command in hands.commands.jobs:
        facts[f"job {command.id}"] = f"{one_line(command.text, 60)} ({command.seconds:.0f} s)"
    if pending := await conversation.pending():
        facts["uncertain calls"] = f"{len(pending)}: /recover"
    return facts
