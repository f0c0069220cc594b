"""The job of a client that takes turns, from that of its trial by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tlstax.contract import Account, Job, Sequence, TcpEndpoint
from tlstax.plan.jobs import job_for
from tlstax.plan.order import blocks
from tlstax.plan.sittings import WARMUP_S, Sitting, seated, sittings
from tlstax.records.trial import Trial
from tlstax.study import Study
from tlstax.study.factors import CaseLevels
from tlstax.study.job_parts import JobTerms, Verification
from tlstax.study.workloads.statements import LAST_ID
from tlstax.study.workloads.user_defined import UserWorkload

TERMS = JobTerms(
    endpoint=TcpEndpoint(host="127.0.0.1", port=3306),
    account=Account(user="u", password="p"),
    tables={"sbtest": "sbtest1"},
    rows=1000,
    verification=Verification(),
    client_cpus=(),
    duration_s=0.3,
    seed=1,
)


def sitting_of(workload: str, **levels: Any) -> Sitting:
    factors: dict[str, Any] = {"tls": ("off", "1.2", "1.3"), "workload": (workload,), **levels}
    baseline = {name: chosen[0] for name, chosen in factors.items() if len(chosen) > 1}
    made_up = Study(
        name="made-up", title="", question="?", factors=factors, baseline=baseline, control_within={}
    )
    (found,) = sittings(made_up, next(blocks(made_up, seed=7)), window_s=0.3)
    return found


def job_of(trial: Trial, sitting: Sitting) -> Job:
    return seated(job_for(trial.case.levels, TERMS, sequence=trial.position), trial, sitting)


def test_a_client_works_as_long_as_its_sitting_and_is_warmed_up_by_its_first_slices() -> None:
    sitting = sitting_of("point-select", connections=(8,))
    jobs = [job_of(trial, sitting) for trial in sitting.trials]
    assert {job.duration_s for job in jobs} == {round(sitting.work_s, 6)}
    assert {job.warmup_s for job in jobs} == {WARMUP_S}
    assert {job.operations for job in jobs} == {None}


def test_how_long_a_client_works_is_said_in_whole_microseconds() -> None:
    sitting = replace(sitting_of("point-select", connections=(8,)), watched_s=1 / 3, slice_s=0.01, rounds=7)
    assert job_of(sitting.trials[0], sitting).duration_s == 0.403333


def test_a_storm_has_as_many_rounds_as_by_itself_whose_first_is_watched_alone() -> None:
    sitting = sitting_of("storm", connections=(20,))
    jobs = [job_of(trial, sitting) for trial in sitting.trials]
    assert {(job.rounds, job.operations, job.warmup_s) for job in jobs} == {(10, 200, 0.0)}


def test_the_baseline_of_many_storms_has_a_round_for_each_of_its_turns() -> None:
    versions = ("off", "1.2", "1.3")
    certificates = ("rsa-2048", "rsa-4096", "ecdsa-p256")
    sitting = sitting_of("storm", tls=versions, certificate=certificates, connections=(20,))
    rounds = {trial.case.role: job_of(trial, sitting).rounds for trial in sitting.trials}
    assert rounds["treatment"] == 10
    assert rounds["baseline"] == 1 + 9 * sitting.parts
    jobs = [job_of(trial, sitting) for trial in sitting.trials]
    assert all(job.operations == 20 * (job.rounds or 0) for job in jobs)


def test_of_those_who_write_each_has_ids_of_its_own() -> None:
    """By hand: four clients share the ids from 1,001 on; what does not divide is left over."""
    sitting = sitting_of("insert", connections=(8,))
    drawn = [job_of(trial, sitting).workload.statements[0].parameters["id"] for trial in sitting.trials]
    bounds = [(one.first, one.last) for one in drawn if isinstance(one, Sequence)]
    each = (LAST_ID - 1000) // 4
    assert bounds == [(1001 + place * each, 1000 + (place + 1) * each) for place in range(4)]
    assert bounds[-1][1] <= LAST_ID


def test_what_only_reads_draws_from_all_that_there_is() -> None:
    own = UserWorkload.model_validate(
        {
            "name": "mine",
            "transactions": [
                {"statements": [{"sql": "SELECT {id}", "parameters": {"id": {"kind": "sequence"}}}]}
            ],
        }
    )
    sitting = sitting_of("point-select", connections=(8,))
    trial = sitting.trials[1]
    terms = TERMS.model_copy(update={"workloads": {"mine": own}})
    alone = job_for(CaseLevels.of({**trial.case.levels, "workload": "mine"}), terms, sequence=1)
    assert seated(alone, trial, sitting).workload == alone.workload
