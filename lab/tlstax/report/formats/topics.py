"""Every topic in the order in which all formats of text have them: before the groups of cases, and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tlstax.report.agreement import section as agreement
from tlstax.report.connect import section as connect
from tlstax.report.core.section import Detail, Section
from tlstax.report.distance import section as distance
from tlstax.report.drivers import section as drivers
from tlstax.report.explain import section as explain
from tlstax.report.hello_retry import section as hello_retry
from tlstax.report.overview import section as overview
from tlstax.report.published import section as published
from tlstax.results.document import RunDocument

Topic = Callable[[RunDocument, Detail], Iterator[Section]]

COMPARED: tuple[Topic, ...] = (
    overview.sections,
    published.sections,
    agreement.sections,
    distance.sections,
    drivers.sections,
    connect.sections,
)
"""Of what can be compared; nothing without a finding."""

BESIDE: tuple[Topic, ...] = (hello_retry.sections, connect.captured_sections, explain.sections)
"""What is known beside comparisons."""


def before_groups(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """Published tables, then what compares the study as a whole."""
    yield from published.table_sections(document, detail)
    for topic in COMPARED if document.findings else ():
        yield from topic(document, detail)


def after_groups(document: RunDocument, detail: Detail) -> Iterator[Section]:
    """What was seen of handshakes and on the wire, and where the cost goes."""
    for topic in BESIDE:
        yield from topic(document, detail)
