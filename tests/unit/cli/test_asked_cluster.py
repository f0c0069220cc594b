"""The machines that a run is to be spread over: --ray and --on."""

from __future__ import annotations

import pytest

from tlstax.cli.asked_cluster import AskedCluster, asked_cluster
from tlstax.support.errors import UserMistake


def test_without_ray_it_is_this_machine() -> None:
    assert asked_cluster(None, None) is None


def test_with_an_address_it_is_all_machines_or_those_that_are_named() -> None:
    assert asked_cluster("10.0.0.1:6379", None) == AskedCluster("10.0.0.1:6379", ())
    assert asked_cluster("10.0.0.1:6379", "db1, db2") == AskedCluster("10.0.0.1:6379", ("db1", "db2"))


def test_machines_of_no_cluster_cannot_be_named() -> None:
    with pytest.raises(UserMistake, match="--on goes with --ray"):
        asked_cluster(None, "db1")


def test_no_name_is_a_mistake() -> None:
    with pytest.raises(UserMistake, match="--on"):
        asked_cluster("10.0.0.1:6379", " ,")
