"""Our themes: one accent colour each, text of at least 4.5:1 on every ground it stands on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.theme import Theme

if TYPE_CHECKING:
    from textual.app import App


@dataclass(frozen=True, slots=True)
class Palette:
    """What a theme is made of; every other colour follows from these. Colours are ``#rrggbb``."""

    name: str
    character: str
    """A few words for the person who chooses."""
    dark: bool
    grounds: tuple[str, str, str]
    """The page, what lies on it, and what is chosen on that."""
    text: str
    dim: str
    accent: str
    good: str
    warn: str
    bad: str
    code: tuple[str, str, str]
    """Keywords, strings and numbers."""

    def theme(self) -> Theme:
        """Every variable that our screens and Textual's widgets draw with."""
        page, surface, panel = self.grounds
        far = "#ffffff" if self.dark else "#000000"
        strong = mixed(self.text, far, 0.6)
        rule = mixed(page, self.text, 0.16)
        keyword, string, number = self.code
        return Theme(
            name=self.name,
            dark=self.dark,
            primary=self.accent,
            secondary=self.accent,
            accent=self.accent,
            foreground=self.text,
            background=page,
            surface=surface,
            panel=panel,
            success=self.good,
            warning=self.warn,
            error=self.bad,
            variables={
                "text": self.text,
                "text-muted": self.dim,
                "text-disabled": self.dim,
                "text-primary": self.accent,
                "text-secondary": self.accent,
                "text-accent": self.accent,
                "text-success": self.good,
                "text-warning": self.warn,
                "text-error": self.bad,
                "foreground-muted": self.dim,
                "foreground-disabled": self.dim,
                "block-cursor-foreground": strong,
                "block-cursor-background": panel,
                "block-cursor-blurred-foreground": strong,
                "block-cursor-blurred-background": panel,
                "block-hover-background": mixed(surface, panel, 0.4),
                "input-selection-background": mixed(page, self.accent, 0.3),
                "input-selection-foreground": strong,
                "input-cursor-background": self.text,
                "input-cursor-foreground": page,
                "input-cursor-text-style": "none",
                "screen-selection-background": mixed(page, self.accent, 0.3),
                "screen-selection-foreground": strong,
                "scrollbar": rule,
                "scrollbar-hover": mixed(page, self.text, 0.3),
                "scrollbar-active": self.accent,
                "scrollbar-background": page,
                "scrollbar-background-hover": page,
                "scrollbar-background-active": page,
                "scrollbar-corner-color": page,
                "border": self.accent,
                "border-blurred": rule,
                "footer-background": page,
                "footer-key-foreground": self.text,
                "footer-description-foreground": self.dim,
                "code-keyword": keyword,
                "code-string": string,
                "code-number": number,
                "code-comment": self.dim,
            },
        )


