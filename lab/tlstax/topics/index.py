"""Every topic, in the order in which formats have them."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.topics import bulk, load, machines, scaling, trust, two_sides
from tlstax.topics.comparisons import CONTRASTS, UNPAIRED
from tlstax.topics.core.columns import Column
from tlstax.topics.core.topic import Topic
from tlstax.topics.distance import curves, tunnels

TOPICS: tuple[Topic, ...] = (
    CONTRASTS,
    curves.TOPIC,
    tunnels.TOPIC,
    scaling.TOPIC,
    bulk.TOPIC,
    trust.TOPIC,
    two_sides.TOPIC,
    machines.TOPIC,
    load.TOPIC,
    UNPAIRED,
)


def own_columns() -> Iterator[Column]:
    """The columns that topics have of their own, each once. Two topics may share one."""
    yield from {column.name: column for topic in TOPICS for column in topic.columns}.values()
