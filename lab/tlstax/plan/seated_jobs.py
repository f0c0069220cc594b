"""From the job of a trial by itself to that of the same trial in a sitting. Pure."""

from __future__ import annotations

from tlstax.contract import Job
from tlstax.plan.sittings import WARMUP_S, Sitting
from tlstax.records.trial import Trial


def seated(job: Job, trial: Trial, sitting: Sitting) -> Job:
    """The job of a client that is watched for a while and then takes its turns.

    A storm has a round for each, and no time by which it is over: it is not warmed up.
    """
    if job.workload.storm:
        rounds = 1 + sitting.slices_of(trial)
        return job.model_copy(update={"rounds": rounds, "operations": rounds * job.connections})
    return job.model_copy(update={"duration_s": round(sitting.work_s, 6), "warmup_s": WARMUP_S})
