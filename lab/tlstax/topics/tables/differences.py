"""Whether published differences are right, wrong or inconclusive, by what was measured, and in words.

A difference must be distinguished from none, block by block, and exceed what the control strayed by. A part
whose trials are not what they claim tests nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tlstax.results.interval import Interval
from tlstax.results.rows import More, Row
from tlstax.stats import stats
from tlstax.stats.contrasts import is_different
from tlstax.stats.series import difference
from tlstax.stats.wording import (
    change_words,
    percent,
    signed_alike,
    signed_percent,
    with_ends,
    with_sign,
)
from tlstax.study import Column, Part, ProcessorColumn, ProcessorTable, TimeRow, TimeTable, within
from tlstax.study.factors import CaseLevels
from tlstax.support.text import enumerated
from tlstax.topics.tables.measured import (
    AGAINST,
    OPERATIONS,
    PART,
    POINTS,
    PUBLISHED,
    RATIO,
    SIDE,
    SIDE_ROLE,
    TABLE,
    Measured,
    Shown,
    Side,
    why_not_tested,
    window_mean,
)

DIFFERENCE = "table, difference"
"""The role of a row that says what a part tells of a published difference, in `judgement`.

Its first caveat is the difference in words, the second what the part says of it.
"""

ANSWERS = ("right", "wrong", "inconclusive", "not tested")

IN_LINES = {
    "as published": "right",
    "otherwise": "wrong",
    "inconclusive": "inconclusive",
    "not tested": "not tested",
}
"""How the lines of a table are counted, by the answer of each."""


def said(here: Row) -> str:
    """What a part says of a difference: "right: +11.4 % (9.0 to 13.9 %)"."""
    return here.caveats[1]


def answer_to(known: Interval, floor: float | None, *, published: float, is_ratio: bool) -> str:
    """Whether a ratio was distinguished from 1, or a difference from 0, and goes the way that was published.

    Where it was not, what was published may yet be ruled out, which is wrong then as well: there is no
    difference of that size here.
    """
    least, none = floor or 0.0, 1 if is_ratio else 0
    size = stats.relative_difference(published) if is_ratio else abs(published)
    is_seen = is_different(known, floor) if is_ratio else known.excludes_zero and abs(known.point) > least
    if is_seen:
        return "right" if (known.point > none) == (published > none) else "wrong"
    return "wrong" if size > least and known.side_of(published) else "inconclusive"


def _judged(
    known: Interval | None, floor: float | None, why: str, *, published: float, is_ratio: bool
) -> tuple[str, str]:
    """The answer, and a sentence with it: the figure, why a clear one does not count, or what it rules out.

    `why` says what there is to say where nothing is known.
    """
    if known is None:
        return "not tested", f"not tested: {why}"
    answer = answer_to(known, floor, published=published, is_ratio=is_ratio)
    words = change_words(known) if is_ratio else _points_words(known)
    is_clear = known.excludes_one if is_ratio else known.excludes_zero
    if answer == "inconclusive" and is_clear and floor is not None:
        words += f", within the noise floor of ±{percent(floor) if is_ratio else f'{floor:.2g} points'}"
    if answer == "wrong":
        size = signed_percent(published - 1) if is_ratio else f"{with_sign(f'{published:.2f}')} points"
        words += f", which rules {size} out"
    return answer, f"{answer}: {words}"


def _points_words(known: Interval) -> str:
    """A difference of percentages with its interval: "+3.4 points (2.9 to 3.9)"."""
    alone = f"{with_sign(f'{known.point:.2f}')} points"
    return with_ends(known, signed_alike, " points", alone=alone)


def verdict_of(parts: Sequence[Row]) -> str:
    """The verdict over all parts: those with an answer must agree; a part that tests nothing has none."""
    answers = {here.judgement for here in parts}
    if {"right", "wrong"} <= answers:
        return "right in some parts, wrong in others"
    return next((answer for answer in ANSWERS if answer in answers), "not tested")


def sentence_of(parts: Sequence[Row]) -> str:
    """What the parts say, by their answers: "right: (b) and (c) +11 %; not tested: (a) it was not run"."""
    if len(parts) == 1:
        return said(parts[0])
    by_answer = []
    for answer in ANSWERS:
        details: dict[str, list[str]] = {}
        for here in parts:
            if here.judgement == answer:
                details.setdefault(said(here).partition(": ")[2], []).append(f"({here.word(PART)})")
        if details:
            named = (f"{enumerated(keys)} {words}" for words, keys in details.items())
            by_answer.append(f"{answer}: {', '.join(named)}")
    return "; ".join(by_answer)


def load_differences(table: ProcessorTable, run: Measured) -> Iterator[Row]:
    """For each column whose mean the text has for two sides: who has more, there and in every part."""
    printed: dict[ProcessorColumn, dict[str, float]] = {}
    for claim in table.claims:
        if claim.kind == "mean":
            printed.setdefault(claim.column, {})[claim.side] = claim.value
    first, *others = table.sides
    for column, means in printed.items():
        for other in others:
            if first.name in means and other.name in means and means[first.name] != means[other.name]:
                floor = _noise_floor(table, column, run)
                both = means[first.name], means[other.name]
                yield from (_load_here(table, column, other, both, part, floor, run) for part in run.parts)


def _load_here(  # noqa: PLR0913, PLR0917 (what is asked of which part, and what it is judged by)
    table: ProcessorTable,
    column: ProcessorColumn,
    other: Column,
    printed: tuple[float, float],
    part: Part,
    floor: float | None,
    run: Measured,
) -> Row:
    """What a part says of a column's mean: whether it is higher, or lower, than that of the first side."""
    before, after = printed
    first, own = (run.side(part.within, table.within, side.levels) for side in (table.sides[0], other))
    points = difference(_means(own, column), _means(first, column))
    why = why_not_tested((first.shown, own.shown))
    known = run.pooling.difference(points) if points and not why else None
    why = why or "the processors were not watched in both of a block"
    answer, sentence = _judged(known, floor, why, published=after - before, is_ratio=False)
    way = "higher" if after > before else "lower"
    beside = f"with {other.name} on average ({after:g} beside {before:g})"
    return Row(
        role=DIFFERENCE,
        outcome=f"machine_{column}_percent",
        unit="points" if known is not None else "",
        label=table.title,
        interval=known,
        noise_floor=floor if known is not None else None,
        judgement=answer,
        caveats=(f"{table.title}: %{column} is {way} {beside}", sentence),
        more={**_place(table, part, other.name), POINTS: after - before},
    )


