"""From the job of a trial by itself to that of the same trial in a sitting. Pure."""

from __future__ import annotations

from tlstax.contract import Job
from tlstax.plan.sittings import WARMUP_S, Sitting
from tlstax.records.trial import Trial
from tlstax.study import workloads


def seated(job: Job, trial: Trial, sitting: Sitting) -> Job:
    """The job of a client that is watched for a while and then takes its turns.

    A storm has a round for each, and no time by which it is over. What is cold alone is cold here.
    Of clients that change the same data each has a part of the ids that may be there once.
    """
    if job.workload.storm:
        rounds = 1 + sitting.slices_of(trial)
        return job.model_copy(update={"rounds": rounds, "operations": rounds * job.connections})
    terms = {"duration_s": round(sitting.work_s, 6), "warmup_s": min(job.warmup_s, WARMUP_S)}
    if workloads.writes(job.workload):
        place, clients = sitting.trials.index(trial), len(sitting.trials)
        return job.model_copy(update={**terms, "workload": workloads.part_of(job.workload, place, clients)})
    return job.model_copy(update=terms)
