"""Every topic, in the order in which formats have them."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.topics import agreement, published, trust
from tlstax.topics.comparisons import CONTRASTS, UNPAIRED
from tlstax.topics.core.columns import Column
from tlstax.topics.core.topic import Topic
from tlstax.topics.drivers import topic as drivers
from tlstax.topics.tables import topic as tables

TOPICS: tuple[Topic, ...] = (
    CONTRASTS,
    tables.TOPIC,
    published.TOPIC,
    agreement.TOPIC,
    trust.TOPIC,
    drivers.TOPIC,
    UNPAIRED,
)


def own_columns() -> Iterator[Column]:
    """The columns that topics have of their own, each once. Two topics may share one."""
    yield from {column.name: column for topic in TOPICS for column in topic.columns}.values()
