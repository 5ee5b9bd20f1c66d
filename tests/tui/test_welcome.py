"""What an empty conversation says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from local_agent.domain.sessions import SessionInfo
from local_agent.tui.look.glyphs import UNICODE
from local_agent.tui.widgets.welcome import Missing, WelcomeFacts, welcome_lines

LAST = SessionInfo(
    id=1,
    handle="a1b2c3d",
    title="Flaky [b]test[/]",
    title_source="task",
    workspace_id=1,
    workspace_root="/projects/tidy",
    head=2,
    mode="NORMAL",
    backend="ollama",
    host="http://127.0.0.1:11434",
    model="tiny:1b",
    model_pinned=False,
    headless=False,
    trashed=False,
    parent_session=None,
    fork_entry=None,
    created_at="2020-01-01T00:00:00.000Z",
    last_activity="2020-01-01T00:00:00.000Z",
    last_entry=2,
    turn_count=1,
    error_count=0,
)
READY = WelcomeFacts(
    "/projects/tidy", "tiny:1b", "ollama", "http://127.0.0.1:11434", LAST, missing=Missing.NOTHING
)


def said(facts: WelcomeFacts, width: int = 60) -> list[str]:
    return [text for line in welcome_lines(facts, UNICODE, width) if (text := line.content.plain.rstrip())]


def test_where_you_are_what_answers_and_how_to_get_back() -> None:
    assert said(READY) == [
        "local-agent",
        "here    /projects/tidy",
        "model   tiny:1b · Ollama, http://127.0.0.1:11434",
        "last    a1b2c3d · Flaky [b]test[/] · on 2020-01-01",
        "ctrl+s, /sessions   earlier conversations",
        "--resume latest     the last one, at the next start",
    ]


@pytest.mark.parametrize(
    ("missing", "model", "ways"),
    [
        (
            Missing.SERVER,
            "model   no Ollama answers at http://127.0.0.1:11434",
            [
                "ollama serve        in another terminal starts it",
                "f3                  the built-in engine, with a small model",
            ],
        ),
        (
            Missing.MODEL,
            "model   Ollama at http://127.0.0.1:11434 has no model yet",
            [
                "f4, /pull           gets one, such as qwen3:4b",
                "f3                  the built-in engine, with a small model",
            ],
        ),
    ],
)
def test_what_is_missing_comes_with_the_way_out(missing: Missing, model: str, ways: list[str]) -> None:
    lines = said(replace(READY, model="", latest=None, missing=missing))
    assert lines[2:] == [model, *ways]
    without_engine = said(replace(READY, model="", latest=None, missing=missing, embedded_possible=False))
    assert without_engine[2:] == [model, ways[0]]


def test_before_anything_is_known_it_only_says_where_you_are() -> None:
    assert said(WelcomeFacts("/projects/tidy")) == [
        "local-agent",
        "here    /projects/tidy",
        "model   looking for one …",
    ]


def test_an_unsaved_run_says_so() -> None:
    assert said(replace(READY, saved=False))[-1] == "--no-save           nothing of this run is kept"


def test_the_embedded_engine_is_named_as_such() -> None:
    assert "model   small.gguf · in this process" in said(
        replace(READY, model="small.gguf", backend="embedded")
    )


@pytest.mark.parametrize("missing", list(Missing))
@pytest.mark.parametrize("width", [1, 8, 20, 28, 55, 56, 60])
def test_it_fits_any_width_and_few_rows(missing: Missing, width: int) -> None:
    lines = welcome_lines(replace(READY, missing=missing), UNICODE, width)
    if width >= 20:
        assert all(line.content.cell_length <= width for line in lines)
        assert len(lines) <= 11


def test_outside_text_is_sanitised() -> None:
    hostile = replace(READY, workspace="/tmp/\x1b[2J", model="m\x07", address="\u202eevil")
    assert not set("\x1b\x07\u202e") & set("".join(said(hostile)))
