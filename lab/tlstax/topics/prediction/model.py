"""What the parts of a connection cost, fitted to what mixes of them cost in a run of `components`. Pure.

Weighted least squares of values y on amounts of parts, each equation divided by its y: what is made small is
the relative error, since that is alike for small and large costs. What remains is what the parts do not
explain, and how far processes of one server differ; the prediction of a new mix on a new process has all of
it again.

Source: Draper and Smith (1998), Applied Regression Analysis, 3rd edition, sections 5.1 (prediction intervals)
and 9.2 (weighted least squares).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, hypot, log, sqrt
from statistics import stdev
from typing import Self

import numpy as np
from pydantic import NonNegativeFloat, PositiveInt

from tlstax.contract import Frozen
from tlstax.records.beforehand import Scaling
from tlstax.records.trial import RunHeader, StoredRun
from tlstax.results.interval import Interval
from tlstax.stats.contrasts import PROCESSES
from tlstax.stats.series import BlockRow, block_rows
from tlstax.stats.stats import geometric_mean
from tlstax.study import Levels, Study
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DEFAULT_AUTH, DIRECT
from tlstax.study.mixes import Mix
from tlstax.study.product import Family, ProductName, family_of
from tlstax.study.server_abilities import product_named
from tlstax.support.errors import UserMistake
from tlstax.support.grouping import grouped
from tlstax.support.text import enumerated
from tlstax.topics.prediction.parts import Parts, of_path, parts_of

VERSION = 2
"""Of the model. It is raised when the same measurements would be made into other predictions: a run keeps
what was predicted of it, and by which version."""

STUDIES: Mapping[Family, str] = {"mysql": "components", "postgresql": "postgres-components"}
"""The built-in studies that measure the parts, by whose protocol is spoken."""

SERVER_CPU, CLIENT_CPU, TIME = "server_cpu_us_per_op", "client_cpu_us_per_op", "latency_mean_us"
PATH_CPU = "path_cpu_us_per_op"
SENT, RECEIVED = "bytes_sent_per_op", "bytes_received_per_op"
ROUND_TRIPS = "round_trips"
CONNECT_ROUND_TRIPS, QUERY_ROUND_TRIPS = "round_trips_per_connect", "round_trips_per_query"
RATE = "ops_per_s"

COUNTS = (SENT, RECEIVED, ROUND_TRIPS)
"""Outcomes that no machine is faster at."""

FITTED = (SERVER_CPU, CLIENT_CPU, TIME, SENT, RECEIVED, ROUND_TRIPS)
READ = (SERVER_CPU, CLIENT_CPU, PATH_CPU, TIME, RATE, SENT, RECEIVED, CONNECT_ROUND_TRIPS, QUERY_ROUND_TRIPS)
"""The outcomes that are fitted for every connection, and those that are read for it."""

WAITING = 0.1
"""Below this share of a processor a server waits for so long that what it uses by itself, 1 to 2 % of one, is
much of what each connection seems to cost it."""


FEWEST_SPARE = 3
"""How many more mixes than parts there must be at least, for what is not explained to be known."""


@dataclass(frozen=True)
class Fit:
    """What each part costs. `unexplained` is the standard deviation of relative errors, from `spare` mixes.

    `covariance` is that of the costs. `blocks` is of how many blocks each value was the mean. By the share
    `speed` (a standard deviation) all costs are off together, which no quotient of two of them is.
    """

    names: tuple[str, ...]
    costs: np.ndarray
    covariance: np.ndarray
    unexplained: float
    spare: int
    blocks: int
    confidence: float
    speed: float = 0.0

    def knows(self, parts: Parts) -> bool:
        """Whether every part was measured."""
        return all(name in self.names for name in parts)

    def predicted(self, parts: Parts) -> Interval:
        """What a new mix of these parts costs, on a new process of it. KeyError for an unknown one."""
        point, sd = self._point(parts)
        scatter = sqrt((sd / point) ** 2 + self._scatter**2 + self.speed**2) * self._reach
        return self._interval(point, point * exp(-scatter), point * exp(scatter))

    def cost(self, parts: Parts) -> Interval:
        """What some parts of a mix cost by themselves: how well the fit knows it. KeyError as above."""
        point, sd = self._point(parts)
        return self._at_any_speed(point, sd * self._reach)

    def saving(self, parts: Parts, instead: Parts) -> Interval:
        """What a mix costs less when it becomes another one, on the same process. KeyError as above.

        What is not explained of the parts that both have is the same in both; of those in which they differ
        it is another time, by their share.
        """
        less = _less(parts, instead)
        point, sd = self._point(less)
        return self._at_any_speed(point, hypot(sd, self._unexplained_of(less)) * self._reach)

    def saved_share(self, parts: Parts, instead: Parts) -> Interval:
        """The same as a share of what the mix costs: how fast a machine is makes no difference to it.

        The variance of a quotient of two sums is, to first order, that of the sum whose amounts are those of
        the numerator less the quotient times those of the denominator, over the denominator (Cochran 1977,
        Sampling Techniques, 3rd edition, section 2.11).
        """
        less = _less(parts, instead)
        saved, whole = self._point(less)[0], self._point(parts)[0]
        share = saved / whole
        names = parts.keys() | less.keys()
        _, sd = self._point({name: less.get(name, 0.0) - share * parts.get(name, 0.0) for name in names})
        half = hypot(sd, self._unexplained_of(less)) * self._reach / whole
        return self._interval(share, share - half, share + half)

    def _unexplained_of(self, less: Parts) -> float:
        """What is not explained of the parts in which two mixes differ: in each of the two another time."""
        exchanged = [{name: amount for name, amount in less.items() if sign * amount > 0} for sign in (1, -1)]
        sizes = [self._point(own)[0] for own in exchanged if own]
        return self._scatter * sqrt(sum(size**2 for size in sizes))

    def _at_any_speed(self, point: float, half: float) -> Interval:
        """The half-width on either side, and each end as far out again as the speed may be off."""
        off = exp(self.speed * self._reach)
        low, high = point - half, point + half
        return self._interval(
            point, low / off if low > 0 else low * off, high * off if high > 0 else high / off
        )

    @property
    def _scatter(self) -> float:
        """By what share another process is off, and what the parts do not explain."""
        return hypot(self.unexplained, PROCESSES)

    @property
    def _reach(self) -> float:
        from scipy.special import stdtrit  # noqa: PLC0415 (takes a third of a second to import)

        return float(stdtrit(self.spare, (1 + self.confidence) / 2))

    def _point(self, parts: Parts) -> tuple[float, float]:
        """The sum of the parts' costs, and its standard deviation as far as the costs are not known."""
        amounts = np.zeros(len(self.names))
        places = {name: place for place, name in enumerate(self.names)}
        for name, amount in parts.items():
            amounts[places[name]] = amount
        variance = float(amounts @ self.covariance @ amounts)
        return float(amounts @ self.costs), sqrt(max(0.0, variance))

    def _interval(self, point: float, low: float, high: float) -> Interval:
        return Interval(point=point, low=low, high=high, confidence=self.confidence, blocks=self.blocks)


