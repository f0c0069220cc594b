"""From the job of one load client to those of several machines that do it together. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from tlstax.contract import Job, OpenLoop
from tlstax.study import workloads

MOST_SKEW = 1 / 20
"""How far apart the beginnings of a slice on several machines may lie, in parts of its length."""

SEEDS_APART = 1 << 40
"""How far the seeds of two machines of one trial are apart: more than a run has trials."""


class LoadPlace(NamedTuple):
    """What a machine has for its client: CPUs, and addresses that it may connect from (empty: any)."""

    cpus: tuple[int, ...]
    source_addresses: tuple[str, ...] = ()


def shared(job: Job, places: Sequence[LoadPlace]) -> tuple[Job, ...]:
    """A job for each of these machines; the first of them alone have one where connections are fewer.

    Connections are dealt out evenly, and what is asked of all is asked of each by its part of them. Clients
    that change the same data get a part each of what may be there once. All slices count whole: the server's
    CPU clock is read on another machine than the clients', at their common ends.
    """
    machines = min(len(places), job.connections)
    return tuple(_part(job, number, machines, place) for number, place in enumerate(places[:machines]))


def _part(job: Job, number: int, machines: int, place: LoadPlace) -> Job:
    connections = job.connections // machines + (number < job.connections % machines)
    share = connections / job.connections
    schedule = job.schedule
    if isinstance(schedule, OpenLoop):
        schedule = schedule.model_copy(update={"rate_per_s": schedule.rate_per_s * share})
    writes = workloads.writes(job.workload)
    return job.model_copy(
        update={
            "connections": connections,
            "threads": min(connections, max(1, len(place.cpus))),
            "cpus": place.cpus,
            "source_addresses": place.source_addresses,
            "schedule": schedule,
            "workload": workloads.part_of(job.workload, number, machines) if writes else job.workload,
            "operations": None if job.operations is None else ceil(job.operations * share),
            "seed": job.seed + number * SEEDS_APART,
            "lingering": None if job.lingering is None else int(job.lingering * share),
            "row_samples": ceil(job.row_samples / machines),
            "full_load": None,
        }
    )
