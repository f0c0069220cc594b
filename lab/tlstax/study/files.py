"""Studies and workloads as files: read with every mistake named, and written so as to be read again.

A study's published tables and parts must be of its own cases and whole.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tlstax.contract import Digits, Frozen, Offset, OneOf
from tlstax.study.design import Contrast, Exclusion, Part, Pool, Study, listed
from tlstax.study.factor import check_level
from tlstax.study.factors import Choice, check_factor, within
from tlstax.study.level_names import Level, Levels
from tlstax.study.outcomes import OUTCOMES, UNITS
from tlstax.study.published import (
    PROCESSOR_COLUMNS,
    Claim,
    Column,
    GrowthClaim,
    ProcessorTable,
    Published,
    Statement,
    TimeRow,
    TimeTable,
)
from tlstax.study.workloads.user_defined import (
    UserSequence,
    UserStatement,
    UserTransaction,
    UserUniformInt,
    UserWorkload,
)
from tlstax.support.credentials import called
from tlstax.support.errors import UserMistake
from tlstax.support.plain_words import place_in_toml, plain, reason
from tlstax.support.text import closest, counted

Wanted = Mapping[str, Choice]


def check_tables(study: Study, where: str) -> None:
    """Raise UserMistake, beginning with `where`, for what is not known, not whole, or matches no case."""
    for place, levels in _named_levels(study):
        _check_known(study, levels, f"{where}: {place}")
    keys = [part.key for part in study.parts]
    for part in study.parts:
        if keys.count(part.key) > 1:
            raise UserMistake(f"{where}: parts: the key {part.key!r} appears twice")
        _check_matched(study, [part.within], f"{where}: parts: {part.key!r}")
    for table in study.processor_tables:
        _check_processor_table(table, f"{where}: Table {table.number}")
        for side in table.sides:
            _check_single(study, table.within, side, f"{where}: Table {table.number}")
    for other in study.time_tables:
        _check_time_table(other, f"{where}: Table {other.number}")
        for row in other.rows:
            for side in other.sides:
                _check_single(study, row.within, side, f"{where}: Table {other.number}, {row.label}")


def matching(study: Study) -> Study:
    """The study without the parts, tables and lines that no case of it is left for."""
    cases = list(study.included())

    def is_left(*wanted: Wanted) -> bool:
        return any(all(within(levels, named) for named in wanted) for levels in cases)

    def has_sides(table: ProcessorTable | TimeTable, wanted: Wanted) -> bool:
        return all(is_left(wanted, side.levels) for side in table.sides)

    times = (
        table.model_copy(update={"rows": tuple(row for row in table.rows if has_sides(table, row.within))})
        for table in study.time_tables
    )
    return study.model_copy(
        update={
            "parts": tuple(part for part in study.parts if is_left(part.within)),
            "processor_tables": tuple(t for t in study.processor_tables if has_sides(t, t.within)),
            "time_tables": tuple(table for table in times if table.rows),
        }
    )


def _named_levels(study: Study) -> Iterator[tuple[str, Wanted]]:
    """Everything that names cases, and where it stands."""
    for part in study.parts:
        yield f"parts: {part.key!r}", part.within
    for table in study.processor_tables:
        yield f"Table {table.number}", table.within
        yield from ((f"Table {table.number}: side {side.name!r}", side.levels) for side in table.sides)
    for other in study.time_tables:
        yield from ((f"Table {other.number}: {row.label}", row.within) for row in other.rows)
        yield from ((f"Table {other.number}: side {side.name!r}", side.levels) for side in other.sides)


def _check_known(study: Study, levels: Wanted, where: str) -> None:
    known = study.levels_of()
    for name, choice in levels.items():
        factor = check_factor(name, where=where)
        if name not in known:
            raise UserMistake(f"{where}: {name} is not a factor of this study{closest(name, known)}")
        for level in choice if isinstance(choice, tuple) else (choice,):
            if level not in known[name]:
                also = study.workloads if name == "workload" else ()
                check_level(factor, level, where=where, also=also)


def _check_matched(study: Study, wanted: Sequence[Wanted], where: str) -> None:
    if not any(all(within(levels, named) for named in wanted) for levels in study.included()):
        named = ", ".join(f"{name}={_words(choice)}" for one in wanted for name, choice in one.items())
        raise UserMistake(f"{where} matches no case of this study ({named or 'it names none'})")


def _words(choice: Choice) -> str:
    return " or ".join(map(str, choice)) if isinstance(choice, tuple) else str(choice)


def _check_single(study: Study, wanted: Wanted, side: Column, where: str) -> None:
    """A side stands for one case in each part: what differs otherwise must not be put together."""
    _check_matched(study, (wanted, side.levels), f"{where}, side {side.name!r},")
    parts = [(f" in part {part.key!r}", part.within) for part in study.parts] or [("", {})]
    for place, named in parts:
        found = [
            levels
            for levels in study.included()
            if within(levels, wanted) and within(levels, side.levels) and within(levels, named)
        ]
        if len(found) > 1:
            differing = [name for name in found[0] if len({levels[name] for levels in found}) > 1]
            raise UserMistake(
                f"{where}, side {side.name!r}, stands for {len(found)} cases{place}, and takes one: they "
                f"differ in {listed(differing)}"
            )


def _check_processor_table(table: ProcessorTable, where: str) -> None:
    names = [side.name for side in table.sides]
    if table.step_s != int(table.step_s):
        raise UserMistake(f"{where}: step_s is {table.step_s:g}; processors are sampled at whole seconds")
    if set(table.rows) != set(names):
        raise UserMistake(
            f"{where}: rows are of {listed(sorted(table.rows))}, and its sides are {listed(names)}"
        )
    for name, rows in table.rows.items():
        if not rows:
            raise UserMistake(f"{where}: {name!r} has no rows")
        for place, row in enumerate(rows):
            if len(row) != len(PROCESSOR_COLUMNS):
                raise UserMistake(
                    f"{where}: row {place + 1} of {name!r} has {counted(len(row), 'value')}, and takes "
                    f"{len(PROCESSOR_COLUMNS)}: {listed(PROCESSOR_COLUMNS)}"
                )
    for claim in table.claims:
        if claim.side not in names:
            raise UserMistake(
                f"{where}: a claim is of {claim.side!r}, not a side of it{closest(claim.side, names)}"
            )
        index = PROCESSOR_COLUMNS.index(claim.column)
        if all(isinstance(row[index], str) for row in table.rows[claim.side]):
            raise UserMistake(f"{where}: a claim is of {claim.column}, where {claim.side!r} has no number")


def _check_time_table(table: TimeTable, where: str) -> None:
    if UNITS.get(table.outcome) != "s":
        seconds = [name for name, unit in UNITS.items() if unit == "s"]
        raise UserMistake(
            f"{where}: {table.outcome!r} is not an outcome in seconds{closest(table.outcome, seconds)}",
            remedy=f"allowed are {', '.join(seconds)}",
        )
    names = [side.name for side in table.sides]
    for row in table.rows:
        if set(row.values) != set(names):
            raise UserMistake(
                f"{where}: {row.label} has values of {listed(sorted(row.values))}, and the sides are "
                f"{listed(names)}"
            )


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
        return parse_study(read_text(Path(text)), where=text)
    if text not in built_in_studies():
        raise UserMistake(
            f"there is no study {called(text)}{closest(text, built_in_studies())}",
            remedy=f"built in are {', '.join(built_in_studies())}; a file is given by a path ending in .toml",
        )
    built_in = resources.files("tlstax") / "studies" / f"{text}.toml"
    return parse_study(built_in.read_text(encoding="utf-8"), where=f"{text}.toml")


def parse_study(text: str, *, where: str) -> Study:
    """The study that a TOML text describes, its factors and levels known; `where` names it in messages.

    Raises UserMistake that names `where`, the field and what is allowed there.
    """
    try:
        study = Study.model_validate(parsed_toml(text, where))
    except ValidationError as fault:
        raise UserMistake(f"{where}: {first_fault(fault)}") from fault
    _check_outcome(study.deciding_outcome, f"{where}: field deciding_outcome")
    for statement in study.statements:
        _check_outcome(statement.outcome, f"{where}: field statements.outcome")
    for figure in study.published:
        if figure.outcome:
            _check_outcome(figure.outcome, f"{where}: field published.outcome")
    _check_pool(study, f"{where}: field pool")
    return _checked(study, where)


def _checked(study: Study, where: str) -> Study:
    """The study with every level that it names known, and of its factor's own type."""
    known = _Levels(frozenset(study.workloads))
    for figure in study.published:
        known.all(figure.beside, f"{where}: published")
    levels = {
        "factors": {
            name: tuple(known.one(name, level, f"{where}: factors") for level in levels)
            for name, levels in study.factors.items()
        },
        "treatments": tuple(known.all(bundle, f"{where}: treatments") for bundle in study.treatments),
        "baseline": known.all(study.baseline, f"{where}: baseline"),
        "exclude": tuple(
            exclusion.model_copy(update={"levels": known.choices(exclusion.levels, f"{where}: exclude")})
            for exclusion in study.exclude
        ),
        "control_within": known.choices(study.control_within, f"{where}: control_within"),
    }
    # Their text tells levels of another type as well: 5.0 equals 5.
    as_written = all(repr(getattr(study, name)) == repr(known) for name, known in levels.items())
    checked = study if as_written else rebuilt(study, where, **levels)
    check_tables(checked, where)
    return checked


