"""Where the user's files are, and what happens where there is no place for them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from local_agent.config.paths import Paths
from local_agent.domain.errors import ConfigError


def test_the_override_names_the_folder(home: Path) -> None:
    paths = Paths.discover()
    assert paths.home == home
    assert paths.database == home / "local-agent.db"
    assert not home.exists()


def test_a_relative_override_is_taken_from_the_current_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home.parents[1])
    monkeypatch.setenv("LOCAL_AGENT_HOME", "here")
    assert Paths.discover().home == home.parents[1] / "here"


@pytest.mark.parametrize("blank", ["", "   "])
def test_a_blank_override_counts_as_unset(home: Path, monkeypatch: pytest.MonkeyPatch, blank: str) -> None:
    monkeypatch.setenv("LOCAL_AGENT_HOME", blank)
    found = Paths.discover().home
    assert found.name == "local-agent"
    assert found.is_relative_to(os.environ["HOME"])


def test_a_file_in_place_of_the_folder_is_named(home: Path) -> None:
    home.parent.mkdir(parents=True)
    home.write_text("")
    with pytest.raises(ConfigError, match="LOCAL_AGENT_HOME is no folder"):
        Paths.discover()


def test_an_empty_home_is_refused_with_the_way_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOCAL_AGENT_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "")
    with pytest.raises(ConfigError) as caught:
        Paths.discover()
    assert caught.value.hint == "Set LOCAL_AGENT_HOME to a folder that you can write."


def test_with_an_override_a_home_is_not_needed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "")
    assert Paths.discover().cache == home / "cache"
