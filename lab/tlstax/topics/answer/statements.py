"""Published statements put to the test: what each server shows of them, with intervals. Pure.

Where one server has run both sides, their values are compared directly, block by block. TLS libraries each
have a process of their own, and processes differ, and have their turns at other times: so what is compared is
each process's ratio to its own baseline (plaintext, where the library has no part), where that was measured.
Where no server has run both, servers of one family (mysql, mariadb) are compared, by such ratios alone: what
the servers differ by otherwise is in both terms of them.

"The best of several" is a trap: the largest of five noisy numbers is larger than the largest of two even
when all are alike (the winner's curse). So the best of each side is never chosen by the values that are
then compared: for each block it is chosen by the mean over all other blocks, and the chosen ones'
values of this block are compared. With one library on a side nothing is chosen.

A statement of libraries is told in plaintext apart, where they must not matter. Any other is told of all
cases alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, NamedTuple

from tlstax.findings.core.contrasts import INSTANCE, Floor, Twins, twins
from tlstax.findings.core.judgements import is_different
from tlstax.findings.core.outcomes import OUTCOMES
from tlstax.findings.core.series import LADDER, Frozen, Logs, Series, difference, frozen, pooled
from tlstax.results.document import StatementCase, StatementResult, Tally
from tlstax.results.interval import Interval
from tlstax.study import Choice, Level, Levels, Statement, within
from tlstax.topics.answer.statement_words import described

Outcome = Literal["held", "opposite", "alike", "inconclusive"]


class Step(NamedTuple):
    """A case at one step of its ladder, and what it is chosen by."""

    levels: Levels
    logs: Logs


Candidates = Mapping[Frozen, Mapping[int, Step]]
"""Of one side, for each level of the statement's factor (or factors): the steps of its ladder."""

LIBRARY, SERVER = "tls_library", "server"


@dataclass(frozen=True)
class Sides:
    """The two sides of a statement under one workload and TLS mode, and the servers that they ran on."""

    levels: dict[str, Level]
    servers: tuple[str, ...]
    better: Candidates
    than: Candidates


