"""A large study at a glance, as sections: pooled tables, and on the page ladders and heat maps."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.findings.core.contrasts import INSTANCE
from tlstax.findings.core.wording import LIBRARY, change_words, percent
from tlstax.records.trial import StoredRun
from tlstax.report.overview.grids import (
    LADDER,
    STEPS_OF_LIBRARIES,
    STEPS_OF_TLS,
    contrast_maps,
    contrast_tables,
    own_map,
    own_table,
    wants_overview,
)
from tlstax.report.overview.text import tables
from tlstax.results.document import RunDocument, StatementCase, StatementResult
from tlstax.study.needs import needs_distance
from tlstax.topics.answer.statement_words import case_label
from tlstax.topics.core import figures, outcome_names
from tlstax.topics.core.grid import Shades
from tlstax.topics.core.ladders import ladders, measured
from tlstax.topics.core.section import Block, Charts, Claim, Claims, Detail, Folded, Items, Section, Words
from tlstax.topics.core.table import Table

CPU = "server_cpu_us_per_op"
SPENT = (CPU, "server_instructions_per_op")
"""What else has a heat map beside the deciding outcome, where it was measured."""

BY_CASE = (
    "Each figure is a ratio in the same blocks ({better}); “all” is pooled over connections. Hatched figures "
    "are alike (≈) or inconclusive (?)."
)
TO_OWN = (
    "Each figure is a ratio to the same server’s plaintext with as many connections, in the same blocks. "
    "Different servers may be compared by these ratios alone."
)


CASE_HEADS = (
    "Ratio, pooled",
    "Noise floor",
    "Outcome",
    "Single numbers of connections: held, opposite, alike, inconclusive",
)


def sections(document: RunDocument, _: Detail) -> Iterator[Section]:
    """Pooled tables; nothing for a study that is shown group by group."""
    if wants_overview(document.design):
        yield Section(tuple(tables(document)))


def page_sections(stored: StoredRun, document: RunDocument) -> Iterator[Section]:
    """What the page has in place of the groups' sections: statements, pooled tables, ladders, heat maps."""
    if not wants_overview(document.design):
        return
    if document.statements:
        claims = tuple(map(_claim, document.statements))
        yield Section((Claims(claims),), "What others published, and what was seen here")
    own = own_table(document)
    pooled = (*contrast_tables(document), *((own,) if own is not None else ()))
    if pooled:
        yield Section(pooled, "Pooled over connections")
    yield from _ladder_sections(stored, document)
    yield from _map_sections(document)


def _claim(result: StatementResult) -> Claim:
    across = " · compared across servers" if result.across_servers else ""
    caveats = Items(result.caveats)
    cases = tuple(map(_case_row, (*result.cases, *result.plaintext))) if result.cases else ()
    table = Table("", CASE_HEADS, cases, (), of_words=True, literal=True)
    folded: tuple[Block, ...] = (Folded("Every case of it", (table,)),) if cases else ()
    return Claim(
        says=f"“{result.says}”",
        verdict=f"Here: {result.verdict}",
        lines=(result.sentence,),
        source=f"{result.source}{across}",
        blocks=(*folded, caveats),
    )


def _case_row(case: StatementCase) -> tuple[str, ...]:
    floor, cells = case.noise_floor, case.cells
    return (
        case_label(case),
        change_words(case.ratio),
        figures.NOTHING if floor is None else f"±{percent(floor)}",
        case.outcome,
        f"{cells.held}, {cells.opposite}, {cells.alike}, {cells.inconclusive}",
    )


def _ladder_sections(stored: StoredRun, document: RunDocument) -> Iterator[Section]:
    """Servers over several libraries first; servers over one, and what was spent, folded away."""
    if len(document.design.levels_of().get(LADDER, ())) < 2 or needs_distance(document.design):
        return
    run, outcome = measured(stored), document.design.deciding_outcome
    drawn = ladders(run, outcome)
    several = tuple(found for found in drawn if len(found.styles) > 1)
    alone = tuple(found for found in drawn if len(found.styles) == 1)
    spent = ladders(run, CPU, least_libraries=2) if outcome != CPU else ()
    title = f"{outcome_names.title(outcome)}, step by step"
    yield from _ladders(title, outcome, several)
    yield from _ladders(f"{title}: one library alone", outcome, alone, folded=True)
    yield from _ladders(f"{outcome_names.title(CPU)}, step by step", CPU, spent, folded=True)


def _ladders(
    title: str, outcome: str, drawn: tuple[Charts, ...], *, folded: bool = False
) -> Iterator[Section]:
    if drawn:
        yield Section((Words(_climbing(outcome), aside=True), *drawn), title, folded)


def _compared(document: RunDocument) -> str:
    """What a study's contrasts compare, in a word; twins are only for the noise floor."""
    factors = (contrast.factor for contrast in document.design.contrasts)
    factor = next((factor for factor in factors if factor != INSTANCE), INSTANCE)
    return "library" if factor == LIBRARY else factor.replace("_", " ")


def _climbing(outcome: str) -> str:
    return (
        f"To the right: more connections. Upwards: {outcome_names.words(outcome)} "
        f"({outcome_names.better(outcome)}). A dot is the geometric mean over blocks, its whisker the "
        "interval, drift of the machine included."
    )


def _map_sections(document: RunDocument) -> Iterator[Section]:
    outcome, is_first = document.design.deciding_outcome, True
    for name in dict.fromkeys((outcome, *SPENT)):
        if grids := contrast_maps(document, name):
            title = f"{outcome_names.title(name)}: {_compared(document)} by case"
            reading = Words(BY_CASE.format(better=outcome_names.better(name)), aside=True)
            yield Section((reading, Shades(STEPS_OF_LIBRARIES), *grids), title, folded=name != outcome)
            is_first = False
    if (everything := own_map(document, outcome)) is not None:
        reading = Words(TO_OWN, aside=True)
        yield Section((reading, Shades(STEPS_OF_TLS), everything), everything.title, folded=not is_first)
