"""Why a case is left out, by its levels as a study has them."""

from __future__ import annotations

from collections.abc import Mapping

from tlstax.contract import ClosedLoop, Schedule
from tlstax.study import client_exclusions, path_exclusions
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.client_kinds.kind import Wanted
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import Levels
from tlstax.study.server_abilities import CATALOGUED
from tlstax.study.workloads.user_defined import UserWorkload

CLOSED = ClosedLoop()


def why_no_client(
    levels: Levels, workloads: Mapping[str, UserWorkload] | None = None, schedule: Schedule = CLOSED
) -> str:
    """Why its client cannot measure the case on the catalogue's server of its name."""
    case = CaseLevels.of(levels)
    server = CATALOGUED.get(case.server or "")
    return client_exclusions.why_not(Wanted(case, CaseWorkload.of(case, workloads or {}), schedule, server))


def why_no_path(levels: Levels) -> str:
    """Why its path cannot carry the case to the catalogue's server of its name."""
    case = CaseLevels.of(levels)
    return path_exclusions.why_not(case, CATALOGUED.get(case.server or ""))