@dataclass(frozen=True)
class Trier:
    """Puts one statement to the test: within each server or across servers, by values or by ratios.

    With `to_own` the ratios to each process's own baseline are compared, and `floors` are of such ratios.
    """

    series: Series
    statement: Statement
    across: bool
    to_own: bool
    floors: Twins

    def tried(self, *, baseline: bool | None) -> tuple[StatementCase, ...]:
        """Every case that the statement bears on: those of the baseline (plaintext), or others; None: all."""
        found = (self._case(sides) for sides in self._sides(baseline=baseline))
        return tuple(case for case in found if case is not None)

    def _sides(self, *, baseline: bool | None) -> Iterator[Sides]:
        places: dict[Frozen, dict[str, dict[Frozen, dict[int, Step]]]] = {}
        factors = self.statement.factors()
        for case in self.series.cases.values():
            asked = baseline is None or (case.role == "baseline") is baseline
            if asked and case.levels.keys() >= set(factors) and self._bears(case.levels):
                level = frozen({name: case.levels[name] for name in factors})
                server = "" if SERVER in factors else str(case.levels.get(SERVER, ""))
                kept = frozen(case.levels, SERVER, LADDER, INSTANCE, *factors)
                steps = places.setdefault(kept, {}).setdefault(server, {}).setdefault(level, {})
                steps[int(case.levels.get(LADDER, 1))] = Step(case.levels, self._logs(case.levels))
        better_side, than_side = self.statement.sides()
        for place, servers in places.items():
            for one, other in self._pairs(list(servers)):
                better = _chosen(servers[one], better_side)
                than = _chosen(servers[other], than_side)
                if better and than:
                    named = tuple(dict.fromkeys(name for name in (one, other) if name))
                    yield Sides(dict(place), named, better, than)

    def _bears(self, levels: Levels) -> bool:
        """Twins are for the noise floor; counting them would count one server twice."""
        first = next((c.baseline for c in self.series.study.contrasts if c.factor == INSTANCE), None)
        return within(levels, self.statement.within) and levels.get(INSTANCE, first) == first

    def _pairs(self, servers: Sequence[str]) -> list[tuple[str, str]]:
        if not self.across:
            return [(server, server) for server in servers]
        return [(a, b) for a in servers for b in servers if a != b and family(a) == family(b)]

    def _logs(self, levels: Levels) -> Logs:
        outcome = self.statement.outcome
        if not self.to_own:
            return self.series.logs(levels, outcome)
        return self.series.log_ratios(levels, self.series.own_baseline(levels), outcome)

    def _case(self, sides: Sides) -> StatementCase | None:
        lower = bool(OUTCOMES[self.statement.outcome].lower_is_better)
        shared = _steps(sides.better) & _steps(sides.than)
        cells = [
            self._interval(_at(sides.better, {step}), _at(sides.than, {step}), lower_is_better=lower)
            for step in sorted(shared)
        ]
        whole = self._interval(_at(sides.better, shared), _at(sides.than, shared), lower_is_better=lower)
        if whole is None:
            return None
        floor = self._floor(sides)
        judged = [self._outcome(cell, floor) for cell in cells if cell is not None]
        return StatementCase(
            case=sides.levels,
            sides=sides.servers,
            across_servers=self.across,
            to_own_baseline=self.to_own,
            connections=tuple(sorted(shared)),
            ratio=whole,
            noise_floor=floor.relative,
            noise_from=floor.source,
            outcome=self._outcome(whole, floor),
            cells=tally(judged),
            chosen=max(len(sides.better), len(sides.than)) > 1,
        )

    def _interval(self, better: Candidates, than: Candidates, *, lower_is_better: bool) -> Interval | None:
        one, other = (
            best_without_hindsight(
                {level: pooled({step: own.logs for step, own in at.items()}) for level, at in side.items()},
                lower_is_better=lower_is_better,
            )
            for side in (better, than)
        )
        ratios = {
            (a, b): self._ratios(better[a], than[b])
            for a, b in {(one[block], other[block]) for block in one.keys() & other.keys()}
        }
        both = ((block, ratios[one[block], other[block]]) for block in sorted(one.keys() & other.keys()))
        return self.series.interval({block: logs[block] for block, logs in both if block in logs})

    def _ratios(self, better: Mapping[int, Step], than: Mapping[int, Step]) -> Logs:
        """Ln of the ratio of two levels in each block, pooled over their ladders."""
        pairs = {step: (better[step], than[step]) for step in better}
        if self.to_own:
            return pooled({step: difference(own.logs, other.logs) for step, (own, other) in pairs.items()})
        ratios, outcome = self.series.log_ratios, self.statement.outcome
        return pooled({step: ratios(a.levels, b.levels, outcome) for step, (a, b) in pairs.items()})

    def _outcome(self, ratio: Interval, floor: Floor) -> Outcome:
        """What a ratio shows of the statement, which may say by how much, or that there is no difference."""
        statement = self.statement
        if statement.kind == "alike":
            return _alike(ratio, statement.by)
        lower = bool(OUTCOMES[statement.outcome].lower_is_better)
        beyond = _beyond(ratio, 1 / statement.by if lower else statement.by)
        judged = _better(beyond, floor, lower_is_better=lower)
        if judged != "inconclusive" or statement.by > 1.0:
            return judged
        if statement.kind == "no worse":
            return _no_worse(ratio, statement.alike_within, floor, lower_is_better=lower)
        return _equivalent(ratio, statement.alike_within, floor)

    def _floor(self, sides: Sides) -> Floor:
        """The largest of the floors that hold for the servers of both sides."""
        floors = [self.floors.floor({**sides.levels, SERVER: server}) for server in sides.servers or ("",)]
        return max(floors, key=lambda floor: floor.relative or 0.0)


def statements(series: Series) -> tuple[StatementResult, ...]:
    """What the run says of each statement of its study, in the study's order."""
    return tuple(_result(series, statement) for statement in series.study.statements)


def family(server: str) -> str:
    """What a server is a version of: "mysql" of "mysql-8.0.33"."""
    return server.partition("-")[0]


