"""Options of models, for all of them and for one: by name, by bounds, and where each came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_agent.config.load import PROJECT_FILE, load_settings
from local_agent.config.options import option_problem
from local_agent.config.paths import Paths
from local_agent.config.settings import Settings
from local_agent.config.wishes import Wishes, wishes_for
from local_agent.domain.errors import ConfigError
from tests.support.ollama_server import ModelSpec
from tests.support.ollama_server.validation import Refusal, check_model


def load(folder: Path, text: str, project: str = "") -> Settings:
    paths = Paths(home=folder, cache=folder)
    paths.config_file.write_text(text)
    if project:
        (folder / PROJECT_FILE).write_text(project)
    return load_settings(paths, folder, {}).settings


def refusal(folder: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    assert "\n" not in str(caught.value)
    return caught.value


GOOD = {
    "temperature": (0, 0.7, 5), "top_k": (0, 40), "top_p": (0, 0.5, 1), "min_p": (0.05,), "typical_p": (1,),
    "seed": (-1, 0, 42), "repeat_penalty": (1.1,), "repeat_last_n": (-1, 64), "presence_penalty": (-1.5, 2),
    "frequency_penalty": (0.5,), "num_keep": (-1, 4), "num_batch": (512,), "num_gpu": (-1, 0, 99),
    "main_gpu": (0,), "num_thread": (0, 8), "draft_num_predict": (4,), "use_mmap": (True, False),
    "stop": (["x"], ["x", "\n"]),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_what_is_accepted_is_accepted_by_a_server(name: str) -> None:
    for value in GOOD[name]:
        assert option_problem(name, value) is None
        check_model({"options": {name: value}}, ModelSpec("x"), "0.33.0")


BAD = {
    "temperature": (-0.1, 5.1, "hot", True, [1]), "top_k": (1.5, -1), "top_p": (2,), "seed": (-2, 0.5, False),
    "num_gpu": (-2,), "num_batch": (0,), "use_mmap": (1, "yes"), "stop": ("x", [], [""], ["x"] * 17, [1]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_makes_no_sense_is_refused_in_words(name: str) -> None:
    for value in BAD[name]:
        problem = option_problem(name, value)
        assert problem is not None and problem.words.startswith("must be "), value


LINES = [
    (
        "model:\n  options:\n    top_k: 4\n    temprature: 1\n",
        4,
        "options.temprature is no option",
        "temperature?",
    ),
    (
        "model:\n  options: {seed: 1,\n    top_p: 7}\n",
        3,
        "top_p must be a number from 0 to 1, not 7.",
        "",
    ),
    ("model:\n  options:\n    num_ctx: 4096\n", 3, "is set with ollama.num_ctx", "Move it"),
    ("model:\n  options:\n    mirostat: 1\n", 3, "is no option", "Known: "),
    ("model:\n  per_model:\n    qwen3:4b:\n      num_ctx: 9\n", 4, "qwen3:4b.num_ctx must be a whole", ""),
    ("model:\n  per_model:\n    a:\n      options:\n        sed: 1\n", 5, "a.options.sed is no", "seed?"),
    (
        "model:\n  per_model:\n    a:\n      thinkin: true\n",
        4,
        "unknown key model.per_model.a.thinkin",
        "thinking?",
    ),
    ("model:\n  per_model:\n    a: 4\n", 2, "model.per_model must be a mapping of models", ""),
    ("model:\n  per_model:\n    a:\n", 2, "model.per_model must be a mapping of models", ""),
    ("model:\n  per_model:\n    a: {keep_alive: 10 minutes}\n", 3, "a.keep_alive must be a duration", ""),
    ("model:\n  per_model:\n    a: {}\n    a: {}\n", 4, "is set twice", ""),
    ("ollama:\n  keep_alive: '-1'\n", 2, "ollama.keep_alive must be a duration", ""),
]


@pytest.mark.parametrize(("text", "line", "words", "hint"), LINES)
def test_a_refusal_names_the_line_and_the_closest_name(
    tmp_path: Path, text: str, line: int, words: str, hint: str
) -> None:
    error = refusal(tmp_path, text)
    assert error.line.startswith(f"{tmp_path / 'config.yaml'}, line {line}: ")
    assert words in error.line and hint in error.hint


@pytest.mark.parametrize("value", ["10m", "1h30m", "-1m", "1.5h", 0, -1, 300])
def test_durations(tmp_path: Path, value: object) -> None:
    assert load(tmp_path, f"ollama: {{keep_alive: {value}}}\n").ollama.keep_alive == value


def test_one_model_is_asked_by_its_own_wishes_over_those_for_all(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """\
ollama: {num_ctx: 8192, keep_alive: 10m}
model:
  options: {temperature: 0.2, seed: 7}
  per_model:
    qwen3: {num_ctx: 4096, thinking: false, options: {seed: 1, top_k: 3}}
    gone:1b: {max_output: 9}
""",
        project="model:\n  options: {temperature: 1.0}\n",
    )
    file, project = tmp_path / "config.yaml", tmp_path / PROJECT_FILE
    assert wishes_for(settings, "other:1b") == Wishes(8192, "10m", options={"temperature": 1.0})
    own = wishes_for(settings, "qwen3:latest")
    assert own == Wishes(
        num_ctx=4096, keep_alive="10m", thinking=False, options={"temperature": 1.0, "seed": 1, "top_k": 3}
    )
    assert own.origins == {
        "num_ctx": f"{file}, line 4",
        "keep_alive": f"{file}, line 1",
        "thinking": f"{file}, line 4",
        "temperature": f"{project}, line 2",
        "seed": f"{file}, line 4",
        "top_k": f"{file}, line 4",
    }
    assert wishes_for(Settings(), "qwen3") == Wishes()


def test_a_project_sets_nothing_for_single_models(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model.per_model can't be set by a project"):
        load(tmp_path, "", project="model:\n  per_model: {a: {num_ctx: 4096}}\n")


def test_the_scripted_server_refuses_what_we_do() -> None:
    with pytest.raises(Refusal):
        check_model({"options": {"seed": 0.5}}, ModelSpec("x"), "0.33.0")
