"""Whether a study's published tables and parts are of its own cases and whole: the sentences for mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tlstax.study.design import Study, listed
from tlstax.study.factor import check_level
from tlstax.study.factors import Choice, check_factor, within
from tlstax.study.outcomes import UNITS
from tlstax.study.published import PROCESSOR_COLUMNS, Column, ProcessorTable, TimeTable
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest

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
                    f"{where}: row {place + 1} of {name!r} has {len(row)} values, and takes "
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
