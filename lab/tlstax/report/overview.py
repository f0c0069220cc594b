"""A large study at a glance: published statements, pooled tables, and on the page ladders and heat maps.

The sections of all topics follow in the order of formats: before the groups of cases, and after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from math import exp

from tlstax.records.trial import StoredRun
from tlstax.results.document import Finding, RunDocument
from tlstax.results.interval import DIFFERENCES
from tlstax.results.rows import Row
from tlstax.stats import stats
from tlstax.stats.contrasts import INSTANCE
from tlstax.stats.outcomes import asks_for_counts, is_large, is_of_load_client, outcomes
from tlstax.stats.series import LADDER, Series, series
from tlstax.stats.wording import (
    CERTIFICATE,
    FAULT,
    LIBRARY,
    SERVER,
    capitalised,
    certificate_label,
    library_label,
    mode_label,
    percent,
    subject_label,
    tls_label,
    workload_label,
)
from tlstax.study import Level, Study
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import group_label
from tlstax.study.level_names import NO_FAULT, VARIANTS, certificate_words, key_of
from tlstax.study.needs import needs_distance
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, with_commas
from tlstax.topics import hello_retry, round_trips, statements
from tlstax.topics.answer.headline import made_anew
from tlstax.topics.core import charts as parts
from tlstax.topics.core import facts, figures, outcome_names
from tlstax.topics.core.charts import (
    NARROW,
    Line,
    Panel,
    Point,
    Spec,
    at_one_width,
    layer,
    level_style,
    nominal,
    quantitative,
)
from tlstax.topics.core.section import (
    Charts,
    Grid,
    GridCell,
    GridLine,
    Items,
    Section,
    Shades,
    Words,
)
from tlstax.topics.core.table import INDENT, Table
from tlstax.topics.core.topic import Topic
from tlstax.topics.index import BESIDE, COMPARED
from tlstax.topics.published import notes as published_notes
from tlstax.topics.tables import topic as tables

ALL = "all"
WORKLOAD, TLS_MODE = "workload", ("tls", "resumption")

STEPS_OF_LIBRARIES = (1.02, 1.05, 1.1, 1.2)
STEPS_OF_TLS = (1.05, 1.25, 2.0, 4.0)
"""From which factors on a cell of a heat map has the next shade: libraries differ by little, TLS by much."""

CPU = "server_cpu_us_per_op"
SPENT = (CPU, "server_instructions_per_op")
"""What else has a heat map beside the deciding outcome, where it was measured."""


def wants_overview(study: Study) -> bool:
    """Whether a report of this study begins with an overview."""
    return not is_of_load_client(study) and (is_large(study) or bool(study.contrasts or study.statements))


def sections(document: RunDocument) -> Iterator[Section]:
    """Pooled tables; nothing for a study that is shown group by group."""
    if wants_overview(document.design):
        yield Section(tuple(_tables(document)))


def page_sections(stored: StoredRun, document: RunDocument) -> Iterator[Section]:
    """What the page has in place of the groups' sections: pooled tables, ladders, heat maps."""
    if not wants_overview(document.design):
        return
    if pooled := (*contrast_tables(document), *_own_table(document)):
        yield Section(pooled, "Pooled over connections")
    yield from _ladder_sections(stored, document)
    yield from _map_sections(document)


def where_the_rest_is(document: RunDocument) -> str:
    """The commands that give every case and every trial."""
    return (
        f"Every case: tlstax report {document.run} --format csv (or json, html). "
        f"Every trial with its proof: tlstax runs export {document.run}."
    )


def contrast_tables(document: RunDocument) -> tuple[Grid, ...]:
    """For each contrast and server: cases by levels, pooled over connections, in the deciding outcome."""
    outcome = document.design.deciding_outcome
    return tuple(
        Grid(
            title=f"{outcome_names.title(outcome)} of {_subject(ladders)} against {_base(ladders[0])}",
            reading=_pooled_over(ladders),
            heads=(heads := tuple(dict.fromkeys(map(_short, ladders)))),
            parts={
                workload: _lines(own, heads, STEPS_OF_LIBRARIES, _line_name(ladders), _short)
                for workload, own in grouped(ladders, lambda row: workload_label(row.case)).items()
            },
            notes=(_floors(ladders),),
        )
        for ladders in _contrasted(document, outcome)
    )


