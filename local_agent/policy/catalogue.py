"""What is known of commands, as it is shown: what only reads, what runs project code, what is asked about."""

from __future__ import annotations

from local_agent.policy.projects import PROJECTS
from local_agent.policy.readers import GIT_READERS, READERS, VERSIONS


def lines() -> list[str]:
    """The catalogue, line by line, none wider than 80 cells."""
    git = sorted(GIT_READERS)
    return [
        "Only reads, when all its files are in the workspace:",
        *_wrapped(sorted(READERS)),
        *_wrapped(["git " + name for name in git]),
        *_wrapped([f"{name} --version" for name in sorted(VERSIONS)]),
        "Runs the project's own code:",
        *_wrapped(
            [f"{name} ({each.about})" if each.about else name for name, each in sorted(PROJECTS.items())]
        ),
        "a script of the workspace, such as ./build.sh",
        "Everything else is asked about, and so is all that has a variable, braces,",
        "a substitution, a redirection, an assignment, a loop, or a file outside.",
    ]


def _wrapped(names: list[str], width: int = 76) -> list[str]:
    found = [""]
    for name in names:
        if len(found[-1]) + len(name) + 2 > width:
            found.append("")
        found[-1] += f", {name}" if found[-1] else name
    return [f"  {line}" for line in found]
