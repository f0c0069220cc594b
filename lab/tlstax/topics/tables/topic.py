"""Published tables as a topic: beside what each part of the run measured, and what is judged of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told
from tlstax.stats.wording import capitalised
from tlstax.study import Claim as PublishedClaim
from tlstax.study import ProcessorTable, Study, TimeTable
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core.section import (
    Block,
    Charts,
    Claim,
    Claims,
    Folded,
    Heading,
    Items,
    Roomy,
    Section,
    Words,
)
from tlstax.topics.core.table import Table
from tlstax.topics.core.topic import Run, Topic
from tlstax.topics.tables import differences, layout, measured
from tlstax.topics.tables.arithmetic import CLAIM, FAULT, claim_row, fault_rows
from tlstax.topics.tables.layout import Grid, Place, View
from tlstax.topics.tables.measured import COLUMNS, PART, SIDE, STANDING, TABLE, UNTIL

HERE = "table, claim here"
"""The role of a row that has what a part shows in the place of what a claim is about."""

FAULTS = {
    "average row": "the last row is the average of the others, kept as data",
    "idle rows": "in some rows nothing ran, and they count in the mean",
    "sum": "columns do not make 100 %",
    "too short": "the table ends long before the rounds of the time table would",
}
"""What is wrong with tables, for all that have it."""

RATIOS = (
    "A dot is the ratio to the first side (1×), its whisker the interval; the grey band is the noise floor. "
    "Hollow: not valid."
)
OVER_TIME = (
    "All on one scale; each has a time of its own, as rounds last as long as they last. A dot stands for the "
    "step that ends there. %system includes interrupts, as sar has it."
)
EVERY_CLAIM = "Everything that the text takes from its tables, and what stands in its place here"


def rows(run: Run) -> Iterator[Row]:
    """The parts, then every table with what was measured in its place, then what is judged of them.

    Nothing where the study has no tables. Trials that are not valid are shown too, and said to be.
    """
    study = run.study
    if not (study.processor_tables or study.time_tables):
        return
    own = measured.Measured(study, measured.parts_of(study), tuple(run.stored.measured))
    yield from (measured.part_row(part, own) for part in own.parts)
    loads = [row for table in study.processor_tables for row in measured.load_rows(table, own)]
    times = [row for table in study.time_tables for row in measured.time_rows(table, own, run.series)]
    yield from (*loads, *times)
    for timed in study.time_tables:
        yield from differences.time_differences(timed, own.parts, times)
    for table in study.processor_tables:
        yield from differences.load_differences(table, own)
    view = View(Told(title="", rows=tuple(loads)), study)
    for table in study.processor_tables:
        for claim in table.claims:
            yield claim_row(claim, table)
            yield from _claims_here(claim, table, view)
    for table in study.processor_tables:
        yield from fault_rows(table, study.time_tables)


def _claims_here(claim: PublishedClaim, table: ProcessorTable, view: View) -> Iterator[Row]:
    """What each part shows in the claim's place; none where it was not watched."""
    outcome = f"machine_{claim.column}_percent"
    for part in view.parts:
        side = next(own for own in view.sides(table, part) if own.side == claim.side)
        known = _value_here(claim, side, outcome)
        yield Row(
            role=HERE,
            outcome=outcome,
            unit="%",
            label=claim.says,
            value=known.value if known else None,
            more={
                TABLE: table.number,
                PART: part.key,
                SIDE: claim.side,
                UNTIL: known.number(UNTIL) if known else None,
                STANDING: side.shown.standing,
            },
        )


def _value_here(claim: PublishedClaim, side: Place, outcome: str) -> Row | None:
    if claim.kind == "mean":
        return side.figure(outcome)
    steps = [row for end_s in side.ends_s if (row := side.figure(outcome, end_s)) is not None]
    return max(steps, key=lambda row: row.amount, default=None)


