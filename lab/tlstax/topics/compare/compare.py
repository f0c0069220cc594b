"""Runs beside one another: the cases that both have, what changed in each, and if it keeps to a limit. Pure.

What their headers say differently, and what makes comparing them unfair, is told here too, and by what factor
a figure changed from one run to another, and how sure that is.
Blocks of two runs have nothing in common, so the means of both scatter by themselves (Welch, 1947, Biometrika
34, 28-35). What the blocks of a run share shows in none of its intervals: the luck of its processes, and what
else the machine did in that minute. That is a level of chance above the blocks (random effects: Searle,
Casella and McCulloch, 1992, Variance Components, section 3.6), and how much it is differs from machine to
machine and from hour to hour. So it is estimated from three things:

- the scatter of other runs of the same thing on the same machine, with as many degrees of freedom as there
  are such runs, less one for each thing;
- the blocks of both runs: a run's minute moves it by as much as one block is moved beside the next, which no
  mean over its blocks takes away (beside other work it was about that much);
- `BETWEEN_RUNS`, which is known beforehand.

The last two stand for `PRIOR_FREEDOM` runs, and other runs are weighted by their number against them: the
moderated variance of Smyth (2004, Statistical Applications in Genetics and Molecular Biology 3, 3, section
4), the posterior mean under a scaled inverse chi-square distribution (Gelman et al., 2013, Bayesian Data
Analysis, section 2.6). The degrees of freedom of the whole are Welch's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from math import exp, sqrt
from statistics import fmean, variance
from typing import Any, NamedTuple

from tlstax.records.trial import Machine, RunHeader, Specimen, StoredRun
from tlstax.results.document import GateResult, HeaderChange, Measure, RunBeside, RunComparison
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.stats.contrasts import judge
from tlstax.stats.limits import CONFIDENCE, Limits, confidence_of_each, worst
from tlstax.stats.outcomes import OUTCOMES
from tlstax.stats.series import Logs, Series, series_of
from tlstax.stats.stats import ALPHA_SHARE
from tlstax.study import Case, Study
from tlstax.study.labels import full_label
from tlstax.support.errors import UserMistake
from tlstax.support.text import as_ranges

BETWEEN_RUNS: dict[Measure, float] = {"to the baseline": 0.05, "itself": 0.15}
"""The standard deviation of a figure's logarithm between runs of the same thing that is taken to be likely
where nothing else is known: of ratios to the baseline of the same process, and of costs themselves, with the
speed of a virtual machine (docs/comparing.md has how far runs were seen to differ)."""

PRIOR_FREEDOM = 3
"""How many runs' worth that is. With so few it may as well be half as much, or three times: between 0.57 and
3.7 times with 95 %."""

MANY = 1e6
"""Degrees of freedom with which Student's distribution is a normal one."""


@dataclass(frozen=True)
class Scatter:
    """How a run's mean logarithm varies from run to run of the same thing; `freedom` is 0 if unknown.

    `of_blocks` is the part of the variance that the blocks of these runs would give it by themselves.
    """

    variance: float = 0.0
    freedom: int = 0
    of_blocks: float = 0.0


def scatter_of(things: Iterable[Sequence[Logs]]) -> Scatter:
    """From several runs of each thing, of which each may have another mean; logarithms, one a block."""
    several = [runs for runs in things if len(runs) > 1]
    if not several:
        return Scatter()
    freedom = sum(len(runs) - 1 for runs in several)
    means = [[fmean(own.values()) for own in runs] for runs in several]
    squares = sum(variance(own) * (len(own) - 1) for own in means)
    errors = [_error(own) for runs in several for own in runs if len(own) > 1]
    return Scatter(squares / freedom, freedom, fmean(errors) if errors else 0.0)


def _error(logs: Logs) -> float:
    """The variance of a run's mean that its blocks show."""
    return variance(logs.values()) / len(logs)


def change_between(
    before: Logs, after: Logs, *, confidence: float, measure: Measure, known: Scatter = Scatter()
) -> Interval:
    """The second figure to the first: logarithms of each, one a block. ValueError where one has no block.

    `known` is what other runs of the same things show.
    """
    if not before or not after:
        raise ValueError("a change needs a block of either run")
    point = fmean(after.values()) - fmean(before.values())
    blocks = min(len(before), len(after))
    if blocks < 2:
        return Interval(point=exp(point), low=None, high=None, confidence=confidence, blocks=blocks)
    parts = _parts((before, after), measure, known)
    whole = sum(part for part, _ in parts)
    half = _quantile(confidence, _freedom(whole, parts)) * sqrt(whole)
    return Interval(
        point=exp(point),
        low=exp(point - half),
        high=exp(point + half),
        confidence=confidence,
        blocks=blocks,
    )


