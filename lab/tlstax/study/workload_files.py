"""Workloads as files of the user's: read with every mistake named, and taken into a study."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from tlstax.study.design import Study
from tlstax.study.faults import first_fault, rebuilt
from tlstax.study.texts import parsed_toml, read_text
from tlstax.study.workloads.user_defined import UserWorkload
from tlstax.support.errors import UserMistake

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