def _place(table: ProcessorTable | TimeTable, part: Part, side: str) -> dict[str, More]:
    """Whose difference to the first side it is."""
    return {TABLE: table.number, PART: part.key, SIDE: side, AGAINST: table.sides[0].name}


def _means(side: Side, column: ProcessorColumn) -> dict[int, float]:
    """The column's share of the whole window, block by block."""
    means = {record.trial.block: window_mean(record) for record in side.records}
    return {block: mean[column] for block, mean in means.items() if mean is not None}


def _noise_floor(table: ProcessorTable, column: ProcessorColumn, run: Measured) -> float | None:
    """How far a control strays from its baseline among the cases of this table; of several, the farthest."""
    controls: dict[CaseLevels, dict[int, float]] = {}
    baselines: dict[CaseLevels, dict[int, float]] = {}
    wanted = {**table.within, **table.sides[0].levels}
    for record in run.records:
        case, mean = record.trial.case, window_mean(record)
        if record.is_valid and mean and within(case.levels, wanted):
            into = controls if case.role == "control" else baselines
            into.setdefault(case.levels, {})[record.trial.block] = mean[column]
    strays = (difference(own, baselines.get(levels, {})) for levels, own in controls.items())
    reaches = (run.pooling.difference(own).reach for own in strays if own)
    return max((reach for reach in reaches if reach is not None), default=None)


def time_differences(table: TimeTable, parts: Sequence[Part], shown: Sequence[Row]) -> Iterator[Row]:
    """For each side but the first: whether it takes longer in all lines, then in each of them, part by part.

    `shown` are the rows of the table.
    """
    first, *others = (column.name for column in table.sides)
    for name in others:
        lines = [line for line in table.rows if line.values.get(name, 0) not in {0, line.values[first]}]
        results = {
            line.label: [_time_here(table, line, name, part, shown) for part in parts] for line in lines
        }
        if len(results) > 1:
            longer = sum(line.values[name] > line.values[first] for line in lines)
            says = f"{table.title}: {longer} of {len(results)} take longer with {name}"
            for place, part in enumerate(parts):
                own = {label: rows[place] for label, rows in results.items()}
                answer, sentence = _all_here(own)
                yield Row(
                    role=DIFFERENCE,
                    outcome=table.outcome,
                    label=table.title,
                    judgement=answer,
                    caveats=(says, sentence),
                    more=_place(table, part, name),
                )
        for rows in results.values():
            yield from rows


def _time_here(table: TimeTable, line: TimeRow, name: str, part: Part, shown: Sequence[Row]) -> Row:
    """What a part says of a line."""
    first = table.sides[0].name
    published = line.values[name] / line.values[first]
    says = (
        f"{line.label} takes {'longer' if published > 1 else 'shorter'} with {name} ({line.values[name]:g} s "
        f"beside {line.values[first]:g} s, {signed_percent(published - 1)})"
    )
    place = (table.number, line.label, part.key)
    own = [row for row in shown if (row.word(TABLE), row.label, row.word(PART)) == place]
    sides = {row.word(SIDE): Shown.of(row) for row in own if row.role == SIDE_ROLE}
    why = why_not_tested((sides[first], sides[name]))
    ratio = next((row for row in own if row.role == RATIO and row.word(SIDE) == name and not why), None)
    known, floor = (ratio.known, ratio.noise_floor) if ratio is not None else (None, None)
    why = why or "no block has both of them"
    answer, sentence = _judged(known, floor, why, published=published, is_ratio=True)
    return Row(
        role=DIFFERENCE,
        outcome=table.outcome,
        label=line.label,
        interval=known,
        of="ratio" if known is not None else "value",
        noise_floor=floor,
        judgement=answer,
        caveats=(says, sentence),
        more={
            **_place(table, part, name),
            **({PUBLISHED: published} if known is not None else {}),
        },
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
    labels = {of: [label for label, here in lines.items() if here.judgement == of] for of in answers}
    counts = [
        f"{words} in {len(labels[of])} ({', '.join(labels[of])})"
        for words, of in IN_LINES.items()
        if of in labels
    ]
    return answer, f"{answer}: {', '.join(counts)}"


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