def fitted(
    measured: Sequence[tuple[Parts, float]],
    *,
    blocks: int,
    confidence: float,
    study: str,
) -> Fit:
    """The costs of all parts that are in what was measured: mixes' parts, and what each of them cost.

    Raises UserMistake where that is not enough to tell the parts apart, as a whole run of `study` is.
    """
    names = tuple(dict.fromkeys(name for parts, _ in measured for name in parts))
    spare = len(measured) - len(names)
    scaled = np.array([[parts.get(name, 0.0) / value for name in names] for parts, value in measured])
    if spare < FEWEST_SPARE or np.linalg.matrix_rank(scaled) < len(names):
        raise UserMistake(
            f"{len(measured)} mixes were measured, which do not tell their {len(names)} parts apart",
            remedy=f"run `tlstax study run {study}` to its end",
        )
    ones = np.ones(len(measured))
    inverse = np.linalg.inv(scaled.T @ scaled)
    costs = inverse @ scaled.T @ ones
    variance = float(np.sum((scaled @ costs - ones) ** 2)) / spare
    return Fit(names, costs, variance * inverse, sqrt(variance), spare, blocks, confidence)


def _less(parts: Parts, instead: Parts) -> dict[str, float]:
    """How much less there is of each part, where it is not as much."""
    names = dict.fromkeys((*parts, *instead))
    less = {name: parts.get(name, 0.0) - instead.get(name, 0.0) for name in names}
    return {name: amount for name, amount in less.items() if amount}


def study_of(server: str | None) -> str:
    """The built-in study of the parts of connections to this server, None being the default one."""
    return STUDIES[family_of(product_named(server))]