def _line_name(ladders: Sequence[Row]) -> Callable[[Row], str]:
    """What a line of these is called: its TLS mode, and every other level that is not the same in all lines.

    That in which both sides differ is the column's.
    """
    told = {_factor(ladders[0]), SERVER, WORKLOAD, *TLS_MODE}
    varied = [
        name
        for name in ladders[0].case
        if name not in told and len({row.case.get(name) for row in ladders}) > 1
    ]

    def name(row: Row) -> str:
        others = (group_label({each: row.case[each]}) or f"{each} {row.case[each]}" for each in varied)
        mode = [tls_label(row.case)] if _factor(row) not in TLS_MODE else []
        return with_commas(*mode, *others) or _subject(ladders)

    return name


def _own_table(document: RunDocument) -> tuple[Grid, ...]:
    """Everything that ran against its own baseline, pooled over connections: what TLS costs each.

    None for a study with a section for each group, where all of that stands, and for one of distances, which
    has tables of its own.
    """
    outcome = document.design.deciding_outcome
    ladders = _to_own_baseline(document, outcome)
    if not ladders:
        return ()
    heads = tuple(dict.fromkeys(mode_label(row.case) for row in ladders))
    several = len({row.case.get(SERVER, "") for row in ladders}) > 1
    across = " Rows of different servers may be compared by these ratios alone, not by operations a second."
    lines = _lines(
        ladders,
        heads,
        STEPS_OF_TLS,
        lambda row: subject_label(row.case, document.design),
        lambda row: mode_label(row.case),
    )
    return (
        Grid(
            title=f"What TLS costs each: {outcome_names.title(outcome).lower()} against its own plaintext",
            reading=f"{_pooled_over(ladders)}{across if several else ''}",
            heads=heads,
            parts={"": lines},
        ),
    )


def _lines(
    ladders: Iterable[Row],
    heads: Sequence[str],
    shades: Sequence[float],
    name: Callable[[Row], str],
    head: Callable[[Row], str],
) -> list[GridLine]:
    """A line for each name, a cell below each of the heads."""
    lines: dict[str, dict[str, GridCell]] = {}
    for row in ladders:
        lines.setdefault(name(row), {})[head(row)] = _cell(row, shades)
    return [(own, tuple(cells.get(head, GridCell()) for head in heads)) for own, cells in lines.items()]


def _to_own_baseline(document: RunDocument, outcome: str) -> list[Row]:
    if not is_large(document.design) or needs_distance(document.design):
        return []
    rows = document.rows_of("contrasts", outcome, role="pooled")
    return [row for row in rows if not _factor(row) and row.case.get(INSTANCE, 1) == 1]


def _contrasted(document: RunDocument, outcome: str) -> list[list[Row]]:
    """The pooled ratios of each contrast but the twins', server by server."""
    rows = document.rows_of("contrasts", outcome, role="pooled")
    ladders = (row for row in rows if _factor(row) not in {"", INSTANCE})
    return list(
        grouped(
            ladders, lambda row: (_factor(row), row.baseline[_factor(row)], row.case.get(SERVER, ""))
        ).values()
    )


def _cell(shown: Row | Finding, steps: Sequence[float]) -> GridCell:
    """A ratio as a cell; its words say everything, for pointing at it."""
    ratio, known = shown.ratio, OUTCOMES.get(shown.outcome)
    is_seen = shown.judgement in DIFFERENCES
    better = ratio.point if known is None or not known.lower_is_better else 1 / ratio.point
    size = sum(max(better, 1 / better) >= step for step in steps)
    floor = f", noise floor ±{percent(shown.noise_floor)}" if shown.noise_floor is not None else ""
    return GridCell(
        figure=f"{ratio.point:.2f}",
        change=figures.change(ratio),
        half_width=f"±{percent(ratio.half_width)}" if ratio.half_width is not None else "",
        interval=figures.interval(ratio),
        mark=figures.mark(shown.judgement),
        shade=size if better > 1 else -size,
        words=f"{figures.change_with_interval(ratio)}, {counted(ratio.blocks, 'block')}{floor}"
        f"{'' if is_seen else f': {shown.judgement}'}",
    )


