"""A published table of times beside what each part of a run measured, line by line, and whether it is right.

Times of another machine say little beside ours; the ratio of two sides, which both take within themselves,
says more. Ours is taken block by block, like every ratio here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log

from tlstax.findings.core import stats
from tlstax.findings.core.contrasts import nearest
from tlstax.findings.core.outcomes import log_ratio_between, outcome
from tlstax.findings.core.series import Series
from tlstax.findings.core.wording import change_words, signed_percent
from tlstax.results.rows import Row
from tlstax.study import Levels, Part, TimeRow, TimeTable
from tlstax.topics.tables.answers import (
    DIFFERENCE,
    answer_to_ratio,
    ruled_out,
    said,
    within_floor,
)
from tlstax.topics.tables.sides import (
    AGAINST,
    OPERATIONS,
    PART,
    PUBLISHED,
    SIDE,
    SIDE_ROLE,
    TABLE,
    Measured,
    Shown,
    Side,
    case_of,
    own_levels,
    why_not_tested,
)

PRINTED, MEASURED, RATIO = "table, published", "table, measured", "table, ratio"
"""Roles of rows: a published time, the time here, and its ratio to that of the first side."""


def time_rows(table: TimeTable, run: Measured, series: Series) -> Iterator[Row]:
    """The published times, then what was measured of each line, part and side."""
    first = table.sides[0].name
    for line in table.rows:
        for side in table.sides:
            if side.name in line.values:
                ratio = line.values[side.name] / line.values[first] if side.name != first else None
                yield Row(
                    role=PRINTED,
                    outcome=table.outcome,
                    unit="s",
                    label=line.label,
                    case=case_of(line.within, side.levels),
                    value=line.values[side.name],
                    more={TABLE: table.number, SIDE: side.name, PUBLISHED: ratio},
                )
        for part in run.parts:
            yield from _part(table, line, part, run, series)


def _part(table: TimeTable, line: TimeRow, part: Part, run: Measured, series: Series) -> Iterator[Row]:
    first = table.sides[0]
    sides = {column.name: run.side(part.within, line.within, column.levels) for column in table.sides}
    floor = _noise_floor(sides[first.name].levels, table.outcome, series)
    cases = {
        column.name: case_of(line.within, own_levels(part, run.study), column.levels)
        for column in table.sides
    }
    for name, found in sides.items():
        place = {TABLE: table.number, PART: part.key, SIDE: name}
        yield found.shown.row(cases[name], line.label, {**place, OPERATIONS: _operations(found)})
        seconds = series.interval(_logs(found, table.outcome))
        if seconds is not None:
            yield Row(
                role=MEASURED,
                outcome=table.outcome,
                unit="s",
                label=line.label,
                case=cases[name],
                interval=seconds,
                more=place,
            )
        if name == first.name:
            continue
        ratio = series.interval(_log_ratios(found, sides[first.name], table.outcome))
        if ratio is not None:
            yield Row(
                role=RATIO,
                outcome=table.outcome,
                label=line.label,
                case=cases[name],
                baseline=cases[first.name],
                interval=ratio,
                of="ratio",
                noise_floor=floor,
                more={**place, AGAINST: first.name},
            )


def _logs(found: Side, name: str) -> dict[int, float]:
    values = {record.trial.block: outcome(record, name) for record in found.records}
    return {block: log(value) for block, value in values.items() if value}


def _log_ratios(own: Side, other: Side, name: str) -> dict[int, float]:
    """Ln of the ratio of the two in each block that has both."""
    records, others = ({r.trial.block: r for r in side.records} for side in (own, other))
    found = {
        block: log_ratio_between(records[block], others[block], name)
        for block in sorted(records.keys() & others.keys())
    }
    return {block: ratio for block, ratio in found.items() if ratio is not None}


def _operations(found: Side) -> int | None:
    """How many operations a round has here."""
    jobs = [record.job for record in found.records if record.job is not None]
    rounds = {job.operations // job.rounds for job in jobs if job.operations is not None}
    return rounds.pop() if len(rounds) == 1 else None


def _noise_floor(levels: Levels | None, name: str, series: Series) -> float | None:
    """From the control of this very case, or of the nearest one under the same workload."""
    if levels is None:
        return None
    control = nearest(levels, series.control_ratios(name))
    return stats.noise_floor(control) if control is not None else None


def reading(table: TimeTable, shown: Sequence[Row]) -> str:
    """What may be compared: seconds of as many operations, or ratios alone."""
    here = {
        round(row.number(OPERATIONS) or 0)
        for row in shown
        if row.role == SIDE_ROLE and row.word(TABLE) == table.number and row.more.get(OPERATIONS) is not None
    }
    if not here or table.queries is None:
        return "Another machine took the published times: compare ratios rather than seconds."
    rounds = " or ".join(f"{number:,}" for number in sorted(here))
    if here == {table.queries}:
        return (
            f"A round has {rounds} operations, there as here; but another machine took the published times, "
            "so compare ratios rather than seconds."
        )
    return (
        f"A round has {rounds} operations here and {table.queries:,} there, and the time "
        "of an operation may change within a round: so seconds are not comparable, and the ratios alone are."
    )


def time_differences(table: TimeTable, parts: Sequence[Part], shown: Sequence[Row]) -> Iterator[Row]:
    """For each side but the first: whether it takes longer in all lines, then in each of them, part by part.

    `shown` are the rows of the table.
    """
    first, *others = (column.name for column in table.sides)
    for name in others:
        lines = [line for line in table.rows if line.values.get(name, 0) not in {0, line.values[first]}]
        results = {line.label: [_here(table, line, name, part, shown) for part in parts] for line in lines}
        if len(results) > 1:
            longer = sum(line.values[name] > line.values[first] for line in lines)
            says = f"{table.title}: {longer} of {len(results)} take longer with {name}"
            for place, part in enumerate(parts):
                own = {label: rows[place] for label, rows in results.items()}
                yield _judged(table, table.title, says, name, part, *_all_here(own))
        for rows in results.values():
            yield from rows


def _here(table: TimeTable, line: TimeRow, name: str, part: Part, shown: Sequence[Row]) -> Row:
    """What a part says of a line."""
    first = table.sides[0].name
    published = line.values[name] / line.values[first]
    longer = "longer" if published > 1 else "shorter"
    says = (
        f"{line.label} takes {longer} with {name} ({line.values[name]:g} s beside "
        f"{line.values[first]:g} s, {signed_percent(published - 1)})"
    )
    own = [row for row in shown if (row.label, row.word(PART)) == (line.label, part.key)]
    own = [row for row in own if row.word(TABLE) == table.number]
    sides = {row.word(SIDE): Shown.of(row) for row in own if row.role == SIDE_ROLE}
    why = why_not_tested((sides[first], sides[name]))
    ratio = next((row for row in own if row.role == RATIO and row.word(SIDE) == name), None)
    if why or ratio is None:
        why = why or "no block has both of them"
        return _judged(table, line.label, says, name, part, "not tested", f"not tested: {why}")
    known = ratio.known
    answer = answer_to_ratio(known, ratio.noise_floor, published=published)
    why = within_floor(ratio.noise_floor, answer, is_clear=known.excludes_one, unit="%")
    why += ruled_out(answer, signed_percent(published - 1))
    row = _judged(table, line.label, says, name, part, answer, f"{answer}: {change_words(known)}{why}")
    known_of_it = {"interval": known, "blocks": known.blocks, "noise_floor": ratio.noise_floor}
    return row.model_copy(update={**known_of_it, "of": "ratio", "more": {**row.more, PUBLISHED: published}})


def _judged(  # noqa: PLR0913, PLR0917 (what is asked of which part, and its answer)
    table: TimeTable, label: str, says: str, side: str, part: Part, answer: str, sentence: str
) -> Row:
    place = {TABLE: table.number, PART: part.key, SIDE: side, AGAINST: table.sides[0].name}
    return Row(
        role=DIFFERENCE,
        outcome=table.outcome,
        label=label,
        judgement=answer,
        caveats=(says, sentence),
        more=place,
    )


def _all_here(lines: Mapping[str, Row]) -> tuple[str, str]:
    """Right where every line goes the way that was published, wrong where one does not."""
    answers = [here.judgement for here in lines.values()]
    if set(answers) == {"not tested"}:
        return "not tested", said(next(iter(lines.values())))
    answer = "inconclusive"
    if "wrong" in answers:
        answer = "wrong"
    elif set(answers) == {"right"}:
        answer = "right"
    groups = {
        "as published": "right",
        "otherwise": "wrong",
        "inconclusive": "inconclusive",
        "not tested": "not tested",
    }
    labels = {of: [label for label, here in lines.items() if here.judgement == of] for of in answers}
    counts = [
        f"{words} in {len(labels[of])} ({', '.join(labels[of])})"
        for words, of in groups.items()
        if of in labels
    ]
    return answer, f"{answer}: {', '.join(counts)}"