class MeasuredMix(Frozen):
    """A mix as a run measured it: the geometric means of its outcomes over blocks.

    `connections` worked at once, `blocks` is of how many; the server was `rtt_ms` away. `scatter` is by what
    share each outcome was off from block to block (standard deviation), where there are several.
    """

    mix: Mix
    connections: PositiveInt
    blocks: PositiveInt
    values: dict[str, NonNegativeFloat]
    rtt_ms: NonNegativeFloat = 0.0
    scatter: dict[str, NonNegativeFloat] = {}


@dataclass(frozen=True)
class Origin:
    """Where measured mixes are from: which run, when, which server, on which processor, by which study.

    `remark` is what else went on there, as far as somebody said so.
    """

    run: str
    at: str
    server: str
    processor: str
    study: Study
    remark: str = ""

    @classmethod
    def of(cls, header: RunHeader, server: str | None = None) -> Self:
        """That of a run, of one of its servers where it has several."""
        servers = header.study.levels_of().get("server", ())
        named = server or enumerated(str(level) for level in servers) or header.specimens[0].name
        return cls(header.run, header.started_at, named, header.machine.cpu_model, header.study)


@dataclass(frozen=True)
class Calibrated:
    """What the parts cost, by how many connections worked at once and by outcome; and what was measured.

    `fits` are those of connections without a path. `through` has for each path a calibration of its own, from
    what went through it and what did the same in the clear: a path may keep to the sum of its parts less than
    a server does, and says nothing of what others cost. `scaling` says how parts of another machine were
    brought to this one, None where they were measured here.
    """

    origin: Origin
    measured: tuple[MeasuredMix, ...]
    fits: Mapping[int, Mapping[str, Fit]]
    through: Mapping[str, Calibrated] = field(default_factory=dict)
    path: str = DIRECT
    scaling: Scaling | None = None

    @property
    def server_busy_share(self) -> float:
        """What share of a processor the server used with the most connections at once, along this path."""
        cell = (self.path, max(self.fits))
        own = [seen.values for seen in self.measured if (seen.mix.path, seen.connections) == cell]
        known = [values for values in own if {SERVER_CPU, RATE} <= values.keys()]
        return _mean(values[SERVER_CPU] * values[RATE] / 1e6 for values in known) if known else 1.0

    @property
    def mostly_waits(self) -> bool:
        """Whether its CPU times say little of a server that has other work."""
        return self.server_busy_share < WAITING

    def carrying(self, mix: Mix) -> Calibrated:
        """The calibration that knows the mix's path; this one where it has none, or where it is not known."""
        return self.through.get(mix.path, self)

    @property
    def alone(self) -> Mapping[str, Fit]:
        """With the fewest connections at once: how long things take."""
        return self.fits[min(self.fits)]

    @property
    def busy(self) -> Mapping[str, Fit]:
        """With the most: what they cost a server that has other work."""
        return self.fits[max(self.fits)]

    def knows(self, parts: Parts) -> bool:
        """Whether all of these parts were measured."""
        return self.busy[SERVER_CPU].knows(parts)

    @property
    def mixes(self) -> tuple[Mix, ...]:
        """The mixes that were measured."""
        return tuple(dict.fromkeys(measured.mix for measured in self.measured))


def calibrated(stored: StoredRun, server: str | None = None) -> Calibrated:
    """What a run of `components` says of the parts, of one of its servers where it has several.

    Raises UserMistake where it has too few mixes, MachineFault where a histogram cannot be decoded.
    """
    return calibration_of(Origin.of(stored.header, server), mixes_of(stored, server))


def calibration_of(origin: Origin, measured: Sequence[MeasuredMix]) -> Calibrated:
    """What these mixes say of their parts. Raises UserMistake where they are too few."""
    if not measured:
        studies = (f"`tlstax study run {study}`" for study in STUDIES.values())
        raise UserMistake(
            f"run {origin.run} measured no connections by their statements",
            remedy=f"name a run of {' or '.join(studies)}",
        )
    direct = [own for own in measured if own.mix.path == DIRECT]
    same = [own for own in direct if own.mix.tls == "off" and _tells_of_paths(own.mix)]
    carried = [own for own in measured if own.mix.path != DIRECT]
    own_cpu = _fits(carried, (PATH_CPU,), origin)
    through = {}
    for path, through_it in grouped(carried, lambda own: own.mix.path).items():
        mixes = (*same, *through_it)
        fits = {at: {**of_all, **own_cpu[at]} for at, of_all in _fits(mixes, FITTED, origin).items()}
        through[path] = Calibrated(origin, mixes, fits, path=path)
    return Calibrated(origin, tuple(measured), _fits(direct, FITTED, origin), through)


