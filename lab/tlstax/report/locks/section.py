"""Locks, as a section: how many each case takes, and who takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.records.locks import LOCKS
from tlstax.results.document import RunDocument
from tlstax.results.locks import CaseLocks, Taker
from tlstax.topics.core import figures
from tlstax.topics.core.section import Detail, Folded, Section, Words
from tlstax.topics.core.table import Table

TITLE = "Locks that the server takes"
IN_ALL = ("all", "libcrypto", "libssl", "moved", "not free", "waits", "times\nslower")
TAKER = ("a call\nthat", "of an\noperation", "moved", "not free")
READING = (
    "For each operation, on threads that serve connections: calls of POSIX functions that take a lock. Moved:"
    " another thread had taken it last; not free: it had to be waited for. Waits are for conditions. Locks "
    "within the C library and atomic operations are not seen. Times slower: what counting costs."
)
WHO = "Who takes them is in the report, and in `tlstax report --format md`."
UNNAMED = "(no name)"
SHOWN = 30
"""How many takers are shown of a case; the JSON has all of them."""

LEAST_SHOWN = 0.005
"""Takers of less than one lock in two hundred operations are not shown."""


def sections(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """How many each case takes; then, but in a terminal, by whom. Nothing where they were not counted."""
    found = document.locks
    if not found:
        return
    note = Words(READING, aside=True)
    if detail == "short":
        yield Section((_in_all(found), note, Words(WHO, aside=True)), TITLE)
        return
    tables = tuple(map(_takers, found))
    who = (Folded("Who takes them", tables),) if detail == "page" else tables
    yield Section((_in_all(found), note, *who), TITLE)


def _in_all(found: Sequence[CaseLocks]) -> Table:
    return Table("Locks for each operation", IN_ALL, tuple(map(_case, found)), ())


def _case(found: CaseLocks) -> tuple[str, ...]:
    taken = [one for one in found.takers if one.kind in LOCKS]
    of_library = (sum(one.per_op for one in taken if one.library.startswith(name)) for name in IN_ALL[1:3])
    slower = figures.NOTHING if found.times_slower is None else f"{found.times_slower:.1f}"
    return (
        found.label,
        _spread(found),
        *map(_rate, of_library),
        _rate(sum(one.moved_per_op for one in taken)),
        _rate(sum(one.contended_per_op for one in taken)),
        _rate(sum(one.per_op for one in found.takers if one.kind == "wait")),
        slower,
    )


def _spread(found: CaseLocks) -> str:
    """All of them; from trial to trial, where those differ in the digits that are shown."""
    least, most = (f"{one:.1f}" for one in (found.least_per_op, found.most_per_op))
    return f"{found.per_op:.1f}" if least == most else f"{found.per_op:.1f} ({least} to {most})"


def _takers(found: CaseLocks) -> Table:
    shown = [one for one in found.takers if one.per_op >= LEAST_SHOWN][:SHOWN]
    left = sum(one.per_op for one in found.takers) - sum(one.per_op for one in shown)
    rows = list(map(_taker, shown))
    if left >= LEAST_SHOWN:
        rows.append(("all others", "", f"{left:.2f}", "", ""))
    return Table(found.label, TAKER, tuple(rows), (), of="function", literal=True)


def _taker(one: Taker) -> tuple[str, ...]:
    name = f"{one.library}: {one.function or UNNAMED}"
    return (name, one.kind, f"{one.per_op:.2f}", _rate(one.moved_per_op), _rate(one.contended_per_op))


def _rate(per_op: float) -> str:
    return figures.NOTHING if not per_op else "<0.01" if per_op < LEAST_SHOWN else f"{per_op:.2f}"
