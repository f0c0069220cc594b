"""Several machines: each one's own ratios beside the pooled ones, and which of them differ beyond chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told, by_label
from tlstax.stats import stats
from tlstax.stats.outcomes import UNITS, is_large
from tlstax.stats.pooling import machines_of
from tlstax.stats.wording import capitalised, change_words, percent
from tlstax.study.labels import finding_levels, full_label
from tlstax.study.outcomes import OUTCOMES
from tlstax.topics.core import columns, figures, outcome_names
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Items, Roomy, Section, Words
from tlstax.topics.core.table import INDENT, Table
from tlstax.topics.core.topic import Run, Topic

BESIDE = ("ops_per_s", "server_cpu_us_per_op")
"""The outcomes that are told of each machine, beside the one that decides when the study ends."""

MANY = 6
"""Of more machines than this only the two that are farthest apart are named."""

OWN, TOGETHER, MEASURING, KINDS = "machine", "all machines", "measuring machine", "kinds of machines"
MACHINE, BY_CHANCE, DIFFER = "machine", "difference_by_chance", "machines_differ"

ALIKE = "No difference between the machines was seen beyond chance."
INCONCLUSIVE = "Whether the machines differ beyond chance cannot be told yet: each needs more blocks."
READING = (
    "Ratios to the baselines, with {confidence} intervals: of all machines together as in the rest of the "
    "report, and below of each machine over its own blocks; {reading}. *: the machines differ beyond chance."
)


def rows(run: Run) -> Iterator[Row]:
    """What a run on several machines shows of each, first how many blocks it measured; of one, nothing.

    `kinds of machines` counts processors that differ by name or number of cores. Then each ratio of `all
    machines` is followed by that of each `machine` over its own blocks; whether they differ is of all ratios.
    """
    of_block = machines_of(run.stored.measured)
    if not of_block:
        return
    described, blocks = run.stored.header.all_machines, Counter(of_block.values())
    for name in dict.fromkeys((*described, *sorted(blocks))):
        yield Row(role=MEASURING, outcome="blocks", unit="1", value=blocks[name], more={MACHINE: name})
    known = (machine for name, machine in described.items() if blocks[name])
    kinds = len({(machine.cpu_model, machine.cores) for machine in known})
    yield Row(role=KINDS, outcome="kinds", unit="1", value=kinds)
    shown = [
        estimate
        for outcome in dict.fromkeys((run.study.deciding_outcome, *BESIDE))
        for estimate in run.estimates
        if estimate.comparison.case.role == "treatment" and estimate.outcome == outcome
        if estimate.ratio is not None
    ]
    chances = [estimate.pooling.difference_by_chance(estimate.logs) for estimate in shown]
    differ = beyond_chance(chances, run.study.confidence)
    for estimate, chance, apart in zip(shown, chances, differ, strict=True):
        case, more = estimate.comparison.case, {BY_CHANCE: chance, DIFFER: apart}
        common: dict[str, Any] = {
            "outcome": estimate.outcome,
            "unit": UNITS[estimate.outcome],
            "case": finding_levels(case),
            "baseline": estimate.comparison.baseline.levels,
            "label": full_label(case, run.study),
            "of": "ratio",
        }
        yield Row(role=TOGETHER, interval=estimate.ratio, more=more, **common)
        for name, logs in estimate.pooling.by_machine(estimate.logs).items():
            ratio = stats.interval(logs, run.study.confidence)
            yield Row(role=OWN, interval=ratio, more={MACHINE: name, **more}, **common)


def beyond_chance(chances: Sequence[float | None], confidence: float) -> list[bool]:
    """Which of several comparisons differ beyond chance, so that one in any run does by chance is rare.

    Holm (1979), Scandinavian Journal of Statistics 6, 65-70, at the error rate that intervals are made with
    (`stats.ALPHA_SHARE`), as a run may have been looked at before. What is None is not tested.
    """
    tested = sorted((chance, place) for place, chance in enumerate(chances) if chance is not None)
    rate, found = (1 - confidence) * stats.ALPHA_SHARE, [False] * len(chances)
    for before, (chance, place) in enumerate(tested):
        if chance > rate / (len(tested) - before):
            break
        found[place] = True
    return found


def reading(shown: Sequence[Row]) -> str:
    """What the intervals of a run on several machines promise."""
    machines = len(_names(shown))
    if machines == 2:
        return (
            "intervals are of these two machines and hold the ratio of each: they reach from the lowest end "
            "of their own intervals to the highest; two machines do not tell what a third would show"
        )
    kinds = sum(int(row.amount) for row in shown if row.role == KINDS)
    others = f"; they are of {kinds} kinds, and say nothing of any other" if kinds > 1 else ""
    return (
        f"intervals are of machines like these {machines}, each of which counts once, and have in them how "
        f"far machines differ{others}"
    )


def _names(shown: Sequence[Row]) -> list[str]:
    """The machines that measured any block."""
    return [row.word(MACHINE) for row in shown if row.role == MEASURING and row.value]


def sentences(_: Run, shown: Sequence[Row]) -> Iterator[str]:
    """In which cases machines differ beyond chance, and what each of them shows."""
    for row in shown:
        if row.role != TOGETHER or not row.more[DIFFER]:
            continue
        own = [
            each for each in shown if (each.role, each.label, each.outcome) == (OWN, row.label, row.outcome)
        ]
        apart = sorted(own, key=lambda each: each.known.point)
        named = own if len(own) <= MANY else (apart[0], apart[-1])
        said = ", ".join(f"{each.word(MACHINE)} {change_words(each.known)}" for each in named)
        among = "" if len(own) <= MANY else f" (the two of {len(own)} that are farthest apart)"
        where = f"{OUTCOMES[row.outcome].words} of {row.label}"
        yield f"machines differ beyond chance in {where}: {said}{among}; the interval includes that"


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """Where machines differ, then a table: of each case all machines together, and each below by itself."""
    tested = any(row.more[BY_CHANCE] is not None for row in told.of(role=TOGETHER))
    differ = Items(tuple(map(capitalised, told.sentences)))
    said = differ if told.sentences else Words(ALIKE if tested else INCONCLUSIVE)
    table = _table(told)
    words = READING.format(confidence=percent(document.design.confidence), reading=reading(told.rows))
    note = Words(words, aside=True)
    shown = (Roomy((table, note)),) if is_large(document.design) else (table, Roomy((note,)))
    yield Section((said, *shown), told.title)


def _table(told: Told) -> Table:
    ratios = [row for row in told.rows if row.role in {TOGETHER, OWN}]
    outcomes = dict.fromkeys(row.outcome for row in ratios)
    lines: list[tuple[str, ...]] = []
    for label, own in by_label(ratios).items():
        cells = {(row.word(MACHINE), row.outcome): _cell(row) for row in own}
        for name in ("", *_names(told.rows)):
            line = (cells.get((name, outcome), figures.NOTHING) for outcome in outcomes)
            lines.append((f"{INDENT}{name}" if name else label, *line))
    return Table("Beside the baseline", tuple(map(outcome_names.title, outcomes)), lines, ())


def _cell(row: Row) -> str:
    change = "" if row.interval is None else figures.change_with_interval(row.interval)
    return f"* {change}" if row.role == TOGETHER and row.more[DIFFER] else change


COLUMNS = (
    columns.MACHINE,
    Column(
        BY_CHANCE, "REAL", "how likely machines that are alike would differ as much; empty: too few blocks"
    ),
    Column(DIFFER, "INTEGER", "whether machines differ beyond chance, of all ratios that were tested"),
)

TOPIC = Topic("machines", "Each machine by itself", rows, sections, sentences, COLUMNS)
