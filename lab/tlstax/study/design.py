"""What is to be compared: a study's factors, treatments, baseline and exclusions, checked as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt, field_validator, model_validator

from tlstax.contract import ClosedLoop, Frozen, OpenLoop, Schedule
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.client_kinds import Wanted
from tlstax.study.factors import CaseLevels, Choice, whys_not, within
from tlstax.study.level_names import OPTION, UNSET, Level, Levels
from tlstax.study.product import DEFAULT, ProductName
from tlstax.study.published import ALIKE_WITHIN, GrowthClaim, ProcessorTable, Published, Statement, TimeTable
from tlstax.study.server_abilities import UNNAMED, ServerAbilities, abilities_named
from tlstax.study.workloads.user_defined import UserWorkload
from tlstax.support.text import closest

Role = Literal["baseline", "control", "treatment"]

LONGEST_BUDGET_S = 10_000 * 3600.0
"""More than a year; what is longer is a slip of the hand."""

DECIDES_AT_A_RATE = "latency_p50_us"
"""The outcome that decides in an open loop, unless a study says otherwise: the throughput is given there,
and high percentiles of short trials show the machine's scheduling before they show the server."""

DECIDES_ON_CASES = frozenset({"factors", "treatments", "exclude", "workloads", "servers", "schedule"})
"""The fields of a study that decide which cases it has; another budget leaves them as they are."""


class Case(Frozen):
    """One level of every factor, and the part it plays in its comparison.

    The control has the baseline's levels; only its role, and so its name, differs.
    """

    levels: CaseLevels
    role: Role

    def key(self) -> str:
        """A stable text that distinguishes this case from every other case of the study."""
        factors = " ".join(f"{name}={level}" for name, level in sorted(self.levels.items()))
        return f"{factors} control" if self.role == "control" else factors


class Exclusion(Frozen):
    """Cases that cannot or need not be: those that have one of these levels in each factor, and why.

    With `keeps_connections` only cases whose workload keeps its connections. What is left out `unless_asked`
    could be measured: it is, once somebody asks for one of these levels by an option.
    """

    levels: dict[str, Choice]
    why: str = Field(min_length=1)
    keeps_connections: bool = Field(default=False, exclude_if=lambda kept: not kept)
    unless_asked: bool = Field(default=False, exclude_if=lambda asked: not asked)

    def matches(self, wanted: Wanted) -> bool:
        """Whether this exclusion rules out the wanted case."""
        is_one = within(wanted.case, self.levels)
        return is_one and not (self.keeps_connections and wanted.workload.makes_connections)

    def gives_way(self, factor: str, levels: Iterable[Level]) -> bool:
        """Whether somebody who asks for these levels of a factor asks for what is left out."""
        left_out = {name: choice for name, choice in self.levels.items() if name == factor}
        return self.unless_asked and any(left_out and within({factor: level}, left_out) for level in levels)


class Contrast(Frozen):
    """A comparison beside the study's own: cases that differ in one factor alone.

    Each case `within` these levels is compared, block by block, with the case whose `factor` is at
    `baseline` and which is equal otherwise.
    """

    factor: str
    baseline: Level
    within: dict[str, Choice] = {}


class Pool(Frozen):
    """What making connections is weighed against: operations of `kept`, a workload that keeps them.

    `made` is a workload whose every operation makes a connection. Asked for is from how many operations of
    `kept` on each connection making it is less than `share` of what the server spends.
    """

    kept: str
    made: str = "reconnect"
    share: float = Field(default=0.05, gt=0, lt=1)


class Sides(Frozen):
    """Two things that are set against each other, by the levels in which they differ.

    Where they are servers each has two processes, told apart by the factor `instance`: those of a are 1 and
    2, of b 3 and 4. Both of a side say the same but for the luck of a process.
    """

    a: dict[str, Level]
    b: dict[str, Level]


class Part(Frozen):
    """Some of a study's cases that are shown by themselves: a method that is set beside others."""

    key: str = Field(min_length=1)
    title: str = Field(min_length=1)
    within: dict[str, Choice] = {}