def study_toml(study: Study) -> str:
    """The study as a TOML file with every field that says something, for `parse_study` to read again."""
    fields = study.model_dump(mode="json")
    return tomli_w.dumps({name: _without_empty(value) for name, value in fields.items() if _says(value)})


def _says(value: object) -> bool:
    return value not in ([], {}, None)


def _without_empty(value: object) -> object:
    """Parts of a study without their empty fields; levels and exclusions are never empty."""
    if isinstance(value, list):
        return [_without_empty(part) for part in value]
    if isinstance(value, dict):
        return {name: _without_empty(part) for name, part in value.items() if _says(part) and part != ""}
    return value


def _check_pool(study: Study, where: str) -> None:
    """What is weighed is measured; an option may leave one out later, and then nothing is reported."""
    if study.pool is None:
        return
    known = [str(level) for level in study.levels_of().get("workload", ())]
    for field, name in (("kept", study.pool.kept), ("made", study.pool.made)):
        if name not in known:
            raise UserMistake(
                f"{where}.{field}: {name!r} is not a workload of this study{closest(name, known)}",
                remedy=f"its workloads are {', '.join(known)}",
            )


def _check_outcome(name: str, where: str) -> None:
    if name not in OUTCOMES:
        raise UserMistake(
            f"{where}: there is no outcome {name!r}{closest(name, OUTCOMES)}",
            remedy=f"the outcomes are {', '.join(OUTCOMES)}",
        )


