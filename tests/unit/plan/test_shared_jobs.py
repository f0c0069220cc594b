"""One client's job becomes those of several machines, which together do what it asks."""

from __future__ import annotations

from typing import Any

import pytest

from tlstax.contract import Account, FullLoad, Job, OpenLoop, Sequence, TcpEndpoint, TlsOff
from tlstax.plan.jobs import SEEDS_APART, LoadPlace, job_for, shared
from tlstax.study.factors import CaseLevels
from tlstax.study.job_parts import JobTerms, Verification
from tlstax.study.workloads.statements import LAST_ID

TWO = (LoadPlace((0, 1), ("10.0.0.1", "10.0.0.2")), LoadPlace((0, 1, 2, 3)))


def job(workload: str = "point-select", connections: int = 8, **changed: Any) -> Job:
    terms = JobTerms(
        endpoint=TcpEndpoint(host="10.0.0.9", port=3306),
        account=Account(user="u", password="p"),
        tables={"sbtest": "sbtest1"},
        rows=1000,
        verification=Verification(),
        client_cpus=(7,),
        source_addresses=("127.0.0.2",),
        duration_s=0.3,
        seed=5,
    )
    levels = {"tls": "off", "workload": workload, "connections": connections}
    return job_for(CaseLevels.of(levels), terms, sequence=2).model_copy(update=changed)


@pytest.mark.parametrize(
    ("connections", "parts"), [(8, [4, 4]), (7, [4, 3]), (2, [1, 1]), (1, [1]), (9, [5, 4])]
)
def test_connections_are_dealt_out(connections: int, parts: list[int]) -> None:
    assert [part.connections for part in shared(job(connections=connections), TWO)] == parts


def test_all_together_leave_no_more_to_the_server_than_one_would() -> None:
    assert [part.lingering for part in shared(job(lingering=3), TWO)] == [1, 1]
    assert [part.lingering for part in shared(job(lingering=0), TWO)] == [0, 0]
    assert [part.lingering for part in shared(job(), TWO)] == [None, None]


def test_each_machine_has_its_own_cpus_addresses_and_seed() -> None:
    first, second = shared(job(), TWO)
    assert (first.cpus, first.threads, first.source_addresses) == ((0, 1), 2, ("10.0.0.1", "10.0.0.2"))
    assert (second.cpus, second.threads, second.source_addresses) == ((0, 1, 2, 3), 4, ())
    assert (first.seed, second.seed) == (7, 7 + SEEDS_APART)
    assert isinstance(first.tls, TlsOff)
    assert first.endpoint == second.endpoint == job().endpoint
    (alone,) = shared(job(connections=1), TWO)
    assert alone.threads == 1
    (without_cpus,) = shared(job(), [LoadPlace(())])
    assert without_cpus.threads == 1


def test_what_is_asked_of_all_is_asked_of_each_by_its_part() -> None:
    open_loop = job(connections=4, schedule=OpenLoop(rate_per_s=100), operations=10, row_samples=16)
    three = (*TWO, LoadPlace(()))
    parts = shared(open_loop, three)
    rates = [part.schedule.rate_per_s for part in parts if isinstance(part.schedule, OpenLoop)]
    assert rates == [50, 25, 25]
    assert [part.operations for part in parts] == [5, 3, 3]
    assert [part.row_samples for part in parts] == [6, 6, 6]
    assert {part.operations for part in shared(job(), TWO)} == {None}


def test_clients_that_write_have_ids_of_their_own_and_others_the_whole_table() -> None:
    def ids(part: Job) -> list[tuple[int, int]]:
        found = (
            parameter
            for transaction in part.workload.mix
            for parameter in transaction.parameters.values()
            if isinstance(parameter, Sequence)
        )
        of_statements = (
            parameter
            for statement in part.workload.statements
            for parameter in statement.parameters.values()
            if isinstance(parameter, Sequence)
        )
        return [(one.first, one.last) for one in (*found, *of_statements)]

    first, second = (ids(part) for part in shared(job("insert"), TWO))
    assert first
    for (_, ended), (begun, last) in zip(first, second, strict=True):
        assert begun == ended + 1
        assert last <= LAST_ID
    reading = job()
    assert all(part.workload is reading.workload for part in shared(reading, TWO))


def test_slices_count_whole() -> None:
    parts = shared(job(full_load=FullLoad(after_operations=8, cpu_of=(42,))), TWO)
    assert {part.full_load for part in parts} == {None}
