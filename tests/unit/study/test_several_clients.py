"""What cannot be measured where the load comes from other machines is refused by name."""

from __future__ import annotations

import pytest

from tlstax.study import Study, load_study, override
from tlstax.study.needs import check_shared
from tlstax.support.errors import UserMistake

TAX = load_study("tax")


def test_what_the_engine_does_alone_can_be_shared() -> None:
    check_shared(TAX)
    check_shared(override(TAX, "workload", ["insert", "oltp-read-write"]))


@pytest.mark.parametrize(
    ("factor", "level", "says"),
    [
        ("client", "sysbench", "client sysbench cannot be measured"),
        ("client_tls_library", "openssl-1.1.1l", "the client's TLS library cannot be openssl-1.1.1l"),
        ("workload", "storm", "a storm cannot be measured"),
        ("path", "unix-socket", "path unix-socket cannot be measured"),
        ("rtt_ms", "45", "a distance cannot be made"),
    ],
)
def test_what_needs_a_client_beside_the_server_is_refused(factor: str, level: str, says: str) -> None:
    with pytest.raises(UserMistake, match=says):
        check_shared(override(TAX, factor, [level]))


def test_a_tap_needs_a_client_beside_it() -> None:
    captured: Study = TAX.model_copy(update={"capture": True})
    with pytest.raises(UserMistake, match="--capture"):
        check_shared(captured)
