"""What an upgrade of a driver costs: encryption, statements of its own, and the driver itself.

Of one driver, on one server and under one workload, cases are taken away from one another like this:

    the driver as it is                     as found: encrypted
    - the same with TLS turned off          = encryption
    - and kept from asking by itself        = statements
    - the older driver                      = driver version

Which option turned TLS off is not looked up, but found: the case with the fewest options that was seen in
the clear. All cases of a chain are taken from the same blocks, so that the parts add up in each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tlstax.results.interval import Interval
from tlstax.results.rows import Row, RowSet
from tlstax.stats.pooling import Pooling
from tlstax.stats.series import LADDER, Series
from tlstax.stats.wording import (
    MANY_TIMES,
    MINUS,
    alike,
    each,
    per_cent,
    percent,
    signed_percent,
    with_ends,
)
from tlstax.study import Case, Published, Study, within
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import driver_label, driver_words, other_workload
from tlstax.study.level_names import OPTION
from tlstax.support.grouping import grouped
from tlstax.support.text import enumerated
from tlstax.topics.core import columns
from tlstax.topics.core.figures import TIMES, significant
from tlstax.topics.core.table import INDENT, Cell, Number, Table, number
from tlstax.topics.drivers.defaults import Observed, is_left_alone, own_options

SPLIT, SHARE = "driver split", "driver split share"
"""Roles of rows."""

OPERATION, TOGETHER = "operation", "together"
"""Outcomes of a split: what an operation takes with either driver, and how much more that is."""

ENCRYPTION, ASKING, VERSION = "encryption", "what it asks by itself", "the driver itself"
"""The parts of a split."""

PUBLISHED = "published"

COLUMNS = (columns.PUBLISHED,)

ASKS_LESS = {"useLocalSessionState": "true"}
"""What keeps Connector/J from asking for its session's state, which it then keeps track of by itself."""

Us = Mapping[int, float]
"""What an operation takes on one connection, in microseconds, block by block."""


@dataclass(frozen=True)
class _Place:
    """The drivers' cases on one server and under one workload, and what was observed of them."""

    cases: Sequence[Case]
    observations: Mapping[CaseLevels, Observed]
    study: Study

    def options(self, case: Case) -> Mapping[str, str]:
        """The options that distinguish this case from others of its driver."""
        return own_options(case.levels, self.study)

    def encrypts(self, case: Case) -> str:
        return self.observations[case.levels].encrypts

    def are_alike(self, one: Case, other: Case) -> bool:
        """Whether both were encrypted, or neither, so that what they differ by is not encryption."""
        return self.encrypts(one) == self.encrypts(other) != "sometimes"

    def same_driver(self, case: Case) -> list[Case]:
        """The cases of its driver, itself among them."""
        return [other for other in self.cases if other.levels.client == case.levels.client]


def rows(series: Series, observations: Mapping[CaseLevels, Observed]) -> Iterator[Row]:
    """A split for each driver as it is, against the study's baseline where that is on the same server.

    Each begins with the row of its "operation": what one takes with the first case of its chain, and beside
    it with the older driver, their ratio, and `published` what that was for others. Rows of its parts follow,
    each the difference of two cases, with its share of the whole; then the whole, "together". Without an
    older driver there is neither a ratio nor a whole, and a whole that may be nothing has no shares.
    """
    known = (c for c in series.cases.values() if is_left_alone(c) and c.levels in observations)
    for own in grouped(known, _place).values():
        place = _Place(own, observations, series.study)
        old = next((case for case in own if case.role == "baseline"), None)
        for case in own:
            if case is not old and not place.options(case) and (parts := _parts(case, old, place)):
                yield from _split(series, case, parts)


def us_per_op(series: Series, case: Case) -> dict[int, float]:
    """What an operation takes in each block, on each of the connections, from the operations a second."""
    connections = int(case.levels.get(LADDER, 1))
    values = series.values.get(case.levels, {})
    return {
        block: connections * 1e6 / found["ops_per_s"]
        for block, found in values.items()
        if found.get("ops_per_s", 0.0) > 0
    }


def _place(case: Case) -> CaseLevels:
    """What the cases of a chain share: all but the driver and its options."""
    options = (name for name in case.levels if name.startswith(OPTION))
    return case.levels.without("client", *options)


def _parts(case: Case, old: Case | None, place: _Place) -> dict[str, Case]:
    """From the driver as it is to the older one, as far as there are cases: what each has less, and it."""
    parts, last = dict[str, Case](), case
    in_the_clear = [other for other in place.same_driver(case) if place.encrypts(other) == "never"]
    if place.encrypts(case) == "always" and in_the_clear:
        parts[ENCRYPTION] = last = min(in_the_clear, key=lambda other: len(place.options(other)))
    without_asking = {**place.options(last), **ASKS_LESS}
    lean = next((own for own in place.same_driver(case) if place.options(own) == without_asking), last)
    if lean is not last and place.are_alike(last, lean):
        parts[ASKING] = last = lean
    if old is not None and place.are_alike(last, old):
        parts[VERSION] = old
    return parts


