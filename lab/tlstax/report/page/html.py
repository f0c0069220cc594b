"""Pages as HTML files that stand alone: no script of their own, no font, no picture from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from tlstax import __version__
from tlstax.records.trial import StoredRun
from tlstax.report.overview import after_groups, before_groups_on_page
from tlstax.report.page.charts import detail_panels, ratio_panels
from tlstax.report.page.evidence import evidence
from tlstax.report.page.flames import flame_section
from tlstax.report.page.site import PROOF, SiteRun, site_index
from tlstax.results.document import Finding, RunDocument
from tlstax.stats.estimates import Pair, compare
from tlstax.stats.outcomes import is_large
from tlstax.stats.wording import capitalised, percent
from tlstax.study import Study, study_toml
from tlstax.study.labels import full_label
from tlstax.support.text import counted
from tlstax.support.untrusted import printable
from tlstax.topics.advice.advise import Advice
from tlstax.topics.advice.sections import advice_sections, share_words, use_words
from tlstax.topics.answer.document import never_valid_words
from tlstax.topics.answer.headline import causes, headline, said_of
from tlstax.topics.core import facts, figures, outcome_names, palette
from tlstax.topics.core.groups import Cell, Group, Row, arranged, cell, main_columns
from tlstax.topics.distance.curves import claim_verdicts
from tlstax.topics.flames import Draw
from tlstax.topics.statements import verdict_lines

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|µs|ms|s|GiB|connections?|blocks?)\b|%)")

MOST_CARDS = 6
"""More key figures than these are not taken in at a glance."""

FOLDED_FROM = 40
"""More figures of one server than that are shown when they are asked for."""

MOST_SENTENCES = 6
"""As many of a run's answers stand in the index; the others are on its page."""

Values = dict[str, Any]
"""What a template is given, by name."""


class Link(NamedTuple):
    """Another page of a site, and what it is."""

    href: str
    words: str


def html(
    stored: StoredRun, document: RunDocument, draw: Draw | None = None, beside: Sequence[Link] = ()
) -> str:
    """The report. Whatever a server or a client said is escaped. `draw` draws flame graphs, if there are any.

    `beside` are the pages that it stands beside, where it is part of a site. Raises MachineFault where a
    stored histogram cannot be decoded.
    """
    return template("template.html.j2").render(
        page=_page(stored, document, draw), beside=beside, proof=PROOF, style=style()
    )


def site_html(runs: Sequence[SiteRun]) -> str:
    """The index of a site of these runs. Whatever a server or a client said is escaped."""
    return template("site.html.j2").render(
        site=site_index(runs),
        proof=PROOF,
        folded_from=FOLDED_FROM,
        most_sentences=MOST_SENTENCES,
        version=__version__,
        style=style(),
    )


def advice_html(found: Advice) -> str:
    """An advice as a page of its own. Whatever a server said is escaped."""
    answers = (
        own.what if share is None else f"{own.what}: {share_words(share)} of the server's CPU"
        for own in found.advised
        for share in (own.saving.server_share,)
    )
    return template("advice.html.j2").render(
        title=found.inspected.server,
        answers=(use_words(found.use), *answers),
        sections=advice_sections(found),
        version=__version__,
        at=found.inspected.at,
        style=style(),
    )


