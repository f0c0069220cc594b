"""Proof that writing was done: each statement that is to change a row changed one, by the server's count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tlstax.checks.complete import Complete, Doubt
from tlstax.contract import Workload
from tlstax.records.server_counts import WORDS, Count
from tlstax.study import workloads
from tlstax.study.factors import CaseLevels
from tlstax.support.text import counted

RAN_DRY = "the table ran dry"
"""Of a workload that deletes more rows than there are: more rows would do."""


class _Kind(NamedTuple):
    """A kind of change: its count at the server, its statements and how they fail."""

    at_server: Count
    statements: str
    missed: str


_KINDS = {
    "inserted": _Kind("rows_inserted", "inserts", "added no row"),
    "updated": _Kind("rows_updated", "updates", "changed no row"),
    "deleted": _Kind("rows_deleted", "deletes", f"found no row: {RAN_DRY}"),
}


class Written(NamedTuple):
    """What a client did in its turns: operations that succeeded, and those that failed at most."""

    case: CaseLevels
    workload: Workload
    operations: int
    failed: int


def claims(clients: Iterable[Written]) -> dict[Count, tuple[int, int]]:
    """The rows that a server must have counted of all these clients together.

    Of each the least, and the most: a statement may have changed its row before its operation failed. What
    nobody's workload changes is left out, and so is a user's own, of which it is not known.
    """
    found: dict[Count, tuple[int, int]] = {}
    for one in clients:
        for change, each in _changes(one.case, one.workload).items():
            count = _KINDS[change].at_server
            least, most = found.get(count, (0, 0))
            found[count] = least + each * one.operations, most + each * (one.operations + one.failed)
    return found


def rows_changed(trial: Complete) -> Iterator[Doubt]:
    """The server counted a changed row for each statement of a built-in workload that changes one.

    What a user's own statements are to change is not known. Counted is the window; where that was not
    watched, the client's whole life, which has the warm-up in it. More than is claimed is no doubt where
    others use the server, or the data was put back between rounds. A server that counts rows late is asked
    when the client has gone; where clients took turns, it is asked for the rows of all of them together.
    """
    job = trial.evidence.job
    if job is None:
        return
    failed = sum(error.count for error in trial.done.errors)
    in_window = trial.evidence.window.status_delta if trial.evidence.window else {}
    if "rows_inserted" in trial.server.counting.late:
        if trial.evidence.slices is not None:
            return
        in_window = {}
    delta = in_window or trial.server.status_delta
    exact = bool(in_window) and not trial.evidence.guest and not _is_put_back_between(trial)
    for change, each in _changes(trial.case, job.workload).items():
        kind, wanted = _KINDS[change], each * trial.evidence.watched_operations
        seen = trial.server.counting.of(delta, kind.at_server)
        if seen is None:
            yield Doubt("unknown", f"the server does not count {WORDS[kind.at_server]}")
        elif seen < wanted:
            yield Doubt("invalid", f"of {wanted:,} {kind.statements} {wanted - seen:,} {kind.missed}")
        elif exact and seen > each * (trial.evidence.watched_operations + failed):
            yield Doubt(
                "invalid",
                f"the server counted {counted(seen, 'row', ',')} {change}, where the client claims "
                f"{wanted:,}",
            )


def came_to_its_number(trial: Complete) -> Iterator[Doubt]:
    """A trial of N operations had N, and a storm reported the time of each of its rounds."""
    job = trial.evidence.job
    if job is None or job.operations is None:
        return
    tried = trial.done.operations + sum(error.count for error in trial.done.errors)
    if tried < job.operations:
        why = "it took too long" if trial.done.elapsed_s >= job.duration_s else RAN_DRY
        if job.workload.storm and trial.done.elapsed_s < job.duration_s:
            why = "the client stopped"
        yield Doubt("invalid", f"it ended after {tried:,} of {job.operations:,} operations: {why}")
    elif job.workload.storm and len(trial.done.rounds_s) != job.rounds:
        yield Doubt(
            "invalid",
            f"the client reported the times of {len(trial.done.rounds_s)} of its {job.rounds} rounds",
        )


def _changes(case: CaseLevels, workload: Workload) -> dict[str, int]:
    """How many rows an operation changes, by the kind of change; none of a workload of the user's own."""
    if not workloads.is_built_in(case.workload):
        return {}
    sized = workloads.by_numbers(case.workload)
    if isinstance(sized, workloads.Inserted):
        return {"inserted": sized.rows}
    return {change: each for change, each in workloads.rows_changed(workload)._asdict().items() if each}


def _is_put_back_between(trial: Complete) -> bool:
    job = trial.evidence.job
    return job is not None and job.rounds > 1 and bool(job.reset)
