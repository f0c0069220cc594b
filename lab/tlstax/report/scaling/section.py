"""How throughput grows, as a section: a table for connections, and one for processors."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.core.wording import MINUS, percent
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.scaling import Scaling
from tlstax.topics.core import figures
from tlstax.topics.core.section import Detail, Section, Words
from tlstax.topics.core.table import Table

TITLE = "How throughput grows"
OF = {"connections": "Connections", "server_cpus": "Processors of the server"}
HEADS = ("of one,\nops/s", "contention\nσ", "coherence\nκ", "highest\nat", "off the\nlaw by")
READING = (
    "The Universal Scalability Law (Gunther, 2007), X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), fitted in each "
    "block; with {confidence} intervals over blocks. Contention is the part that only one at a time can do: "
    "many do at most 1/σ times as much as one. Coherence is what each has to settle with each other one, "
    "such as locks that move between processors: with it throughput falls beyond a number."
)


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """A table for each factor whose sizes were enough; nothing without."""
    found = document.scaling
    if not found:
        return
    narrow = detail == "short"
    note = READING.format(confidence=percent(document.design.confidence))
    yield Section((*_tables(found, narrow=narrow), Words(note, aside=True)), TITLE)


def _tables(found: tuple[Scaling, ...], *, narrow: bool) -> Iterator[Table]:
    for factor, name in OF.items():
        own = [one for one in found if one.factor == factor]
        for sizes in dict.fromkeys(one.sizes for one in own):
            rows = tuple(_row(one, narrow=narrow) for one in own if one.sizes == sizes)
            yield Table(f"{name}: {', '.join(map(str, sizes))}", HEADS, rows, ())


def _row(one: Scaling, *, narrow: bool) -> tuple[str, ...]:
    peak = figures.NOTHING if one.peak is None else figures.significant(one.peak, 2)
    return (
        one.label,
        figures.significant(one.single_per_s.point),
        _cell(one.contention, narrow=narrow),
        _cell(one.coherence, narrow=narrow),
        peak,
        percent(one.misfit),
    )


def _cell(found: Interval, *, narrow: bool) -> str:
    """A parameter and its interval; marked where it is not told apart from nothing."""
    if found.low is None or found.high is None:
        return _short(found.point)
    mark = "" if found.excludes_zero else f"{figures.UNKNOWN} "
    ends = "" if narrow else f" [{_short(found.low)} … {_short(found.high)}]"
    return f"{mark}{_short(found.point)}{ends}"


def _short(value: float) -> str:
    """Two digits, and no power of ten: "0.00083"."""
    text = f"{value:.2g}" if abs(value) >= 1e-4 or not value else f"{value:.6f}".rstrip("0")
    return text.replace("-", MINUS)
