"""From what a probe gathered to a driver's row: round trips, statements, TLS and certificates, exactly."""

from __future__ import annotations

import pytest

from probed_drivers import CONNECTIONS, Own, asked, driver, gathered
from tlstax.records.capture import Logged
from tlstax.tools.probes.drivers.probe_costs import DriverCosts
from tlstax.tools.probes.drivers.probe_reading import disagreement, driver_row, round_trips, sent
from tlstax.tools.probes.drivers.probe_table import probe_text
from tlstax.tools.probes.drivers.probed import (
    INSERT,
    Certificate,
    Cost,
    DriverRow,
    Gathered,
    ProbeDocument,
    Refusal,
    TlsAsked,
    Tried,
    Way,
)

CLEAR = (asked("off", 1), asked("off", 3))
BY_DEFAULT = (asked("unset", 1), asked("unset", 3))
ENCRYPTED = (asked("unset", 1, encrypted=True), asked("unset", 3, encrypted=True))
REQUIRED = (asked("required", 1, encrypted=True), asked("required", 3, encrypted=True))
VERIFIED = (asked("verified", 1, encrypted=True), asked("verified", 3, encrypted=True))


def row(known: Gathered) -> DriverRow:
    return driver_row(driver(), known)


def test_round_trips_are_told_apart_by_the_number_of_statements() -> None:
    # TCP, the greeting, the login, SET NAMES; and one for each insert.
    assert round_trips(*CLEAR)[:2] == (4, 1)
    # TLS 1.3 with a HelloRetryRequest is two more.
    assert round_trips(*ENCRYPTED)[:2] == (6, 1)


def test_a_statement_before_each_statement_is_a_round_trip_of_the_statement() -> None:
    one, three = (
        asked("off", count, own=Own(each=("SELECT @@session.transaction_read_only",))) for count in (1, 3)
    )
    assert round_trips(one, three)[:2] == (4, 2)
    found = row(gathered(one, three))
    assert found.statements_on_connect == ("SET NAMES utf8mb4",)
    assert found.statements_before_each_statement == ("SELECT @@session.transaction_read_only",)
    assert found.statements_after_each_statement == ()


def test_what_comes_after_each_statement_is_not_what_comes_before_it() -> None:
    texts = ["SET NAMES utf8mb4", *([INSERT, "SHOW WARNINGS"] * 3), "ROLLBACK"]
    job = asked("off", 3)
    lines = tuple(Logged(thread=7, command="Query", text=text) for text in texts)
    found = sent(job.model_copy(update={"log": lines, "operations": 1}))
    assert found is not None
    assert found.on_connect == ("SET NAMES utf8mb4",)
    assert found.before_each == ()
    assert found.after_each == ("SHOW WARNINGS",)
    assert found.on_close == ("ROLLBACK",)
    assert found.alike


def test_a_commit_of_the_users_belongs_to_the_statement() -> None:
    one, three = (
        asked("off", count, own=Own(first=("SET AUTOCOMMIT = 0",), last=("COMMIT",))) for count in (1, 3)
    )
    assert round_trips(one, three)[:2] == (4, 2)
    found = row(gathered(one, three))
    assert found.statements_on_close == ()
    assert any("autocommit" in note for note in found.notes)


def test_round_trips_that_vary_are_not_told() -> None:
    job = asked("unset", 1, own=Own(turns=(4, 5, 4, 4)))
    assert round_trips(job, asked("unset", 3))[:2] == (None, None)
    found = row(gathered(job, asked("unset", 3)))
    assert found.round_trips_per_connect is None
    assert any("from 4 to 5 turns" in note for note in found.notes)
    odd = asked("unset", 3, own=Own(turns=(7,) * CONNECTIONS))
    assert round_trips(asked("unset", 1), odd)[:2] == (None, None)


def test_prepared_statements_are_told_with_their_command() -> None:
    texts = [("Init DB", "tlstax"), ("Prepare", INSERT), *[("Execute", INSERT)] * 3, ("Close stmt", "")]
    lines = tuple(Logged(thread=7, command=command, text=text) for command, text in texts)
    found = sent(asked("off", 3).model_copy(update={"log": lines, "operations": 1}))
    assert found is not None
    assert found.on_connect == ("(Init DB) tlstax",)
    assert found.on_close == ("(Close stmt)",)


