"""What is taken as a picture, as what it is kept, and what is refused before it costs anything."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from local_agent.objects.decode import MAX_PIXELS, MAX_SIDE, decode
from local_agent.objects.headers import read_header
from local_agent.objects.reading import MAX_BYTES, Refused
from tests.support.pictures import PLACE, drawn, huge_png, moving, opened, saved, turned

ROOT = Path(__file__).parents[2]
KEPT = {
    "a PNG": drawn(),
    "a PNG of few colours": drawn(mode="1"),
    "a PNG with an alpha channel": drawn(mode="LA"),
    "a JPEG": drawn("JPEG"),
    "a progressive JPEG": drawn("JPEG", progressive=True),
    "a WebP": drawn("WEBP"),
    "a WebP without loss": drawn("WEBP", lossless=True),
    "a WebP that shines through": drawn("WEBP", mode="RGBA", lossless=True),
}
REFUSED = {
    "empty": (b"", "is empty"),
    "text": (b"This is no picture at all.", "is no picture"),
    "a TIFF": (drawn("TIFF"), "is no picture"),
    "66 bytes": (huge_png(), "has 20,000 x 20,000 pixels; a side may have 16,384"),
    "too many pixels": (huge_png(6_000, 5_000), "has 6,000 x 5,000 pixels; 24 million are the most"),
    "no pixels": (huge_png(0, 5), "is damaged: it has no pixels"),
    "a JPEG cut short": (drawn("JPEG", (400, 300))[:900], "is damaged: it was cut short"),
    "a PNG cut short": (drawn("PNG", (400, 300))[:-30], "is damaged: it was cut short"),
    "a GIF's first bytes": (b"GIF89a", "is damaged"),
    "a JPEG's first bytes": (b"\xff\xd8\xff", "is damaged"),
    "a JPEG that goes nowhere": (b"\xff\xd8\xff\xe0\0\0" + b"\xff" * 64, "is damaged"),
    "a WebP of zeros": (b"RIFF\x30\0\0\0WEBPVP8X" + bytes(40), "is damaged"),
    "too large": (drawn() + bytes(MAX_BYTES), "has 20 MiB; a picture may have 20 MiB"),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_fine_is_kept_to_the_byte(name: str) -> None:
    decoded = decode(KEPT[name])

    assert decoded.data == KEPT[name]
    assert (decoded.width, decoded.height) == (8, 6)
    assert decoded.mime == f"image/{opened(decoded.data).format}".lower()


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP"])
def test_what_moves_becomes_its_first_frame(kind: str) -> None:
    decoded = decode(moving(kind))

    still = opened(decoded.data)
    assert (decoded.mime, still.format, getattr(still, "n_frames", 1)) == ("image/png", "PNG", 1)
    red, _, blue = still.convert("RGB").getpixel((5, 5))  # type: ignore[misc]  # three bands
    assert red > 200 > 50 > blue


def test_printers_colours_become_those_of_a_screen() -> None:
    decoded = decode(drawn("JPEG", mode="CMYK"))

    assert (decoded.mime, opened(decoded.data).mode) == ("image/png", "RGB")


@pytest.mark.parametrize(
    ("kind", "mime"), [("JPEG", "image/jpeg"), ("PNG", "image/png"), ("WEBP", "image/png")]
)
def test_what_a_camera_turned_comes_upright_and_tells_nothing_more(kind: str, mime: str) -> None:
    decoded = decode(turned(kind, (40, 20)))

    upright = opened(decoded.data)
    assert (decoded.mime, decoded.width, decoded.height) == (mime, 20, 40)
    assert upright.size == (20, 40)
    assert not upright.getexif() and b"a maker of cameras" not in decoded.data
    assert PLACE not in decoded.data


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_good_picture_is_refused(name: str) -> None:
    data, reason = REFUSED[name]

    with pytest.raises(Refused, match=reason):
        decode(data)


def test_a_frame_that_is_larger_than_its_file_says_is_refused() -> None:
    data = bytearray(drawn("GIF"))
    place = data.index(b",\0\0\0\0")
    data[place + 5 : place + 9] = struct.pack("<HH", 60_000, 60_000)

    assert read_header(bytes(data)).width == 8
    with pytest.raises(Refused):
        decode(bytes(data))


def test_the_largest_that_are_taken() -> None:
    for width, height in ((MAX_SIDE, 10), (MAX_PIXELS // 4_000, 4_000)):
        decoded = decode(drawn("PNG", (width, height), mode="1"))
        assert (decoded.width, decoded.height) == (width, height)


def test_a_picture_of_66_bytes_costs_no_decoder() -> None:
    assert len(huge_png()) == 66
    program = (
        "import sys\n"
        "from local_agent.objects.decode import decode\n"
        "try:\n"
        f"    decode({huge_png()!r})\n"
        "except Exception as error:\n"
        "    print(error)\n"
        "assert 'PIL' not in sys.modules\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("has 20,000 x 20,000 pixels")


@settings(max_examples=150)
@given(st.sampled_from(sorted(KEPT)), st.data())
def test_whatever_is_broken_in_a_file_is_refused_or_read(name: str, data: st.DataObject) -> None:
    broken = bytearray(KEPT[name])
    for _ in range(data.draw(st.integers(1, 4))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(broken)))

    try:
        decoded = decode(bytes(broken[:cut] if cut % 2 else broken))
    except Refused as refused:
        assert str(refused) and "\n" not in str(refused)
    else:
        assert opened(decoded.data).size == (decoded.width, decoded.height)


def test_what_shines_through_still_does_when_it_is_drawn_anew() -> None:
    clear = Image.new("RGBA", (6, 4), (0, 0, 0, 0))
    clear.putpixel((1, 1), (200, 10, 10, 255))
    for kind in ("GIF", "WEBP", "PNG"):
        data = saved(clear, kind, save_all=True, append_images=[clear.rotate(180)], lossless=True)
        still = opened(decode(data).data).convert("RGBA")
        assert still.getpixel((5, 3))[3] == 0, kind  # type: ignore[index]  # four bands
        assert still.getpixel((1, 1)) == (200, 10, 10, 255), kind
