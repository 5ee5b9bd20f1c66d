"""What is said in the pictures: one conversation at length, and the older ones beside it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.support.ollama_server import Turn, done, error, say, sleep, think

MODEL = "qwen3:4b"


@dataclass(frozen=True)
class Past:
    """A session of the past: its handle and age on the pictures, and its questions with their replies."""

    handle: str
    hours: float
    said: tuple[tuple[str, Turn], ...] = field(default=())


def _reply(text: str, *, thinking: str = "", read: int = 900, wrote: int = 214) -> Turn:
    """A reply as the model gives it, with the counts that a server of a laptop reports."""
    counts = {
        "prompt_eval_count": read,
        "prompt_eval_duration": 590_000_000,
        "eval_count": wrote,
        "eval_duration": int(wrote / 41 * 1e9),
        "load_duration": 21_000_000,
    }
    before = (think(thinking),) if thinking else ()
    return Turn(sleep(0.6), *before, say(text), done("stop", counts=counts))


_CAUSE = """Two workers share one temporary folder. `test_restore` deletes it while another test is still \
reading from it, so the failure moves around with the order of the run.

- on your machine one worker runs, and the order is always the same
- on CI four run, and whoever comes last loses

Give each worker a folder of its own:

```python
@pytest.fixture
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("restore")
```
"""

_CHECK = """Run it often enough that the old failure would have shown:

| command | runs | expected |
|---|---|---|
| `pytest tests/test_restore.py -n 4` | 20 | 31 passed each |
| `pytest -p no:randomly` | 1 | 31 passed |

If all twenty pass, the race is gone. **One** failure means that a second fixture shares a path."""

MAIN = Past(
    "a1b2c3d",
    0.05,
    (
        (
            "Why does the restore test flake on CI?",
            _reply(_CAUSE, thinking="The failure depends on the order of the tests.", read=612),
        ),
        ("How do I make sure that it is gone?", _reply(_CHECK, read=1904, wrote=168)),
    ),
)

OLDER = (
    Past(
        "77e01f4",
        1.2,
        (
            (
                "What does pytest-xdist do with session fixtures?",
                _reply("Each worker makes its own: a *session* fixture runs once **per worker**."),
            ),
            ("And with a file lock?", _reply("Then the first worker makes it and the others read it.")),
        ),
    ),
    Past(
        "0c9d2aa",
        26,
        (
            (
                "Upgrade SQLAlchemy to 2.1",
                _reply("Start with the deprecation warnings: run the suite with `-W error`."),
            ),
            ("Which of them matter?", Turn(error("llama runner process has terminated: exit status 2", 500))),
        ),
    ),
    Past("f00dbab", 50, (("Release notes for 0.9", _reply("## 0.9\n\nRestores are atomic now.")),)),
    Past("3c41e90", 75, (("Name a port that nothing uses", _reply("Ask the kernel: bind to port 0.")),)),
)

DRAFT = "make it so, then run it twenty times"
