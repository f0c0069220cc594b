"""What `inspect` says of two drivers of different kinds is so, and its line mends the one that fails."""

from __future__ import annotations

from test_guest_run import SMALL
from who_connects import Tally, hold_lines, hold_server

from conftest import fetched
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session

DRIVERS = ("libmariadb-3.3", "go-sql-driver-1.9")


def test_of_two_drivers_each_does_what_is_told_of_it(session: Session) -> None:
    settings = ServerSettings(
        buffer_pool_bytes=SMALL,
        certificate=CertificateRequest(addresses=("127.0.0.1", "127.0.0.2")),
        options=("--tls-version=TLSv1.2", "--ssl-cipher=AES128-GCM-SHA256:AES256-GCM-SHA384"),
    )
    tally = Tally()
    with PrivateServer.start(fetched("mariadb-11.8"), session, settings) as server:
        told = hold_server("RSA key exchange alone", server, DRIVERS, tally)
        hold_lines("RSA key exchange alone", server, told, tally)
    assert tally.lost == []
    assert (tally.tried, tally.lines, tally.unknown) == (5, 1, 0)
    assert [own.at for own in told.over_tls.obstacles] == ["suite"]
    assert told.over_tls.obstacles[0].drivers == ("go-sql-driver-1.9",)
    assert told.over_tls.encrypted == ("libmariadb-3.3",)
    assert set(told.by_default.in_clear) == set(DRIVERS)
