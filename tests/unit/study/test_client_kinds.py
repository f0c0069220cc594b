"""Every load client that a study may name is known by its kind, and can be obtained."""

from __future__ import annotations

from tlstax.clients import choice
from tlstax.study.client_kinds import known
from tlstax.study.client_kinds.known import client_words
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.study.factors import FACTORS


def test_each_client_is_a_level_and_has_a_way_to_be_obtained() -> None:
    assert FACTORS["client"].levels == tuple(known.KINDS)
    assert set(choice.PROGRAMS) == {kind.name for kind in known.PROGRAMS}
    assert set(known.KINDS) - set(choice.PROGRAMS) == set(DRIVERS)
    assert all(kind.is_driver == (name in DRIVERS) for name, kind in known.KINDS.items())


def test_a_client_of_a_record_from_elsewhere_is_a_driver() -> None:
    kind = known.kind_of("driver-of-theirs-3")
    assert kind.is_driver
    assert kind.words == client_words("driver-of-theirs-3") == "driver-of-theirs-3"


def test_clients_in_words() -> None:
    assert [client_words(name) for name in ("engine", "sysbench", "mysqlslap-8.0.33", "connector-j-9.7")] == [
        "the engine",
        "sysbench",
        "mysqlslap 8.0.33",
        "Connector/J 9.7.0",
    ]
