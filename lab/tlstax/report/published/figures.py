"""Published figures beside the measured ones as rows of text, the same for every format."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.report.core import figures
from tlstax.results.document import PublishedFigure, RunDocument

TITLE = "What was published, and what stands in for it here"
MOST_NAMED = 4
"""So many figures that have the same note are named."""

HEADS = ("published", "here", "ratio then", "ratio here")


@dataclass(frozen=True)
class Line:
    """One published figure: its cells in the order of HEADS, and what to know of it."""

    label: str
    cells: tuple[str, ...]
    note: str


def lines(document: RunDocument) -> tuple[Line, ...]:
    """A line for each published figure, in the study's order."""
    return tuple(
        Line(
            label=figure.label,
            cells=(_there(figure), _here(figure), _ratio_there(figure), _ratio_here(figure)),
            note=figure.comparable,
        )
        for figure in document.published
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


def _there(figure: PublishedFigure) -> str:
    return _quantity(figure.value, figure.unit)


def _here(figure: PublishedFigure) -> str:
    return figures.NOTHING if figure.measured is None else _quantity(figure.measured, figure.unit)


def _quantity(value: float, unit: str) -> str:
    return f"{value:.3g}{unit}" if unit == "×" else figures.quantity(value, unit)


def _ratio_there(figure: PublishedFigure) -> str:
    return figures.NOTHING if figure.published_ratio is None else f"{figure.published_ratio:.2f}"


def _ratio_here(figure: PublishedFigure) -> str:
    ratio = figure.ratio
    if ratio is None:
        return figures.NOTHING
    ends = (
        f" [{ratio.low:.2f} … {ratio.high:.2f}]" if ratio.low is not None and ratio.high is not None else ""
    )
    return f"{ratio.point:.2f}{ends}"
