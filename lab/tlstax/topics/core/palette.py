"""One colour for each meaning, the same in every chart, chip and table, for light and for dark paper.

The level colours are from Okabe & Ito (2008) and Paul Tol's "muted" scheme, both told apart by
colour-blind readers; each has at least 3:1 contrast on its paper. Charts are drawn in the light colours;
the stylesheet replaces them by the dark ones where the reader's system asks for dark.
"""

from __future__ import annotations

from typing import NamedTuple


class Ink(NamedTuple):
    """One meaning's colour on light and on dark paper."""

    light: str
    dark: str


TEXT = Ink("#1c2430", "#e8ecf1")
MUTED = Ink("#5d6876", "#a4afbd")
GRID = Ink("#e4e8ed", "#2e3743")
PAPER = Ink("#ffffff", "#171c23")
BAND = Ink("#eceff3", "#262e39")
REFERENCE = Ink("#8b95a2", "#76818f")

BASELINE = Ink("#4f5b69", "#b9c3cf")
CONTROL = Ink("#8491a0", "#8491a1")

LEVELS = (
    Ink("#0072b2", "#4fb0ea"),
    Ink("#d55e00", "#ff8b45"),
    Ink("#009e73", "#35c79a"),
    Ink("#b0508a", "#ea94c4"),
    Ink("#332288", "#a599ff"),
    Ink("#8c8a1f", "#cfcd5c"),
    Ink("#882255", "#e07aa8"),
    Ink("#117733", "#7fce90"),
)
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "triangle-right", "cross")
"""One fewer than the colours, so that the pairs repeat only after the product of both."""

PHASES = {
    "tcp_connect": Ink("#c6ced8", "#46515f"),
    "greeting": Ink("#9fabb9", "#667384"),
    "tls_handshake": Ink("#e3a008", "#f0b429"),
    "authentication": Ink("#64748a", "#93a3b8"),
    "first_query": Ink("#8fb3ad", "#4f7d76"),
    "query": Ink("#5f938b", "#7fbab0"),
    "close": Ink("#d9d3cb", "#5b554d"),
}
"""The handshake is what the reader looks for, so it alone is bright."""


MORE = Ink("#d55e00", "#ff8b45")
LESS = Ink("#009e73", "#35c79a")
"""What a case costs more and less than its baseline."""

COMPONENTS = {
    "TLS signature": Ink("#b54708", "#e08a3c"),
    "TLS key exchange": Ink("#e3a008", "#f0b429"),
    "TLS certificate": Ink("#f2c94c", "#ffe08a"),
    "TLS handshake, the rest": Ink("#d98b5f", "#c97f55"),
    "TLS public-key arithmetic": Ink("#8f3d0c", "#b8683a"),
    "TLS record layer": Ink("#f0b99a", "#f5cdb4"),
    "planted cost": Ink("#7a3b69", "#c58ab4"),
    "random numbers": Ink("#b0508a", "#ea94c4"),
    "authentication": Ink("#64748a", "#93a3b8"),
    "memory": Ink("#6b5ca5", "#a599e0"),
    "SQL and storage": Ink("#3f8178", "#6fb5ab"),
    "sessions": Ink("#8fb3ad", "#4f7d76"),
    "kernel random": Ink("#7d1d52", "#d0699f"),
    "kernel scheduling": Ink("#2f6f9f", "#5b9fd0"),
    "kernel network": Ink("#6ba3cc", "#8cc1e8"),
    "kernel memory": Ink("#a9c9e2", "#b7d5ec"),
    "other kernel": Ink("#c6d6e4", "#53687b"),
    "the client's own work": Ink("#7aa874", "#8fbf88"),
}
"""By family: the handshake warm, plants and random numbers purple, kernel blue, the server's work green."""

UNATTRIBUTED = Ink("#c9c3bb", "#6a645d")


def component_ink(name: str) -> Ink:
    """The colour of a component; of what has none, grey."""
    return COMPONENTS.get(name, UNATTRIBUTED)


def every_ink() -> tuple[Ink, ...]:
    """All inks that a chart may hold, for the stylesheet."""
    fixed = (TEXT, MUTED, GRID, PAPER, BAND, REFERENCE, BASELINE, CONTROL, UNATTRIBUTED)
    return (*fixed, *LEVELS, *PHASES.values(), *COMPONENTS.values())


def level_ink(place: int) -> Ink:
    """The colour of the level at this place among all treatments of a run."""
    return LEVELS[place % len(LEVELS)]


def level_shape(place: int) -> str:
    """The point shape of the level at this place, so that colour is not the only sign."""
    return SHAPES[place % len(SHAPES)]
