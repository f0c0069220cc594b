"""Lines of PostgreSQL's log about logins, as 10.23, 11.22, 15.18 and 18.4 write them."""

from __future__ import annotations

import pytest

from tlstax.postgres.login_log import LoggedConnection, connections, seen
from tlstax.records.trial import ConnectionsSeen

AT = "2026-11-28 06:56:46.914 UTC [{}] LOG:  "
SUITE = "TLS_AES_256_GCM_SHA384"
OF_10 = AT + "connection authorized: user=tlstax_load database=tlstax SSL enabled (protocol=TLSv1.3, "
OF_10 += f"cipher={SUITE}, compression=off)"
OF_11 = AT + "connection authorized: user=tlstax_load database=tlstax application_name=psql SSL enabled "
OF_11 += f"(protocol=TLSv1.3, cipher={SUITE}, bits=256, compression=off)"
AUTHENTICATED = (
    AT + 'connection authenticated: identity="tlstax_load" method=scram-sha-256 (/d/pg_hba.conf:85)'
)
AUTHORIZED = AT + "connection authorized: user=tlstax_load database=tlstax application_name=app (1) "
AUTHORIZED += f"SSL enabled (protocol=TLSv1.3, cipher={SUITE}, bits=256)"
REPLICATES = AT + "replication connection authorized: user=tlstax_load application_name=pg_receivewal "
REPLICATES += f"SSL enabled (protocol=TLSv1.3, cipher={SUITE}, bits=256)"
PLAIN = AT + "connection authorized: user=tlstax_load database=tlstax application_name=pgbench"


@pytest.mark.parametrize(
    ("lines", "logged"),
    [
        ([OF_10.format(7)], LoggedConnection("tlstax_load", "tlstax", None, "TLSv1.3", SUITE, None)),
        ([OF_11.format(7)], LoggedConnection("tlstax_load", "tlstax", None, "TLSv1.3", SUITE, 256, "psql")),
        (
            [AUTHENTICATED.format(7), AUTHORIZED.format(7)],
            LoggedConnection("tlstax_load", "tlstax", "scram-sha-256", "TLSv1.3", SUITE, 256, "app (1)"),
        ),
        (
            [AUTHENTICATED.format(7), AUTHORIZED.format(8)],
            LoggedConnection("tlstax_load", "tlstax", None, "TLSv1.3", SUITE, 256, "app (1)"),
        ),
        (
            [
                AT.format(7)
                + 'connection authenticated: user="tlstax_load" method=trust (/d/pg_hba.conf:3)\n',
                PLAIN.format(7) + "\n",
            ],
            LoggedConnection("tlstax_load", "tlstax", "trust", application="pgbench"),
        ),
        (
            [AUTHENTICATED.format(7), REPLICATES.format(7)],
            LoggedConnection("tlstax_load", "", "scram-sha-256", "TLSv1.3", SUITE, 256, "pg_receivewal"),
        ),
    ],
)
def test_a_login_is_told_by_its_lines(lines: list[str], logged: LoggedConnection) -> None:
    assert list(connections(lines)) == [logged]


@pytest.mark.parametrize(
    "line",
    [
        "",
        AT.format(7) + "connection received: host=127.0.0.1 port=5",
        AT.format(7) + "disconnection: session time: 0:00:00.003 user=a database=b host=[local]",
        AT.format(7) + 'checkpoint starting: "connection authorized: user=a database=b"',
        AT.format(7) + "connection authorized: user=a",
        "connection authorized: user=a database=b",
    ],
)
def test_other_lines_are_no_logins(line: str) -> None:
    assert list(connections([line])) == []


def test_a_name_of_an_application_cannot_pass_for_tls() -> None:
    line = PLAIN.format(7) + " SSL enabled (protocol=TLSv1.3, cipher=x, bits=256) and more"
    assert next(iter(connections([line]))).version is None


def test_logins_are_counted_by_what_they_negotiated() -> None:
    own = PLAIN.replace("pgbench", "app (1)")
    lines = [*[AUTHORIZED.format(number) for number in range(3)], own.format(9), "", OF_10.format(10)]
    lines.append(own.format(11).replace("user=tlstax_load", "user=tlstax_admin"))
    assert seen(lines, {"tlstax_load"}, "app (1)") == (
        ConnectionsSeen(connections=4, version="TLSv1.3", cipher=SUITE),
        ConnectionsSeen(connections=1, version=None, cipher=None),
    )
    assert seen(lines, (), "app (1)") == ()
    assert seen(lines, {"tlstax_load"}, None) == seen(lines, {"tlstax_load"}, "app (1)")


def test_logins_under_another_name_are_not_the_clients() -> None:
    lines = [PLAIN.format(1), PLAIN.format(2).replace("pgbench", "tlstax trial 000007")]
    (counted,) = seen(lines, {"tlstax_load"}, "tlstax trial 000007")
    assert counted.connections == 1
    # One that calls itself something cannot pass for TLS by that.
    passing = PLAIN.format(3) + f" SSL enabled (protocol=TLSv1.3, cipher={SUITE}, bits=256)"
    assert seen([passing.replace("=pgbench", "=")], {"tlstax_load"}, "tlstax trial 000007") == ()
