"""What is to be compared: a study's factors, treatments, baseline and exclusions; read from TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError, model_validator

from tlstax.contract import ClosedLoop, Frozen, OpenLoop, Schedule
from tlstax.errors import UserMistake
from tlstax.factors import FACTORS, check_factor, check_level, closest
from tlstax.outcome_table import OUTCOMES

Level = str | int
Levels = Mapping[str, Level]
Role = Literal["baseline", "control", "treatment"]

DECIDES_AT_A_RATE = "latency_p50_us"
"""The outcome that decides in an open loop, unless a study says otherwise: the throughput is given there,
and high percentiles of short trials show the machine's scheduling before they show the server."""

RESUMED = "-resumed"
"""Ends a TLS level on the command line to ask for resumption: "1.3-resumed"."""


class Case(Frozen):
    """One level of every factor, and the part it plays in its comparison.

    The control has the baseline's levels; only its role, and so its name, differs.
    """

    levels: dict[str, Level]
    role: Role

    def key(self) -> str:
        """A stable text that tells this case from every other case of the study."""
        factors = " ".join(f"{name}={level}" for name, level in sorted(self.levels.items()))
        return f"{factors} control" if self.role == "control" else factors


Choice = Level | tuple[Level, ...]
"""One level of a factor, or any of several."""


def within(levels: Levels, wanted: Mapping[str, Choice]) -> bool:
    """Whether the case with these levels has one of the wanted ones in every factor that is named."""
    return all(
        levels.get(name) in (choice if isinstance(choice, tuple) else (choice,))
        for name, choice in wanted.items()
    )


class Exclusion(Frozen):
    """Cases that cannot or need not be: those that have one of these levels in each factor, and why."""

    levels: dict[str, Choice]
    why: str = Field(min_length=1)

    def matches(self, levels: Levels) -> bool:
        """Whether this exclusion rules out the case with these levels."""
        return within(levels, self.levels)


class Contrast(Frozen):
    """A comparison beside the study's own: cases that differ in one factor alone.

    Each case `within` these levels is compared, block by block, with the case whose `factor` is at
    `baseline` and which is equal otherwise.
    """

    factor: str
    baseline: Level
    within: dict[str, Choice] = {}


class Statement(Frozen):
    """A published statement that a study puts to the test: `better` do better in `outcome` than `than`.

    Both are levels of `factor`. Where one server has run both, they are compared directly; otherwise only
    their ratios to that server's own baseline are. `kind` "best" means better than all of `than` in most
    cases. `within` names the cases that it is said of.
    """

    says: str = Field(min_length=1)
    source: str = Field(min_length=1)
    kind: Literal["better", "best"] = "better"
    factor: str
    better: tuple[Level, ...] = Field(min_length=1)
    than: tuple[Level, ...] = Field(min_length=1)
    outcome: str = "ops_per_s"
    within: dict[str, Choice] = {}


class Study(Frozen):
    """A question and the experiment that answers it; read from TOML, checked here.

    `factors` maps each factor to its levels. `treatments` are bundles: levels of several factors that
    belong together (TLS 1.3 with resumption; a server with the TLS library it was built for). The
    cases are the product of all factors and the treatments, less the exclusions. `baseline` gives the
    levels that make a case the one which its neighbours (equal in every factor that the baseline does
    not name) are compared with; such neighbours are a group. `precision` is the half width of the
    wanted interval of the ratio (0.02 is two per cent), `deciding_outcome` the outcome that it is
    wanted for. `schedule` is when operations start: when the one before is answered, or at a given rate.
    `control_within` says which groups run a control (empty: all); the others take over their noise floor.
    `contrasts` are further comparisons of the same trials, `statements` what others published of them.
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
    schedule: Schedule = ClosedLoop()
    deciding_outcome: str = "ops_per_s"
    precision: float = Field(default=0.02, gt=0, lt=1)
    confidence: float = Field(default=0.95, gt=0, lt=1)
    budget_s: PositiveFloat = 60.0
    minimum_blocks: PositiveInt = 5
    rows: PositiveInt = 100_000

    def levels_of(self) -> dict[str, tuple[Level, ...]]:
        """Every factor, free or bundled, and the levels that it has here, in the order written."""
        bundled: dict[str, tuple[Level, ...]] = {}
        for treatment in self.treatments:
            for name, level in treatment.items():
                if level not in bundled.get(name, ()):
                    bundled[name] = (*bundled.get(name, ()), level)
        return {**bundled, **self.factors}

    def product(self) -> Iterator[dict[str, Level]]:
        """Every combination of levels, those that are excluded among them; groups one after another."""
        names = list(self.factors)
        for levels in product(*self.factors.values()):
            for treatment in self.treatments or ({},):
                yield {**dict(zip(names, levels, strict=True)), **treatment}

    def exclusion_of(self, levels: Levels) -> Exclusion | None:
        """The exclusion that rules this combination out, if one does."""
        return next((exclusion for exclusion in self.exclude if exclusion.matches(levels)), None)

    def group_of(self, levels: Levels) -> dict[str, Level]:
        """The levels in all factors outside the baseline's: what the cases of one comparison share."""
        return {name: level for name, level in sorted(levels.items()) if name not in self.baseline}

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        _check_treatments(self)
        _check_levels(self)
        _check_groups(self)
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
            raise ValueError(f"treatments: {treatment} is there twice")
        for name in treatment.keys() & study.factors.keys():
            raise ValueError(f"treatments: {name} is among the factors too; it can only be in one of them")


