"""A load that came from several machines is proved: each worked, and they began together."""

from __future__ import annotations

import pytest
from test_checks import PLAIN, record_of

from check_by_check import doubts
from tlstax.checks import judge
from tlstax.checks.distance import distance
from tlstax.checks.load import together
from tlstax.contract import TcpEndpoint
from tlstax.records.trial import ServerClaim, TrialRecord
from tlstax.records.window import Load, LoadPart


def shared(
    parts: tuple[tuple[int, int], ...] | None = None,
    *,
    slices: int = 9,
    apart: int = 0,
    address: str = "10.0.0.1",
    host: str = "10.0.0.1",
) -> TrialRecord:
    """A trial of two machines; `parts` are the connections and operations of each."""
    record = record_of(PLAIN)
    assert record.done is not None
    assert record.job is not None
    half = record.done.operations // 2
    known = parts or ((4, half), (4, record.done.operations - half))
    load = Load(
        parts=tuple(
            LoadPart(machine=f"c{place}", connections=connections, cpus=2, operations=operations, cpu_us=1.0)
            for place, (connections, operations) in enumerate(known, start=1)
        ),
        server_address=address,
        slices=slices,
        apart=apart,
        skew_us=80.4,
        longest_skew_us=900.0,
        clock_error_us=20.2,
    )
    endpoint = TcpEndpoint(host=host, port=3306)
    job = record.job.model_copy(update={"connections": 8, "endpoint": endpoint})
    return record.model_copy(update={"load": load, "job": job})


def test_a_load_that_was_shared_as_it_says_is_valid() -> None:
    assert doubts(together, shared()) == []
    assert doubts(together, record_of(PLAIN)) == []
    assert judge(shared()).value == "valid"


def test_a_machine_that_sent_nothing_is_found() -> None:
    whole = record_of(PLAIN).done
    assert whole is not None
    (doubt,) = doubts(together, shared(((4, 0), (4, whole.operations))))
    assert doubt == ("invalid", "no operation came from c1, which was given a part of the load")
    assert judge(shared(((4, 0), (4, whole.operations)))).value == "invalid"


def test_parts_that_are_not_the_whole_are_found() -> None:
    whole = record_of(PLAIN).done
    assert whole is not None
    (doubt,) = doubts(together, shared(((4, 1), (4, whole.operations))))
    assert doubt == (
        "invalid",
        f"the load machines finished {whole.operations + 1} operations, all together {whole.operations}",
    )
    (doubt,) = doubts(together, shared(((4, 1), (3, whole.operations - 1))))
    assert doubt == ("invalid", "7 connections were given to the load machines, where 8 are wanted")


@pytest.mark.parametrize(("slices", "apart", "is_valid"), [(9, 4, True), (10, 5, True), (9, 5, False)])
def test_slices_that_began_too_far_apart_may_be_a_half(slices: int, apart: int, is_valid: bool) -> None:
    found = doubts(together, shared(slices=slices, apart=apart))
    apart_words = "in 5 of 9 slices the load machines began more than a twentieth of it apart"
    words = f"{apart_words} (80 µs in the median, clocks known to 20 µs)"
    assert found == ([] if is_valid else [("invalid", words)])


def test_clients_on_other_machines_are_sent_to_where_those_reach_the_server() -> None:
    claim = ServerClaim(name="mysql-9.7", version="9.7.4", program="/m", pid=1, data_directory="/d")
    elsewhere = shared(host="10.0.0.2").model_copy(update={"claim": claim})
    assert doubts(distance, elsewhere) == [
        ("invalid", "clients were sent to 10.0.0.2, where the server is reached at 10.0.0.1")
    ]
    assert doubts(distance, shared().model_copy(update={"claim": claim})) == []
    here = shared(host="10.0.0.1").model_copy(update={"claim": claim, "load": None})
    assert doubts(distance, here) == [("invalid", "the client was sent to 10.0.0.1, which is not loopback")]
    loopback = shared(host="127.0.0.1").model_copy(update={"claim": claim, "load": None})
    assert doubts(distance, loopback) == []
