"""Whether others are at work at an external server, and how much load it bears beside them: its own counters.

A look lasts a second, with nothing of ours but two questions; the load is raised in steps of half a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tlstax.clients.process import ClientFailure
from tlstax.plan import at_work
from tlstax.plan.jobs import job_for
from tlstax.records.beforehand import AtWork, AtWorkStep
from tlstax.run.bench import Bench
from tlstax.run.trial import GRACE_S
from tlstax.sql.facts import Traffic
from tlstax.study import Study
from tlstax.study.factors import CaseLevels
from tlstax.support import interruption

Say = Callable[[str], None]


def found_there(study: Study, server: str | None, bench: Bench, *, raises: bool) -> AtWork:
    """What others do at this level of `server`, and how much load is taken beside it, where that is raised.

    MachineFault where the server does not tell.
    """
    others_per_s = _looked(bench)
    if at_work.is_at_work(others_per_s):
        # Who asks once every few seconds is not taken for somebody at work.
        others_per_s = min(others_per_s, _looked(bench))
    most = max(int(level) for level in study.levels_of().get("connections", (1,)))
    case = at_work.load_case(study, server) if raises and at_work.is_at_work(others_per_s) else None
    transactions = bench.server.product.name == "postgresql"
    if case is None:
        return AtWork(others_per_s=others_per_s, most=most, taken=most, transactions=transactions)
    steps: list[AtWorkStep] = []
    for connections in at_work.steps_to(most):
        interruption.check()
        try:
            steps.append(_step(case | {"connections": connections}, study, bench))
        except ClientFailure:
            # What keeps a client from working is told by the first trial.
            break
        if at_work.is_enough(steps, others_per_s):
            break
    own = at_work.taken(steps, others_per_s) if steps else most
    return AtWork(
        others_per_s=others_per_s, most=most, taken=own, steps=tuple(steps), transactions=transactions
    )


def _looked(bench: Bench) -> float:
    """How many statements a second others run: over a second, or longer where sessions say so once in one."""
    status = bench.server.product.status
    before = status.traffic(bench.admin)
    time.sleep(at_work.LOOK_S if status.COUNTS_AT_ONCE else at_work.LONG_LOOK_S)
    return _others_per_s(before, status.traffic(bench.admin), own=0)


def _others_per_s(before: Traffic, after: Traffic, own: int) -> float:
    """Less `own`, and the second question itself."""
    return max(0.0, (after.statements - before.statements - 1 - own) / (after.at_s - before.at_s))


def _step(case: CaseLevels, study: Study, bench: Bench) -> AtWorkStep:
    """What N connections bring, and what others run beside them. Raises ClientFailure.

    Where sessions say once in a second what they have done, and all of it at their end, the server is asked
    before the client has come, and when it has gone; nothing is warmed up then, which would be counted as
    others', and the step is so long that others have said something.
    """
    status, each = bench.server.product.status, study.workload_of(case).statements
    step_s = at_work.STEP_S if status.COUNTS_AT_ONCE else at_work.LONG_LOOK_S
    connections = case.connections
    terms = bench.terms_of(case).model_copy(update={"duration_s": step_s})
    job = job_for(case, terms, sequence=connections)
    within_s, stays = job.timeout_s + GRACE_S, bench.server.connected()
    if not status.COUNTS_AT_ONCE:
        job = job.model_copy(update={"warmup_s": 0.0})
    before = status.traffic(bench.admin)
    with bench.client(case, job, None) as client:
        client.wait_ready(within_s)
        if status.COUNTS_AT_ONCE:
            before = status.traffic(bench.admin)
        did = client.slice(step_s, step_s + within_s)
        after = status.traffic(bench.admin)
        client.wind_up()
        done = client.finish(within_s)
    bench.server.wait_until_gone(stays)
    own = did.operations * each
    if not status.COUNTS_AT_ONCE:
        # A login is a transaction, and the question for the connection's encryption another.
        own += 2 * done.lifetime.connections
        after = status.traffic(bench.admin)
    return AtWorkStep(
        connections=connections,
        per_s=did.operations / did.elapsed_s,
        others_per_s=_others_per_s(before, after, own),
        took_s=after.at_s - before.at_s,
    )
