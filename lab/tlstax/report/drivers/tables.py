"""Drivers as rows of text: what they did by default, what an upgrade costs, how they warmed up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.core.wording import percent
from tlstax.findings.drivers.words import PARTS
from tlstax.results.drivers import DriverDefault, Drivers, DriverSplit, DriverWarmup
from tlstax.results.interval import Interval
from tlstax.topics.core import figures
from tlstax.topics.core.table import INDENT, Table

DEFAULTS = "What drivers did when nothing was said of TLS"
SPLIT = "What an operation takes longer, and which part of it is what"
WARMUP = "How drivers warmed up"


def driver_tables(drivers: Drivers | None, *, narrow: bool = False) -> Iterator[Table]:
    """A table of each kind for which there is something; a `narrow` one leaves intervals to sentences."""
    if drivers is None:
        return
    if drivers.defaults:
        yield _defaults(drivers.defaults, narrow=narrow)
    if drivers.splits:
        yield _splits(drivers.splits, narrow=narrow)
    if drivers.warmups:
        yield _warmups(drivers.warmups)


def _defaults(found: Sequence[DriverDefault], *, narrow: bool) -> Table:
    """A narrow one has the version alone, and leaves the cipher to what was negotiated."""
    return Table(
        title=DEFAULTS,
        heads=("encrypted", "statements\nan operation"),
        rows=tuple(
            (one.label, _encrypted(one, narrow=narrow), _statements(one, narrow=narrow)) for one in found
        ),
        notes=(
            "The server's word for each connection, asked on that very connection. Statements are counted by "
            "the server over the window: what is more than the operation has, the driver sends by itself.",
        ),
        of="driver",
    )


def _encrypted(one: DriverDefault, *, narrow: bool) -> str:
    if not one.negotiated:
        return "no"
    said = (words.partition(" ")[0] if narrow else words for words in one.negotiated)
    return f"{'some: ' if one.encrypts == 'sometimes' else ''}{', '.join(dict.fromkeys(said))}"


def _statements(one: DriverDefault, *, narrow: bool) -> str:
    """How many, and of which kind where there are several."""
    if one.statements_per_op is None:
        return figures.NOTHING
    kinds = ", ".join(f"{name} {times:.2g}" for name, times in one.commands_per_op.items())
    several = f" ({kinds})" if len(one.commands_per_op) > 1 and not narrow else ""
    return f"{one.statements_per_op:.2f}{several}"


def _splits(splits: Sequence[DriverSplit], *, narrow: bool) -> Table:
    published = any(part.published_share is not None for split in splits for part in split.parts)
    heads = ("an operation", "share", *(("published",) if published else ()))
    rows: list[tuple[str, ...]] = []
    for split in splits:
        rows.append((_title(split), *[""] * len(heads)))
        rows += [(f"{INDENT}{name}", *cells[: len(heads)]) for name, *cells in _lines(split, narrow=narrow)]
    return Table(
        title=SPLIT,
        heads=heads,
        rows=tuple(rows),
        notes=(
            "Differences of cases in the same blocks, so that the parts add up. Encryption: the driver as it "
            "is less the same with TLS turned off. What it asks by itself: less the same with "
            "useLocalSessionState=true. The driver itself: what then is left beside the older one.",
        ),
        of="part",
    )


def _title(split: DriverSplit) -> str:
    place = ", ".join(str(split.case[name]) for name in ("server", "workload") if name in split.case)
    compared = f"{split.against} to {split.driver}" if split.against else split.label
    return f"{compared} ({place})" if place and split.against else compared


def _lines(split: DriverSplit, *, narrow: bool) -> Iterator[tuple[str, str, str, str]]:
    for part in split.parts:
        yield (
            PARTS[part.kind],
            _microseconds(part.extra_us_per_op, narrow=narrow),
            _share(part.share, narrow=narrow),
            _published(part.published_share),
        )
    if split.published_rest is not None and len(split.parts) > 2:
        # What was published tells encryption from all the rest, and no more.
        yield "all but encryption", "", "", _published(split.published_rest)
    if split.extra_us_per_op is not None:
        whole = _microseconds(split.extra_us_per_op, narrow=narrow)
        then = "" if split.published_ratio is None else f"{split.published_ratio:.2f}{figures.TIMES}"
        yield "together", whole, _times(split.time_ratio, narrow=narrow), then


def _microseconds(amount: Interval, *, narrow: bool) -> str:
    sign = "+" if amount.point > 0 else ""
    ends = "" if narrow else figures.ends(amount, figures.significant)
    return f"{sign}{figures.significant(amount.point)} µs {ends}".strip()


def _share(share: Interval | None, *, narrow: bool) -> str:
    if share is None:
        return figures.NOTHING
    ends = "" if narrow else figures.ends(share, lambda end: figures.significant(100 * end), " %")
    return f"{figures.significant(100 * share.point, 2)} % {ends}".strip()


def _times(ratio: Interval | None, *, narrow: bool) -> str:
    if ratio is None:
        return figures.NOTHING
    ends = "" if narrow else figures.ends(ratio, figures.significant)
    return f"{ratio.point:.2f}{figures.TIMES} {ends}".strip()


def _published(share: float | None) -> str:
    return figures.NOTHING if share is None else percent(share)


def _warmups(found: Sequence[DriverWarmup]) -> Table:
    return Table(
        title=WARMUP,
        heads=("cold", "warm", "times\nslower", "steady\nafter", "steady"),
        rows=tuple(
            (
                one.label,
                figures.quantity(one.cold_us_per_op, "us"),
                figures.quantity(one.warm_us_per_op, "us"),
                f"{one.times_slower:.1f}{figures.TIMES}",
                figures.NOTHING if one.steady_after_s is None else f"{one.steady_after_s:.1f} s",
                f"{one.steady_trials} of {one.trials}",
            )
            for one in found
        ),
        notes=(
            "The driver's own CPU time per operation before it was measured, in its first slice of a tenth "
            "of a second and in its last five: medians over trials. Steady: in so many it no longer fell.",
        ),
        of="driver",
    )