def _factor(shown: Row | Finding) -> str:
    return shown.word("factor") if isinstance(shown, Row) else ""


def _floors(ladders: Sequence[Row]) -> str:
    floors = {
        (workload_label(row.case), row.word("noise_from")): row.noise_floor
        for row in ladders
        if row.noise_floor is not None
    }
    if not floors:
        return "No twin was run: how much two processes of one kind differ is not known."
    sources = " and ".join(dict.fromkeys(source for _, source in floors))
    sizes = ", ".join(
        f"{workload or 'everywhere'} ±{percent(floor)}" for (workload, _), floor in floors.items()
    )
    return f"Noise floor from {sources}: {sizes}. ≈: alike, ?: inconclusive."


def _pooled_over(ladders: Sequence[Row]) -> str:
    steps = sorted({step for row in ladders for step in row.numbers("pooled_connections")})
    blocks = sorted({row.ratio.blocks for row in ladders})
    many = f"{blocks[0]}" if blocks[0] == blocks[-1] else f"{blocks[0]} to {blocks[-1]}"
    confidence = percent(ladders[0].ratio.confidence)
    over = f"Pooled over {', '.join(map(str, steps))} connections"
    over = over if len(steps) > 1 else f"With {counted(steps[0], 'connection')}"
    return f"{over}, {many} block{'s' if blocks[-1] > 1 else ''}, and {confidence} intervals."


def _subject(ladders: Sequence[Row]) -> str:
    return str(ladders[0].case.get(SERVER, "all cases"))


def _base(row: Row) -> str:
    level = row.baseline[_factor(row)]
    if _factor(row) == CERTIFICATE:
        return certificate_words(level)
    if _factor(row) in TLS_MODE:
        return tls_label(row.baseline)
    if _factor(row) == FAULT and level == NO_FAULT:
        return "as it comes" if row.case[FAULT] in VARIANTS else "nothing planted"
    return str(level)


def _short(row: Row) -> str:
    """The level of a contrast's factor in a word."""
    factor, levels = _factor(row), row.case
    if factor == LIBRARY:
        return library_label(levels)
    if factor in TLS_MODE:
        return tls_label(levels)
    if factor == INSTANCE:
        return f"{library_label(levels)} twin".strip()
    return key_of(levels[factor]) if factor == CERTIFICATE else str(levels[factor])


SHORT_HEADS = {
    "kept connections, ": "kept\n",
    "reconnecting, ": "rec.\n",
    " resumed": "r",
    "TLS ": "",
    ", ": "\n",
}
"""What shortens the heads of a wide table; told below it."""
KEYS = {
    "kept connections": "kept: on kept connections",
    "reconnecting": "rec.: reconnecting",
    "resumed": "r: TLS session resumed",
}
"""What is said of a short head, by what its long form has."""
PER_CENT = "In per cent, ± half the width of the interval."


def _tables(document: RunDocument) -> Iterator[Table]:
    """The pooled contrasts of each server, all against its own plaintext."""
    for grid in contrast_tables(document):
        rows: list[tuple[str, ...]] = []
        for title, lines in grid.parts.items():
            rows += [(title, *[""] * len(grid.heads))] if title else []
            rows += [(f"{INDENT}{name}", *map(_with_width, cells)) for name, cells in lines]
        yield Table(grid.title, grid.heads, rows, (f"{PER_CENT} {grid.reading}", *grid.notes))
    for own in _own_table(document):
        rows = [(name, *map(_change, cells)) for name, cells in own.parts[""]]
        short = "; ".join(said for word, said in KEYS.items() if any(word in head for head in own.heads))
        keys = f"In per cent; ÷2 is half. {short}." if short else "In per cent; ÷2 is half."
        yield Table(own.title, tuple(map(_short_head, own.heads)), rows, (keys, own.reading))


def _with_width(cell: GridCell) -> str:
    return f"{_change(cell)} {cell.half_width.removesuffix(' %')}".strip()


def _change(cell: GridCell) -> str:
    """The change without its unit, which is told below the table."""
    change = cell.change.removesuffix(" %") or cell.figure
    return f"{cell.mark}{change}"


