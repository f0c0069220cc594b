"""From a run of the study `components` to what each part of a connection costs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from statistics import stdev
from typing import Self

from tlstax.findings.core.series import BlockRow, Frozen, block_rows, frozen
from tlstax.findings.core.stats import geometric_mean
from tlstax.findings.model.fit import Fit, fitted
from tlstax.findings.model.parts import Parts, of_path, parts_of
from tlstax.records.trial import RunHeader, StoredRun
from tlstax.results.prediction import Scaling
from tlstax.study import Levels, Study
from tlstax.study.case_levels import CaseLevels
from tlstax.study.level_names import DEFAULT_AUTH, DIRECT
from tlstax.study.mixes import Mix
from tlstax.support.errors import UserMistake
from tlstax.support.grouping import grouped
from tlstax.support.text import enumerated

STUDY = "components"
"""The built-in study that measures the parts."""

SERVER_CPU, CLIENT_CPU, TIME = "server_cpu_us_per_op", "client_cpu_us_per_op", "latency_mean_us"
PATH_CPU = "path_cpu_us_per_op"
SENT, RECEIVED = "bytes_sent_per_op", "bytes_received_per_op"
ROUND_TRIPS = "round_trips"
CONNECT_ROUND_TRIPS, QUERY_ROUND_TRIPS = "round_trips_per_connect", "round_trips_per_query"
RATE = "ops_per_s"

FITTED = (SERVER_CPU, CLIENT_CPU, TIME, SENT, RECEIVED, ROUND_TRIPS)
READ = (SERVER_CPU, CLIENT_CPU, PATH_CPU, TIME, RATE, SENT, RECEIVED, CONNECT_ROUND_TRIPS, QUERY_ROUND_TRIPS)
"""The outcomes that are fitted for every connection, and those that are read for it."""

WAITING = 0.1
"""Below this share of a processor a server waits for so long that what it uses by itself, 1 to 2 % of one, is
much of what each connection seems to cost it."""


@dataclass(frozen=True)
class MeasuredMix:
    """A mix as a run measured it: the geometric means of its outcomes over blocks.

    `blocks` is of how many; `connections` worked at once, `rtt_ms` away. `scatter` is by what share each
    outcome was off from block to block (standard deviation), where there are several.
    """

    mix: Mix
    connections: int
    rtt_ms: float
    values: Mapping[str, float]
    blocks: int
    scatter: Mapping[str, float] = field(default_factory=dict)


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
        own = [one for one in self.measured if (one.mix.path, one.connections) == (self.path, max(self.fits))]
        known = [one.values for one in own if {SERVER_CPU, RATE} <= one.values.keys()]
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
        raise UserMistake(
            f"run {origin.run} measured no connections by their statements",
            remedy=f"name a run of `tlstax study run {STUDY}`",
        )
    confidence = origin.study.confidence
    direct = [one for one in measured if one.mix.path == DIRECT]
    plain = ("off", DEFAULT_AUTH, "off")
    same = [one for one in direct if (one.mix.tls, one.mix.auth, one.mix.compression) == plain]
    carried = grouped([one for one in measured if one.mix.path != DIRECT], lambda one: one.mix.path)
    own_cpu = _fits_by_connections(
        [one for several in carried.values() for one in several], (PATH_CPU,), confidence
    )
    through = {}
    for path, own in carried.items():
        fits = _fits_by_connections([*same, *own], FITTED, confidence)
        with_own = {connections: {**of_all, **own_cpu[connections]} for connections, of_all in fits.items()}
        through[path] = Calibrated(origin, (*same, *own), with_own, path=path)
    return Calibrated(origin, tuple(measured), _fits_by_connections(direct, FITTED, confidence), through)


def mixes_of(stored: StoredRun, server: str | None = None) -> tuple[MeasuredMix, ...]:
    """Every mix that a run has valid trials of. MachineFault where a histogram cannot be decoded."""
    return measured_mixes(block_rows(stored, READ), stored.header.study.baseline, server)


def measured_mixes(
    rows: Iterable[BlockRow], baseline: Levels, server: str | None = None
) -> tuple[MeasuredMix, ...]:
    """Every mix of these rows, with the outcomes that all of its blocks have; `baseline` are its levels.

    With a `server` those of that one alone, where it was a factor.
    """
    by_case = grouped((row for row in rows if row.role != "control"), lambda row: frozen(row.levels))
    return tuple(_each_mix(by_case, baseline, server))


def _each_mix(
    by_case: Mapping[Frozen, list[BlockRow]], baseline: Levels, server: str | None
) -> Iterator[MeasuredMix]:
    for rows in by_case.values():
        case = CaseLevels.of(rows[0].levels)
        mix = Mix.of(case)
        if mix is not None and (server is None or case.server in {None, server}):
            yield _measured(mix, case, rows, by_case.get(frozen({**rows[0].levels, **baseline}), []))


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
        values[ROUND_TRIPS] = values[CONNECT_ROUND_TRIPS] + asked
    scatter = {name: _scatter([row.values[name] for row in rows]) for name in compared if len(rows) > 1}
    return MeasuredMix(mix, case.connections, case.rtt_ms, values, len(rows), scatter)


def _scatter(values: Sequence[float]) -> float:
    """By what share several values are off, as a standard deviation of their logarithms."""
    return stdev(log(max(value, 1e-9)) for value in values)


def _mean(values: Iterable[float]) -> float:
    """The geometric mean, for values come and go by factors; of none it is nothing."""
    positive = [value for value in values if value > 0]
    return geometric_mean(positive) if positive else 0.0


def _fits_by_connections(
    measured: Sequence[MeasuredMix], outcomes: Sequence[str], confidence: float
) -> dict[int, dict[str, Fit]]:
    """A fit of each outcome, for each number of connections at once."""
    ladder = grouped(measured, lambda one: one.connections)
    return {connections: dict(_fits(own, outcomes, confidence)) for connections, own in ladder.items()}


def _fits(
    measured: Sequence[MeasuredMix], outcomes: Sequence[str], confidence: float
) -> Iterator[tuple[str, Fit]]:
    blocks = min(one.blocks for one in measured)
    for name in outcomes:
        taken = of_path if name == PATH_CPU else dict
        known = [(taken(parts_of(one.mix)), one.values[name]) for one in measured if name in one.values]
        if known:
            yield name, fitted(known, blocks=blocks, confidence=confidence)