@cache
def template(name: str) -> Template:
    """The template of this name; whatever it is given is escaped, and shows no character that steers."""
    environment = Environment(
        loader=PackageLoader("tlstax", "report/page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        # A sentence with a capital, in which no number is parted from its unit.
        whole=lambda sentence: _unparted(capitalised(sentence)),
        unparted=_unparted,
        figures=figures,
        full_label=full_label,
        names=outcome_names,
        inks=palette,
        kind_of=lambda block: type(block).__name__,
    )
    return environment.get_template(name)


def _unparted(text: str) -> str:
    """Text in which no line ends between a number and its unit."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


def _finalized(value: object) -> object:
    """What is not markup yet shows no character that steers; escaping comes after this."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def style() -> Markup:
    """The stylesheet: what is written, and the dark colour of every light one that a chart was drawn in."""
    written = (resources.files("tlstax.report.page") / "report.css").read_text(encoding="utf-8")
    return Markup(written.replace("/* DARK_INKS */", _dark_inks()))  # noqa: S704 - our own file


def _dark_inks() -> str:
    return "\n  ".join(
        f'svg [{attribute}="{ink.light}"] {{ {attribute}: {ink.dark}; }}'
        for ink in palette.every_ink()
        for attribute in ("fill", "stroke")
    )


def _page(stored: StoredRun, document: RunDocument, draw: Draw | None) -> Values:
    """Everything that the template of a run needs; nothing is computed there."""
    study, is_whole = document.design, is_large(document.design)
    groups = () if is_whole else arranged(stored, document)
    compared = () if is_whole else compare(stored.header.study, stored.measured)
    pairs = {own.case.key(): own.pairs for own in compared}
    return {
        "stored": stored,
        "document": document,
        "headline": _answer(stored, document),
        "card_rows": list(card_rows(groups, study.deciding_outcome)),
        "sections": [_section(group, pairs, study) for group in groups],
        "facts": facts.facts(stored, document),
        "caveats": facts.shortened(document.caveats, study),
        "failures": facts.shortened(facts.failures(stored), study),
        "study_toml": "\n".join(map(printable, study_toml(study).split("\n"))),
        "confidence": percent(study.confidence),
        "before_groups": before_groups_on_page(stored, document),
        "after_groups": after_groups(document),
        "evidence": evidence(stored, document, groups),
        "lists_trials": not is_whole,
        "flames": flame_section(stored, draw),
    }


def _answer(stored: StoredRun, document: RunDocument) -> tuple[str, ...]:
    """The answer in words; of statements only the verdicts, as their figures follow at once."""
    if not document.findings:
        return (facts.nothing_to_show(stored),)
    if verdicts := verdict_lines(document):
        claims = claim_verdicts(document.rows_of("distance"))
        lost = tuple(never_valid_words(document.never_valid))
        told = said_of(document, "drivers")
        answer = (*verdicts, *told, *claims, *causes(document), *said_of(document, "published"))
        # What a driver cannot do is an answer of its own, and not the first.
        return (*answer, *lost) if told else (*lost, *answer)
    return facts.shortened(headline(document), document.design)


def _section(group: Group, pairs: Mapping[str, Sequence[Pair]], study: Study) -> Values:
    """A group of cases: its table, its charts, every outcome."""
    noise = facts.noise_words(group, study.deciding_outcome, study.alike_within)
    return {
        "group": group,
        "reading": _reading(group, study),
        "noise": noise if group.found() else "",
        "columns": main_columns(group),
        "ratio_panels": list(ratio_panels(group)),
        "detail_panels": detail_panels(group, pairs, study),
        "lines": [(outcome, [cell(row, outcome) for row in group.rows]) for outcome in group.outcomes()],
    }


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


def card_rows(groups: Sequence[Group], outcome: str) -> Iterator[tuple[str, list[tuple[Row, Cell, str]]]]:
    """The deciding outcome of every treatment; where they are many, of the most different ones.

    For each group a title, and key figures: whose each is, the figure, and a sentence.
    """
    every = {
        group.label: [
            (row, finding)
            for row in group.compared()
            if row.case.role == "treatment" and (finding := row.findings.get(outcome)) is not None
        ]
        for group in groups
    }
    baselines = {group.label: group.baseline_label for group in groups}
    sizes = sorted((_size(finding) for own in every.values() for _, finding in own), reverse=True)
    least = sizes[MOST_CARDS - 1] if len(sizes) > MOST_CARDS else 0.0
    for label, own in every.items():
        cards = []
        for row, finding in own:
            if _size(finding) >= least:
                values = (finding.value, finding.baseline_value)
                said = " instead of ".join(figures.quantity(value, finding.unit) for value in values)
                cards.append((row, cell(row, outcome), said))
        if cards:
            yield f"{outcome_names.title(outcome)} against {baselines[label]}: {label}", cards


def _size(finding: Finding) -> float:
    """How far the ratio is from 1, as a factor."""
    point = finding.ratio.point
    return max(point, 1 / point) if point > 0 else 1.0