def _parts(runs: Sequence[Logs], measure: Measure, known: Scatter) -> list[tuple[float, int]]:
    """The variances that add up to that of the change, each with its degrees of freedom.

    The first is from run to run, with the scatter of blocks that such runs have; the second is what these two
    have of that beyond it. What has no scatter at all over the blocks of either run is counted, and no minute
    changes a count.
    """
    freedom = sum(len(own) - 1 for own in runs)
    of_blocks = sum(variance(own.values()) * (len(own) - 1) for own in runs) / freedom
    likely = BETWEEN_RUNS[measure] ** 2 + of_blocks if of_blocks else 0.0
    weights = PRIOR_FREEDOM + known.freedom
    between = (PRIOR_FREEDOM * likely + known.freedom * known.variance) / weights
    within = (PRIOR_FREEDOM * of_blocks + known.freedom * known.of_blocks) / weights
    beyond = max(0.0, sum(map(_error, runs)) - 2 * within)
    return [(2 * between, weights), (beyond, freedom)]


def _freedom(whole: float, parts: Sequence[tuple[float, int]]) -> float:
    """Welch's degrees of freedom of a sum of variances, each with its own."""
    squares = sum(part**2 / freedom for part, freedom in parts)
    return whole**2 / squares if squares else MANY


def _quantile(confidence: float, freedom: float) -> float:
    """Student's, of an interval that keeps its confidence though both runs ended when they knew enough."""
    from scipy.special import stdtrit  # noqa: PLC0415 (takes a third of a second to import)

    return float(stdtrit(min(freedom, MANY), 1 - (1 - confidence) * ALPHA_SHARE / 2))


Key = tuple[object, ...]
"""What makes two runs' cases the same case."""


@dataclass(frozen=True)
class Measured:
    """A run with its cases, each under its key; controls are among none of them."""

    header: RunHeader
    series: Series
    cases: Mapping[Key, Case]

    def label(self, key: Key) -> str:
        """What the case is called in its run."""
        return full_label(self.cases[key], self.header.study)

    def logs(self, key: Key, outcome: str, measure: Measure) -> Logs:
        """Logarithms of the outcome, or of its ratio to the baseline, one a block."""
        levels = self.cases[key].levels
        if measure == "itself":
            return self.series.logs(levels, outcome)
        return self.series.log_ratios(levels, self.series.own_baseline(levels), outcome)


def compared(
    runs: Sequence[StoredRun],
    outcomes: Sequence[str],
    *,
    others: Sequence[StoredRun] = (),
    confidence: float | None = None,
) -> RunComparison:
    """Each run beside the first. UserMistake where they have no case in common, or comparing is unfair.

    Ratios to the baseline are compared, and where both ran on one machine the baselines themselves. `others`
    are other runs that are kept: those of the same things show how far runs differ.
    """
    first, *later = runs
    sure = first.header.study.confidence if confidence is None else confidence
    beside = []
    for run in later:
        both = Both.of(first, run, others)
        baseline: Measure | None = "itself" if both.same_machine else None
        shared = [
            figures for outcome in outcomes for figures in both.shared(outcome, baseline, "to the baseline")
        ]
        each = confidence_of_each(sure, len(shared))
        old, new = both.old, both.new
        beside.append(
            RunBeside(
                **both.headers,
                changes=tuple(both.change(figures, each) for figures in shared),
                only_before=tuple(old.label(key) for key in old.cases if key not in new.cases),
                only_after=tuple(new.label(key) for key in new.cases if key not in old.cases),
            )
        )
    return RunComparison(confidence=sure, beside=tuple(beside))


def gated(
    run: StoredRun,
    against: StoredRun,
    limits: Limits,
    *,
    others: Sequence[StoredRun] = (),
    measure: Measure = "to the baseline",
) -> GateResult:
    """Every case that both runs have beside each limit; `others` as of `compared`.

    UserMistake where nothing can be compared, a limit has no case that it is for, or the values themselves
    are asked for of two machines.
    """
    both = Both.of(against, run, others)
    old, new = both.old, both.new
    if measure == "itself" and not both.same_machine:
        raise UserMistake(
            f"runs {old.header.run} and {new.header.run} are of different machines, whose times are no "
            "measure of each other",
            remedy="leave --absolute out: then each is compared with its own baseline",
        )
    every = limits.of(new.header.study.deciding_outcome)
    limited = [
        (limit, figures)
        for limit in every
        for figures in both.shared(limit.outcome, "itself" if measure == "itself" else None, measure)
    ]
    limits.check_each_has_a_case(
        [limit for limit, _ in limited],
        "case that both runs have beside their baselines",
        old.series.outcomes & new.series.outcomes,
    )
    each = confidence_of_each(CONFIDENCE, len(limited))
    cases = tuple(limit.judged(both.change(figures, each)) for limit, figures in limited)
    return GateResult(**both.headers, confidence=CONFIDENCE, changes=cases, verdict=worst(cases))


