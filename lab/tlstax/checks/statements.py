"""Proof of work: a server counted the statements that clients say they ran, and how many were prepared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.rows_changed import Written
from tlstax.contract import Workload
from tlstax.records.server_counts import LOGIN_TRANSACTIONS, WORDS, Count, in_words
from tlstax.study import workloads
from tlstax.study.client_kinds import kind_of
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DIRECT
from tlstax.study.tls_levels import POOLS
from tlstax.study.workloads import verb as verb_of
from tlstax.support.text import counted

SELECTS: Final[Count] = "selects"
EXECUTIONS: Final[Count] = "prepared_executions"

COUNTED: Final[Mapping[str, Count]] = {
    "select": SELECTS,
    "insert": "inserts",
    "update": "updates",
    "delete": "deletes",
}
"""By the verb of a statement, what a server counts of it."""


class _Each(NamedTuple):
    """What one operation runs: statements by their verb, and how many of all are prepared."""

    verbs: Counter[str]
    prepared: int


def claims(clients: Iterable[Written]) -> dict[Count, tuple[int, int | None]]:
    """The statements that a server must have counted of all these clients together.

    Of each the least, and the most: an operation may have failed before its statement ran, or after. Nothing
    is claimed where it is not known of each client what its operations run, nor of a verb that nobody uses.
    """
    selects, executions = [0, 0], [0, 0]
    for one in clients:
        if not _is_told(one.case, one.workload):
            return {}
        each = _each(one.workload)
        for place, operations in enumerate((one.operations, one.operations + one.failed)):
            selects[place] += each.verbs["select"] * operations
            executions[place] += each.prepared * operations
    counted: dict[Count, tuple[int, int | None]] = {EXECUTIONS: (executions[0], executions[1])}
    if selects[1]:
        counted[SELECTS] = selects[0], selects[1]
    return counted


def transactions(clients: Iterable[Written]) -> dict[Count, tuple[int, int | None]]:
    """The transactions that a server must have committed of all these clients together, at the least."""
    least = sum(
        workloads.transactions_each(one.workload) * one.operations for one in clients if _is_known(one.case)
    )
    return {"transactions": (least, None)}


def takes_turns_on_kept(trial: Complete) -> bool:
    """Whether the server's connections were kept while it was last asked, by the client or a path for it."""
    job, is_lent = trial.evidence.job, trial.case.path in POOLS
    return trial.evidence.slices is not None and job is not None and (is_lent or not job.workload.reconnect)


def _transactions_show(trial: Complete) -> bool:
    """Whether transactions show what it did, although the server may count the window's late.

    Of a client in turns `together` has them, of any other `transactions_counted`, where it is known how many
    its operations are.
    """
    together = trial.evidence.together
    if trial.evidence.slices is None:
        return _is_held_to_transactions(trial) and trial.server.counted("transactions") is not None
    return together is not None and "transactions" in together.claims


def _is_held_to_transactions(trial: Complete) -> bool:
    """Whether those of its operations are known, and the server's are its own."""
    return _is_known(trial.case) and trial.case.address == DIRECT


def _is_known(case: CaseLevels) -> bool:
    """Whether it is known how many transactions an operation is: drivers may run statements of their own."""
    kind = kind_of(case.client)
    return workloads.is_built_in(case.workload) and not kind.is_driver and not kind.beside


def statements_counted(trial: Complete) -> Iterator[Doubt]:
    """The server counted in the window the statements that the client says it ran there.

    Of a client that shows no rows to be checked nothing else proves them. Drivers put statements together, or
    run some of their own; of a user's own workload it is not known what its statements run besides; and
    at an external server others run theirs.
    """
    job, window, kind = trial.evidence.job, trial.evidence.window, kind_of(trial.case.client)
    only_proof = trial.server.connections is not None or not kind.asks
    if job is None or not job.workload.statements:
        return
    if not only_proof and (trial.evidence.guest or not _is_told(trial.case, job.workload)):
        return
    if window is None or not window.status_delta:
        if only_proof and not _transactions_show(trial):
            yield Doubt("unknown", "nothing shows how many statements the server ran in the window")
        return
    restores = job.rounds > 1 and bool(job.reset)
    if restores:
        yield Doubt(
            "note",
            f"the server put its data back before each of {job.rounds} rounds: its CPU time includes that, "
            f"the times that {trial.ready.client} reports do not",
        )
    failed = sum(error.count for error in trial.done.errors)
    # Where connections record themselves, the first statement on connecting does that, and is a REPLACE.
    recorded = trial.server.connections is not None
    others = restores or len(job.workload.on_connect) > int(recorded) or trial.evidence.guest
    each, operations = _each(job.workload), trial.evidence.watched_operations
    counting = trial.server.counting
    wanted = [(WORDS[COUNTED[verb]], COUNTED[verb], each.verbs[verb]) for verb in each.verbs]
    for what, count, times in (*wanted, ("prepared statements", EXECUTIONS, each.prepared)):
        claimed, most = times * operations, times * (operations + failed)
        counted = counting.of(window.status_delta, count)
        if counted is None:
            if only_proof and "transactions" not in counting.counters:
                yield Doubt("unknown", f"the server does not count {what}, and nothing else proves them")
            continue
        if counted < claimed or (counted > most and not others):
            yield Doubt(
                "invalid",
                f"the server ran {in_words(counted, what)} in the window ({counting.name(count)}), "
                f"the client says {claimed}",
            )


def transactions_counted(trial: Complete) -> Iterator[Doubt]:
    """A server that counts transactions committed one for each operation, or more, and one for each login.

    It may have counted the rest of what a connection did only at its end: the client's whole life is what
    holds, with the warm-up in it. Where clients took turns on connections that they kept, `together` has it.
    """
    job, committed = trial.evidence.job, trial.server.counted("transactions")
    if job is None or committed is None or not _is_held_to_transactions(trial) or takes_turns_on_kept(trial):
        return
    each = workloads.transactions_each(job.workload)
    operations = trial.evidence.watched_operations
    logins = 0 if trial.case.path in POOLS else trial.alone.connections
    claimed = each * operations + LOGIN_TRANSACTIONS * logins
    if committed < claimed:
        yield Doubt(
            "invalid",
            f"the server committed {counted(committed, 'transaction')} "
            f"({trial.server.counting.name('transactions')}), fewer than the {claimed} "
            f"of the client's {counted(operations, 'operation')} and {counted(logins, 'login')}",
        )


def slices_add_up(trial: Complete) -> Iterator[Doubt]:
    """The client's result has the operations of its slices, the watched one among them, and no others."""
    slices, watched = trial.evidence.slices, trial.evidence.watched_operations
    if slices is None or not slices.finished or trial.evidence.load is not None:
        return
    claimed = watched + sum(slices.finished)
    if trial.done.operations != claimed:
        yield Doubt(
            "invalid",
            f"the client's result has {counted(trial.done.operations, 'operation')}, "
            f"and its slices have {claimed}",
        )


def _is_told(case: CaseLevels, workload: Workload) -> bool:
    """Whether every operation runs the workload's statements, and its client nothing else."""
    return (
        bool(workload.statements)
        and not workload.on_connect
        and workloads.is_built_in(case.workload)
        and not kind_of(case.client).is_driver
    )


def _each(workload: Workload) -> _Each:
    verbs, prepared = Counter[str](), 0
    for statement in workload.statements:
        if (verb := verb_of(statement).lower()) in COUNTED:
            verbs[verb] += statement.repeat
        if (statement.protocol or workload.protocol) == "prepared":
            prepared += statement.repeat
    return _Each(verbs, prepared)
