"""HelloRetryRequests, as a section: sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.core.outcomes import is_large
from tlstax.findings.core.wording import MINUS, capitalised, percent, with_sign
from tlstax.findings.hello_retry.words import COST_WORDS, is_answer, is_seen
from tlstax.results.document import RunDocument
from tlstax.results.hello_retry import HelloRetries, Retried, RetriedCase, RetryCost
from tlstax.study.labels import offered_words
from tlstax.topics.core import figures
from tlstax.topics.core.section import Detail, Items, Section
from tlstax.topics.core.table import Table

TITLE = "HelloRetryRequest: when the server asks for a second ClientHello"
AVOIDED = "What avoids it"
MOST_OF_LARGE = 3
"""So many sentences of a large study are shown where room is short."""

HEADS = ("Asked", "Of handshakes", "Resumed", "Client offered", "Agreed on", "Client over")
READING = (
    "Per connection, means over the blocks that both cases have; round trips and bytes are those of the TLS "
    "handshake. In brackets: the difference to being asked again, and its {confidence} interval. ≈: "
    "alike, ?: inconclusive. CPU time is told where each operation makes a connection."
)


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Who was asked for a second ClientHello, what avoids it; where there is room, what each case costs."""
    found = document.hello_retries
    if found is None:
        return
    said, avoided = sentences(document), tuple(map(capitalised, advice(found)))
    if detail == "short":
        most = MOST_OF_LARGE if is_large(document.design) else None
        yield Section((Items(said[:most], TITLE), Items(avoided[:most], AVOIDED)))
        return
    remedy = (Items(avoided, AVOIDED),) if found.remedy else ()
    asked = (_asked_table(found),) if detail == "page" else ()
    yield Section((Items(said), *remedy, *asked, *case_tables(found, document)), TITLE)


def sentences(document: RunDocument) -> tuple[str, ...]:
    """What is told of it beside the answer; nothing where it is the answer."""
    found = document.hello_retries
    return () if found is None or is_answer(document) else tuple(map(capitalised, found.sentences))


def advice(found: HelloRetries) -> tuple[str, ...]:
    """What avoids the retry, and what would measure that, where this run did not."""
    measure = (f"what that saves was not measured here; `{found.command}` would",) if found.command else ()
    return (*found.remedy, *measure)


def case_tables(found: HelloRetries, document: RunDocument) -> tuple[Table, ...]:
    """For each case that was asked again, what a connection costs it, and those that avoid it."""
    return tuple(_case_table(one, document) for one in found.cases if one.avoided)


def _asked_table(found: HelloRetries) -> Table:
    """Who was asked how often."""
    lines = tuple((kind.server, *_cells(kind)) for kind in found.kinds)
    return Table("Who was asked for a second ClientHello", HEADS, lines, (), of="server", of_words=True)


def _cells(kind: Retried) -> tuple[str, ...]:
    return (
        f"{kind.retried:,}",
        f"{kind.handshakes:,}",
        "yes" if kind.resumed else "no",
        offered_words(kind.offered),
        kind.group,
        kind.client_library or figures.NOTHING,
    )


def _case_table(one: RetriedCase, document: RunDocument) -> Table:
    costs = {cost.cost: cost for avoided in one.avoided for cost in avoided.costs}
    asked = tuple(_amount(cost.retried, cost.unit) for cost in costs.values())
    lines = [(f"{one.label} (asked again)", *asked)]
    for avoided in one.avoided:
        own = {cost.cost: cost for cost in avoided.costs}
        cells = (_cost_cell(own[name]) if name in own else figures.NOTHING for name in costs)
        lines.append((f"{avoided.label} ({avoided.group})", *cells))
    return Table(
        title=f"{one.place}: what a connection costs",
        heads=tuple(COST_WORDS[name] for name in costs),
        rows=tuple(lines),
        notes=(READING.format(confidence=percent(document.design.confidence)),),
        of="the client offered",
        of_words=True,
    )


def _cost_cell(cost: RetryCost) -> str:
    """The cost without the retry, and in brackets by how much it differs from that with it."""
    value, extra = _amount(cost.avoided, cost.unit), cost.extra
    if not is_seen(cost):
        return f"{value} {figures.mark(cost.judgement)}"
    spared = [-extra.point, *([] if extra.low is None or extra.high is None else [-extra.high, -extra.low])]
    scale = figures.column_scale(spared[:1], cost.unit)
    point, *ends = (with_sign(figures.significant(number / scale.divisor)) for number in spared)
    if cost.unit != "us":
        return f"{value} ({with_sign(_amount(-extra.point, cost.unit))})"
    interval = f" [{' … '.join(ends)}]" if ends else ""
    return f"{value} ({point} {scale.unit}{interval})"


def _amount(value: float, unit: str) -> str:
    """What is counted as a plain number, times with the unit that suits them."""
    if unit == "us":
        return figures.quantity(value, unit)
    return f"{value:,.1f}".removesuffix(".0").replace("-", MINUS)
