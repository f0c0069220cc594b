"""The sections of all topics, in the order of formats: before the groups of cases, and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.records.trial import StoredRun
from tlstax.report import overview
from tlstax.results.document import RunDocument
from tlstax.stats.outcomes import asks_for_counts, is_large, is_of_load_client
from tlstax.topics import hello_retry, round_trips, statements
from tlstax.topics.answer.headline import made_anew
from tlstax.topics.core import facts
from tlstax.topics.core.section import Items, Section
from tlstax.topics.core.topic import Topic
from tlstax.topics.index import BESIDE, COMPARED
from tlstax.topics.published import notes as published_notes
from tlstax.topics.tables import topic as tables


def before_groups(document: RunDocument, *, brief: bool = False) -> Iterator[Section]:
    """Published tables, then what compares the study as a whole; of that nothing without a finding.

    In brief, what the run was not asked for is left out.
    """
    yield from _of([tables.TOPIC], document)
    if not document.findings:
        return
    if not (brief and made_anew(document)):  # Else the answer has the overview's figures.
        yield from overview.sections(document)
    counts = not brief or asks_for_counts(document.design)
    yield from _of([topic for topic in COMPARED if counts or topic is not round_trips.TOPIC], document)


def before_groups_on_page(stored: StoredRun, document: RunDocument) -> Iterator[Section]:
    """The same on the page, with an overview that is drawn, also without a finding."""
    if tables.TOPIC.name in document.topics:
        yield from tables.page_sections(document.topics[tables.TOPIC.name], document)
    yield from _of([statements.TOPIC], document)
    yield from overview.page_sections(stored, document)
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