def sentences(_: Run, shown: Sequence[Row]) -> Iterator[str]:
    """What was published, whether it is right, and why that can be said: differences, then claims."""
    for parts in _differences(shown):
        says, verdict, sentence = _judgement(parts)
        once = sentence if sentence.startswith(verdict) else f"{verdict}: {sentence}"
        yield f"{says} (Table {parts[0].word(TABLE)}): {once}"
    claims = [row for row in shown if row.role == CLAIM]
    wrong = [row for row in claims if row.judgement == "wrong"]
    for row in wrong:
        yield f"“{row.label}” (Table {row.word(TABLE)}): wrong, {row.caveats[0]}"
    if claims:
        right = len(claims) - len(wrong)
        yield (
            f"of {counted(len(claims), 'value')} that the text takes from its tables, {right} "
            f"{'is' if right == 1 else 'are'} there as it says"
        )


def _differences(shown: Iterable[Row]) -> list[list[Row]]:
    """What all parts say of each published difference."""
    own = (row for row in shown if row.role == differences.DIFFERENCE)
    return list(grouped(own, lambda row: (row.word(TABLE), row.word(SIDE), row.caveats[0])).values())


def _judgement(parts: Sequence[Row]) -> tuple[str, str, str]:
    """A published difference in words, the verdict over all parts, and what they say of it."""
    return parts[0].caveats[0], differences.verdict_of(parts), differences.sentence_of(parts)


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """Verdicts and every row of the tables; where room is short, times and means."""
    study = document.design
    view = View(told, study)
    verdicts = tuple(map(capitalised, told.sentences))
    readings = tuple(
        f"Table {table.number}: {differences.reading(table, told.rows)}" for table in study.time_tables
    )
    short: list[Block] = [layout.short_time_table(table, view) for table in study.time_tables]
    short += [layout.mean_table(table, view) for table in study.processor_tables]
    faults = tuple(map(capitalised, _faults(told)))
    parts = tuple(_parts(told, view))
    whole = (
        Items(verdicts),
        *_whole_text(told, view),
        Items((*parts, *readings), "Parts"),
        *_whole_tables(view, study),
    )
    brief = (Items((*verdicts, *faults), all_of_them=True), *short, Items((*readings, *parts)))
    yield Section((Roomy(whole, otherwise=brief),), told.title)


def page_sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """The same on the page, drawn too: what is judged, then each table."""
    view = View(told, document.design)
    yield Section(tuple(_judged(told, view)), told.title)
    yield from (_time_section(table, told, view) for table in document.design.time_tables)
    yield from (_processor_section(table, told, view) for table in document.design.processor_tables)


def _whole_text(told: Told, view: View) -> Iterator[Block]:
    """What the text says of its tables, and what is wrong with them."""
    yield Items(tuple(_every_claim(told, view)), "What the text says of its tables")
    every_fault = (
        f"Table {row.word(TABLE)}, {row.word(SIDE)}: {row.caveats[0]}" for row in told.of(role=FAULT)
    )
    yield Items(tuple(every_fault), "What is wrong with the tables by themselves")


def _whole_tables(view: View, study: Study) -> Iterator[Table]:
    """Every row of them, as published and part by part."""
    for timed in study.time_tables:
        for table in layout.time_tables(timed, view):
            heads = tuple(head.replace(", ", "\n") for head in table.heads)
            yield Table(
                f"{layout.table_title(timed)}: {table.title}", heads, table.rows, table.notes, of=table.of
            )
    for loads in study.processor_tables:
        yield from (grid.whole(layout.table_title(loads)) for grid in layout.processor_grids(loads, view))


def _faults(told: Told) -> Iterator[str]:
    """What is wrong with the tables by themselves: a sentence for each kind, with all that have it."""
    for kind, words in FAULTS.items():
        own = [row for row in told.of(role=FAULT) if row.judgement == kind]
        tables = grouped(own, lambda row: row.word(TABLE))
        if tables:
            named = ", ".join(
                f"{table} ({' and '.join(row.word(SIDE) for row in sides)})"
                for table, sides in tables.items()
            )
            yield f"{words}: Table{'s' if len(tables) > 1 else ''} {named}"


