"""What an upgrade of a driver costs: encryption, statements of its own, and the driver itself. Pure.

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
from itertools import pairwise

from tlstax.findings.core.pooling import Pooling
from tlstax.findings.core.series import LADDER, Frozen, Series, frozen
from tlstax.findings.drivers.defaults import Observed, is_left_alone, own_options
from tlstax.findings.drivers.words import split_sentence
from tlstax.results.drivers import CostPart, DriverSplit, Encrypts, PartKind
from tlstax.results.interval import Interval
from tlstax.study import Case, Published, Study, within
from tlstax.study.labels import driver_label, driver_words, other_workload
from tlstax.study.level_names import OPTION
from tlstax.support.grouping import grouped

ASKS_LESS = {"useLocalSessionState": "true"}
"""What keeps Connector/J from asking for its session's state, which it then keeps track of by itself."""

Us = Mapping[int, float]
"""What an operation takes on one connection, in microseconds, block by block."""


@dataclass(frozen=True)
class _Link:
    """A case of a chain; `part` is what taking the next one away from it leaves, None for the last."""

    case: Case
    part: PartKind | None


@dataclass(frozen=True)
class _Place:
    """The drivers' cases on one server and under one workload, and what was observed of them."""

    cases: Sequence[Case]
    observations: Mapping[Frozen, Observed]
    study: Study

    def options(self, case: Case) -> Mapping[str, str]:
        """The options that distinguish this case from others of its driver."""
        return own_options(case.levels, self.study)

    def encrypts(self, case: Case) -> Encrypts:
        return self.observations[frozen(case.levels)].encrypts

    def are_alike(self, one: Case, other: Case) -> bool:
        """Whether both were encrypted, or neither, so that what they differ by is not encryption."""
        return self.encrypts(one) == self.encrypts(other) != "sometimes"

    def with_options(self, case: Case, options: Mapping[str, str]) -> Case | None:
        """The case of the same driver with exactly these options; None where there is none."""
        same = (other for other in self.cases if other.typed.client == case.typed.client)
        return next((other for other in same if self.options(other) == options), None)


def driver_splits(series: Series, observations: Mapping[Frozen, Observed]) -> tuple[DriverSplit, ...]:
    """A split for each driver as it is, against the study's baseline where that is on the same server."""
    known = (c for c in series.cases.values() if is_left_alone(c) and frozen(c.levels) in observations)
    places = grouped(known, _place).values()
    found = (_splits(series, _Place(cases, observations, series.study)) for cases in places)
    return tuple(split for splits in found for split in splits)


def us_per_op(series: Series, case: Case) -> dict[int, float]:
    """What an operation takes in each block, on each of the connections, from the operations a second."""
    connections = int(case.levels.get(LADDER, 1))
    values = series.values.get(frozen(case.levels), {})
    return {
        block: connections * 1e6 / found["ops_per_s"]
        for block, found in values.items()
        if found.get("ops_per_s", 0.0) > 0
    }


def _place(case: Case) -> Frozen:
    """What the cases of a chain share: all but the driver and its options."""
    options = (name for name in case.levels if name.startswith(OPTION))
    return frozen(case.levels, "client", *options)


def _splits(series: Series, place: _Place) -> Iterator[DriverSplit]:
    old = next((case for case in place.cases if case.role == "baseline"), None)
    for case in place.cases:
        if case is not old and not place.options(case):
            chain = tuple(_chain(case, old, place))
            split = _split(series, chain) if len(chain) > 1 else None
            if split is not None:
                yield split


def _chain(case: Case, old: Case | None, place: _Place) -> Iterator[_Link]:
    """From the driver as it is to the older one, as far as there are cases; each with what it has more."""
    end = case
    off = _turned_off(case, place)
    if off is not None:
        yield _Link(case, "encryption")
        end = off
    lean = place.with_options(case, {**place.options(end), **ASKS_LESS})
    if lean is not None and lean is not end and place.are_alike(end, lean):
        yield _Link(end, "statements")
        end = lean
    if old is not None and place.are_alike(end, old):
        yield _Link(end, "driver version")
        end = old
    yield _Link(end, None)