@dataclass(frozen=True)
class _Levels:
    """What levels there are: those of the factors, and the study's own workloads."""

    workloads: frozenset[str]

    def one(self, factor: str, level: object, where: str) -> Level:
        also = self.workloads if factor == "workload" else ()
        return check_level(check_factor(factor, where=where), level, where=where, also=also)

    def all(self, levels: Levels, where: str) -> dict[str, Level]:
        return {name: self.one(name, level, where) for name, level in levels.items()}

    def choices(self, choices: Mapping[str, Choice], where: str) -> dict[str, Choice]:
        return {
            name: tuple(self.one(name, level, where) for level in choice)
            if isinstance(choice, tuple)
            else self.one(name, choice, where)
            for name, choice in choices.items()
        }


ENDING = ".toml"


def load_workload(path: Path) -> UserWorkload:
    """The workload that a file describes. UserMistake names the file, the field and what is allowed there."""
    return parse_workload(read_text(path), where=str(path))


def parse_workload(text: str, *, where: str) -> UserWorkload:
    """The workload that a TOML text describes; `where` names it in messages. Raises UserMistake."""
    try:
        return UserWorkload.model_validate(parsed_toml(text, where))
    except ValidationError as fault:
        raise UserMistake(f"{where}: {first_fault(fault, UserWorkload)}") from fault


def with_workload_files(study: Study, levels: Iterable[str], where: str) -> tuple[Study, tuple[str, ...]]:
    """The study with the workloads of these files among its own, and the levels, each file by its name.

    A level that ends in .toml or has a slash is a file. UserMistake where two workloads have one name.
    """
    own, names = dict(study.workloads), []
    for level in levels:
        if not (level.endswith(ENDING) or "/" in level):
            names.append(level)
            continue
        workload = load_workload(Path(level))
        if own.get(workload.name, workload) != workload:
            raise UserMistake(
                f"{where}: {level} is named {workload.name}, and so is another workload",
                remedy="give it another name",
            )
        own[workload.name] = workload
        names.append(workload.name)
    if own == study.workloads:
        return study, tuple(names)
    return rebuilt(study, where, workloads=own), tuple(names)