def _tells_of_paths(mix: Mix) -> bool:
    """Whether a mix in the clear tells of parts that mixes through a path have too.

    At PostgreSQL all accounts do: a connection is told apart from the proof of its account by others.
    """
    has_such_an_account = mix.product == "postgresql" or mix.auth == DEFAULT_AUTH
    return has_such_an_account and (mix.compression, mix.protocol) == ("off", "text")


def mixes_of(stored: StoredRun, server: str | None = None) -> tuple[MeasuredMix, ...]:
    """Every mix that a run has valid trials of. MachineFault where a histogram cannot be decoded."""
    study = stored.header.study
    return measured_mixes(block_rows(stored, READ), study.baseline, server, product_at=study.product_at)


def measured_mixes(
    rows: Iterable[BlockRow],
    baseline: Levels,
    server: str | None = None,
    *,
    product_at: Callable[[str | None], ProductName] = product_named,
) -> tuple[MeasuredMix, ...]:
    """Every mix of these rows, with the outcomes that all of its blocks have; `baseline` are its levels.

    With a `server` those of that one alone, where it was a factor. `product_at` tells the product of each.
    """
    by_case = grouped((row for row in rows if row.role != "control"), lambda row: row.levels)
    mixes = []
    for own in by_case.values():
        case = own[0].levels
        mix = Mix.of(case, family_of(product_at(case.server)))
        if mix is not None and (server is None or case.server in {None, server}):
            beside = by_case.get(own[0].levels | baseline, [])
            mixes.append(_measured(mix, case, own, beside))
    return tuple(mixes)


def _measured(
    mix: Mix, case: CaseLevels, rows: Sequence[BlockRow], baseline: Sequence[BlockRow]
) -> MeasuredMix:
    """What the mix cost: its ratio to the baseline beside it, times what the baseline cost in all blocks.

    A virtual machine may be half as fast for a minute, and not all mixes have as much of that. Neighbouring
    slices do. What the baseline has not (a path's own programs) is taken as it was.
    """
    known = set.intersection(*(set(row.values) for row in rows))
    compared = set.intersection(known, *(set(row.ratios) for row in rows))
    usual = {name: _mean(row.values[name] for row in baseline if name in row.values) for name in compared}
    values = {
        name: usual[name] * _mean(row.ratios[name] for row in rows)
        if name in compared
        else _mean(row.values[name] for row in rows)
        for name in READ
        if name in known
    }
    if case.connections == 1 and TIME not in values and RATE in values:
        # Of a window that is not made of slices the client tells how many fitted in it, one by one.
        values[TIME] = 1e6 / values[RATE]
    if CONNECT_ROUND_TRIPS in values:
        asked = mix.statements * values.get(QUERY_ROUND_TRIPS, 1.0)
        # A client counts those until it is connected, and a statement's; preparing comes in between.
        values[ROUND_TRIPS] = values[CONNECT_ROUND_TRIPS] + asked + (mix.protocol == "prepared")
    scatter = {
        name: stdev(log(max(row.values[name], 1e-9)) for row in rows) for name in compared if len(rows) > 1
    }
    return MeasuredMix(
        mix=mix,
        connections=case.connections,
        blocks=len(rows),
        values=values,
        rtt_ms=case.rtt_ms,
        scatter=scatter,
    )


def _mean(values: Iterable[float]) -> float:
    """The geometric mean, for values come and go by factors; of none it is nothing."""
    positive = [value for value in values if value > 0]
    return geometric_mean(positive) if positive else 0.0


def _fits(
    measured: Sequence[MeasuredMix], outcomes: Sequence[str], origin: Origin
) -> dict[int, dict[str, Fit]]:
    """A fit of each outcome that was measured, for each number of connections at once.

    How long operations take while several are at work no prediction is made of, and slices in which not all
    connections work at once do not tell: where such mixes lack it, it has no fit.
    """
    fits: dict[int, dict[str, Fit]] = {}
    for connections, own in grouped(measured, lambda mix: mix.connections).items():
        blocks, of_all = min(mix.blocks for mix in own), fits.setdefault(connections, {})
        for name in outcomes:
            taken = of_path if name == PATH_CPU else dict
            known = [(taken(parts_of(mix.mix)), mix.values[name]) for mix in own if name in mix.values]
            if known and not (name == TIME and connections > 1 and len(known) < len(own)):
                study, confidence = STUDIES[own[0].mix.product], origin.study.confidence
                of_all[name] = fitted(known, blocks=blocks, confidence=confidence, study=study)
    return fits