def _turned_off(case: Case, place: _Place) -> Case | None:
    """The same driver in the clear, with the fewest options; None where it is in the clear without any."""
    if place.encrypts(case) != "always":
        return None
    in_the_clear = [
        other
        for other in place.cases
        if other.typed.client == case.typed.client and place.encrypts(other) == "never"
    ]
    return min(in_the_clear, key=lambda other: len(place.options(other)), default=None)


def _split(series: Series, chain: Sequence[_Link]) -> DriverSplit | None:
    times = [us_per_op(series, link.case) for link in chain]
    blocks = sorted(set.intersection(*(set(us) for us in times)))
    if not blocks:
        return None
    first, last = chain[0].case, chain[-1].case
    has_whole = chain[-2].part == "driver version"
    whole = {block: times[0][block] - times[-1][block] for block in blocks}
    pooling = series.pooling
    published = [_published(link.case, series.study.published) for link in chain]
    split = DriverSplit(
        driver=driver_words(first.levels, series.study),
        label=driver_label(first, series.study),
        work=other_workload(first.levels, series.study),
        against=driver_words(last.levels, series.study) if has_whole else "",
        case=dict(first.levels),
        baseline=dict(last.levels),
        us_per_op=_mean(times[0], blocks),
        baseline_us_per_op=_mean(times[-1], blocks) if has_whole else None,
        extra_us_per_op=pooling.difference(whole) if has_whole else None,
        time_ratio=_time_ratio(series, chain, blocks) if has_whole else None,
        published_ratio=_over(published[0], published[-1]) if has_whole else None,
        published_rest=_published_rest(published, chain) if has_whole else None,
        parts=tuple(
            CostPart(
                kind=link.part,
                labels=(
                    driver_words(link.case.levels, series.study),
                    driver_words(after.case.levels, series.study),
                ),
                extra_us_per_op=pooling.difference(part),
                share=_share(part, whole, pooling) if has_whole else None,
                published_share=_published_share(published, place),
            )
            for place, (link, after) in enumerate(pairwise(chain))
            if link.part is not None
            and (part := {block: times[place][block] - times[place + 1][block] for block in blocks})
        ),
        sentence="",
    )
    return split.model_copy(update={"sentence": split_sentence(split)})


def _mean(us: Us, blocks: Sequence[int]) -> float:
    return sum(us[block] for block in blocks) / len(blocks)


def _share(part: Us, whole: Us, pooling: Pooling) -> Interval | None:
    """The part's share of the whole; None where the whole is not clear of zero."""
    if not pooling.difference(whole).excludes_zero and len(whole) > 1:
        return None
    return pooling.quotient(part, whole) if sum(whole.values()) else None


def _time_ratio(series: Series, chain: Sequence[_Link], blocks: Sequence[int]) -> Interval | None:
    """How many times as long an operation takes with the first of the chain as with the last.

    Both have as many connections, so that is how many times as many the last does in a second.
    """
    rates = series.log_ratios(chain[-1].case.levels, chain[0].case.levels, "ops_per_s")
    return series.interval({block: rates[block] for block in blocks})


def _published(case: Case, figures: Sequence[Published]) -> float | None:
    """The published time of the case; None where none stands beside it."""
    of_time = (figure for figure in figures if figure.beside and figure.outcome == "total_s")
    return next((figure.value for figure in of_time if within(case.levels, figure.beside)), None)


def _over(value: float | None, other: float | None) -> float | None:
    return value / other if value is not None and other is not None else None


def _published_share(published: Sequence[float | None], place: int) -> float | None:
    """The share of the published difference that lies between this case and the next of the chain."""
    first, last, here, after = published[0], published[-1], published[place], published[place + 1]
    if first is None or last is None or here is None or after is None or first == last:
        return None
    return (here - after) / (first - last)


def _published_rest(published: Sequence[float | None], chain: Sequence[_Link]) -> float | None:
    """What is published of all that is not encryption."""
    encryption = _published_share(published, 0) if chain[0].part == "encryption" else None
    return None if encryption is None else 1 - encryption
