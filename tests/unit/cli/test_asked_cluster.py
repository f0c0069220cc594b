"""The machines that a run is to be spread over, or its load to come from: --ray and what goes with it."""

from __future__ import annotations

import pytest

from tlstax.cli import target_servers as of_options
from tlstax.cli.command import checked
from tlstax.cli.options import ClusterOptions
from tlstax.cli.target_servers import AskedCluster, check_has_server
from tlstax.support.errors import UserMistake


def asked_cluster(
    ray: str | None,
    on: str | None,
    server_on: str | None = None,
    clients_on: str | None = None,
    *,
    trust_network: bool = False,
) -> AskedCluster | None:
    """What these options ask for, as the command line checks them."""
    options = ClusterOptions(ray, on, server_on, clients_on, trust_network)
    return of_options.asked_cluster(checked(options))


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


def test_a_server_and_its_load_may_be_on_machines_of_their_own() -> None:
    found = asked_cluster("10.0.0.1:6379", None, "db1", "c1, c2", trust_network=True)
    assert found == AskedCluster("10.0.0.1:6379", (), "db1", ("c1", "c2"), is_trusted=True)
    assert found.wanted == ("db1", "c1", "c2")
    check_has_server(found)
    beside = asked_cluster("10.0.0.1:6379", None, None, "c1")
    assert beside == AskedCluster("10.0.0.1:6379", (), None, ("c1",))
    with pytest.raises(UserMistake, match="--clients-on needs to know where the server runs"):
        check_has_server(beside)
    check_has_server(AskedCluster("10.0.0.1:6379", ("db1",)))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((None, None, None, "c1"), "--clients-on goes with --ray"),
        ((None, None, "db1", "c1"), "--server-on goes with --ray"),
        (("h:1", None, "db1", None), "--server-on goes with --clients-on"),
        (("h:1", "c1", "db1", "c1"), "--on spreads blocks over machines"),
        (("h:1", None, "db1,db2", "c1"), "--server-on names one machine"),
        (("h:1", None, "db1", "c1,db1"), "db1 is in both --server-on and --clients-on"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: tuple[str | None, str | None, str | None, str | None], says: str
) -> None:
    with pytest.raises(UserMistake, match=says):
        asked_cluster(*options)


def test_trust_alone_means_nothing() -> None:
    with pytest.raises(UserMistake, match="--trust-network goes with --clients-on"):
        asked_cluster("h:1", None, trust_network=True)