class Shared(NamedTuple):
    """An outcome of one case in both runs: logarithms, one a block of each."""

    key: Key
    outcome: str
    measure: Measure
    before: Logs
    after: Logs


@dataclass(frozen=True)
class Both:
    """Two runs with cases that can be matched; `things` are other runs of the same thing as either."""

    old: Measured
    new: Measured
    things: tuple[tuple[Measured, ...], ...]

    @classmethod
    def of(cls, before: StoredRun, after: StoredRun, others: Sequence[StoredRun]) -> Both:
        """The two, and those of the others that are of the same things. UserMistake as of `compared`."""
        check_fair(before.header, after.header)
        same = constant(before.header.study, after.header.study)
        old, new = (_measured(run, same) for run in (before, after))
        if not old.cases.keys() & new.cases.keys():
            raise UserMistake(
                f"runs {before.header.run} and {after.header.run} have no case in common",
                remedy="compare runs of one study, or of one set of options",
            )
        names = {before.header.run, after.header.run}
        again = [run for run in others if run.header.run not in names]
        headers = [before.header]
        if not is_same_thing(before.header, after.header):
            headers.append(after.header)
        things = tuple(
            tuple(_measured(run, same) for run in again if is_same_thing(header, run.header))
            for header in headers
        )
        return cls(old, new, things)

    @property
    def same_machine(self) -> bool:
        """Whether both ran on one machine."""
        return is_same_machine(self.old.header.machine, self.new.header.machine)

    @property
    def headers(self) -> dict[str, Any]:
        """What a document says of the two before their cases."""
        return {
            "run": self.new.header.run,
            "against": self.old.header.run,
            "same_machine": self.same_machine,
            "different": different(self.old.header, self.new.header),
            "same_again": tuple(run.header.run for runs in self.things for run in runs),
        }

    def shared(self, outcome: str, baseline: Measure | None, others: Measure) -> Iterator[Shared]:
        """An outcome of each case that both have: so measured of a `baseline`, if at all, and of others."""
        for key, case in self.old.cases.items():
            measure = baseline if case.role == "baseline" else others
            if measure is not None and key in self.new.cases:
                before, after = (run.logs(key, outcome, measure) for run in (self.old, self.new))
                if before and after:
                    yield Shared(key, outcome, measure, before, after)

    def change(self, figures: Shared, confidence: float) -> Row:
        """By how much a case changed."""
        key, outcome, measure, before, after = figures
        logs = ([run.logs(key, outcome, measure) for run in runs if key in run.cases] for runs in self.things)
        scatter = scatter_of([own for own in several if own] for several in logs)
        change = change_between(before, after, confidence=confidence, measure=measure, known=scatter)
        return Row(
            outcome=outcome,
            unit=OUTCOMES[outcome].unit if measure == "itself" else "1",
            role=measure,
            label=self.old.label(key),
            case=dict(self.old.cases[key].levels),
            value=exp(fmean(after.values())),
            baseline_value=exp(fmean(before.values())),
            interval=change,
            of="ratio",
            judgement=judge(change, None, self.old.header.study.alike_within),
        )


def _measured(stored: StoredRun, same_throughout: frozenset[str]) -> Measured:
    series = series_of(stored)
    cases = {_key(case, same_throughout): case for at, case in series.cases.items() if at in series.values}
    return Measured(stored.header, series, cases)


def _key(case: Case, same_throughout: frozenset[str]) -> Key:
    """The case's levels, without the factors that vary within neither run: those are what changed."""
    levels = case.levels.without(*same_throughout)
    return tuple(levels), *(_hashable(getattr(levels, each.name)) for each in fields(levels)[1:])


def _hashable(value: object) -> object:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value


Tell = Callable[[Machine], str]

_MACHINE: dict[str, Tell] = {
    "processor": lambda own: own.cpu_model,
    "CPUs available": lambda own: str(own.cores),
    "virtual machine": lambda own: own.virtualization or "",
    "memory": lambda own: f"{own.memory_bytes / 2**30:.0f} GiB",
}
"""What makes a machine another one."""

_KNOWN: dict[str, Tell] = {
    **_MACHINE,
    "kernel": lambda own: own.kernel,
    "distribution": lambda own: own.distribution,
    "microcode": lambda own: own.microcode or "",
    "the server's CPUs": lambda own: as_ranges(own.server_cpus),
    "the client's CPUs": lambda own: as_ranges(own.client_cpus),
}
"""All that is known of one: what may change on it too."""

_LENGTH = "length of a trial"