def _split(series: Series, case: Case, parts: Mapping[str, Case]) -> Iterator[Row]:
    chain = [case, *parts.values()]
    times = [us_per_op(series, one) for one in chain]
    blocks = sorted(set.intersection(*(set(us) for us in times)))
    if not blocks:
        return
    has_whole = VERSION in parts
    published = [_published(one, series.study.published) for one in chain]
    # Both have as many connections, so the ratio of their times is how many times as many the last does.
    rates = series.log_ratios(chain[-1].levels, case.levels, "ops_per_s")
    newest, oldest = published[0], published[-1]
    published_times = newest / oldest if newest is not None and oldest is not None and has_whole else None

    def less(first: int, last: int) -> dict[int, float]:
        return {block: times[first][block] - times[last][block] for block in blocks}

    def row(first: int, last: int, **known: Any) -> Row:
        common = {"label": driver_label(case, series.study), "role": SPLIT, "unit": "us"}
        levels = {"case": chain[first].levels, "baseline": chain[last].levels}
        return Row.model_validate({**common, **levels, **known})

    yield row(
        0,
        -1,
        outcome=OPERATION,
        value=sum(times[0][block] for block in blocks) / len(blocks),
        baseline_value=sum(times[-1][block] for block in blocks) / len(blocks) if has_whole else None,
        interval=series.interval({block: rates[block] for block in blocks}) if has_whole else None,
        of="ratio",
        blocks=len(blocks),
        more={PUBLISHED: published_times},
    )
    whole = less(0, -1) if has_whole else {}
    for place, part in enumerate(parts):
        us = less(place, place + 1)
        yield row(place, place + 1, outcome=part, interval=series.pooling.difference(us))
        share, others = _share(us, whole, series.pooling), _published_share(published, place)
        if share is not None or others is not None:
            known = {"role": SHARE, "unit": "1", "interval": share, "more": {PUBLISHED: others}}
            yield row(place, place + 1, outcome=part, **known)
    if has_whole:
        yield row(0, -1, outcome=TOGETHER, interval=series.pooling.difference(whole))


def _share(part: Us, whole: Us, pooling: Pooling) -> Interval | None:
    """The part's share of the whole; None where there is no whole or it is not clear of zero."""
    if not sum(whole.values()) or (not pooling.difference(whole).excludes_zero and len(whole) > 1):
        return None
    return pooling.quotient(part, whole)


def _published(case: Case, published: Sequence[Published]) -> float | None:
    """The published time of the case; None where none stands beside it."""
    of_time = (figure for figure in published if figure.beside and figure.outcome == "total_s")
    return next((figure.value for figure in of_time if within(case.levels, figure.beside)), None)


def _published_share(published: Sequence[float | None], place: int) -> float | None:
    """The share of the published difference that lies between this case and the next of the chain."""
    first, last, here, after = published[0], published[-1], published[place], published[place + 1]
    if first is None or last is None or here is None or after is None or first == last:
        return None
    return (here - after) / (first - last)


class Split(RowSet):
    """The rows of one split, by what they are."""

    @property
    def operation(self) -> Row:
        """What an operation takes with either driver."""
        return self.rows[0]

    @property
    def parts(self) -> list[Row]:
        """What each part of the difference is."""
        return [row for row in self.rows[1:] if row.role == SPLIT and row.outcome != TOGETHER]

    @property
    def shares(self) -> dict[str, Row]:
        """Which share of the whole each part is."""
        return {row.outcome: row for row in self.rows if row.role == SHARE}

    @property
    def together(self) -> Row | None:
        """The whole difference."""
        return self.row(TOGETHER)

    @property
    def published_encryption(self) -> float | None:
        """The published share of encryption, beside that of all the rest."""
        share = self.shares.get(ENCRYPTION)
        return share.number(PUBLISHED) if share is not None else None


def splits_of(shown: Sequence[Row]) -> list[Split]:
    """The rows of splits, put together again."""
    own: list[list[Row]] = []
    for row in shown:
        if row.role in {SPLIT, SHARE}:
            if row.outcome == OPERATION:
                own.append([])
            own[-1].append(row)
    return [Split(split) for split in own]


def sentence(split: Split, study: Study) -> str:
    """How much longer an operation takes, and which part of that is what; beside what was published."""
    ratio, case = split.operation.interval, split.operation.case
    if ratio is None or split.together is None:
        costs = [f"{part.outcome} is {_us(part.known)}" for part in split.parts]
        return f"{split.operation.label}: of what an operation takes, {enumerated(costs)}"
    older, newer = driver_words(split.operation.baseline, study), driver_words(case, study)
    longer = _longer(ratio, split.together.known)
    shares = [_share_words(name, row.interval) for name, row in split.shares.items() if row.interval]
    of_it = f"; of that {enumerated(shares)}" if shares else ""
    return f"from {older} to {newer}{other_workload(case, study)} {longer}{of_it}{_published_words(split)}"


