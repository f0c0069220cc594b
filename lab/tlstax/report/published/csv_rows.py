"""Published tables, and what is judged of them, as rows for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tlstax.report.published.rows import part_names, table_title
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.published_tables import (
    MeasuredProcessors,
    ProcessorTableResult,
    Shown,
    Tables,
    TimeTableResult,
)
from tlstax.results.rows import Of
from tlstax.study import PROCESSOR_COLUMNS, Choice, Level
from tlstax.topics.core.columns import Values


def levels(side: str, case: Mapping[str, Level]) -> Values:
    """A column for each level of a case."""
    return {f"{side}_{name}": level for name, level in case.items()}


def amount(known: Interval | None, of: Of = "value") -> Values:
    """A figure, the ends of its interval and its confidence; nothing where there is none."""
    if known is None:
        return {}
    ends: Values = {of: known.point, f"{of}_low": known.low, f"{of}_high": known.high}
    return {**ends, "confidence": known.confidence, "blocks": known.blocks}


PUBLISHED, MEASURED = "table, published", "table, measured"


def rows(document: RunDocument) -> Iterator[Values]:
    """Of tables a row for every cell, difference and part, claim and fault."""
    if document.tables is not None:
        yield from _table_rows(document.tables)


def _table_rows(tables: Tables) -> Iterator[Values]:
    for found in tables.processors:
        yield from _processor_rows(found, tables)
    for timed in tables.times:
        yield from _time_rows(timed, tables)
    names = part_names(tables)
    for difference in tables.differences:
        for here in difference.parts:
            yield {
                "role": "table, difference",
                "outcome": difference.outcome,
                "unit": "points" if here.difference else "",
                **amount(here.difference),
                **amount(here.ratio, "ratio"),
                "noise_floor": here.noise_floor,
                "judgement": here.answer,
                "caveats": "; ".join(
                    (f"Table {difference.table}: {difference.says}", names[here.part], here.sentence)
                ),
            }
    for claim in tables.claims:
        yield {
            "role": "table, claim",
            "value": claim.found,
            "judgement": claim.verdict,
            "caveats": f"Table {claim.table}: {claim.says}; {claim.sentence}",
        }
    for fault in tables.faults:
        yield {
            "role": "table, fault",
            "judgement": fault.kind,
            "caveats": f"Table {fault.table}, {fault.side}: {fault.sentence}",
        }


def _processor_rows(found: ProcessorTableResult, tables: Tables) -> Iterator[Values]:
    table, names = found.published, part_names(tables)
    title = table_title(table)
    for side in table.sides:
        case = _levels({**table.within, **side.levels})
        for place, row in enumerate(table.rows[side.name]):
            for name, value in zip(PROCESSOR_COLUMNS, row, strict=True):
                if not isinstance(value, str):
                    until = f"until {(place + 1) * table.step_s:g} s"
                    yield _cell(PUBLISHED, name, value, f"{title}; {side.name}; {until}", case)
    for part in found.parts:
        for own, side in zip(part.sides, table.sides, strict=True):
            case = _levels({**table.within, **_within(tables, part.part), **side.levels})
            where = f"{title}; {names[part.part]}; {own.side}"
            yield from _measured_rows(own, where, case)


def _measured_rows(own: MeasuredProcessors, where: str, case: Values) -> Iterator[Values]:
    for step in own.steps:
        for name, value in step.values.items():
            yield {
                **_cell(MEASURED, name, value, f"{where}; until {step.to_s:g} s{_bad(own.shown)}", case),
                "blocks": step.trials,
            }
    for name, value in (own.mean or {}).items():
        yield {
            **_cell(MEASURED, name, value, f"{where}; mean{_bad(own.shown)}", case),
            "blocks": own.shown.trials,
        }


def _cell(role: str, column: str, value: float, caveats: str, case: Values) -> Values:
    outcome = f"machine_{column}_percent"
    return {"role": role, "outcome": outcome, "unit": "%", "value": value, "caveats": caveats, **case}


def _time_rows(found: TimeTableResult, tables: Tables) -> Iterator[Values]:
    table, names = found.published, part_names(tables)
    title = table_title(table)
    common: Values = {"outcome": table.outcome, "unit": "s"}
    for line, row in zip(found.lines, table.rows, strict=True):
        for side in table.sides:
            yield {
                **common,
                **_levels({**row.within, **side.levels}),
                "role": PUBLISHED,
                "value": line.published[side.name],
                "ratio": line.published_ratios.get(side.name),
                "caveats": f"{title}; {line.label}; {side.name}",
            }
        for part in line.parts:
            for own, side in zip(part.sides, table.sides, strict=True):
                where = f"{title}; {line.label}; {names[part.part]}; {own.side}{_bad(own.shown)}"
                yield {
                    **common,
                    **_levels({**row.within, **_within(tables, part.part), **side.levels}),
                    "role": MEASURED,
                    **amount(own.seconds),
                    **amount(part.ratios.get(own.side), "ratio"),
                    "noise_floor": part.noise_floor,
                    "caveats": where,
                }


def _bad(shown: Shown) -> str:
    return "" if shown.standing == "valid" else f"; {shown.standing}{f': {shown.why}' if shown.why else ''}"


def _within(tables: Tables, key: str) -> dict[str, Choice]:
    return next(dict(part.case) for part in tables.parts if part.key == key)


def _levels(chosen: Mapping[str, Choice]) -> Values:
    """The columns of a case; of a choice among several levels, none."""
    several = {name: found if isinstance(found, tuple) else (found,) for name, found in chosen.items()}
    return levels("case", {name: found[0] for name, found in several.items() if len(found) == 1})
