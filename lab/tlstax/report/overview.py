"""A large study at a glance: pooled tables, and on the page ladders and heat maps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.core.contrasts import INSTANCE
from tlstax.findings.core.outcomes import is_large
from tlstax.findings.core.wording import (
    CERTIFICATE,
    FAULT,
    LIBRARY,
    change_words,
    library_label,
    mode_label,
    percent,
    subject_label,
    tls_label,
    workload_label,
)
from tlstax.records.trial import StoredRun
from tlstax.results.document import Finding, RunDocument, StatementCase, StatementResult
from tlstax.results.interval import DIFFERENCES
from tlstax.results.rows import Row
from tlstax.study import Level, Levels, Study
from tlstax.study.level_names import NO_FAULT, VARIANTS
from tlstax.study.level_words import certificate_words, key_of
from tlstax.study.needs import needs_distance
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.answer.statement_words import case_label, verdict_line
from tlstax.topics.core import figures, outcome_names
from tlstax.topics.core.grid import Cell, Grid, Line, Part, Shades
from tlstax.topics.core.ladders import ladders, measured
from tlstax.topics.core.section import Block, Charts, Claim, Claims, Folded, Items, Section, Words
from tlstax.topics.core.table import INDENT, Table

LADDER = "connections"
ALL = "all"

STEPS_OF_LIBRARIES = (1.02, 1.05, 1.1, 1.2)
STEPS_OF_TLS = (1.05, 1.25, 2.0, 4.0)
"""From which factors on a cell of a heat map has the next shade: libraries differ by little, TLS by much."""

Found = Row | Finding


def wants_overview(study: Study) -> bool:
    """Whether a report of this study begins with an overview."""
    return is_large(study) or bool(study.contrasts or study.statements)


def contrast_tables(document: RunDocument) -> tuple[Grid, ...]:
    """For each contrast and server: TLS modes by levels, pooled over connections, in the deciding outcome."""
    outcome = document.design.deciding_outcome
    return tuple(
        Grid(
            title=f"{outcome_names.title(outcome)} of {_subject(found)} against {_base(found[0])}",
            reading=_pooled_over(found),
            heads=tuple(dict.fromkeys(_short(f.case, _factor(f)) for f in found)),
            parts=_by_workload(found),
            notes=tuple(_floors(found)),
        )
        for found in _contrasted(document, outcome)
    )


def own_table(document: RunDocument) -> Grid | None:
    """Everything that ran against its own baseline, pooled over connections: what TLS costs each.

    None for a study with a section for each group, where all of that stands, and for one of distances, which
    has tables of its own.
    """
    outcome = document.design.deciding_outcome
    found = _to_own_baseline(document, outcome)
    if not found:
        return None
    modes = list(dict.fromkeys(mode_label(f.case) for f in found))
    rows: dict[str, dict[str, Cell]] = {}
    for f in found:
        rows.setdefault(subject_label(f.case, document.design), {})[mode_label(f.case)] = cell(
            f, STEPS_OF_TLS
        )
    servers = {str(f.case.get("server", "")) for f in found}
    lines = tuple(
        Line(name, tuple(cells.get(mode, Cell()) for mode in modes)) for name, cells in rows.items()
    )
    across = (
        " Rows of different servers may be compared by these ratios alone, not by operations a second."
        if len(servers) > 1
        else ""
    )
    return Grid(
        title=f"What TLS costs each: {outcome_names.title(outcome).lower()} against its own plaintext",
        reading=f"{_pooled_over(found)}{across}",
        heads=tuple(modes),
        parts=(Part("", lines),),
    )


def contrast_maps(document: RunDocument, outcome: str) -> tuple[Grid, ...]:
    """For each contrast and server: levels by cases (workload, TLS, connections), with the twin's rows.

    None of them for a study without a ladder of connections, of which a map would say nothing more.
    """
    if len(document.design.levels_of().get(LADDER, ())) < 2:
        return ()
    maps = []
    singles = document.rows_of("contrasts", outcome, role="contrast")
    twins = [f for f in _pooled(document, outcome) if _factor(f) == INSTANCE]
    for pooled in _contrasted(document, outcome):
        server = pooled[0].case.get("server")
        ladders = [*pooled, *(f for f in twins if f.case.get("server") == server)]
        title = f"{_subject(pooled)}, against {_base(pooled[0])}"
        maps.append(_map(title, ladders, singles, STEPS_OF_LIBRARIES))
    return tuple(maps)


def own_map(document: RunDocument, outcome: str) -> Grid | None:
    """Everything that ran by cases, each against its own baseline; None as of `own_table`."""
    ladders = _to_own_baseline(document, outcome)
    if not ladders:
        return None
    singles = [f for f in document.findings if f.outcome == outcome and f.role == "treatment"]
    title = "Every server, each against its own plaintext"
    return _map(title, ladders, singles, STEPS_OF_TLS, document.design)


def _to_own_baseline(document: RunDocument, outcome: str) -> list[Row]:
    if not is_large(document.design) or needs_distance(document.design):
        return []
    return [f for f in _pooled(document, outcome) if not _factor(f) and _is_first(f.case)]


def _pooled(document: RunDocument, outcome: str) -> tuple[Row, ...]:
    return document.rows_of("contrasts", outcome, role="pooled")


def _steps(row: Row) -> tuple[int, ...]:
    """The numbers of connections that a row is pooled over."""
    steps = row.more["pooled_connections"]
    return steps if isinstance(steps, tuple) else ()


def cell(found: Found, steps: Sequence[float]) -> Cell:
    """A ratio as a cell; its words say everything, for pointing at it."""
    ratio, known = found.ratio, OUTCOMES.get(found.outcome)
    is_seen = found.judgement in DIFFERENCES
    better = ratio.point if known is None or not known.lower_is_better else 1 / ratio.point
    size = sum(max(better, 1 / better) >= step for step in steps)
    floor = f", noise floor ±{percent(found.noise_floor)}" if found.noise_floor is not None else ""
    return Cell(
        figure=f"{ratio.point:.2f}",
        change=figures.change(ratio),
        half_width=f"±{percent(ratio.half_width)}" if ratio.half_width is not None else "",
        interval=figures.interval(ratio),
        mark=figures.mark(found.judgement),
        shade=size if better > 1 else -size,
        words=f"{figures.change_with_interval(ratio)}, {counted(ratio.blocks, 'block')}{floor}"
        f"{'' if is_seen else f': {found.judgement}'}",
    )


def _contrasted(document: RunDocument, outcome: str) -> Iterator[list[Row]]:
    """The pooled ratios of each contrast but the twins', server by server."""
    found = (f for f in _pooled(document, outcome) if _factor(f) not in {"", INSTANCE})
    sides = grouped(found, lambda f: (_factor(f), f.baseline[_factor(f)], f.case.get("server", "")))
    yield from sides.values()


