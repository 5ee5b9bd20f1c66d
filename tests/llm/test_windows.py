"""Which window fits, and which model is taken when nobody named one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from local_agent.domain.models import Fit, Location, ModelInfo, Speed
from local_agent.domain.thinking import Thinking
from local_agent.llm.windows import choose_model, choose_window, default_max_output, judge_fit, think_for

GIB = 1024**3
SMALL = ModelInfo(
    "small:3b",
    size=2 * GIB,
    trained_window=131_072,
    capabilities=frozenset({"completion"}),
    location=Location.LOCAL,
    kv_bytes_per_token=114_688,
)

WINDOWS = [
    # setting, trained window, model size in GiB, memory in GiB, expected
    (None, 131_072, 2, 64, 16_384),
    (None, 131_072, 2, None, 16_384),
    (None, 131_072, None, 1, 16_384),
    (None, None, 2, 64, 16_384),
    (None, 131_072, 2, 5, 8_192),
    (None, 131_072, 2, 4, 4_096),
    (None, 131_072, 2, 1, 4_096),
    (None, 8_192, 2, 64, 8_192),
    (None, 10_000, 2, 64, 8_192),
    (None, 2_048, 2, 64, 2_048),
    (32_768, 131_072, 2, 1, 32_768),
    (1_000_000, 131_072, 2, 64, 131_072),
    (1_000, None, 2, 64, 1_000),
]


@pytest.mark.parametrize(("setting", "trained", "size", "memory", "expected"), WINDOWS)
def test_window(
    setting: int | None, trained: int | None, size: int | None, memory: int | None, expected: int
) -> None:
    model = replace(SMALL, trained_window=trained, size=size and size * GIB)
    assert choose_window(setting, model, memory and memory * GIB) == expected


def test_the_cache_counts_not_only_the_file() -> None:
    """Two models of one size: the one with the wider cache gets the smaller window."""
    wide = replace(SMALL, kv_bytes_per_token=512 * 1024)
    assert choose_window(None, SMALL, 8 * GIB) == 16_384
    assert choose_window(None, wide, 8 * GIB) == 4_096


@pytest.mark.parametrize(("trained", "expected"), [(262_144, 262_144), (None, 16_384)])
def test_a_proxied_model_has_its_own_window(trained: int | None, expected: int) -> None:
    cloud = replace(SMALL, proxied=True, location=Location.CLOUD, trained_window=trained, size=None)
    assert choose_window(None, cloud, GIB) == expected


@pytest.mark.parametrize(("window", "expected"), [(4_096, 2_048), (16_384, 8_192), (1, 1)])
def test_half_the_window_is_for_the_reply(window: int, expected: int) -> None:
    assert default_max_output(window) == expected


OLD = replace(SMALL, name="old:1b", modified_at="2026-01-01T00:00:00.000Z")
NEW = replace(SMALL, name="new:1b", modified_at="2026-06-01T00:00:00.000Z")
LOADED = replace(OLD, name="loaded:1b", loaded=True)
HUGE = replace(NEW, name="huge:70b", size=40 * GIB, modified_at="2026-09-01T00:00:00.000Z")
EMBEDDING = replace(NEW, name="embed", capabilities=frozenset({"embedding"}), loaded=True)
CLOUD = replace(NEW, name="big:cloud", location=Location.CLOUD, proxied=True)
ALIAS = replace(NEW, name="alias:latest", location=Location.REMOTE, proxied=True)
UNPROVEN = replace(NEW, name="what:1b", location=Location.UNKNOWN)
LAN = replace(OLD, name="lan:1b", location=Location.REMOTE)
LATEST = replace(OLD, name="plain:latest")

MODELS = [
    ([], None, None),
    ([OLD, NEW], None, "new:1b"),
    ([OLD, NEW, LOADED], None, "loaded:1b"),
    ([OLD, HUGE], None, "old:1b"),
    ([HUGE], None, "huge:70b"),
    ([EMBEDDING], None, None),
    ([CLOUD, ALIAS, UNPROVEN], None, None),
    ([CLOUD, LAN], None, "lan:1b"),
    ([OLD, replace(OLD, name="also:1b")], None, "also:1b"),
    ([OLD, NEW], "old:1b", "old:1b"),
    ([OLD, CLOUD], "big:cloud", "big:cloud"),
    ([NEW, LATEST], "plain", "plain:latest"),
    ([OLD, NEW], "gone:1b", "new:1b"),
    ([OLD, EMBEDDING], "embed", "old:1b"),
    ([replace(OLD, capabilities=None)], None, "old:1b"),
]


@pytest.mark.parametrize(("models", "preferred", "expected"), MODELS)
def test_automatic_choice(models: list[ModelInfo], preferred: str | None, expected: str | None) -> None:
    for order in (models, models[::-1]):
        chosen = choose_model(order, preferred, 16 * GIB)
        assert (chosen.name if chosen else None) == expected


SEEING = replace(OLD, name="seeing:4b", capabilities=frozenset({"completion", "vision"}))
UNSURE = replace(NEW, name="unsure:4b", capabilities=None)


@pytest.mark.parametrize(
    ("models", "needs", "expected"),
    [
        ([NEW, SEEING, UNSURE, CLOUD], {"vision"}, "seeing:4b"),
        ([NEW, SEEING], {"vision", "tools"}, None),
        ([LOADED, SEEING], {"vision"}, "seeing:4b"),
        ([NEW, SEEING], set(), "new:1b"),
    ],
)
def test_a_choice_has_what_the_turn_needs(
    models: list[ModelInfo], needs: set[str], expected: str | None
) -> None:
    chosen = choose_model(models, None, 16 * GIB, needs=frozenset(needs))
    assert (chosen.name if chosen else None) == expected


def test_of_models_that_do_the_fastest_here_is_taken() -> None:
    speeds = {"old:1b": Speed(3, tokens_per_second=40.0), "huge:70b": Speed(3, tokens_per_second=400.0)}
    assert choose_model([OLD, NEW, HUGE], None, 16 * GIB, speeds=speeds) == OLD
    assert choose_model([OLD, NEW, LOADED], None, 16 * GIB, speeds=speeds) == LOADED
    plain = {"plain:latest": Speed(3, tokens_per_second=1.0)}
    assert choose_model([NEW, replace(LATEST, name="plain")], None, speeds=plain) is not NEW


@pytest.mark.parametrize(
    ("model", "window", "memory", "expected"),
    [
        (SMALL, 4_096, 16, Fit.FITS),
        (SMALL, 131_072, 16, Fit.TOO_BIG),
        (SMALL, 100_000, 16, Fit.TIGHT),
        (replace(SMALL, loaded=True), 131_072, 4, Fit.FITS),
        (SMALL, 4_096, None, Fit.UNKNOWN),
        (replace(SMALL, size=None), 4_096, 16, Fit.UNKNOWN),
        (LAN, 4_096, 16, Fit.UNKNOWN),
        (CLOUD, 4_096, 16, Fit.UNKNOWN),
        (UNPROVEN, 4_096, 16, Fit.UNKNOWN),
    ],
)
def test_fit(model: ModelInfo, window: int, memory: int | None, expected: Fit) -> None:
    assert judge_fit(model, window, memory and memory * GIB) is expected


THINKING = replace(SMALL, capabilities=frozenset({"completion", "thinking"}))
LEVELS = replace(THINKING, name="gpt-oss:20b", family="gptoss")


@pytest.mark.parametrize(
    ("model", "wanted", "sent"),
    [
        (SMALL, True, None),
        (SMALL, "high", None),
        (SMALL, None, None),
        (THINKING, True, True),
        (THINKING, False, False),
        (THINKING, "low", "low"),
        (THINKING, None, None),
        (LEVELS, True, "medium"),
        (LEVELS, False, "low"),
        (LEVELS, "high", "high"),
        (LEVELS, None, None),
        (replace(SMALL, capabilities=None), True, True),
        (None, True, True),
    ],
)
def test_what_is_sent_of_thinking(
    model: ModelInfo | None, wanted: Thinking | None, sent: Thinking | None
) -> None:
    assert think_for(model, wanted) == sent