def best_without_hindsight(candidates: Mapping[Frozen, Logs], *, lower_is_better: bool) -> dict[int, Frozen]:
    """In each block, the candidate that is the best by its mean over the other blocks.

    Only blocks that all candidates have; a block alone leaves nothing to choose by unless there is
    one candidate only. Candidates without any value do not take part.
    """
    measured = {level: logs for level, logs in candidates.items() if logs}
    if not measured:
        return {}
    if len(measured) == 1:
        ((level, logs),) = measured.items()
        return dict.fromkeys(logs, level)
    shared = set.intersection(*(set(logs) for logs in measured.values()))
    sign = -1 if lower_is_better else 1
    found = {}
    for block in sorted(shared) if len(shared) > 1 else ():
        others = shared - {block}
        means = {level: sign * fmean(logs[b] for b in others) for level, logs in measured.items()}
        found[block] = max(means, key=means.__getitem__)
    return found


def tally(outcomes: Sequence[Outcome]) -> Tally:
    """How often each came out."""
    counts = [outcomes.count(outcome) for outcome in ("held", "opposite", "alike", "inconclusive")]
    return Tally(held=counts[0], opposite=counts[1], alike=counts[2], inconclusive=counts[3])


def _result(series: Series, statement: Statement) -> StatementResult:
    direct = Trier(series, statement, across=False, to_own=False, floors=twins(series, statement.outcome))
    if statement.factor != LIBRARY:
        cases = direct.tried(baseline=None)
        return described(statement, cases, (), pooled=tally([case.outcome for case in cases]))
    plaintext = direct.tried(baseline=True)
    floors = twins(series, statement.outcome, to_own_baseline=True)
    cases = (
        Trier(series, statement, across=False, to_own=True, floors=floors).tried(baseline=False)
        or direct.tried(baseline=False)
        or Trier(series, statement, across=True, to_own=True, floors=floors).tried(baseline=False)
    )
    return described(statement, cases, plaintext, pooled=tally([case.outcome for case in cases]))


def _chosen(levels: Mapping[Frozen, dict[int, Step]], wanted: Mapping[str, Choice]) -> Candidates:
    """Of these levels the wanted ones that have values, each with the steps that have any."""
    found = {
        level: {step: own for step, own in steps.items() if own.logs}
        for level, steps in levels.items()
        if within(dict(level), wanted)
    }
    return {level: steps for level, steps in found.items() if steps}


def _steps(candidates: Candidates) -> set[int]:
    """The steps that all candidates have."""
    return set.intersection(*(set(steps) for steps in candidates.values()))


def _at(candidates: Candidates, steps: set[int]) -> Candidates:
    return {level: {step: by_step[step] for step in steps} for level, by_step in candidates.items()}


def _beyond(ratio: Interval, claimed: float) -> Interval:
    """The ratio to what is claimed of it: above 1 where it is more."""
    return ratio.each(lambda value: value / claimed)


def _alike(ratio: Interval, by: float) -> Outcome:
    """Alike is shown, and not just unlike not shown: the whole interval lies within the allowed factor."""
    if ratio.low is None or ratio.high is None:
        return "inconclusive"
    if 1 / by < ratio.low and ratio.high < by:
        return "held"
    return "opposite" if ratio.low >= by or ratio.high <= 1 / by else "inconclusive"


def _equivalent(ratio: Interval, within: float, floor: Floor) -> Outcome:
    """Whether no difference that counts is left: the whole interval lies within the factor.

    Where twins differ by as much as that, one of them may hide what the other would show.
    """
    shown = _alike(ratio, within) == "held" and not _hides(floor, within)
    return "alike" if shown else "inconclusive"


def _no_worse(ratio: Interval, within: float, floor: Floor, *, lower_is_better: bool) -> Outcome:
    """Whether it is ruled out that the first is worse by as much as counts: a test of non-inferiority."""
    if ratio.low is None or ratio.high is None or _hides(floor, within):
        return "inconclusive"
    shown = ratio.high < within if lower_is_better else ratio.low > 1 / within
    return "held" if shown else "inconclusive"


def _hides(floor: Floor, within: float) -> bool:
    """Whether equal things differ by as much as counts."""
    return (floor.relative or 0.0) >= within - 1


def _better(ratio: Interval, floor: Floor, *, lower_is_better: bool) -> Outcome:
    if not is_different(ratio, floor.relative):
        return "inconclusive"
    return "held" if (ratio.point < 1) == lower_is_better else "opposite"
