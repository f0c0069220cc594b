"""Published figures beside the measured ones as rows of text, the same for every format."""

from __future__ import annotations

from tlstax.results.document import PublishedFigure, RunDocument
from tlstax.results.interval import Interval
from tlstax.topics.core import figures

TITLE = "What was published, and what stands in for it here"
MOST_NAMED = 4
"""So many figures that have the same note are named."""

HEADS = ("published", "here", "ratio then", "ratio here")


def row(figure: PublishedFigure) -> tuple[str, ...]:
    """What it is called, and its cells in the order of HEADS."""
    return (
        figure.label,
        _quantity(figure.value, figure.unit),
        figures.NOTHING if figure.measured is None else _quantity(figure.measured, figure.unit),
        figures.NOTHING if figure.published_ratio is None else f"{figure.published_ratio:.2f}",
        _ratio(figure.ratio),
    )


def notes(document: RunDocument) -> list[str]:
    """What may be compared and what may not: a sentence for each, those that are alike once."""
    found: dict[str, list[str]] = {}
    for figure in document.published:
        found.setdefault(figure.comparable, []).append(figure.label)
    return [f"{_named(labels)}: {words}" for words, labels in found.items() if words]


def _named(labels: list[str]) -> str:
    """Which figures a note is of; of many the first and the last."""
    if len(labels) > MOST_NAMED:
        return f"{len(labels)} figures, from {labels[0]} to {labels[-1]}"
    return " and ".join(labels)


def sources(document: RunDocument) -> str:
    """Who published the figures, and what they are set in ratio to."""
    named = " and ".join(dict.fromkeys(figure.source for figure in document.published))
    against = _named(
        list(dict.fromkeys(f"“{figure.against}”" for figure in document.published if figure.against))
    )
    return f"Published in {named}. Ratios are to {against}." if against else f"Published in {named}."


def _quantity(value: float, unit: str) -> str:
    return f"{value:.3g}{unit}" if unit == "×" else figures.quantity(value, unit)


def _ratio(ratio: Interval | None) -> str:
    return (
        figures.NOTHING
        if ratio is None
        else f"{ratio.point:.2f} {figures.ends(ratio, '{:.2f}'.format)}".strip()
    )
