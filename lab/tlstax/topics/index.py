"""Every topic, in the order in which formats have them."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.topics import (
    agreement,
    bulk,
    captures,
    hello_retry,
    load,
    locks,
    machines,
    memory,
    pool,
    poolers,
    profiling,
    published,
    round_trips,
    scaling,
    self_bench,
    statements,
    storms,
    streams,
    trust,
    two_sides,
)
from tlstax.topics.comparisons import CONTRASTS, UNPAIRED
from tlstax.topics.core.columns import Column
from tlstax.topics.core.topic import Topic
from tlstax.topics.distance import curves, tunnels
from tlstax.topics.drivers import topic as drivers
from tlstax.topics.explain import sections as explain
from tlstax.topics.prediction import validation
from tlstax.topics.tables import topic as tables

COMPARED: tuple[Topic, ...] = (
    self_bench.TOPIC,
    validation.TOPIC,
    CONTRASTS,
    two_sides.TOPIC,
    pool.TOPIC,
    poolers.TOPIC,
    machines.TOPIC,
    published.TOPIC,
    agreement.TOPIC,
    curves.TOPIC,
    tunnels.TOPIC,
    scaling.TOPIC,
    bulk.TOPIC,
    streams.TOPIC,
    trust.TOPIC,
    storms.TOPIC,
    memory.TOPIC,
    round_trips.TOPIC,
    drivers.TOPIC,
    UNPAIRED,
)
"""Of what can be compared."""

BESIDE: tuple[Topic, ...] = (
    load.TOPIC,
    hello_retry.TOPIC,
    captures.TOPIC,
    locks.TOPIC,
    explain.TOPIC,
    profiling.TOPIC,
)
"""What is known beside comparisons."""

TOPICS = (tables.TOPIC, *COMPARED, *BESIDE, statements.TOPIC)


def own_columns() -> Iterator[Column]:
    """The columns that topics have of their own, each once. Two topics may share one."""
    yield from {column.name: column for topic in TOPICS for column in topic.columns}.values()
