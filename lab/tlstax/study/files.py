"""Studies as files: read with every mistake named, and written so that they can be read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import tomli_w
from pydantic import ValidationError

from tlstax.study.design import Study
from tlstax.study.factor import check_level
from tlstax.study.factors import Choice, check_factor
from tlstax.study.faults import first_fault, rebuilt
from tlstax.study.level_names import Level, Levels
from tlstax.study.outcomes import OUTCOMES
from tlstax.study.table_checks import check_tables
from tlstax.study.texts import parsed_toml, read_text
from tlstax.support.credentials import called
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest


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
    checked = rebuilt(
        study,
        where,
        factors={
            name: tuple(known.one(name, level, f"{where}: factors") for level in levels)
            for name, levels in study.factors.items()
        },
        treatments=tuple(known.all(bundle, f"{where}: treatments") for bundle in study.treatments),
        baseline=known.all(study.baseline, f"{where}: baseline"),
        exclude=tuple(
            exclusion.model_copy(update={"levels": known.choices(exclusion.levels, f"{where}: exclude")})
            for exclusion in study.exclude
        ),
        control_within=known.choices(study.control_within, f"{where}: control_within"),
    )
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