def _short_head(head: str) -> str:
    for long, short in SHORT_HEADS.items():
        head = head.replace(long, short)
    return head


WIDTH, HEIGHT = NARROW, 170
DODGE = 0.05
"""How far apart, in octaves, the whiskers of two libraries stand at the same number of connections."""
LABEL_GAP_PX = 14


CLIMBING = (
    "To the right: more connections. Upwards: {} ({}). A dot is the geometric mean over blocks, its whisker "
    "the interval, drift of the machine included."
)


def _ladder_sections(stored: StoredRun, document: RunDocument) -> Iterator[Section]:
    """Servers over several libraries first; servers over one, and what was spent, folded away.

    Their values are those for which no histogram is decoded.
    """
    study, outcome = document.design, document.design.deciding_outcome
    if LADDER not in study.varied or needs_distance(study):
        return
    run = series(study, stored.measured, {own.trial.place: outcomes(own, ()) for own in stored.valid})
    drawn, title = _ladders(run, outcome), f"{outcome_names.title(outcome)}, step by step"
    several = [charts for charts in drawn if len(charts.styles) > 1]
    alone = [charts for charts in drawn if len(charts.styles) == 1]
    spent = [charts for charts in _ladders(run, CPU) if len(charts.styles) > 1] if outcome != CPU else []
    for name, told, charts, is_folded in (
        (outcome, title, several, False),
        (outcome, f"{title}: one library alone", alone, True),
        (CPU, f"{outcome_names.title(CPU)}, step by step", spent, True),
    ):
        if charts:
            reading = CLIMBING.format(outcome_names.words(name), outcome_names.better(name))
            yield Section((Words(reading, aside=True), *charts), told, is_folded)


def _ladders(run: Series, outcome: str) -> list[Charts]:
    """A ladder chart for each server, workload and TLS mode with two numbers of connections or more."""
    servers: dict[Level, dict[str, list[Line]]] = {}
    levels_of = run.study.levels_of()
    line = CERTIFICATE if CERTIFICATE in run.study.varied else LIBRARY
    places = {level: place for place, level in enumerate(levels_of.get(line, ()))}
    for at in run.ladders().values():
        if at[0].get(INSTANCE, 1) == 1:
            climb = _climb(run, at, outcome, places.get(at[0].get(line, ""), 0))
            if len(climb.points) > 1:
                servers.setdefault(at[0].get(SERVER, ""), {}).setdefault(mode_label(at[0]), []).append(climb)
    charts = []
    for server, modes in servers.items():
        styles = tuple(dict.fromkeys(climb.style for climbs in modes.values() for climb in climbs))
        panels = tuple(_panel(mode, climbs, outcome) for mode, climbs in modes.items())
        charts.append(Charts(panels, str(server) or "all cases", styles, small=True))
    return charts


def _climb(run: Series, at: Sequence[CaseLevels], outcome: str, place: int) -> Line:
    label = with_commas(library_label(at[0]), certificate_label(at[0])) or "as it is"
    steps = []
    for levels in at:
        logs = run.logs(levels, outcome)
        if logs and LADDER in levels:
            value = stats.interval(list(logs.values()), run.study.confidence)
            told = figures.quantity(value.point, OUTCOMES[outcome].unit)
            said = f"{label}, {counted(int(levels[LADDER]), 'connection')}: {told}"
            steps.append(Point(float(levels[LADDER]), value.point, said, *value.ends))
    return Line(level_style(label, place, shape=0), tuple(sorted(steps, key=lambda step: step.x)))


def _panel(mode: str, climbs: Sequence[Line], outcome: str) -> Panel:
    said = (
        f"{climb.style.label}: {', '.join(step.description for step in climb.points)}" for climb in climbs
    )
    words = f"{outcome_names.title(outcome)} by connections, {mode}. {'; '.join(said)}"
    return Panel(
        title=capitalised(mode), reading="", drawings=(at_one_width(words, _ladder_chart(climbs, outcome)),)
    )