class Study(Frozen):
    """A question and the experiment that answers it; read from TOML, checked here.

    `factors` maps each factor to its levels. `treatments` are bundles: levels of several factors that belong
    together (TLS 1.3 with resumption; a server with the TLS library it was built for). The cases are the
    product of all factors and the treatments, less the exclusions. `baseline` gives the levels that make a
    case the one which its neighbours (equal in every factor that the baseline does not name) are compared
    with; such neighbours are a group. `precision` is the half width of the wanted interval of the ratio (0.02
    is two per cent), `deciding_outcome` the outcome that it is wanted for. `alike_within` is the factor
    within which two things count as alike: they are where the whole interval of their ratio lies within it.
    `schedule` is when operations start: when the one before is answered, or at a given rate. `control_within`
    says which groups run a control (empty: all); the others take over their noise floor. `contrasts` are
    further comparisons of the same trials, `statements` what others published of them in words
    (`growth_claims` of distances), `published` in figures, `processor_tables` and `time_tables` in tables;
    `parts` are what those are shown for one by one. `pool` asks what keeping connections saves. `workloads`
    are the user's own, by name, `servers` what servers of theirs can do. With `profile`, each case runs once
    more in every block, sampled. With `capture`, each runs once before all blocks through a tap that writes
    down what crosses the wire. With `count`, each runs twice before all blocks on a server whose locks are
    counted. With `new_processes` each block but the first begins with new processes of all servers, so that
    the luck of a process scatters over blocks like anything else; where it is "trial", each trial has one of
    its own, whose memory nobody has used before, and no cases take turns. Where `maximum_blocks` is named, it
    ends with that many whatever is known by then; with `overtime` not sooner, whatever the budget, by which
    its trials were planned. `sides` are two things that are set against each other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    title: str
    question: str
    factors: dict[str, tuple[Level, ...]] = {}
    treatments: tuple[dict[str, Level], ...] = ()
    baseline: dict[str, Level] = Field(min_length=1)
    exclude: tuple[Exclusion, ...] = ()
    control_within: dict[str, Choice] = {}
    contrasts: tuple[Contrast, ...] = ()
    statements: tuple[Statement, ...] = ()
    growth_claims: tuple[GrowthClaim, ...] = ()
    published: tuple[Published, ...] = ()
    pool: Pool | None = None
    parts: tuple[Part, ...] = ()
    processor_tables: tuple[ProcessorTable, ...] = ()
    time_tables: tuple[TimeTable, ...] = ()
    workloads: dict[str, UserWorkload] = {}
    servers: dict[str, ServerAbilities] = Field(default={}, exclude_if=lambda servers: not servers)
    schedule: Schedule = ClosedLoop()
    deciding_outcome: str = "ops_per_s"
    precision: float = Field(default=0.02, gt=0, lt=1)
    alike_within: float = Field(
        default=ALIKE_WITHIN, gt=1.0, exclude_if=lambda within: within == ALIKE_WITHIN
    )
    confidence: float = Field(default=0.95, gt=0, lt=1)
    budget_s: PositiveFloat = Field(default=60.0, le=LONGEST_BUDGET_S)
    minimum_blocks: PositiveInt = 5
    rows: PositiveInt = 100_000
    profile: bool = False
    capture: bool = False
    count: Literal["locks"] | None = Field(default=None, exclude_if=lambda counted: counted is None)
    maximum_blocks: PositiveInt | None = Field(default=None, exclude_if=lambda most: most is None)
    overtime: bool = Field(default=False, exclude_if=lambda allowed: not allowed)
    new_processes: bool | Literal["trial"] = Field(default=False, exclude_if=lambda anew: not anew)
    sides: Sides | None = Field(default=None, exclude_if=lambda sides: sides is None)

    @field_validator("workloads", mode="before")
    @classmethod
    def _named_by_their_place(cls, workloads: object) -> object:
        """In a study's file, a workload is named by where it stands."""
        if not isinstance(workloads, dict):
            return workloads
        return {
            name: {"name": name, **own} if isinstance(own, dict) else own for name, own in workloads.items()
        }

    @model_validator(mode="before")
    @classmethod
    def _with_options_unset(cls, study: object) -> object:
        """A bundle need not name the options that its driver is not given."""
        return filled(study)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The study with these changes, whose cases are its own."""
        copied = super().model_copy(update=update, deep=deep)
        if not DECIDES_ON_CASES.isdisjoint(update or ()):
            for resolved in ("_levels", "_combinations", "_case_workloads"):
                copied.__dict__.pop(resolved, None)
        return copied

    @property
    def has_process_for_each_trial(self) -> bool:
        """Whether each trial has a process of the server to itself."""
        return self.new_processes == "trial"

    def levels_of(self) -> Mapping[str, tuple[Level, ...]]:
        """Every factor, free or bundled, and the levels that it has here, in the order written."""
        return self._levels

    @property
    def varied(self) -> frozenset[str]:
        """The factors that have several levels here."""
        return frozenset(name for name, levels in self._levels.items() if len(levels) > 1)

    @cached_property
    def _levels(self) -> dict[str, tuple[Level, ...]]:
        bundled: dict[str, tuple[Level, ...]] = {}
        for treatment in self.treatments:
            for name, level in treatment.items():
                if level not in bundled.get(name, ()):
                    bundled[name] = (*bundled.get(name, ()), level)
        return {**bundled, **self.factors}

    def known(self, case: CaseLevels) -> CaseLevels:
        """The levels of factors that the study has: counting locks puts in another, by which no case goes."""
        return case.without(*(set(case) - self.levels_of().keys()))

    @cached_property
    def _combinations(self) -> tuple[tuple[Levels, Exclusion | None], ...]:
        """Every combination of levels, a case read once, with the exclusion that rules it out, if one does.

        What is ruled out as it is written, in big studies most of all, is read as a case by nobody.
        """
        names = list(self.factors)
        return tuple(
            self._read({**dict(zip(names, levels, strict=True)), **treatment})
            for levels in product(*self.factors.values())
            for treatment in self.treatments or ({},)
        )

    def _read(self, levels: Levels) -> tuple[Levels, Exclusion | None]:
        """The case with these levels, and what rules it out; the levels where a written exclusion does."""
        first = next((each for each in self.exclude if within(levels, each.levels)), None)
        if first and not first.keeps_connections:
            return levels, first
        case = CaseLevels.of(levels)
        wanted = self.wanted(case)
        written = next((each for each in self.exclude if each.matches(wanted)), None)
        if written:
            return case, written
        why = next(whys_not(wanted), "")
        return case, Exclusion(levels=dict(case), why=why) if why else None

    def product(self) -> Iterator[CaseLevels]:
        """Every combination of levels, those that are excluded among them; groups one after another."""
        return (CaseLevels.of(levels) for levels, _ in self._combinations)

    def included(self) -> Iterator[CaseLevels]:
        """Every combination of levels that is not excluded, in the order of `product`."""
        return (CaseLevels.of(case) for case, exclusion in self._combinations if exclusion is None)

    def excluded(self) -> Iterator[tuple[Levels, Exclusion]]:
        """The others, each with what rules it out: what its client cannot do is an exclusion too."""
        return ((levels, exclusion) for levels, exclusion in self._combinations if exclusion is not None)

    def wanted(self, case: CaseLevels) -> Wanted:
        """The case as a client is asked to measure it."""
        abilities, product = self.abilities_of(case.server), self.product_at(case.server)
        return Wanted(case, self.workload_of(case), self.schedule, abilities, product)

    def workload_of(self, case: CaseLevels) -> CaseWorkload:
        """The case's workload: one of ours, or of the user's own. Cases that have the same share it."""
        product = self.product_at(case.server)
        known, chosen = self._case_workloads, (case.workload, case.protocol, product)
        made = known.get(chosen)
        return made or known.setdefault(chosen, CaseWorkload.of(case, self.workloads, product))

    @cached_property
    def _case_workloads(self) -> dict[tuple[str, str, str], CaseWorkload]:
        return {}

    def abilities_of(self, server: str | None) -> ServerAbilities | None:
        """What the server of this name can do; None where that is not known."""
        known = self.servers.get(server or UNNAMED)
        return known or (abilities_named(server) if server else None)

    def product_at(self, server: str | None) -> ProductName:
        """Which product the server of this name is: the default server's where nothing is known of it."""
        abilities = self.abilities_of(server)
        return DEFAULT if abilities is None else abilities.product

    def is_baseline(self, levels: Levels) -> bool:
        """Whether this combination is what its neighbours are compared with."""
        return self.baseline.items() <= levels.items()

    def group_of(self, levels: Levels) -> dict[str, Level]:
        """The levels in all factors outside the baseline's: what the cases of one comparison share."""
        return {name: level for name, level in sorted(levels.items()) if name not in self.baseline}

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        _check_treatments(self)
        _check_levels(self)
        _check_groups(self)
        _check_published(self)
        _check_statements(self)
        _check_workloads(self)
        _check_sides(self)
        if isinstance(self.schedule, OpenLoop) and self.deciding_outcome == "ops_per_s":
            raise ValueError(
                f"deciding_outcome: in an open loop the rate is given; {DECIDES_AT_A_RATE} can decide"
            )
        return self


