"""Why a case is left out, by its levels as a study has them."""

from __future__ import annotations

from collections.abc import Mapping

from tlstax.contract import ClosedLoop, Schedule
from tlstax.study import exclusions
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.client_kinds import Wanted
from tlstax.study.factors import CaseLevels, whys_not
from tlstax.study.level_names import Levels
from tlstax.study.product import DEFAULT
from tlstax.study.server_abilities import abilities_named
from tlstax.study.workloads.user_defined import UserWorkload

CLOSED = ClosedLoop()


def wanted(
    levels: Levels, workloads: Mapping[str, UserWorkload] | None = None, schedule: Schedule = CLOSED
) -> Wanted:
    """The case on the catalogue's server of its name."""
    case = CaseLevels.of(levels)
    abilities = abilities_named(case.server or "")
    product = DEFAULT if abilities is None else abilities.product
    workload = CaseWorkload.of(case, workloads or {}, product)
    return Wanted(case, workload, schedule, abilities, product)


def why_left_out(
    levels: Levels, workloads: Mapping[str, UserWorkload] | None = None, schedule: Schedule = CLOSED
) -> str:
    """Why nobody can measure the case."""
    return next(whys_not(wanted(levels, workloads, schedule)), "")


def why_no_path(levels: Levels) -> str:
    """Why its path cannot carry the case."""
    return exclusions.of_path(wanted(levels))
