"""How much is told of a run: everything of a small study, an overview of one with very many groups."""

from __future__ import annotations

from tlstax.plan.order import cases
from tlstax.study import Level, Study

MOST_GROUPS = 12
"""A study with more groups than this is told as an overview; a section for each would bury the answer."""

OVERVIEW_PHASES = ("operation", "connect", "tls_handshake")
"""The phases whose percentiles such a study has: a histogram takes a millisecond to decode, and there are
ten thousands of them. The others are in the export."""


def groups(study: Study) -> tuple[dict[str, Level], ...]:
    """What the cases of each comparison share, in the plan's order."""
    found = {tuple(study.group_of(case.levels).items()): None for case in cases(study)}
    return tuple(dict(group) for group in found)


def is_large(study: Study) -> bool:
    """Whether the study has too many groups for a section each."""
    return len(groups(study)) > MOST_GROUPS


def phases(study: Study) -> tuple[str, ...] | None:
    """The phases whose percentiles are told; None for all."""
    return OVERVIEW_PHASES if is_large(study) else None


def asks_for_counts(study: Study) -> bool:
    """Whether the study's question is how many round trips there are."""
    return study.deciding_outcome.startswith("round_trips_")