def _by_workload(found: Sequence[Row]) -> tuple[Part, ...]:
    heads = list(dict.fromkeys(_short(f.case, _factor(f)) for f in found))
    parts: dict[str, dict[str, dict[str, Cell]]] = {}
    for f in found:
        rows = parts.setdefault(workload_label(f.case), {})
        rows.setdefault(tls_label(f.case), {})[_short(f.case, _factor(f))] = cell(f, STEPS_OF_LIBRARIES)
    return tuple(
        Part(
            workload,
            tuple(Line(tls, tuple(cells.get(head, Cell()) for head in heads)) for tls, cells in rows.items()),
        )
        for workload, rows in parts.items()
    )


def _map(
    title: str,
    ladders: Sequence[Row],
    singles: Sequence[Row] | Sequence[Finding],
    shades: Sequence[float],
    study: Study | None = None,
) -> Grid:
    """A part for each mode, a line for each ladder: its single cells, and last the pooled one."""
    steps = sorted({step for ladder in ladders for step in _steps(ladder)})
    by_case = {_key(single.case, _factor(single)): single for single in singles}
    parts: dict[str, list[Line]] = {}
    for ladder in ladders:
        cells = [
            cell(single, shades)
            if (single := by_case.get(_key({**ladder.case, LADDER: step}, _factor(ladder))))
            else Cell()
            for step in steps
        ]
        name = subject_label(ladder.case, study) if study else _short(ladder.case, _factor(ladder))
        parts.setdefault(mode_label(ladder.case), []).append(Line(name, (*cells, cell(ladder, shades))))
    found = tuple(Part(mode, tuple(lines)) for mode, lines in parts.items())
    return Grid(title, "", (*map(str, steps), ALL), found, is_map=True)


def _key(levels: Levels, factor: str) -> tuple[str, tuple[tuple[str, Level], ...]]:
    return factor, tuple(sorted(levels.items()))


def _factor(found: Row | Finding) -> str:
    return found.word("factor") if isinstance(found, Row) else ""