def _check_levels(study: Study) -> None:
    known = study.levels_of()
    for name, levels in study.factors.items():
        if not levels or len(set(levels)) < len(levels):
            raise ValueError(f"factors: {name} needs at least one level, and each only once")
    named = [("baseline", set(study.baseline)), *(("exclude", set(e.levels)) for e in study.exclude)]
    for field, names in named:
        for name in names - known.keys():
            raise ValueError(f"{field}: {name} is not a factor of this study{closest(name, known)}")
    for name, level in study.baseline.items():
        if level not in known[name]:
            raise ValueError(f"baseline: {name} has no level {level!r} here, only {_listed(known[name])}")


def _check_groups(study: Study) -> None:
    included = [levels for levels in study.product() if study.exclusion_of(levels) is None]
    if not included:
        raise ValueError("exclude: nothing is left to measure")
    with_baseline = [study.group_of(case) for case in included if study.baseline.items() <= case.items()]
    for case in included:
        if study.group_of(case) not in with_baseline:
            raise ValueError(f"baseline: no case with {study.baseline} is left to compare {case} with")


def built_in_studies() -> tuple[str, ...]:
    """The names of the studies that come with the program."""
    files = (resources.files("tlstax") / "studies").iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml")))


def load_study(name_or_path: str | Path) -> Study:
    """A built-in study by its name, or one from a file (a Path, or text with a `/` or ending in `.toml`).

    Raises UserMistake that names the file, the field and what is allowed there.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or text.endswith(".toml") or "/" in text:
        return parse_study(_read(Path(text)), where=text)
    if text not in built_in_studies():
        raise UserMistake(
            f"there is no study {text!r}{closest(text, built_in_studies())}",
            remedy=f"built in are {', '.join(built_in_studies())}; a file is given by a path ending in .toml",
        )
    built_in = resources.files("tlstax") / "studies" / f"{text}.toml"
    return parse_study(built_in.read_text(encoding="utf-8"), where=f"{text}.toml")


def parse_study(text: str, *, where: str) -> Study:
    """The study that a TOML text describes, its factors and levels known; `where` names it in messages.

    Raises UserMistake that names `where`, the field and what is allowed there.
    """
    try:
        study = Study.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as fault:
        raise UserMistake(f"{where} is not TOML: {fault}") from fault
    except ValidationError as fault:
        raise UserMistake(f"{where}: {_first_fault(fault)}") from fault
    if study.deciding_outcome not in OUTCOMES:
        hint = closest(study.deciding_outcome, OUTCOMES)
        raise UserMistake(
            f"{where}: field deciding_outcome: there is no outcome {study.deciding_outcome!r}{hint}",
            remedy=f"the outcomes are {', '.join(OUTCOMES)}",
        )
    return _rebuilt(
        study,
        where,
        factors={
            name: tuple(_known(name, level, f"{where}: factors") for level in levels)
            for name, levels in study.factors.items()
        },
        treatments=tuple(_all_known(bundle, f"{where}: treatments") for bundle in study.treatments),
        baseline=_all_known(study.baseline, f"{where}: baseline"),
        exclude=tuple(
            Exclusion(levels=_choices_known(exclusion.levels, f"{where}: exclude"), why=exclusion.why)
            for exclusion in study.exclude
        ),
    )


def override(study: Study, factor: str, levels: Sequence[str]) -> Study:
    """The study with other levels of one factor, as `--tls 1.2,1.3-resumed` and `--set` ask for.

    A factor that the study lacks is added. Where the baseline names the factor, its level stays, first,
    whether asked for or not: there must be something to compare with. `tls` takes a shorthand:
    "1.3-resumed" is TLS 1.3 with resumption, and brings the factor `resumption` along. Any other factor
    that is bundled with others in treatments can be narrowed, not widened. Raises UserMistake.
    """
    where = f"--set {factor}" if factor not in {"tls", "workload", "connections"} else f"--{factor}"
    check_factor(factor, where=where)
    if not levels:
        raise UserMistake(f"{where}: no level is given")
    if factor == "tls":
        return _with_tls(study, levels, where)
    chosen = _with_baseline(study, factor, [_known(factor, level, where) for level in levels])
    if any(factor in treatment for treatment in study.treatments):
        return _narrowed(study, factor, chosen, where)
    return _rebuilt(study, where, factors={**study.factors, factor: chosen})


def at_rate(study: Study, schedule: OpenLoop) -> Study:
    """The study in an open loop, as `--rate` asks for; a latency decides where throughput did."""
    decides = DECIDES_AT_A_RATE if study.deciding_outcome == "ops_per_s" else study.deciding_outcome
    return _rebuilt(study, "--rate", schedule=schedule, deciding_outcome=decides)


def _with_tls(study: Study, levels: Sequence[str], where: str) -> Study:
    """TLS levels, each with or without resumption, as bundles crossed with all other treatments."""
    pairs = [_tls_and_resumption(level, where) for level in levels]
    plain_factor = "resumption" not in study.levels_of() and all(on == "off" for _, on in pairs)
    if plain_factor and not any("tls" in treatment for treatment in study.treatments):
        chosen = _with_baseline(study, "tls", [tls for tls, _ in pairs])
        return _rebuilt(study, where, factors={**study.factors, "tls": chosen})
    baseline = dict(study.baseline)
    if "tls" in baseline:
        baseline.setdefault("resumption", "off")
        pairs.insert(0, (str(baseline["tls"]), str(baseline["resumption"])))
    bundles = [{"tls": tls, "resumption": on} for tls, on in dict.fromkeys(pairs)]
    others = [{k: v for k, v in t.items() if k not in {"tls", "resumption"}} for t in study.treatments]
    distinct = [other for place, other in enumerate(others) if other not in others[:place]] or [{}]
    return _rebuilt(
        study,
        where,
        factors={name: ls for name, ls in study.factors.items() if name not in {"tls", "resumption"}},
        treatments=tuple({**other, **bundle} for other in distinct for bundle in bundles),
        baseline=baseline,
    )


def _tls_and_resumption(level: str, where: str) -> tuple[str, str]:
    known = FACTORS["tls"].levels or ()
    tls = level.removesuffix(RESUMED)
    if tls not in known:
        hint = closest(level, (*known, *(name + RESUMED for name in known)))
        raise UserMistake(
            f"{where}: {level!r} is not a level of tls{hint}",
            remedy=f"allowed are {', '.join(known)}, and with resumption 1.3{RESUMED} and so on",
        )
    if tls == "off" and tls != level:
        raise UserMistake(
            f"{where}: plaintext has no session to resume", remedy=f"write off, or 1.3{RESUMED}"
        )
    return tls, "off" if tls == level else "on"


def _with_baseline(study: Study, factor: str, levels: Sequence[Level]) -> tuple[Level, ...]:
    first = [study.baseline[factor]] if factor in study.baseline else []
    return tuple(dict.fromkeys([*first, *levels]))


def _narrowed(study: Study, factor: str, chosen: Sequence[Level], where: str) -> Study:
    for level in chosen:
        if all(treatment[factor] != level for treatment in study.treatments):
            raise UserMistake(
                f"{where}: study {study.name} bundles {factor} with other factors and has no {level!r} of it",
                remedy=f"choose among {_listed(study.levels_of()[factor])}",
            )
    kept = tuple(treatment for treatment in study.treatments if treatment[factor] in chosen)
    return _rebuilt(study, where, treatments=kept)


def _rebuilt(study: Study, where: str, **changes: object) -> Study:
    try:
        return Study.model_validate({**dict(study), **changes})
    except ValidationError as fault:
        raise UserMistake(f"{where}: {_first_fault(fault)}") from fault


def _known(factor: str, level: object, where: str) -> Level:
    return check_level(check_factor(factor, where=where), level, where=where)


def _all_known(levels: Levels, where: str) -> dict[str, Level]:
    return {name: _known(name, level, where) for name, level in levels.items()}


def _choices_known(choices: Mapping[str, Choice], where: str) -> dict[str, Choice]:
    return {
        name: tuple(_known(name, level, where) for level in choice)
        if isinstance(choice, tuple)
        else _known(name, choice, where)
        for name, choice in choices.items()
    }


def _first_fault(fault: ValidationError) -> str:
    """One fault of a validation in a clause: the field, what is wrong, what is allowed.

    A field that does not exist comes first: it is often why another one is missing.
    """
    first = min(fault.errors(), key=lambda error: error["type"] != "extra_forbidden")
    place = [str(part) for part in first["loc"] if part not in {"str", "int"}]
    field = ".".join(place)
    if first["type"] == "extra_forbidden":
        known = Exclusion.model_fields if place[0] == "exclude" else Study.model_fields
        return f"there is no field {field}{closest(place[-1], known)}; the fields are {', '.join(known)}"
    if first["type"] == "missing":
        return f"the field {field} is missing"
    if place and place[0] in {"factors", "treatments", "baseline"} and first["type"].endswith("_type"):
        return f"field {field}: {first['input']!r} is not a level (text in quotes, or a whole number)"
    message = first["msg"].removeprefix("Value error, ")
    return f"field {field}: {message} (it is {first['input']!r})" if field else message


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as fault:
        raise UserMistake(f"there is no file {path}") from fault
    except (OSError, UnicodeDecodeError) as fault:
        raise UserMistake(f"{path} cannot be read: {fault}") from fault


def _listed(levels: Sequence[Level]) -> str:
    return ", ".join(str(level) for level in levels)