def _ladder_chart(climbs: Sequence[Line], outcome: str) -> Spec:
    """A line a library over the numbers of connections, whiskers for intervals, names at the right end."""
    ticks = sorted({step.x for climb in climbs for step in climb.points})
    highest = max(min(step.high or step.y, 2 * step.y) for climb in climbs for step in climb.points) * 1.04
    domain = [ticks[0] / 1.3, ticks[-1] * 1.3]
    shown = ticks if len(ticks) < 7 else [tick for place, tick in enumerate(ticks) if place % 2 == 0]
    x = quantitative("x", {"type": "log", "base": 2, "domain": domain}, values=shown, format="d", grid=False)
    label = {"labelExpr": parts.DURATION_LABEL} if OUTCOMES[outcome].unit == "us" else {"format": "~s"}
    axis = {"tickCount": 4, "minExtent": 42, "maxExtent": 42, **label}
    y = quantitative("y", {"domain": [0, highest]}, **axis)
    low = quantitative("low", {"domain": [0, highest]}, **axis)
    steps = parts.points_of(climbs, lambda connections, place: connections * exp(place * DODGE))
    steps = [{**step, "high": min(step["high"], highest)} for step in steps]
    layers = [
        parts.whiskers(steps, x, low),
        *parts.lines_and_dots(steps, x, y, size=28),
        *_names(climbs, domain[1], highest, x, y),
    ]
    return parts.finished(layers, WIDTH, HEIGHT)


def _names(climbs: Sequence[Line], end: float, highest: float, x: Spec, y: Spec) -> list[Spec]:
    """Each library's name beside its last step, pushed apart where lines end close to each other."""
    gap = LABEL_GAP_PX * highest / HEIGHT
    names = sorted(climbs, key=lambda climb: climb.points[-1].y)
    heights = apart([climb.points[-1].y for climb in names], gap, highest)
    values = [
        {"x": end, "y": height, **asdict(climb.style)} for climb, height in zip(names, heights, strict=True)
    ]
    mark = {"type": "text", "align": "left", "dx": 5, "fontSize": parts.FONT_SIZE, "fontWeight": 600}
    return [layer(values, mark, x=x, y=y, text=nominal("label"), color=parts.OWN_COLOUR)]


def apart(heights: Sequence[float], gap: float, highest: float) -> list[float]:
    """These heights (ascending), moved so that there is a gap between any two, and none above the highest."""
    found: list[float] = []
    for height in heights:
        found.append(max(height, found[-1] + gap) if found else max(height, 0.0))
    ceiling = highest
    for place in range(len(found) - 1, -1, -1):
        found[place] = min(found[place], ceiling)
        ceiling = found[place] - gap
    return found


BY_CASE = (
    "Each figure is a ratio in the same blocks ({better}); “all” is pooled over connections. Hatched figures "
    "are alike (≈) or inconclusive (?)."
)
TO_OWN = (
    "Each figure is a ratio to the same server’s plaintext with as many connections, in the same blocks. "
    "Different servers may be compared by these ratios alone."
)


def _map_sections(document: RunDocument) -> Iterator[Section]:
    outcome, is_first = document.design.deciding_outcome, True
    # Twins are only for the noise floor.
    factors = (contrast.factor for contrast in document.design.contrasts)
    factor = next((factor for factor in factors if factor != INSTANCE), INSTANCE)
    compared = "library" if factor == LIBRARY else factor.replace("_", " ")
    for name in dict.fromkeys((outcome, *SPENT)):
        if grids := _contrast_maps(document, name):
            title = f"{outcome_names.title(name)}: {compared} by case"
            reading = Words(BY_CASE.format(better=outcome_names.better(name)), aside=True)
            yield Section((reading, Shades(STEPS_OF_LIBRARIES), *grids), title, folded=name != outcome)
            is_first = False
    if ladders := _to_own_baseline(document, outcome):
        singles = [own for own in document.findings if own.outcome == outcome and own.role == "treatment"]
        title = "Every server, each against its own plaintext"
        grid = _map(
            title, ladders, singles, STEPS_OF_TLS, lambda row: subject_label(row.case, document.design)
        )
        yield Section((Words(TO_OWN, aside=True), Shades(STEPS_OF_TLS), grid), title, folded=not is_first)