def test_the_log_and_the_wire_must_say_the_same() -> None:
    job = asked("off", 3)
    assert disagreement(job) == ""
    found = row(gathered(*CLEAR))
    assert "the same statements, read on the wire in the clear" in found.verified_by
    wrong = tuple(
        line.model_copy(update={"text": "SET NAMES latin1"}) if line.text.startswith("SET NAMES") else line
        for line in job.log
    )
    other = job.model_copy(update={"log": wrong})
    assert "SET NAMES" in disagreement(other)
    other_row = row(gathered(CLEAR[0], other))
    assert "the same statements, read on the wire in the clear" not in other_row.verified_by
    assert any("disagree" in note for note in other_row.notes)


def test_a_log_that_lacks_a_connection_tells_no_statements() -> None:
    job = asked("off", 3)
    cut = tuple(line for line in job.log if line.thread != job.log[-1].thread)
    shorter = tuple(line for line in cut if line.thread > 11)
    assert sent(job.model_copy(update={"log": shorter})) is None


def test_what_is_so_by_default_is_what_the_wire_shows() -> None:
    found = row(gathered(*ENCRYPTED, *CLEAR))
    assert found.encrypts_by_default is True
    assert (found.tls_version, found.cipher) == ("TLSv1.3", "TLS_AES_128_GCM_SHA256")
    assert (found.group, found.hello_retry, found.resumes_by_default) == ("secp256r1", True, False)
    assert found.groups_offered == ("x25519", "secp256r1")
    assert found.key_shares == ("x25519",)
    assert found.required is None
    assert found.round_trips_per_connect == 6
    assert found.plain.round_trips_per_connect == 4
    assert "logins in the server's log" in found.verified_by


def test_of_a_driver_in_the_clear_is_told_what_it_does_when_tls_is_required() -> None:
    found = row(gathered(*BY_DEFAULT, *CLEAR, *REQUIRED, *VERIFIED))
    assert found.encrypts_by_default is False
    assert found.tls_version is None
    assert found.required is not None
    assert found.required.version == "TLSv1.3"
    assert found.encrypted.round_trips_per_connect == 6


def test_a_server_that_says_otherwise_is_told() -> None:
    job = asked("unset", 1, encrypted=True)
    denied = job.model_copy(update={"ready": asked("unset", 1).ready})
    found = row(gathered(denied, ENCRYPTED[1]))
    assert any("Ssl_version and the wire disagree" in note for note in found.notes)


def test_resumption_is_that_of_all_later_connections_and_counted_by_the_server() -> None:
    job = asked("unset", 1, encrypted=True, resumed=True)
    found = row(gathered(job))
    assert found.resumes_by_default is True
    assert "Ssl_session_cache_hits of the server" in found.verified_by
    uncounted = row(gathered(job.model_copy(update={"sessions_taken_up": 0})))
    assert "Ssl_session_cache_hits of the server" not in uncounted.verified_by


def tried(tls: TlsAsked, **accepted: bool) -> tuple[Tried, ...]:
    names: dict[str, Certificate] = {
        "right": "right",
        "ca": "unknown authority",
        "host": "other host",
        "expired": "expired",
    }
    return tuple(
        Tried(certificate=names[name], tls=tls, accepted=taken, encrypted=True if taken else None)
        for name, taken in accepted.items()
    )


def test_it_verifies_what_it_refuses() -> None:
    certificates = tried("unset", right=True, ca=False, host=True, expired=False)
    found = row(gathered(*ENCRYPTED, tried=certificates))
    assert found.verifies_ca_by_default is True
    assert found.verifies_host_by_default is False
    assert found.verifies_expiry_by_default is True
    assert found.verifies_ca_when_required is None


def test_a_driver_that_refuses_the_right_certificate_too_tells_nothing() -> None:
    certificates = tried("unset", right=False, ca=False, host=False)
    found = row(gathered(*ENCRYPTED, tried=certificates))
    assert found.verifies_ca_by_default is None
    assert any("in order" in note for note in found.notes)