def _longer(ratio: Interval, extra: Interval) -> str:
    """How much longer or shorter an operation takes; that no difference is seen where none is."""
    if ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high:
        low, high = (signed_percent(end - 1) for end in (ratio.low, ratio.high))
        _, least_us, most_us = _rounded(extra.point, extra.low or 0.0, extra.high or 0.0)
        return (
            f"no difference in the time of an operation is seen ({low} to {high}, {least_us} to {most_us} µs)"
        )
    if ratio.low is not None and ratio.high is not None and ratio.high < 1:
        less = -ratio.each(lambda end: end - 1)
        return f"an operation takes {with_ends(less, each(percent), ' less time')}"
    return f"an operation takes {_times(ratio)} and {_us(extra)} more"


def _times(ratio: Interval) -> str:
    """How much longer: "2.31 times as long (2.20 to 2.43)", "12.1 % longer (10.8 to 13.4 %)"."""
    alone = f"{ratio.point:.2f} times as long"
    if ratio.point >= MANY_TIMES:
        return with_ends(ratio, alike, " times as long", alone=alone)
    return with_ends(ratio.each(per_cent), _rounded, " % longer", last=" %", alone=alone)


def _us(amount: Interval) -> str:
    """A difference in time: "81 µs (75 to 87 µs)"."""
    alone = f"{amount.point:.1f} µs".replace("-", MINUS)
    return with_ends(amount, _rounded, " µs", last=" µs", alone=alone)


def _share_words(name: str, share: Interval) -> str:
    if share.low is None or share.high is None:
        return f"{name} is {percent(share.point) if share.point >= 0 else signed_percent(share.point)}"
    return f"{name} is {with_ends(share.each(lambda end: 100 * end), _rounded, ' %', last=' %')}"


def _rounded(*values: float) -> list[str]:
    return [text.replace("-", MINUS) for text in alike(*values)]


def _published_words(split: Split) -> str:
    """The same for what was published, which may distinguish fewer parts."""
    ratio, encryption = split.operation.number(PUBLISHED), split.published_encryption
    if ratio is None:
        return ""
    words = f"; published: {ratio:.2f} times as long"
    if encryption is None:
        return words
    return f"{words}, of that encryption {percent(encryption)} and all the rest {percent(1 - encryption)}"


def table(splits: Sequence[Split], study: Study) -> Table:
    """The parts of each split, below its name."""
    shares = [row for split in splits for row in split.shares.values()]
    published = any(row.number(PUBLISHED) is not None for row in shares)
    heads = ("an operation,\nµs", "share,\n%", *(("published,\n%",) if published else ()))
    rows: list[tuple[Cell, ...]] = []
    for split in splits:
        case, title = split.operation.case, split.operation.label
        if split.together is not None:
            place = ", ".join(str(case[name]) for name in ("server", "workload") if name in case)
            title = f"{driver_words(split.operation.baseline, study)} to {driver_words(case, study)}"
            title = f"{title} ({place})" if place else title
        rows.append((title, *[""] * len(heads)))
        rows += [(f"{INDENT}{name}", *cells[: len(heads)]) for name, *cells in _split_lines(split)]
    return Table(
        title="What an operation takes longer, and which part of it is what",
        heads=heads,
        rows=rows,
        notes=(
            "Differences of cases in the same blocks, so that the parts add up. Encryption: the driver as it "
            "is less the same with TLS turned off. What it asks by itself: less the same with "
            "useLocalSessionState=true. The driver itself: what then is left beside the older one.",
        ),
        of="part",
    )


def _split_lines(split: Split) -> Iterator[tuple[str, Cell, Cell, Cell]]:
    for part in split.parts:
        share = split.shares.get(part.outcome)
        of_whole = number(share.interval if share is not None else None, _per_cent)
        published = Number(share.number(PUBLISHED) if share is not None else None, said=_per_cent)
        yield part.outcome, number(part.known, _more), of_whole, published
    encryption = split.published_encryption
    if encryption is not None and split.together is not None and len(split.parts) > 2:
        # What was published tells encryption from all the rest, and no more.
        yield "all but encryption", "", "", Number(1 - encryption, said=_per_cent)
    if split.together is not None:
        times, then = number(split.operation.interval, _factor), split.operation.number(PUBLISHED)
        yield "together", number(split.together.known, _more), times, Number(then, said=_factor)


def _more(us: float) -> str:
    return f"{'+' if us > 0 else ''}{significant(us)}"


def _per_cent(share: float) -> str:
    return significant(100 * share, 2)


def _factor(ratio: float) -> str:
    return f"{ratio:.2f}{TIMES}"