def is_same_machine(one: Machine, other: Machine) -> bool:
    """Whether nothing that is known of them makes them two machines."""
    return all(tell(one) == tell(other) for tell in _MACHINE.values())


def different(before: RunHeader, after: RunHeader) -> tuple[HeaderChange, ...]:
    """All that may bear on what was measured and is not the same in both."""
    return tuple(
        HeaderChange(what=what, before=old, after=new)
        for what, old, new in (
            *((what, tell(before.machine), tell(after.machine)) for what, tell in _KNOWN.items()),
            *_specimens(before, after),
            ("tlstax", before.tlstax_version, after.tlstax_version),
            *_levels(before.study, after.study),
            ("study", before.study.name, after.study.name),
            (_LENGTH, f"{before.trial_duration_s:g} s", f"{after.trial_duration_s:g} s"),
            ("external server", str(before.guest), str(after.guest)),
        )
        if old != new
    )


def is_same_thing(one: RunHeader, other: RunHeader) -> bool:
    """Whether both set out to measure the same on the same machine, for however long.

    How their figures differ is then by how much runs differ, and nothing else that is known.
    """
    if one.all_machines.keys() != other.all_machines.keys() or one.guest != other.guest:
        return False
    own = one.study
    as_long = {"budget_s": own.budget_s, "precision": own.precision, "alike_within": own.alike_within}
    if other.study.model_copy(update=as_long) != own:
        return False
    return all(own.what == _LENGTH for own in different(one, other))


def check_fair(before: RunHeader, after: RunHeader) -> None:
    """UserMistake where a difference between the runs would be that of their tables or plans."""
    for header in (before, after):
        if len(header.machines) > 1:
            raise UserMistake(
                f"run {header.run} was measured on {len(header.machines)} machines, and is no single thing "
                "to compare",
                remedy=f"`tlstax report {header.run}` compares its machines",
            )
    old, new = before.study, after.study
    for what, *both in (
        ("the baseline", _words(old.baseline), _words(new.baseline)),
        ("the number of rows in a table", f"{old.rows:,}", f"{new.rows:,}"),
        ("the schedule", str(old.schedule), str(new.schedule)),
    ):
        if both[0] != both[1]:
            raise UserMistake(
                f"runs {before.run} and {after.run} cannot be compared: {what} is {both[0]} in one and "
                f"{both[1]} in the other",
                remedy="measure one of them again as the other was",
            )


def _words(levels: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={level}" for name, level in sorted(levels.items()))


def _specimens(before: RunHeader, after: RunHeader) -> Iterator[tuple[str, str, str]]:
    """Versions by kind and name; of a kind with one in each, names and versions."""
    for kind in dict.fromkeys(own.kind for own in (*before.specimens, *after.specimens)):
        old = {own.name: own for own in before.specimens if own.kind == kind}
        new = {own.name: own for own in after.specimens if own.kind == kind}
        word = kind.replace("_", " ").replace("tls", "TLS")
        if len(old) == len(new) == 1 and old.keys() != new.keys():
            (one,), (other,) = old.values(), new.values()
            yield word, _version(one), _version(other)
            continue
        for name in dict.fromkeys((*old, *new)):
            yield f"{word} {name}", _version(old.get(name)), _version(new.get(name))
            if name in old and name in new:
                yield f"what {name} was made from", *_made_from(old[name], new[name])


def _version(own: Specimen | None) -> str:
    return "" if own is None else f"{own.name} {own.version}"


def _made_from(before: Specimen, after: Specimen) -> tuple[str, str]:
    """The packages that differ, of what has any; else the checksum of its file, shortened."""
    if not before.packages and not after.packages:
        return before.sha256[:16], after.sha256[:16]
    names = sorted(before.packages.keys() | after.packages.keys())
    other = [name for name in names if before.packages.get(name) != after.packages.get(name)]
    words = [
        ", ".join(f"{name} {own.packages[name]}" for name in other if name in own.packages)
        for own in (before, after)
    ]
    return words[0], words[1]


def _levels(before: Study, after: Study) -> Iterator[tuple[str, str, str]]:
    """Factors that vary within neither run, and their levels; nothing for a run that leaves one as it is."""
    old, new, same = before.levels_of(), after.levels_of(), constant(before, after)
    for factor in dict.fromkeys((*old, *new)):
        if factor in same:
            own, other = (str(*levels.get(factor, ("",))) for levels in (old, new))
            yield factor, own, other


def constant(before: Study, after: Study) -> frozenset[str]:
    """The factors of either study that have one level in each, or none."""
    old, new = before.levels_of(), after.levels_of()
    one = [{factor for factor, levels in own.items() if len(levels) == 1} for own in (old, new)]
    return frozenset((one[0] - (new.keys() - one[1])) | (one[1] - (old.keys() - one[0])))