def _check_treatments(study: Study) -> None:
    for place, treatment in enumerate(study.treatments):
        if set(treatment) != set(study.treatments[0]):
            wanted = ", ".join(study.treatments[0])
            raise ValueError(f"treatments: all must name the same factors ({wanted}), {treatment} does not")
        if treatment in study.treatments[:place]:
            raise ValueError(f"treatments: {treatment} appears twice")
        for name in treatment.keys() & study.factors.keys():
            raise ValueError(f"treatments: {name} is among the factors too; it can only be in one of them")


def _check_levels(study: Study) -> None:
    known = study.levels_of()
    for name, levels in study.factors.items():
        if not levels or len(set(levels)) < len(levels):
            raise ValueError(f"factors: {name} needs at least one level, and each only once")
    for field, names in _named_factors(study):
        for name in set(names) - known.keys():
            raise ValueError(f"{field}: {name} is not a factor of this study{closest(name, known)}")
    for name, level in study.baseline.items():
        if level not in known[name]:
            raise ValueError(f"baseline: {name} has no level {level!r} here, only {listed(known[name])}")


def _named_factors(study: Study) -> Iterator[tuple[str, Iterable[str]]]:
    yield "baseline", study.baseline
    for exclusion in study.exclude:
        yield "exclude", exclusion.levels
    yield "control_within", study.control_within
    for contrast in study.contrasts:
        yield "contrasts", (contrast.factor, *contrast.within)
    for statement in study.statements:
        yield "statements", (*statement.factors(), *statement.within)
    for claim in study.growth_claims:
        yield "growth_claims", claim.within
    for figure in study.published:
        yield "published", figure.beside


