"""The clipboard's picture, through programs that stand where the desktop's own do."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from local_agent.domain.errors import LocalAgentError
from local_agent.objects import clipboard
from local_agent.objects.clipboard import read_picture
from local_agent.objects.reading import MAX_BYTES
from tests.support.pictures import drawn

WAYLAND = {"WAYLAND_DISPLAY": "wayland-0"}
X11 = {"DISPLAY": ":0"}
LISTED = {"wl-paste": "--list-types", "xclip": "TARGETS"}

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="desktops of Linux")


def install(folder: Path, tool: str, types: str, gives: str) -> None:
    """A clipboard tool that offers ``types`` and runs the shell words ``gives`` when asked for one."""
    script = folder / tool
    script.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *{LISTED[tool]}*) printf "{types}"; exit 0;; esac\n'
        f'printf "%s\\n" "$*" >> "{folder}/asked"\n{gives}\n'
    )
    script.chmod(0o755)


def environment(folder: Path, desktop: dict[str, str]) -> dict[str, str]:
    return {"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin", **desktop}


@pytest.mark.parametrize(("tool", "desktop"), [("wl-paste", WAYLAND), ("xclip", X11)])
def test_the_best_kind_that_is_offered_is_taken(tmp_path: Path, tool: str, desktop: dict[str, str]) -> None:
    (tmp_path / "picture").write_bytes(drawn())
    types = "text/html\\nimage/jpeg\\nimage/png\\n"
    install(tmp_path, tool, types, f'cat "{tmp_path}/picture"')

    assert read_picture(environment(tmp_path, desktop)) == drawn()
    (asked,) = (tmp_path / "asked").read_text().splitlines()
    assert asked.endswith("image/png")


@pytest.mark.parametrize(
    ("types", "gives"),
    [
        ("text/plain\\nUTF8_STRING\\n", "echo no"),
        ("", "echo no"),
        ("image/png\\n", "exit 1"),
        ("image/png", "true"),
    ],
)
def test_no_picture_is_no_error(tmp_path: Path, types: str, gives: str) -> None:
    install(tmp_path, "wl-paste", types, gives)

    assert read_picture(environment(tmp_path, WAYLAND)) is None


def test_without_a_tool_or_a_desktop_a_line_tells_what_to_install(tmp_path: Path) -> None:
    install(tmp_path, "wl-paste", "image/png", "true")
    for lacking in ({"PATH": str(tmp_path / "none"), **WAYLAND}, {"PATH": str(tmp_path)}):
        with pytest.raises(
            LocalAgentError, match=r"No tool here can read the clipboard\. Install wl-clipboard"
        ):
            read_picture(lacking)


def test_a_tool_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard, "TOOL_SECONDS", 0.3)
    install(tmp_path, "wl-paste", "image/png", f'echo $$ > "{tmp_path}/pid"; exec sleep 60')

    begun = time.monotonic()
    with pytest.raises(LocalAgentError, match=r"wl-paste has not given the clipboard within 0\.3 seconds"):
        read_picture(environment(tmp_path, WAYLAND))
    assert time.monotonic() - begun < 5
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_more_than_a_picture_may_have_is_not_read_to_its_end(tmp_path: Path) -> None:
    install(tmp_path, "wl-paste", "image/png", "exec cat /dev/zero")

    with pytest.raises(LocalAgentError, match="The picture in the clipboard has more than 20 MiB"):
        read_picture(environment(tmp_path, WAYLAND))
    assert MAX_BYTES == 20 * 1024 * 1024