def _every_claim(told: Told, view: View) -> Iterator[str]:
    """What the text says of its tables, one by one, and what stands in its place here."""
    here = grouped(told.of(role=HERE), lambda row: (row.word(TABLE), row.word(SIDE), row.label, row.outcome))
    for claim in told.of(role=CLAIM):
        at = (claim.word(TABLE), claim.word(SIDE), claim.label, claim.outcome)
        seen = [
            f"{view.prefix(row.word(PART))}{row.value:.2f}"
            f"{f' at {row.more[UNTIL]:g} s' if row.more[UNTIL] is not None else ''}"
            f"{f', {row.word(STANDING)}' if row.word(STANDING) != 'valid' else ''}"
            for row in here.get(at, ())
            if row.value is not None
        ]
        beside = f"; here {'; '.join(seen)}" if seen else ""
        yield f"“{claim.label}” (Table {at[0]}): {claim.judgement}, {claim.caveats[0]}{beside}"


def _parts(told: Told, view: View) -> Iterator[str]:
    """Each part, and how its trials came out."""
    for row, part in zip(told.of(role=measured.PART_ROLE), view.parts, strict=True):
        numbers = (
            ("valid", row.amount),
            ("invalid", row.number(measured.INVALID)),
            ("unknown", row.number(measured.UNKNOWN)),
        )
        counts = ", ".join(f"{number:.0f} {word}" for word, number in numbers if number)
        why = f": {row.word(measured.WHY)}" if row.word(measured.WHY) else ""
        yield f"{view.name(part)}: trials {counts or 'none'}{why}"


def _judged(told: Told, view: View) -> Iterator[Block]:
    """The differences with what each part says of them, then the text, the tables and the parts."""
    differences = _differences(told.rows)
    yield Claims(tuple(map(_claim, differences)))
    summary = (*told.sentences[len(differences) :], *_faults(told))
    yield _sentences(summary, "The published text and tables by themselves")
    if told.of(role=CLAIM):
        yield Folded(EVERY_CLAIM, (_sentences(_every_claim(told, view)),))
    yield _sentences(_parts(told, view), "What was measured, part by part")


def _claim(parts: Sequence[Row]) -> Claim:
    """Lines that give the verdict's own answer do not say it again."""
    says, verdict, sentence = _judgement(parts)
    lines = (line.removeprefix(f"{verdict}: ") for line in sentence.split("; "))
    return Claim(says, verdict, tuple(lines), f"Table {parts[0].word(TABLE)}")


def _sentences(texts: Iterable[str], heading: str = "") -> Items:
    return Items(tuple(f"{sentence}." for sentence in texts), heading)


def _time_section(table: TimeTable, told: Told, view: View) -> Section:
    """A time table as every part has it, its ratios and its bars."""
    return Section(
        (
            Words(f"{table.source}. {differences.reading(table, told.rows)}", aside=True),
            layout.time_table(table, view),
            Heading("Ratios, published and here"),
            Words(RATIOS, aside=True),
            Charts(tuple(layout.ratio_panels(table, view)), small=True),
            Charts(tuple(layout.bar_panels(table, view)), "Times, published and here"),
        ),
        layout.table_title(table),
    )


def _processor_section(table: ProcessorTable, told: Told, view: View) -> Section:
    """A processor table, published and measured; what is wrong with it; the figure that goes with it."""
    faults = (row for row in told.of(role=FAULT) if row.word(TABLE) == table.number)
    return Section(
        (
            _sentences(f"{row.word(SIDE)}: {row.caveats[0]}" for row in faults),
            Heading("%system over time"),
            Words(OVER_TIME, aside=True),
            Charts(tuple(layout.load_panels(table, view)), small=True),
            *map(_folded, layout.processor_grids(table, view)),
        ),
        layout.table_title(table),
    )


def _folded(grid: Grid) -> Folded:
    captions = (Words(caption, aside=True) for caption in grid.captions)
    return Folded(f"{grid.title}, every row", (grid.as_printed(), *captions))


TOPIC = Topic(
    "tables",
    "What the published tables say, and what was seen here",
    rows,
    sections,
    sentences,
    COLUMNS,
)
