"""From how many groups on a study is told as an overview."""

from __future__ import annotations

import pytest

from tlstax.stats.outcomes import OVERVIEW_PHASES, groups, is_large, phases
from tlstax.study import Study, load_study, override


def study_of(connections: int) -> Study:
    """A study of one workload, with a group for each number of connections."""
    one = override(load_study("tax"), "workload", ["point-select"])
    return override(one, "connections", [str(number) for number in range(1, connections + 1)])


def test_groups_are_what_the_cases_of_a_comparison_share() -> None:
    assert groups(study_of(2)) == (
        {"workload": "point-select", "connections": 1},
        {"workload": "point-select", "connections": 2},
    )


@pytest.mark.parametrize(("number", "large"), [(12, False), (13, True)])
def test_a_dozen_groups_have_a_section_each(number: int, *, large: bool) -> None:
    assert is_large(study_of(number)) is large
    assert phases(study_of(number)) == (OVERVIEW_PHASES if large else None)
