"""What machines of a cluster are called."""

from __future__ import annotations

from tlstax.machines.cluster import named_nodes


def test_a_machine_is_called_as_its_host_is() -> None:
    assert named_nodes([("db1", "10.0.0.1"), ("c1", "10.0.0.2")]) == ["db1", "c1"]


def test_hosts_of_one_name_are_told_apart_by_their_addresses() -> None:
    hosts = [("node", "10.0.0.1"), ("db1", "10.0.0.3"), ("node", "10.0.0.2")]
    assert named_nodes(hosts) == ["node-10.0.0.1", "db1", "node-10.0.0.2"]


def test_a_machine_that_came_back_is_called_as_before() -> None:
    assert named_nodes([("node", "10.0.0.1"), ("node", "10.0.0.1")]) == ["node", "node"]