def _contrast_maps(document: RunDocument, outcome: str) -> list[Grid]:
    """For each contrast and server: levels by cases (workload, TLS, connections), with the twin's rows.

    None of them for a study without a ladder of connections, of which a map would say nothing more.
    """
    if LADDER not in document.design.varied:
        return []
    maps = []
    singles = document.rows_of("contrasts", outcome, role="contrast")
    pooled = document.rows_of("contrasts", outcome, role="pooled")
    for ladders in _contrasted(document, outcome):
        server = ladders[0].case.get(SERVER)
        twins = [row for row in pooled if _factor(row) == INSTANCE and row.case.get(SERVER) == server]
        title = f"{_subject(ladders)}, against {_base(ladders[0])}"
        maps.append(_map(title, [*ladders, *twins], singles, STEPS_OF_LIBRARIES, _short))
    return maps


def _map(
    title: str,
    ladders: Sequence[Row],
    singles: Sequence[Row] | Sequence[Finding],
    shades: Sequence[float],
    name: Callable[[Row], str],
) -> Grid:
    """A part for each mode, a line for each ladder: its single cells, and last the pooled one."""
    steps = sorted({step for ladder in ladders for step in ladder.numbers("pooled_connections")})
    by_case = {(_factor(single), single.case): single for single in singles}
    parts: dict[str, list[GridLine]] = {}
    for ladder in ladders:
        own = (by_case.get((_factor(ladder), ladder.case | {LADDER: step})) for step in steps)
        cells = (_cell(single, shades) if single else GridCell() for single in own)
        line = (name(ladder), (*cells, _cell(ladder, shades)))
        parts.setdefault(mode_label(ladder.case), []).append(line)
    return Grid(title, "", (*map(str, steps), ALL), parts, is_map=True)


def before_groups(document: RunDocument, *, brief: bool = False) -> Iterator[Section]:
    """Published tables, then what compares the study as a whole; of that nothing without a finding.

    In brief, what the run was not asked for is left out.
    """
    yield from _of([tables.TOPIC], document)
    if not document.findings:
        return
    if not (brief and made_anew(document)):  # Else the answer has the overview's figures.
        yield from sections(document)
    counts = not brief or asks_for_counts(document.design)
    yield from _of([topic for topic in COMPARED if counts or topic is not round_trips.TOPIC], document)


def before_groups_on_page(stored: StoredRun, document: RunDocument) -> Iterator[Section]:
    """The same on the page, with an overview that is drawn, also without a finding."""
    if tables.TOPIC.name in document.topics:
        yield from tables.page_sections(document.topics[tables.TOPIC.name], document)
    yield from _of([statements.TOPIC], document)
    yield from page_sections(stored, document)
    yield from _of(COMPARED, document)


def leaves_groups_out(document: RunDocument) -> bool:
    """Whether a text shows the run as a whole: its groups of cases are too many, or not what was asked."""
    study = document.design
    of_another_kind = asks_for_counts(study) or is_of_load_client(study)
    return is_large(study) or of_another_kind or bool({"memory", "validation"} & document.topics.keys())


def after_groups(document: RunDocument, *, brief: bool = False) -> Iterator[Section]:
    """What was seen of handshakes and on the wire, and where the cost goes.

    In brief, HelloRetryRequests only if they are the answer.
    """
    retries = not brief or hello_retry.is_answer(document)
    yield from _of([topic for topic in BESIDE if retries or topic is not hello_retry.TOPIC], document)


def _of(topics: Sequence[Topic], document: RunDocument) -> Iterator[Section]:
    for topic in topics:
        if topic.name in document.topics:
            yield from topic.sections(document.topics[topic.name], document)


def last_section(stored: StoredRun, document: RunDocument, *, shortened: bool = False) -> Section:
    """Which trials were not used, and what to bear in mind.

    `shortened`: of a large study only the first of each.
    """
    failures = tuple(facts.failures(stored))
    caveats = (*statements.notes(document), *published_notes(document), *document.caveats)
    if shortened:
        failures, caveats = (facts.shortened(texts, document.design) for texts in (failures, caveats))
    return Section((Items(failures, "Trials that were not used"), Items(caveats, "Bear in mind")))