def _floors(found: Sequence[Row]) -> Iterator[str]:
    floors: dict[tuple[str, str], float] = {}
    for f in found:
        if f.noise_floor is not None:
            floors[workload_label(f.case), f.word("noise_from")] = f.noise_floor
    if floors:
        sources = list(dict.fromkeys(source for _, source in floors))
        sizes = ", ".join(
            f"{workload or 'everywhere'} ±{percent(floor)}" for (workload, _), floor in floors.items()
        )
        yield f"Noise floor from {' and '.join(sources)}: {sizes}. ≈: alike, ?: inconclusive."
    else:
        yield "No twin was run: how much two processes of one kind differ is not known."


def _pooled_over(found: Sequence[Row]) -> str:
    steps = sorted({step for f in found for step in _steps(f)})
    blocks = sorted({f.ratio.blocks for f in found})
    many = f"{blocks[0]}" if blocks[0] == blocks[-1] else f"{blocks[0]} to {blocks[-1]}"
    confidence = percent(found[0].ratio.confidence)
    over = f"Pooled over {', '.join(map(str, steps))} connections"
    over = over if len(steps) > 1 else f"With {counted(steps[0], 'connection')}"
    return f"{over}, {many} block{'s' if blocks[-1] > 1 else ''}, and {confidence} intervals."


def _subject(found: Sequence[Row]) -> str:
    return str(found[0].case.get("server", "all cases"))


def _base(found: Row) -> str:
    level = found.baseline[_factor(found)]
    if _factor(found) == CERTIFICATE:
        return certificate_words(level)
    if _factor(found) == FAULT and level == NO_FAULT:
        return "as it comes" if found.case[FAULT] in VARIANTS else "nothing planted"
    return str(level)


def _short(levels: Levels, factor: str) -> str:
    """The level of a contrast's factor in a word."""
    if factor == "tls_library":
        return library_label(levels)
    if factor == INSTANCE:
        return f"{library_label(levels)} twin".strip()
    return key_of(levels[factor]) if factor == CERTIFICATE else str(levels[factor])


def _is_first(levels: Levels) -> bool:
    return levels.get(INSTANCE, 1) == 1


SHORT_HEADS = {"kept connections, ": "kept\n", "reconnecting, ": "rec.\n", " resumed": "r", "TLS ": ""}
"""What shortens the heads of a wide table; told below it."""
KEYS = {
    "kept connections": "kept: on kept connections",
    "reconnecting": "rec.: reconnecting",
    "resumed": "r: TLS session resumed",
}
"""What is said of a short head, by what its long form has."""
PER_CENT = "In per cent, ± half the width of the interval."


def tables(document: RunDocument) -> Iterator[Table]:
    """The pooled contrasts of each server, all against its own plaintext."""
    for grid in contrast_tables(document):
        rows = tuple(_rows(grid))
        yield Table(grid.title, grid.heads, rows, (f"{PER_CENT} {grid.reading}", *grid.notes))
    own = own_table(document)
    if own is not None:
        heads = tuple(_short_head(head) for head in own.heads)
        lines = (line for part in own.parts for line in part.lines)
        rows = tuple((line.name, *(_change(cell) for cell in line.cells)) for line in lines)
        short = "; ".join(said for word, said in KEYS.items() if any(word in head for head in own.heads))
        keys = f"In per cent; ÷2 is half. {short}." if short else "In per cent; ÷2 is half."
        yield Table(own.title, heads, rows, (keys, own.reading))


def notes_of_statements(document: RunDocument) -> list[str]:
    """What to bear in mind of each statement, the statement named once."""
    return [
        f"{verdict_line(result).partition('” (')[0]}”: {'; '.join(result.caveats)}"
        for result in document.statements
        if result.caveats
    ]


def where_the_rest_is(document: RunDocument) -> str:
    """The commands that give every case and every trial."""
    return (
        f"Every case: tlstax report {document.run} --format csv (or json, html). "
        f"Every trial with its proof: tlstax runs export {document.run}."
    )


def _rows(grid: Grid) -> Iterator[tuple[str, ...]]:
    for part in grid.parts:
        if part.title:
            yield (part.title, *[""] * len(grid.heads))
        for line in part.lines:
            yield (f"{INDENT}{line.name}", *(_with_width(cell) for cell in line.cells))


def _with_width(cell: Cell) -> str:
    return f"{_change(cell)} {cell.half_width.removesuffix(' %')}".strip()


def _change(cell: Cell) -> str:
    """The change without its unit, which is told below the table."""
    change = cell.change.removesuffix(" %") or cell.figure
    return f"{cell.mark}{change}"


def _short_head(head: str) -> str:
    for long, short in SHORT_HEADS.items():
        head = head.replace(long, short)
    return head.replace(", ", "\n")


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


def sections(document: RunDocument) -> Iterator[Section]:
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