def test_of_a_driver_in_the_clear_certificates_tell_what_holds_when_tls_is_required() -> None:
    found = row(gathered(*BY_DEFAULT, *REQUIRED, tried=tried("required", right=True, ca=True)))
    assert found.verifies_ca_by_default is None
    assert found.verifies_ca_when_required is False


def test_what_is_checked_unasked_may_be_more_when_tls_is_required() -> None:
    """Connector/J 5.1.49 with useSSL=true is such a driver."""
    certificates = tried("unset", right=True, ca=True) + tried("required", right=True, ca=False)
    found = row(gathered(*ENCRYPTED, *REQUIRED, tried=certificates))
    assert (found.verifies_ca_by_default, found.verifies_ca_when_required) == (False, True)
    assert found.tls_version == "TLSv1.3"
    assert found.required is not None


def test_a_driver_that_refuses_when_tls_is_required_says_why() -> None:
    refusal = Refusal(kind="certificate", words="PyMySQL says: no such authority")
    refused = asked("required", 1).model_copy(update={"ready": None, "refusal": refusal})
    found = row(gathered(*BY_DEFAULT, *CLEAR, refused, *VERIFIED))
    assert found.failed is None
    assert found.required is None
    assert [note for note in found.notes if "no such authority" in note]


def test_going_on_in_the_clear_is_no_acceptance_of_a_certificate() -> None:
    fallen = Tried(certificate="unknown authority", tls="unset", accepted=True, encrypted=False)
    found = row(gathered(*ENCRYPTED, tried=(*tried("unset", right=True), fallen)))
    assert found.verifies_ca_by_default is True
    assert any("in the clear" in note for note in found.notes)


def test_a_driver_that_is_refused_says_so_in_its_row_and_in_the_table() -> None:
    refusal = Refusal(kind="access_denied", words="PyMySQL says: no such plugin")
    known = gathered(failed=refusal.words)
    found = row(known)
    assert found.failed == refusal.words
    assert found.encrypts_by_default is None
    text = probe_text(document(found), width=80, colour=False)
    assert "PyMySQL says: no such plugin" in text


def document(*rows: DriverRow) -> ProbeDocument:
    return ProbeDocument(
        status="complete",
        server="mysql-9.7",
        server_version="9.7.4",
        run="20260101-000000-abcd",
        stopped_because="every ratio is known to ±5 %",
        drivers=rows,
    )


def cost(value: float) -> Cost:
    return Cost(value=value, low=value - 4, high=value + 4, confidence=0.95, blocks=5)


@pytest.mark.parametrize("width", [80, 120])
def test_the_tables_fit_and_tell_all(width: int) -> None:
    way = Way(connect_us=cost(1000), statement_us=cost(500), connect_cpu_us=cost(70))
    costs = DriverCosts(plain=way, encrypted=way, steady=False, warmup_s=1.5)
    certificates = tried("unset", right=True, ca=True, host=True)
    known = gathered(*ENCRYPTED, *CLEAR, *REQUIRED, tried=certificates)
    found = driver_row(driver(), known, costs)
    assert found.connect_us == 1000
    text = probe_text(
        document(found, row(gathered(*BY_DEFAULT, *CLEAR, *REQUIRED))), width=width, colour=False
    )
    assert max(map(len, text.splitlines())) <= width
    for part in (
        "TLS 1.3",
        "secp256r1",
        "1,000",
        "[996 … 1,004]",
        "SET NAMES utf8mb4",
        "20260101-000000-abcd",
    ):
        assert part in text
    assert "still becoming faster" in " ".join(text.split())
    assert ("TLS_AES_128_GCM_SHA256" in text) is (width == 120)


def test_drivers_that_are_alike_share_a_note_and_its_number() -> None:
    jobs = (asked("off", count, own=Own(first=("SET AUTOCOMMIT = 0",), last=("COMMIT",))) for count in (1, 3))
    first = row(gathered(*jobs))
    second = first.model_copy(update={"name": "another"})
    text = probe_text(document(first, second), width=120, colour=False)
    assert "pymysql-1.1 [1]" in text
    assert "another [1]" in text
    assert text.count("it turns autocommit off") == 1