def _check_published(study: Study) -> None:
    labels = [figure.label for figure in study.published]
    for figure in study.published:
        if labels.count(figure.label) > 1:
            raise ValueError(f"published: {figure.label!r} appears twice")
        if figure.against and (figure.against not in labels or figure.against == figure.label):
            raise ValueError(
                f"published: {figure.label!r} is set against {figure.against!r}, which is not another figure"
            )
        if figure.beside and not figure.outcome:
            raise ValueError(f"published: {figure.label!r} stands beside a case, and names no outcome")
        found = [levels for levels in study.included() if within(levels, figure.beside)]
        if figure.beside and len(found) > 1:
            raise ValueError(f"published: {figure.label!r} stands beside {len(found)} cases; it takes one")


def _check_statements(study: Study) -> None:
    for statement in study.statements:
        if statement.kind == "alike" and statement.by == 1:
            raise ValueError(
                f"statements: {statement.says!r} must say `by` what factor alike things may differ"
            )
        if statement.kind == "no worse" and statement.by > 1:
            raise ValueError(
                f"statements: {statement.says!r} cannot be no worse `by` a factor; "
                "`alike_within` says what counts as worse"
            )


def _check_workloads(study: Study) -> None:
    for place, own in study.workloads.items():
        if own.name != place:
            raise ValueError(
                f"workloads.{place}: its name is {own.name!r}; leave the name out, or write {place!r}"
            )


