"""Our two themes: one accent colour, text of at least 4.5:1 on every ground it stands on."""

from __future__ import annotations

from textual.app import App
from textual.theme import Theme

DARK = Theme(
    name="ink",
    dark=True,
    primary="#93a9f5",
    secondary="#93a9f5",
    accent="#93a9f5",
    foreground="#d7d9de",
    background="#14161b",
    surface="#1a1d23",
    panel="#242831",
    success="#86c08f",
    warning="#dcb26a",
    error="#ef8a80",
    variables={
        "text": "#d7d9de",
        "text-muted": "#949aa8",
        "text-disabled": "#8a909e",
        "text-primary": "#93a9f5",
        "text-secondary": "#93a9f5",
        "text-accent": "#93a9f5",
        "text-success": "#86c08f",
        "text-warning": "#dcb26a",
        "text-error": "#ef8a80",
        "foreground-muted": "#949aa8",
        "foreground-disabled": "#8a909e",
        "block-cursor-foreground": "#f2f3f5",
        "block-cursor-background": "#242831",
        "block-cursor-blurred-foreground": "#f2f3f5",
        "block-cursor-blurred-background": "#242831",
        "block-hover-background": "#1e2128",
        "input-selection-background": "#3a4777",
        "scrollbar": "#343a46",
        "scrollbar-hover": "#474f5f",
        "scrollbar-active": "#93a9f5",
        "scrollbar-background": "#14161b",
        "scrollbar-background-hover": "#14161b",
        "scrollbar-background-active": "#14161b",
        "scrollbar-corner-color": "#14161b",
        "border": "#93a9f5",
        "border-blurred": "#343a46",
        "footer-background": "#14161b",
        "footer-key-foreground": "#d7d9de",
        "footer-description-foreground": "#949aa8",
    },
)

LIGHT = Theme(
    name="paper",
    dark=False,
    primary="#3f56b8",
    secondary="#3f56b8",
    accent="#3f56b8",
    foreground="#23262d",
    background="#fbfaf7",
    surface="#f5f3ee",
    panel="#eae7df",
    success="#2c6a3a",
    warning="#7d5406",
    error="#aa2c22",
    variables={
        "text": "#23262d",
        "text-muted": "#5c606a",
        "text-disabled": "#62666f",
        "text-primary": "#3f56b8",
        "text-secondary": "#3f56b8",
        "text-accent": "#3f56b8",
        "text-success": "#2c6a3a",
        "text-warning": "#7d5406",
        "text-error": "#aa2c22",
        "foreground-muted": "#5c606a",
        "foreground-disabled": "#62666f",
        "block-cursor-foreground": "#15171b",
        "block-cursor-background": "#eae7df",
        "block-cursor-blurred-foreground": "#15171b",
        "block-cursor-blurred-background": "#eae7df",
        "block-hover-background": "#f1eee8",
        "input-selection-background": "#c3cdf2",
        "scrollbar": "#d3cfc4",
        "scrollbar-hover": "#b5b0a3",
        "scrollbar-active": "#3f56b8",
        "scrollbar-background": "#fbfaf7",
        "scrollbar-background-hover": "#fbfaf7",
        "scrollbar-background-active": "#fbfaf7",
        "scrollbar-corner-color": "#fbfaf7",
        "border": "#3f56b8",
        "border-blurred": "#d3cfc4",
        "footer-background": "#fbfaf7",
        "footer-key-foreground": "#23262d",
        "footer-description-foreground": "#5c606a",
    },
)

_BY_SETTING = {"dark": DARK.name, "light": LIGHT.name}


def register_themes(app: App[object]) -> None:
    """Make our themes known; call it before ``choose_theme``."""
    app.register_theme(DARK)
    app.register_theme(LIGHT)


def theme_named(app: App[object], name: str) -> str:
    """The theme a setting means: ``dark``, ``light`` or any theme's name; an unknown one is ours, dark."""
    wanted = _BY_SETTING.get(name, name)
    return wanted if wanted in app.available_themes else DARK.name
