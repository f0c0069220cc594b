"""Every topic, in the order in which formats have them."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.topics import (
    agreement,
    captures,
    hello_retry,
    locks,
    pool,
    profiling,
    published,
    round_trips,
    storms,
    trust,
)
from tlstax.topics.comparisons import CONTRASTS, UNPAIRED
from tlstax.topics.core.columns import Column
from tlstax.topics.core.topic import Topic
from tlstax.topics.drivers import topic as drivers
from tlstax.topics.explain import sections as explain

TOPICS: tuple[Topic, ...] = (
    CONTRASTS,
    profiling.TOPIC,
    pool.TOPIC,
    published.TOPIC,
    agreement.TOPIC,
    trust.TOPIC,
    drivers.TOPIC,
    storms.TOPIC,
    round_trips.TOPIC,
    hello_retry.TOPIC,
    captures.TOPIC,
    locks.TOPIC,
    explain.TOPIC,
    UNPAIRED,
)


def own_columns() -> Iterator[Column]:
    """The columns that topics have of their own, each once. Two topics may share one."""
    yield from {column.name: column for topic in TOPICS for column in topic.columns}.values()