def read_text(path: Path) -> str:
    """What the file says. UserMistake where it is not there, or cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as fault:
        raise UserMistake(f"there is no file {path}") from fault
    except (OSError, UnicodeDecodeError) as fault:
        raise UserMistake(f"{path} cannot be read ({reason(fault)})") from fault


def parsed_toml(text: str, where: str) -> dict[str, Any]:
    """The document that a TOML text holds; `where` names it in messages. Raises UserMistake."""
    try:
        document = tomllib.loads(text)
    except ValueError as fault:
        raise UserMistake(f"{where} is not TOML: {place_in_toml(fault)} cannot be read") from fault
    except RecursionError:
        raise UserMistake(f"{where} is nested too deeply") from None
    if not _fits(document):
        raise UserMistake(f"{where} has a whole number of more than 64 bits")
    return document


def _fits(value: object) -> bool:
    """Whether its whole numbers are as TOML has them (toml.io, "Integer"); Python reads longer ones too."""
    if isinstance(value, dict):
        return all(map(_fits, value.values()))
    if isinstance(value, list):
        return all(map(_fits, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


STUDY_PARTS: dict[str, type[Frozen]] = {
    "exclude": Exclusion,
    "contrasts": Contrast,
    "statements": Statement,
    "growth_claims": GrowthClaim,
    "published": Published,
    "parts": Part,
    "pool": Pool,
    "processor_tables": ProcessorTable,
    "time_tables": TimeTable,
    "sides": Column,
    "claims": Claim,
    "rows": TimeRow,
}
"""Fields that are tables with fields of their own, of a study and of what is in it."""


def rebuilt(study: Study, where: str, **changes: object) -> Study:
    """The study with these fields changed, checked anew; UserMistake that begins with `where`."""
    return built(where, **{**dict(study), **changes})


def built(where: str, **fields: object) -> Study:
    """The study with these fields; UserMistake that begins with `where` where it is none."""
    try:
        return Study.model_validate(fields)
    except ValidationError as fault:
        raise UserMistake(f"{where}: {first_fault(fault)}") from fault


PARAMETER_KINDS: dict[str, type[Frozen]] = {
    "uniform_int": UserUniformInt,
    "sequence": UserSequence,
    "offset": Offset,
    "digits": Digits,
    "one_of": OneOf,
}
"""Parameters of a user's workload by their kind."""

WORKLOAD_PARTS: dict[str, type[Frozen]] = {
    "transactions": UserTransaction,
    "statements": UserStatement,
    **PARAMETER_KINDS,
}
"""Tables within a user's workload by their field, parameters by their kind."""

BOUNDS = frozenset({"low", "high", "first", "last"})


def first_fault(fault: ValidationError, of: type[BaseModel] = Study) -> str:
    """One fault of a validation in a clause: the field, what is wrong, what is allowed.

    A field that does not exist comes first: it is often why another one is missing. `of` is what the text
    is to be, a study or a user's workload.
    """
    first = min(fault.errors(), key=lambda error: error["type"] != "extra_forbidden")
    place = [str(part) for part in first["loc"] if part not in {"str", "int"}]
    field = ".".join(part for part in place if part not in PARAMETER_KINDS)
    if first["type"] == "extra_forbidden":
        known = _fields_beside(place, of)
        return f"there is no field {field}{closest(place[-1], known)}; the fields are {', '.join(known)}"
    if first["type"] == "missing":
        return f"the field {field} is missing"
    if place and place[0] in {"factors", "treatments", "baseline"} and first["type"].endswith("_type"):
        return f"field {field}: {first['input']!r} is not a level (text in quotes, or a whole number)"
    if problem := _parameter_fault(first, place):
        return f"field {field}: {problem}"
    message = plain(first["msg"]).replace("be a text", "be text in quotes")
    if first["type"] == "value_error" and isinstance(first["input"], dict | BaseModel):
        return f"field {field}: {message}" if field else message
    return f"field {field}: {message} (it is {first['input']!r})" if field else message


def _parameter_fault(error: ErrorDetails, place: list[str]) -> str:
    """What is wrong with a parameter of a user's workload, where pydantic's words would not help."""
    if error["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        given = dict(error["input"]).get("kind")
        wrong = (
            f"there is no kind {given!r}{closest(str(given), PARAMETER_KINDS)}"
            if given
            else "its kind is missing"
        )
        return f"{wrong}; the kinds are {', '.join(PARAMETER_KINDS)}"
    if place and place[-1] in BOUNDS and place[-2] in PARAMETER_KINDS:
        return f'{error["input"]!r} is neither a whole number nor "rows"'
    return ""


def _fields_beside(place: list[str], of: type[BaseModel]) -> Collection[str]:
    """The fields that there are where a field was given that does not exist."""
    if of is Study and place[0] != "workloads":
        return STUDY_PARTS.get(
            next((name for name in reversed(place[:-1]) if name in STUDY_PARTS), ""), Study
        ).model_fields
    inner = [WORKLOAD_PARTS[part] for part in place[:-1] if part in WORKLOAD_PARTS]
    return (inner[-1] if inner else UserWorkload).model_fields
