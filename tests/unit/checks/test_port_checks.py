"""A client that had to look for a port is not what was to be measured, unless it made no connection."""

from __future__ import annotations

import pytest
from test_checks import PLAIN, record_of

from check_by_check import doubts
from tlstax.checks import judge
from tlstax.checks.connections import enough_ports
from tlstax.records.trial import TrialRecord
from tlstax.records.window import PortUse


def with_ports(waiting: int, connections: int = 1) -> TrialRecord:
    record = record_of(PLAIN)
    assert record.done is not None
    made = record.done.window.model_copy(update={"connections": connections})
    done = record.done.model_copy(update={"window": made})
    return record.model_copy(update={"done": done, "ports": PortUse(waiting=waiting, there_are=28_000)})


@pytest.mark.parametrize(
    ("waiting", "connections", "is_enough"), [(12_600, 1, True), (12_601, 1, False), (28_000, 0, True)]
)
def test_ports_run_short_for_who_makes_connections(
    waiting: int, connections: int, *, is_enough: bool
) -> None:
    assert (doubts(enough_ports, with_ports(waiting, connections)) == []) is is_enough


def test_what_is_wrong_and_what_helps_is_said() -> None:
    assert doubts(enough_ports, with_ports(14_116)) == [
        (
            "invalid",
            "14,116 of the client's 28,000 ports were still kept by closed connections, for a minute each, "
            "and the search for a free one slowed connecting down; on its machine, as root, `sysctl "
            "net.ipv4.tcp_tw_reuse=1` has ports used again after a second",
        )
    ]
    assert judge(with_ports(14_116)).value == "invalid"


def test_where_ports_do_not_matter_nothing_is_said() -> None:
    assert doubts(enough_ports, record_of(PLAIN)) == []
