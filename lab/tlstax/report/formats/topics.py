"""Every topic in the order in which formats have them: before the groups of cases, and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tlstax.findings.hello_retry.words import is_answer
from tlstax.records.trial import StoredRun
from tlstax.report.bulk import section as bulk
from tlstax.report.connect import section as connect
from tlstax.report.distance import section as distance
from tlstax.report.explain import section as explain
from tlstax.report.hello_retry import section as hello_retry
from tlstax.report.locks import section as locks
from tlstax.report.machines import load
from tlstax.report.machines import section as machines
from tlstax.report.overview import section as overview
from tlstax.report.overview.text import notes_of_statements
from tlstax.report.scaling import section as scaling
from tlstax.report.two_sides import section as two_sides
from tlstax.results.document import RunDocument
from tlstax.topics.answer.headline import made_anew
from tlstax.topics.core import facts
from tlstax.topics.core.section import Detail, Items, Section
from tlstax.topics.index import TOPICS
from tlstax.topics.published import notes as published_notes
from tlstax.topics.tables import topic as tables

Topic = Callable[[RunDocument, Detail], Iterator[Section]]


def _of(name: str) -> Topic:
    """The sections of the topic of that name, where the run has anything to tell of it."""
    (topic,) = (topic for topic in TOPICS if topic.name == name)

    def sections(document: RunDocument, _: Detail) -> Iterator[Section]:
        if name in document.topics:
            yield from topic.sections(document.topics[name], document)

    return sections


TABLES = _of("tables")

COMPARED: tuple[Topic, ...] = (
    two_sides.sections,
    overview.sections,
    machines.sections,
    _of("published"),
    _of("agreement"),
    distance.sections,
    scaling.sections,
    bulk.sections,
    _of("trust"),
    _of("drivers"),
    connect.sections,
)
"""Of what can be compared; nothing without a finding."""

COMPARED_ON_PAGE: tuple[Topic, ...] = (
    two_sides.sections,
    machines.sections,
    _of("published"),
    _of("agreement"),
    _of("drivers"),
    distance.sections,
    scaling.sections,
    bulk.sections,
    _of("trust"),
    connect.sections,
)
"""The same behind the page's overview, also without a finding."""

BESIDE: tuple[Topic, ...] = (
    load.sections,
    hello_retry.sections,
    connect.captured_sections,
    locks.sections,
    explain.sections,
)
"""What is known beside comparisons."""


def before_groups(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Published tables, then what compares the study as a whole, as text."""
    yield from TABLES(document, detail)
    for topic in COMPARED if document.findings else ():
        yield from topic(document, detail)


def before_groups_on_screen(document: RunDocument) -> Iterator[Section]:
    """The same where all of a run is to fit a screen: what it was not asked for is left out."""
    yield from TABLES(document, "short")
    for topic in COMPARED if document.findings else ():
        if topic is overview.sections and made_anew(document):
            continue  # The answer has these figures.
        yield from (topic if topic is not connect.sections else connect.sections_on_screen)(document, "short")


def before_groups_on_page(stored: StoredRun, document: RunDocument) -> Iterator[Section]:
    """The same on the page, with an overview that is drawn."""
    if "tables" in document.topics:
        yield from tables.page_sections(document.topics["tables"], document)
    yield from overview.page_sections(stored, document)
    for topic in COMPARED_ON_PAGE:
        yield from topic(document, "page")


def after_groups(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """What was seen of handshakes and on the wire, and where the cost goes."""
    for topic in BESIDE:
        yield from topic(document, detail)


def after_groups_on_screen(document: RunDocument) -> Iterator[Section]:
    """The same where all of a run is to fit a screen: HelloRetryRequests only if they are the answer."""
    for topic in BESIDE:
        if topic is not hello_retry.sections or is_answer(document):
            yield from topic(document, "short")


def last_section(stored: StoredRun, document: RunDocument, detail: Detail) -> Section:
    """Which trials were not used, and what to bear in mind."""
    failures = tuple(failure.sentence() for failure in facts.failures(stored))
    caveats = (*notes_of_statements(document), *published_notes(document), *document.caveats)
    if detail != "short":
        failures, caveats = (facts.shortened(texts, document.design) for texts in (failures, caveats))
    return Section((Items(failures, "Trials that were not used"), Items(caveats, "Bear in mind")))
