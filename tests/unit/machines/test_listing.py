"""The machines of a cluster: what is known of each, and what is said where one cannot be used."""

from __future__ import annotations

from tlstax.machines.cluster import Node
from tlstax.machines.listing import (
    Clock,
    ListedMachine,
    MachineListing,
    RoundTrip,
    clock_of,
    listed_machine,
    listing_text,
)
from tlstax.support.errors import MachineFault
from tlstax.tools.doctor.check import Check, Diagnosis

NODE = Node("1f", "db1", "10.0.0.1")
FACTS = {"cpus": 48, "memory_bytes": 256 * 2**30, "kernel": "6.18.0", "machine": "x86_64"}
CLOCK = Clock(ahead_ms=0.25, error_ms=0.125)
CHECKS = (
    Check(name="CPUs", status="ok", found="48", meaning=""),
    Check(name="server", status="missing", found="no server is here", meaning="", remedy="fetch one"),
)
SAID = (0, Diagnosis(checks=CHECKS).model_dump_json(), "")


def test_a_clock_is_known_to_half_of_the_exchange() -> None:
    assert clock_of(10.0, 10.5, 10.75) == Clock(ahead_ms=500.0, error_ms=250.0)
    assert clock_of(10.0, 10.5, 9.25) == Clock(ahead_ms=-1000.0, error_ms=250.0)


def test_a_machine_is_what_it_says_of_itself() -> None:
    found = listed_machine(NODE, object(), FACTS, CLOCK, SAID)
    assert found == ListedMachine(
        name="db1",
        address="10.0.0.1",
        cpus=48,
        memory_bytes=256 * 2**30,
        kernel="6.18.0",
        architecture="x86_64",
        clock=CLOCK,
        checks=CHECKS,
    )


def test_a_machine_that_failed_says_why() -> None:
    failure = MachineFault("it did not answer", remedy="start it")
    found = listed_machine(NODE, failure, None, None, None)
    assert found.why_not == "it did not answer; start it"
    assert found.cpus is None


def test_a_machine_whose_tlstax_fails_says_what_that_said() -> None:
    found = listed_machine(NODE, object(), FACTS, CLOCK, (3, "", "setting up\ntlstax: no Python is here\n"))
    assert found.why_not == "no Python is here"
    silent = listed_machine(NODE, object(), FACTS, CLOCK, (7, "", ""))
    assert silent.why_not == "its tlstax ended with status 7"


def listing(*machines: ListedMachine, trips: tuple[RoundTrip, ...] = ()) -> str:
    found = MachineListing(address="10.0.0.1:6379", machines=machines, round_trips=trips)
    return listing_text(found, width=100, colour=False)


def test_the_table_has_each_machine_and_what_is_missing_there() -> None:
    text = listing(listed_machine(NODE, object(), FACTS, CLOCK, SAID))
    assert "1 machine, joined by Ray at 10.0.0.1:6379" in text
    (row,) = [line for line in text.splitlines() if line.startswith("db1 ")]
    assert row.split() == [
        "db1",
        "10.0.0.1",
        "48",
        "256",
        "6.18.0",
        "+0.2",
        "±0.1",
        "1",
        "ok,",
        "1",
        "missing",
    ]
    assert "db1, server: no server is here" in text
    assert "Connecting" not in text


def test_round_trips_are_read_from_the_row_to_the_column() -> None:
    other = listed_machine(Node("2f", "c1", "10.0.0.2"), object(), FACTS, CLOCK, SAID)
    trips = (
        RoundTrip(source="c1", target="db1", p50_us=81.6, count=20),
        RoundTrip(source="db1", target="c1", p50_us=1234.4, count=20),
    )
    text = listing(other, listed_machine(NODE, object(), FACTS, CLOCK, SAID), trips=trips)
    rows = {
        line.split()[0]: line.split()[1:] for line in text.split("p50 µs")[1].splitlines() if line.strip()
    }
    assert rows["from"] == ["to", "c1", "to", "db1"]
    assert rows["c1"] == ["–", "82"]
    assert rows["db1"][:2] == ["1,234", "–"]


def test_a_machine_that_is_left_out_is_said_to_be() -> None:
    text = listing(listed_machine(NODE, MachineFault("it is an aarch64 machine"), FACTS, None, None))
    assert "left out" in text
    assert "db1 is left out: it is an aarch64 machine" in text
