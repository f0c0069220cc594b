"""What the page shows, in its order, as plain values for the template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlstax.findings.core.comparisons import Pair, compare
from tlstax.findings.core.outcomes import is_large
from tlstax.findings.core.wording import capitalised, percent
from tlstax.records.trial import StoredRun
from tlstax.report.formats.topics import after_groups, before_groups_on_page
from tlstax.report.overview import wants_overview
from tlstax.report.page.charts import detail_panels, ratio_panels
from tlstax.report.page.flames import FlameSection, flame_section
from tlstax.report.page.processors import processes, processors
from tlstax.results.document import RunDocument
from tlstax.study import Study, study_toml
from tlstax.support.text import counted
from tlstax.topics.answer.document import never_valid_words
from tlstax.topics.answer.headline import causes, headline, said_of
from tlstax.topics.core import facts, figures, outcome_names
from tlstax.topics.core.evidence import evidence
from tlstax.topics.core.facts import Fact
from tlstax.topics.core.groups import Cell, Column, Group, Row, arranged, cell, main_columns
from tlstax.topics.core.panel import Panel
from tlstax.topics.core.section import Block, Heading, Section, Words
from tlstax.topics.core.untrusted import printable
from tlstax.topics.distance.curves import claim_verdicts
from tlstax.topics.flames import Draw
from tlstax.topics.statements import verdict_lines

MOST_CARDS = 6

PROVED = (
    "Each case had to prove that it was what it claims to be: both sides were asked on the very connections, "
    "and both counted. Handshakes are counted over the whole life of the valid trials, warm-up included."
)


@dataclass(frozen=True)
class Card:
    """One key figure."""

    row: Row
    cell: Cell
    sentence: str
    distance: float


@dataclass(frozen=True)
class CardRow:
    """The key figures of one group."""

    title: str
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class OutcomeLine:
    """One outcome for all cases of a group."""

    words: str
    better: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class GroupSection:
    """A group of cases: its table, its charts, every outcome, the evidence."""

    group: Group
    reading: str
    noise: str
    columns: tuple[Column, ...]
    ratio_panels: tuple[Panel, ...]
    detail_panels: tuple[Panel, ...]
    lines: tuple[OutcomeLine, ...]


@dataclass(frozen=True)
class Page:
    """Everything that the template needs; nothing is computed there."""

    stored: StoredRun
    document: RunDocument
    headline: tuple[str, ...]
    card_rows: tuple[CardRow, ...]
    sections: tuple[GroupSection, ...]
    facts: tuple[Fact, ...]
    caveats: tuple[str, ...]
    failures: tuple[str, ...]
    study_toml: str
    confidence: str
    before_groups: tuple[Section, ...]
    after_groups: tuple[Section, ...]
    evidence: Section
    lists_trials: bool
    flames: FlameSection | None


def page(stored: StoredRun, document: RunDocument, draw: Draw | None = None) -> Page:
    """The page of a run. Raises MachineFault where a stored histogram cannot be decoded."""
    large = is_large(document.design)
    groups = () if large else arranged(stored, document)
    pairs = (
        {}
        if large
        else {
            compared.case.key(): compared.pairs for compared in compare(stored.header.study, stored.measured)
        }
    )
    sentences = tuple(failure.sentence() for failure in facts.failures(stored))
    return Page(
        stored=stored,
        document=document,
        headline=_answer(stored, document),
        card_rows=tuple(_card_rows(groups, document.design.deciding_outcome)),
        sections=tuple(_section(group, pairs, document) for group in groups),
        facts=tuple(facts.facts(stored, document)),
        caveats=facts.shortened(document.caveats, document.design),
        failures=facts.shortened(sentences, document.design),
        study_toml="\n".join(map(printable, study_toml(document.design).split("\n"))),
        confidence=percent(document.design.confidence),
        before_groups=tuple(before_groups_on_page(stored, document)),
        after_groups=tuple(after_groups(document)),
        evidence=Section(tuple(_evidence(stored, document, groups)), "What really ran"),
        lists_trials=not large,
        flames=flame_section(stored, draw),
    )


def _evidence(stored: StoredRun, document: RunDocument, groups: Sequence[Group]) -> Iterator[Block]:
    """For a large study process by process, else group by group."""
    yield Words(PROVED, aside=True)
    if wants_overview(document.design):
        yield from processes(stored, document)
    for group in groups:
        if len(groups) > 1:
            yield Heading(capitalised(group.label))
        yield from evidence(group.rows)
        yield from processors(group.rows)


def _answer(stored: StoredRun, document: RunDocument) -> tuple[str, ...]:
    """The answer in words; of statements only the verdicts, as their figures follow at once."""
    if not document.findings:
        return (facts.nothing_to_show(stored),)
    if verdicts := verdict_lines(document):
        distance = document.topics.get("distance")
        claims = claim_verdicts(distance.rows) if distance is not None else ()
        lost = tuple(never_valid_words(document.never_valid))
        told = said_of(document, "drivers")
        answer = (*verdicts, *told, *claims, *causes(document), *said_of(document, "published"))
        # What a driver cannot do is an answer of its own, and not the first.
        return (*answer, *lost) if told else (*lost, *answer)
    return facts.shortened(headline(document), document.design)


def _section(group: Group, pairs: dict[str, tuple[Pair, ...]], document: RunDocument) -> GroupSection:
    study = document.design
    return GroupSection(
        group=group,
        reading=_reading(group, study),
        noise=facts.noise_words(group, study.deciding_outcome, study.alike_within) if group.found() else "",
        columns=main_columns(group),
        ratio_panels=ratio_panels(group),
        detail_panels=detail_panels(group, pairs, study),
        lines=tuple(_line(group, outcome) for outcome in group.outcomes()),
    )


def _reading(group: Group, study: Study) -> str:
    """How the figures of the table came about."""
    shown = set(group.main_outcomes())
    compared = (found for row in group.compared() for found in row.findings.values())
    blocks = {found.ratio.blocks for found in compared if found.outcome in shown}
    if not blocks:
        return "No case could be compared with the baseline."
    few, many = min(blocks), max(blocks)
    number = counted(many, "block") if few == many else f"{few} to {many} blocks"
    interval = f" In brackets: the {percent(study.confidence)} interval." if many > 1 else (
        " One block alone shows no scatter, so there are no intervals."
    )  # fmt: skip
    return (
        f"{capitalised(group.baseline_label)}: geometric means over {number}. Below each other figure: the "
        "change against it, measured in the same blocks; the figure is the baseline's with this change."
        f"{interval}"
    )


def _line(group: Group, outcome: str) -> OutcomeLine:
    cells = tuple(cell(row, outcome) for row in group.rows)
    return OutcomeLine(words=outcome_names.words(outcome), better=outcome_names.better(outcome), cells=cells)


def _card_rows(groups: tuple[Group, ...], outcome: str) -> Iterator[CardRow]:
    """The deciding outcome of every treatment; where they are many, of the most different ones."""
    cards = {group.label: _cards(group, outcome) for group in groups}
    baselines = {group.label: group.baseline_label for group in groups}
    distances = sorted((card.distance for row in cards.values() for card in row), reverse=True)
    least = distances[MOST_CARDS - 1] if len(distances) > MOST_CARDS else 0.0
    for label, row in cards.items():
        kept = tuple(card for card in row if card.distance >= least)
        if kept:
            yield CardRow(
                title=f"{outcome_names.title(outcome)} against {baselines[label]}: {label}", cards=kept
            )


def _cards(group: Group, outcome: str) -> list[Card]:
    treatments = (row for row in group.compared() if row.case.role == "treatment")
    return [_card(row, outcome) for row in treatments if outcome in row.findings]


def _card(row: Row, outcome: str) -> Card:
    finding = row.findings[outcome]
    value, baseline = (
        figures.quantity(number, finding.unit) for number in (finding.value, finding.baseline_value)
    )
    point = finding.ratio.point
    return Card(
        row=row,
        cell=cell(row, outcome),
        sentence=f"{value} instead of {baseline}",
        distance=max(point, 1 / point) if point > 0 else 1.0,
    )