# fmt: off
PALETTES = (
    Palette(
        "ink", "blue on slate, the usual dark", True,
        ("#14161b", "#1a1d23", "#242831"), "#d7d9de", "#949aa8",
        accent="#93a9f5", good="#86c08f", warn="#dcb26a", bad="#ef8a80",
        code=("#93a9f5", "#86c08f", "#dcb26a"),
    ),
    Palette(
        "ember", "amber on burnt brown", True,
        ("#17120f", "#1e1814", "#2b221c"), "#e3d8cc", "#a8998a",
        accent="#e8a45c", good="#a3bd72", warn="#e3c565", bad="#f08a72",
        code=("#e8a45c", "#a3bd72", "#d7a3c6"),
    ),
    Palette(
        "moss", "lichen on forest floor", True,
        ("#101612", "#151d18", "#1e2922"), "#d2ddd3", "#8fa294",
        accent="#8ccf9a", good="#a9cf6f", warn="#d9bd6a", bad="#ec8f83",
        code=("#8ccf9a", "#d4c98a", "#7fc4c4"),
    ),
    Palette(
        "tide", "sea green on deep water", True,
        ("#0c171b", "#112026", "#192c34"), "#cfe0e3", "#87a2a9",
        accent="#5fc9c9", good="#84cb9c", warn="#dfbd73", bad="#f09085",
        code=("#6fb7ea", "#84cb9c", "#dfbd73"),
    ),
    Palette(
        "dusk", "heather on violet night", True,
        ("#17131d", "#1e1926", "#2a2336"), "#ddd6e6", "#a196b0",
        accent="#c5a1f0", good="#92c79a", warn="#e0b678", bad="#f18a98",
        code=("#c5a1f0", "#92c79a", "#f0a27f"),
    ),
    Palette(
        "beacon", "bright on black, most contrast", True,
        ("#000000", "#0a0a0a", "#1c1c1c"), "#ffffff", "#d0d0d0",
        accent="#ffd84d", good="#7df59a", warn="#ffc14d", bad="#ffa69e",
        code=("#ffd84d", "#7df59a", "#8fd3ff"),
    ),
    Palette(
        "paper", "blue on warm white, the usual light", False,
        ("#fbfaf7", "#f5f3ee", "#eae7df"), "#23262d", "#5c606a",
        accent="#3f56b8", good="#2c6a3a", warn="#7d5406", bad="#aa2c22",
        code=("#3f56b8", "#2c6a3a", "#7d5406"),
    ),
    Palette(
        "linen", "terracotta on unbleached cloth", False,
        ("#f8f1e6", "#f2e9da", "#e6dac7"), "#33291f", "#665947",
        accent="#98401c", good="#47621a", warn="#75520b", bad="#a32639",
        code=("#98401c", "#47621a", "#6d3f7d"),
    ),
    Palette(
        "mist", "petrol on cool grey", False,
        ("#f4f7f8", "#eaeff1", "#dce3e6"), "#1f2a2e", "#525f65",
        accent="#0f616d", good="#246440", warn="#735106", bad="#a52a30",
        code=("#0f616d", "#246440", "#6a4488"),
    ),
    Palette(
        "clover", "leaf green on pale meadow", False,
        ("#f5f8ee", "#ecf1e2", "#dfe7d1"), "#232b1d", "#556049",
        accent="#2f6616", good="#0f6551", warn="#6f5309", bad="#a12c26",
        code=("#2f6616", "#0f6551", "#804a13"),
    ),
    Palette(
        "chalk", "black on white, most contrast", False,
        ("#ffffff", "#f6f6f6", "#e8e8e8"), "#000000", "#3d3d3d",
        accent="#00308f", good="#004d1a", warn="#5c3a00", bad="#8a0010",
        code=("#00308f", "#004d1a", "#5b1a7a"),
    ),
)
# fmt: on
HIGH_CONTRAST = ("beacon", "chalk")
ANSI = ("ansi-dark", "ansi-light")
"""Textual's own that draw with the terminal's colours, whatever these are."""
_ANSI_CODE = {
    "code-keyword": "ansi_blue",
    "code-string": "ansi_green",
    "code-number": "ansi_magenta",
    "code-comment": "ansi_bright_black",
}
DARK, LIGHT = "ink", "paper"
BY_SETTING = {"dark": DARK, "light": LIGHT}


def mixed(start: str, end: str, share: float) -> str:
    """The colour that lies ``share`` of the way from one to the other."""
    pairs = ((int(start[at : at + 2], 16), int(end[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def register_themes(app: App[object]) -> None:
    """Make our themes known, and Textual's unknown that promise nothing; call it before ``theme_named``."""
    for name in app.available_themes.keys() - set(ANSI):
        app.unregister_theme(name)
    for name in ANSI:
        if (theme := app.get_theme(name)) is not None:
            app.register_theme(replace(theme, variables=_ANSI_CODE | theme.variables))
    for palette in PALETTES:
        app.register_theme(palette.theme())


def theme_named(name: str | None) -> str:
    """The theme a setting means: ``dark``, ``light`` or a theme's own name; none is the usual dark one."""
    return BY_SETTING.get(name or DARK, name or DARK)


def known_themes() -> dict[str, str]:
    """Every theme's name, and its character in a few words: ours, then the terminal's own colours."""
    own = {name: f"the terminal's own {name.removeprefix('ansi-')} colours" for name in ANSI}
    return {palette.name: palette.character for palette in PALETTES} | own