def _check_sides(study: Study) -> None:
    if study.sides is None:
        return
    known = study.levels_of()
    for side, levels in (("a", study.sides.a), ("b", study.sides.b)):
        for name, level in levels.items():
            if level not in known.get(name, ()):
                raise ValueError(f"sides.{side}: {name} has no level {level!r} here")


MOST_REASONS = 2
"""The most reasons why nothing is left that are named."""


def _check_groups(study: Study) -> None:
    included = list(study.included())
    if not included:
        raise ValueError(f"nothing is left to measure: {'; '.join(_whys_nothing_is_left(study))}")
    with_baseline = {_key(study.group_of(case)) for case in included if study.is_baseline(case)}
    for case in included:
        if _key(study.group_of(case)) not in with_baseline:
            raise ValueError(
                f"baseline: no case with {_levels_named(study.baseline)} is left to compare "
                f"{_levels_named(case)} with{_why_no_baseline(study, case)}"
            )


def _why_no_baseline(study: Study, case: CaseLevels) -> str:
    """Why what a case would be compared with is left out, to end a sentence; empty where it is not there."""
    group = study.group_of(case)
    lost = (
        f": {exclusion.why}"
        for other, exclusion in study.excluded()
        if study.is_baseline(other) and study.group_of(other) == group
    )
    return next(lost, "")


def _levels_named(levels: Levels) -> str:
    return ", ".join(f"{name} = {level}" for name, level in levels.items())


def _whys_nothing_is_left(study: Study) -> list[str]:
    """What rules every case out, and where that is not one thing, what rules out one and another."""
    excluded = list(study.excluded())
    first, *others = ([*whys_not(study.wanted(CaseLevels.of(levels)))] for levels, _ in excluded)
    of_all = [why for why in first if all(why in whys for whys in others)]
    return of_all[:1] or list(dict.fromkeys(exclusion.why for _, exclusion in excluded))[:MOST_REASONS]


def _key(levels: Levels) -> tuple[tuple[str, Level], ...]:
    return tuple(levels.items())


def listed(levels: Sequence[Level]) -> str:
    """Levels for a sentence: "1, 8, 64"."""
    return ", ".join(str(level) for level in levels)


def filled(study: object) -> object:
    """A study as it was written, each of whose bundles, and what names one, has every option that any has.

    What is no study at all is given back as it is, to be refused by its types.
    """
    if not isinstance(study, Mapping):
        return study
    treatments = study.get("treatments", ())
    if not isinstance(treatments, Sequence) or not all(isinstance(one, Mapping) for one in treatments):
        return study
    options = {name: UNSET for one in treatments for name in one if str(name).startswith(OPTION)}
    if not options:
        return study
    changed: dict[object, object] = {**study, "treatments": tuple({**options, **one} for one in treatments)}
    if isinstance(baseline := study.get("baseline"), Mapping):
        changed["baseline"] = {**options, **baseline}
    published = study.get("published", ())
    if isinstance(published, Sequence):
        changed["published"] = tuple(_beside(figure, options) for figure in published)
    return changed


def _beside(figure: object, options: Mapping[str, str]) -> object:
    """A published figure whose place names the case that stands in for it by its options too."""
    if not isinstance(figure, Mapping) or not isinstance(beside := figure.get("beside"), Mapping):
        return figure
    return {**figure, "beside": {**options, **beside}}
