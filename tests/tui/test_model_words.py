"""What is said of models: how far a pull is, how long a wait takes, what a list begins with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from local_agent.domain.entries import Usage
from local_agent.domain.errors import UsageError
from local_agent.domain.models import Fit, Location, ModelInfo, PullProgress, Speed
from local_agent.runtime.suggested import GIB, suggested_model
from local_agent.tui.look.glyphs import ASCII, UNICODE
from local_agent.tui.models.model_list import Listed, arranged, found
from local_agent.tui.models.pull_meter import PullMeter
from local_agent.tui.models.thinking_modes import next_thinking, thinking_of, thinking_words
from local_agent.tui.widgets.model_details import Details, details_lines
from local_agent.tui.widgets.model_row import ModelRow
from local_agent.tui.widgets.phase import Pace, fitting

QWEN = ModelInfo(
    "qwen3:4b",
    digest="2bfd38a7daaf4b1037efe517ccb73d1a",
    size=2_500_000_000,
    parameters="4.0B",
    quantization="Q4_K_M",
    family="qwen3",
    trained_window=262_144,
    capabilities=frozenset({"completion", "tools", "thinking"}),
    location=Location.LOCAL,
    licence="Apache License",
    template="Go template",
)
GEMMA = replace(QWEN, name="gemma3:12b", family="gemma3", capabilities=frozenset({"completion", "vision"}))
EMBED = replace(QWEN, name="nomic-embed-text:latest", capabilities=frozenset({"embedding"}))
GPT = replace(QWEN, name="gpt-oss:20b", family="gptoss")
CLOUD = replace(QWEN, name="big:cloud", location=Location.CLOUD, proxied=True)


def names(models: list[Listed]) -> list[str]:
    return [model.name for model in models]


def listed() -> list[Listed]:
    return [
        Listed(CLOUD),
        Listed(EMBED, Fit.FITS),
        Listed(replace(GPT, name="huge:70b"), Fit.TOO_BIG),
        Listed(replace(QWEN, name="tight:8b"), Fit.TIGHT),
        Listed(QWEN, Fit.FITS),
        Listed(replace(QWEN, name="used:4b"), Fit.FITS, Speed(7, 41.0)),
        Listed(replace(GEMMA, loaded=True), Fit.TOO_BIG),
    ]


def test_the_useful_model_is_first() -> None:
    assert names(arranged(listed())) == [
        "gemma3:12b",
        "used:4b",
        "qwen3:4b",
        "tight:8b",
        "big:cloud",
        "huge:70b",
        "nomic-embed-text:latest",
    ]


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("qw", "qwen3:4b"),
        ("vision", "gemma3:12b"),
        ("gptoss", "huge:70b"),
        ("ud4", "used:4b"),
        ("CLOUD", "big:cloud"),
    ],
)
def test_a_model_is_found_by_name_family_and_ability(typed: str, first: str) -> None:
    assert names(found(arranged(listed()), typed))[0] == first


def test_every_word_counts() -> None:
    assert names(found(arranged(listed()), "vision qwen")) == []
    assert names(found(arranged(listed()), "12b vision")) == ["gemma3:12b"]


def test_a_row_says_the_most_important_at_every_width() -> None:
    model = Listed(QWEN, Fit.FITS, Speed(3, 41.2))
    row = ModelRow(model, UNICODE)
    assert " ".join(row(26).plain.split()) == "qwen3:4b ✓ fits"
    assert row(72).plain.split() == ["qwen3:4b", "✓", "fits", "2.5", "GB", "41", "tok/s", "tools", "think"]
    assert row(120).plain.split()[-4:] == ["256k", "Q4_K_M", "tools", "think"]
    assert all(row(width).cell_length == width for width in (12, 20, 26, 40, 76, 120))
    too_big = ModelRow(model._replace(fit=Fit.TOO_BIG), ASCII)
    assert "x too big" in too_big(40).plain


def test_a_hostile_name_is_drawn_as_text() -> None:
    hostile = replace(QWEN, name="evil\x1b[31m\n[b]\u202e:1b", licence="\x1b]0;x\x07", family="a\nb")
    model = Listed(hostile, Fit.FITS)
    drawn = [ModelRow(model, UNICODE)(60).plain]
    drawn += [line.content.plain for line in details_lines(Details(model), UNICODE, 60)]
    assert any("[b]" in line for line in drawn)
    assert not any(char in line for line in drawn for char in "\x1b\n\u202e\x07")


def test_details_tell_what_is_known_and_nothing_else() -> None:
    model = Listed(
        replace(QWEN, loaded=True, size_vram=1_000_000_000),
        Fit.TIGHT,
        Speed(3, 41.2, 0.61, 6.2, "2020-01-01T00:00:00.000Z"),
    )
    details = Details(model, 16_384, 4_200_000_000)
    said = [" ".join(line.content.plain.split()) for line in details_lines(details, UNICODE, 80)]
    assert "window 16k tokens · up to 256k" in said
    assert "memory about 4.2 GB · tight: little is left for anything else" in said
    assert "loaded yes, 40% in video memory" in said
    assert "licence Apache License" in said
    assert "can completion, thinking, tools" in said
    assert "writes 41 tokens/s" in said
    assert "loads in 6.2 s" in said
    assert "last used on 2020-01-01" in said
    assert not any(line.endswith("not known") for line in said)
    bare = details_lines(Details(Listed(ModelInfo("x"))), UNICODE, 80)
    said = [" ".join(line.content.plain.split()) for line in bare]
    assert said == [
        "x",
        "",
        "On this machine",
        "where not known, so not taken for local",
        "loaded no",
        "",
        "Measured here",
        "turns none yet",
    ]


def test_a_pull_is_added_up_over_its_layers() -> None:
    meter = PullMeter()
    meter.note(PullProgress("pulling manifest"), 0.0)
    assert (meter.total, meter.parts(0.0)) == (0, ["pulling manifest"])
    for second in range(6):
        meter.note(
            PullProgress("pulling aa", second * 200_000_000, 2_000_000_000, "sha256:aa"), float(second)
        )
    assert meter.parts(5.0) == ["50%", "1.0 of 2.0 GB", "200 MB/s", "5.0 s left"]
    assert meter.layer_line() == "layer 1, 1.0 of 2.0 GB"
    meter.note(PullProgress("pulling bb", None, 60_000, "sha256:bb"), 6.0)
    assert meter.layer_line() == "layer 2, 0 B of 60 kB"
    assert meter.done == 1_000_000_000
    meter.note(PullProgress("verifying sha256 digest"), 7.0)
    assert meter.layer_line() == "verifying sha256 digest"
    assert meter.parts(7.0) == ["50%", "1.0 of 2.0 GB"]


def test_what_an_earlier_pull_left_is_no_speed() -> None:
    meter = PullMeter()
    meter.note(PullProgress("pulling aa", 1_900_000_000, 2_000_000_000, "a"), 0.0)
    meter.note(PullProgress("pulling aa", 1_910_000_000, 2_000_000_000, "a"), 2.0)
    assert meter.parts(2.0) == ["96%", "1.9 of 2.0 GB", "5.0 MB/s", "18.0 s left"]


def test_a_layer_never_goes_back_and_a_total_may_be_missing() -> None:
    meter = PullMeter()
    for done in (None, 500, 300, 900):
        meter.note(PullProgress("pulling aa", done, None, "a"), 1.0)
    assert (meter.done, meter.total, meter.share) == (900, 900, 1.0)


def test_reading_is_guessed_from_what_the_last_prompt_took() -> None:
    pace = Pace()
    assert pace.reading(400, 1.0) == ""
    assert pace.reading(8000, 1.0) == "about 2.0k tokens"
    pace = pace.after(Usage(4000, 200, None, 8.0, 5.0))
    assert pace.reading(4000, 4.0) == "about 2.0k of 5.2k tokens"
    assert pace.reading(4000, 60.0) == "about 5.2k tokens"
    assert pace.after(Usage()) == pace
    loaded = (
        pace.after(Usage(load_seconds=0.004)).after(Usage(load_seconds=6.2)).after(Usage(load_seconds=9.0))
    )
    assert loaded.load_seconds == 6.2


def test_a_narrow_phase_line_keeps_what_is_done_and_how_long_it_takes() -> None:
    parts = ["reading the prompt", "about 800 of 1.2k tokens", "", "4 s", "usually 6 s"]
    whole = "reading the prompt · about 800 of 1.2k tokens · 4 s · usually 6 s"
    assert fitting(parts, " · ", 76) == whole
    assert fitting(parts, " · ", len(whole) - 1) == "reading the prompt · about 800 of 1.2k tokens · 4 s"
    assert fitting(parts, " · ", 26) == "reading the prompt · 4 s"
    assert fitting(["writing", "", "41 tok/s", "12 s", ""], " · ", 20) == "writing · 12 s"


def test_thinking_has_words_and_an_order() -> None:
    assert next_thinking(None, QWEN) is False
    assert next_thinking(False, QWEN) is True
    assert [next_thinking(value, GPT) for value in (None, "high", "low", "medium")] == [
        "high",
        "low",
        "medium",
        "high",
    ]
    assert thinking_of("AUTO", QWEN) is None
    assert thinking_of("low", GPT) == "low"
    for word, model, line in (
        ("low", QWEN, "without levels"),
        ("off", GPT, "always thinks"),
        ("on", GEMMA, "does not think aloud"),
        ("maybe", QWEN, "no 'maybe'"),
    ):
        with pytest.raises(UsageError, match=line):
            thinking_of(word, model)
    with pytest.raises(UsageError):
        next_thinking(None, GEMMA)
    assert [thinking_words(value) for value in (None, True, False, "high")] == [
        "",
        "thinks",
        "no thinking",
        "thinks high",
    ]


def test_a_first_model_fits_the_machine() -> None:
    sizes = [suggested_model(memory).name for memory in (2 * GIB, 5 * GIB, 8 * GIB, 16 * GIB, 64 * GIB, None)]
    assert sizes == ["qwen3:0.6b", "qwen3:1.7b", "qwen3:4b", "qwen3:4b", "qwen3:8b", "qwen3:4b"]
