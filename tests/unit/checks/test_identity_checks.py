"""Proof of identity: a trial of another server, or over another TLS library, than was claimed is invalid."""

from __future__ import annotations

from typing import Any

import pytest

from check_by_check import doubts
from fake_trials import LIBSSL, fake_record, tax_truth
from tlstax.checks import judge
from tlstax.checks.identity import answering, client_library, listening, planted, server_library
from tlstax.contract import UnixEndpoint
from tlstax.plan.order import cases
from tlstax.records.capture import Capture
from tlstax.records.trial import (
    Evidence,
    LibraryClaim,
    MappedLibrary,
    PathObservation,
    PlantedClaim,
    ServerClaim,
    Trial,
    TrialRecord,
)
from tlstax.study import Level, load_study

CASE = next(case for case in cases(load_study("tax")) if case.levels.get("tls") == "1.3")

SSL = MappedLibrary(path="/kept/openssl-3.5.5/libssl.so.3", sha256="55" * 32)
CRYPTO = MappedLibrary(path="/kept/openssl-3.5.5/libcrypto.so.3", sha256="cc" * 32)
ROOT_SSL = MappedLibrary(path="/root-of-server/libssl.so.3", sha256="66" * 32)

LIBRARY = LibraryClaim(
    name="openssl-3.5.5", version="3.5.5", libssl_sha256=SSL.sha256, libcrypto_sha256=CRYPTO.sha256
)
SERVER = ServerClaim(
    name="mysql-9.7",
    version="9.7.4-2",
    program="/kept/mysql-9.7/mysqld",
    pid=70,
    data_directory="/session/1/data",
    tls_library=LIBRARY,
)


def honest() -> TrialRecord:
    """A trial of MySQL 9.7 over OpenSSL 3.5.5, with both sides' evidence."""
    record = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE), duration_s=0.1)
    return observed(
        record.model_copy(update={"claim": SERVER}),
        version="9.7.4-2",
        tls_library_version="OpenSSL 3.5.5 27 Jan 2026",
        mapped_tls_libraries=(CRYPTO, SSL),
        answering_pid=70,
        program="/kept/mysql-9.7/mysqld",
        listening_port=13306,
        data_directory="/session/1/data",
    )


def observed(record: TrialRecord, **changes: Any) -> TrialRecord:
    assert record.server is not None
    return record.model_copy(update={"server": record.server.model_copy(update=changes)})


def over(record: TrialRecord, *mapped: MappedLibrary, version: str = "OpenSSL 3.5.5") -> TrialRecord:
    """The record with a client that was to load OpenSSL 3.5.5 and has these mapped."""
    assert record.ready is not None
    assert record.ready.tls_library is not None
    paths = {"libssl_path": mapped[0].path, "libcrypto_path": mapped[-1].path, "version": version}
    named = record.ready.tls_library.model_copy(update=paths)
    ready = record.ready.model_copy(update={"tls_library": named})
    changes = {"client_claim": LIBRARY, "client_mapped_tls_libraries": mapped, "ready": ready}
    return record.model_copy(update=changes)


def reasons(evidence: Evidence) -> str:
    verdict = judge(evidence)
    assert verdict.value == "invalid", verdict
    return "; ".join(verdict.reasons)


def unknown(evidence: Evidence) -> str:
    verdict = judge(evidence)
    assert verdict.value == "unknown", verdict
    return "; ".join(verdict.reasons)


def test_the_claimed_server_over_the_claimed_library_is_valid() -> None:
    assert judge(honest()).value == "valid"
    assert judge(over(honest(), SSL, CRYPTO)).value == "valid"


def test_without_a_claim_nothing_is_asked() -> None:
    assert judge(observed(honest().model_copy(update={"claim": None}), answering_pid=None)).value == "valid"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"answering_pid": 69}, "process 69 answered, where mysql-9.7 is process 70"),
        ({"program": "/old/mysqld"}, "what answered executes /old/mysqld, not /kept/mysql-9.7/mysqld"),
        ({"program": "/kept/mysql-9.7/mysqld (deleted)"}, "(deleted)"),
        ({"data_directory": "/session/2/data"}, "serves the data in /session/2/data"),
        ({"version": "9.7.5"}, "the server says that it is 9.7.5, where 9.7.4-2 is claimed"),
        ({"version": "9.7.40"}, "9.7.40"),
        ({"listening_port": 13307}, "sent to port 13306, where mysql-9.7 listens on 13307"),
    ],
)
def test_another_server_in_the_claimed_ones_place_is_invalid(changes: dict[str, Any], words: str) -> None:
    assert words in reasons(observed(honest(), **changes))


@pytest.mark.parametrize("missing", ["answering_pid", "listening_port"])
def test_a_server_that_cannot_be_told_apart_is_unknown(missing: str) -> None:
    assert "mysql-9.7" in unknown(observed(honest(), **{missing: None}))


def test_the_roots_own_library_in_the_claimed_ones_place_is_invalid() -> None:
    said = reasons(observed(honest(), mapped_tls_libraries=(CRYPTO, ROOT_SSL)))
    assert said == f"{ROOT_SSL.path} is loaded into mysql-9.7, and is not openssl-3.5.5's libssl"


def test_a_second_library_beside_the_claimed_one_is_invalid() -> None:
    assert ROOT_SSL.path in reasons(observed(honest(), mapped_tls_libraries=(CRYPTO, SSL, ROOT_SSL)))
    own = honest().model_copy(update={"claim": SERVER.model_copy(update={"tls_library": None})})
    said = reasons(observed(own, mapped_tls_libraries=(CRYPTO, SSL, ROOT_SSL)))
    assert said == f"{SSL.path} and {ROOT_SSL.path} are both loaded into mysql-9.7"


def test_half_a_library_is_invalid_and_none_in_sight_unknown() -> None:
    said = reasons(observed(honest(), mapped_tls_libraries=(SSL,)))
    assert said == "no libcrypto is loaded into mysql-9.7, where it is meant to be openssl-3.5.5's"
    assert "not known which TLS library" in unknown(observed(honest(), mapped_tls_libraries=()))


@pytest.mark.parametrize(
    ("word", "version", "agrees"),
    [
        ("OpenSSL 3.5.5 27 Jan 2026", "3.5.5-1~deb13u1", True),
        ("OpenSSL 1.1.1w  11 Sep 2023", "1.1.1w", True),
        ("OpenSSL 1.1.1w  11 Sep 2023", "1.1.1l", False),
        ("OpenSSL 1.1.1  11 Sep 2018", "1.1.1w", False),
        ("OpenSSL 3.5.5 27 Jan 2026", "3.5.51", False),
        ("OpenSSL 3.6.1 27 Jan 2026", "3.5.5", False),
        ("a library", "3.5.5", False),
        ("OpenSSL", "3.5.5", True),
        ("wolfSSL", "3.5.5", False),
    ],
)
def test_its_word_for_its_library_must_agree(word: str, version: str, agrees: bool) -> None:
    library = LIBRARY.model_copy(update={"version": version})
    record = honest().model_copy(update={"claim": SERVER.model_copy(update={"tls_library": library})})
    verdict = judge(observed(record, tls_library_version=word))
    assert (verdict.value == "valid") is agrees
    assert agrees or f"says that it runs over {word}" in verdict.reasons[0]


def test_a_library_of_whatever_longer_name_is_known_by_how_it_begins() -> None:
    library = LIBRARY.model_copy(update={"name": "openssl-3.5.5-without-dh"})
    record = honest().model_copy(update={"claim": SERVER.model_copy(update={"tls_library": library})})
    assert doubts(server_library, observed(record, tls_library_version="OpenSSL")) == []


def test_another_library_under_the_client_is_invalid() -> None:
    assert "is loaded into the client" in reasons(over(honest(), ROOT_SSL, CRYPTO))
    assert "the client says" in reasons(over(honest(), SSL, CRYPTO, version="OpenSSL 3.6.1"))
    unread = over(honest(), SSL, CRYPTO).model_copy(update={"client_mapped_tls_libraries": ()})
    assert "memory map could not be read" in unknown(unread)
    record = over(honest(), SSL, CRYPTO)
    assert record.ready is not None
    silent = record.model_copy(update={"ready": record.ready.model_copy(update={"tls_library": None})})
    assert "the client loaded no TLS library" in reasons(silent)


def test_the_library_that_the_client_names_must_be_mapped() -> None:
    record = over(honest(), SSL, CRYPTO).model_copy(
        update={"client_mapped_tls_libraries": (LIBSSL,), "client_claim": None}
    )
    assert f"claims {SSL.path}, but {LIBSSL.path} is mapped" in reasons(record)


@pytest.mark.parametrize(("library", "version"), [(None, "5.6.14"), ("YaSSL 2.3.8", "10.1.8-MariaDB")])
def test_a_server_with_yassl_need_not_count_handshakes_but_must_count_right(
    library: str | None, version: str
) -> None:
    record = honest().model_copy(update={"claim": None})
    assert record.server is not None
    counted = dict(record.server.status_delta)
    uncounted = {"Connections": counted["Connections"]}
    old = observed(record, version=version, tls_library_version=library, status_delta=uncounted)
    assert judge(old).value == "valid"
    assert any("yaSSL" in note for note in judge(old).notes)
    wrong = {**counted, "Ssl_finished_accepts": counted["Ssl_finished_accepts"] + 1}
    assert "Ssl_finished_accepts" in reasons(observed(old, status_delta=wrong))
    openssl = observed(record, tls_library_version="OpenSSL 3.5.5", status_delta=uncounted)
    assert "Ssl_finished_accepts" in reasons(openssl)


PLANTED = MappedLibrary(path="/kept/libtlstax-fault-rand-per-byte.so", sha256="fa" * 32)
FAULT = PlantedClaim(name="rand-per-byte", sha256=PLANTED.sha256)


def given(fault: PlantedClaim | None, *mapped: MappedLibrary) -> TrialRecord:
    """A server that was started with this fault, and has these files of ours mapped."""
    record = honest().model_copy(update={"claim": SERVER.model_copy(update={"planted": fault})})
    return observed(record, mapped_faults=mapped)


WITH_FAULT: dict[str, Level] = {**CASE.levels, "fault": FAULT.name}


def test_what_is_planted_is_there_and_nothing_else() -> None:
    assert doubts(planted, given(FAULT, PLANTED), WITH_FAULT) == []
    assert doubts(planted, given(None)) == []
    assert doubts(planted, given(None).model_copy(update={"claim": None})) == []


def test_a_fault_that_is_not_there_is_invalid() -> None:
    missing = ("invalid", "rand-per-byte is not loaded into mysql-9.7, where it is meant to be")
    assert doubts(planted, given(FAULT), WITH_FAULT) == [missing]
    other = MappedLibrary(path="/kept/other.so", sha256="00" * 32)
    stranger = ("invalid", "/kept/other.so is loaded into mysql-9.7, and is not rand-per-byte")
    assert doubts(planted, given(FAULT, other), WITH_FAULT) == [missing, stranger]
    assert doubts(planted, given(FAULT, PLANTED, other), WITH_FAULT) == [stranger]


def test_a_fault_where_none_is_meant_to_be_is_invalid() -> None:
    other = MappedLibrary(path="/kept/other.so", sha256="00" * 32)
    assert doubts(planted, given(None, PLANTED, other)) == [
        (
            "invalid",
            f"{PLANTED.path}, /kept/other.so is loaded into mysql-9.7, "
            "and nothing of ours is meant to be there",
        )
    ]


def test_another_fault_than_the_cases_is_invalid() -> None:
    assert doubts(planted, given(FAULT, PLANTED)) == [
        ("invalid", "the case asks for none, and mysql-9.7 was started with rand-per-byte")
    ]
    assert doubts(planted, given(None), WITH_FAULT) == [
        ("invalid", "the case asks for rand-per-byte, and mysql-9.7 was started with none")
    ]


def test_where_nobody_looked_a_fault_is_unknown_and_none_a_note() -> None:
    assert doubts(planted, observed(given(FAULT), mapped_faults=None), WITH_FAULT) == [
        ("unknown", "it is not known whether rand-per-byte is loaded into mysql-9.7")
    ]
    assert doubts(planted, observed(given(None), mapped_faults=None)) == [
        ("note", "it is not known whether a fault or variant of ours is loaded into mysql-9.7")
    ]


def test_an_unread_memory_map_is_a_note_where_no_library_is_claimed() -> None:
    unread = over(honest(), SSL, CRYPTO).model_copy(update={"client_mapped_tls_libraries": ()})
    said = "the client's memory map could not be read"
    assert doubts(client_library, unread) == [("unknown", said)]
    assert doubts(client_library, unread.model_copy(update={"client_claim": None})) == [("note", said)]


def test_a_client_that_tells_nothing_shows_the_library_that_it_was_started_over() -> None:
    """It may have a libcrypto of its own beside it, but no other libssl."""
    silent = over(honest(), SSL, CRYPTO)
    case = silent.trial.case
    by_pgbench = case.model_copy(update={"levels": case.levels | {"client": "pgbench"}})
    assert silent.ready is not None
    silent = silent.model_copy(
        update={
            "trial": silent.trial.model_copy(update={"case": by_pgbench}),
            "ready": silent.ready.model_copy(update={"tls_library": None, "client": "pgbench"}),
        }
    )

    def said(*mapped: MappedLibrary) -> list[tuple[str, str]]:
        return doubts(
            client_library, silent.model_copy(update={"client_mapped_tls_libraries": tuple(mapped)})
        )

    other_ssl, other_crypto = (
        own.model_copy(update={"path": own.path + ".3", "sha256": "ef" * 32}) for own in (SSL, CRYPTO)
    )
    assert said(SSL, CRYPTO) == said(SSL, CRYPTO, other_crypto) == []
    meant = "is loaded into pgbench, where it is meant to be openssl-3.5.5's"
    assert said(SSL, CRYPTO, other_ssl) == [("invalid", f"{other_ssl.path} {meant}")]
    assert said(other_ssl, other_crypto) == [
        ("invalid", f"no such libssl {meant}"),
        ("invalid", f"no such libcrypto {meant}"),
    ]
    assert said() == [("unknown", "the client's memory map could not be read")]


def test_two_copies_of_libcrypto_are_as_invalid_as_two_of_libssl() -> None:
    own = honest().model_copy(update={"claim": SERVER.model_copy(update={"tls_library": None})})
    second = MappedLibrary(path="/root-of-server/libcrypto.so.3", sha256="77" * 32)
    assert doubts(server_library, observed(own, mapped_tls_libraries=(CRYPTO, SSL, second))) == [
        ("invalid", f"{CRYPTO.path} and {second.path} are both loaded into mysql-9.7")
    ]


def test_the_servers_word_for_its_library_is_told_with_its_name() -> None:
    assert doubts(server_library, observed(honest(), tls_library_version="OpenSSL 3.6.1 2026")) == [
        ("invalid", "mysql-9.7 says that it runs over OpenSSL 3.6.1 2026, where openssl-3.5.5 is 3.5.5")
    ]
    assert doubts(server_library, observed(honest(), tls_library_version=None)) == []


def test_what_follows_a_servers_number_is_its_own() -> None:
    assert doubts(answering, observed(honest(), version="9.7.4-log")) == []
    assert doubts(answering, observed(honest(), version="x9.7.4")) == [
        ("invalid", "the server says that it is x9.7.4, where 9.7.4-2 is claimed")
    ]
    named = honest().model_copy(update={"claim": SERVER.model_copy(update={"version": "18.6"})})
    assert doubts(answering, observed(named, version="PostgreSQL 18.6 (Debian 18.6-3)")) == []
    assert doubts(answering, observed(named, version="PostgreSQL 18.5")) == [
        ("invalid", "the server says that it is PostgreSQL 18.5, where 18.6 is claimed")
    ]
    nameless = SERVER.model_copy(update={"version": "trunk"})
    assert doubts(answering, observed(honest().model_copy(update={"claim": nameless}), version="trunk")) == []


def through(record: TrialRecord, kind: str, *, entry: int, server: int) -> TrialRecord:
    """The same trial, with a tap or a path between both."""
    if kind == "tap":
        capture = Capture(entry_port=entry, server_port=server, connections=1, conversations=())
        return record.model_copy(update={"capture": capture})
    seen = PathObservation(
        name="haproxy",
        specimen="haproxy",
        version="2",
        parts=(),
        protection=None,
        said_by="it",
        connections=1,
        entry_port=entry,
        server_port=server,
    )
    return record.model_copy(update={"path": seen})


@pytest.mark.parametrize(
    ("kind", "begins", "leads"),
    [
        ("tap", "the client was sent to port 13306, where the tap listens on 5", "the tap leads"),
        (
            "path",
            "the client was sent to port 13306, where the path haproxy begins at 5",
            "the path haproxy leads",
        ),
    ],
)
def test_what_stands_between_must_lead_from_the_client_to_the_server(
    kind: str, begins: str, leads: str
) -> None:
    behind = observed(honest(), listening_port=3306)
    assert doubts(listening, through(behind, kind, entry=13306, server=3306)) == []
    assert doubts(listening, through(behind, kind, entry=5, server=3306)) == [("invalid", begins)]
    assert doubts(listening, through(behind, kind, entry=13306, server=3307)) == [
        ("invalid", f"{leads} to port 3307, where mysql-9.7 listens on 3306")
    ]


def test_only_a_tcp_port_of_a_claimed_server_can_be_another() -> None:
    wrong = observed(honest(), listening_port=1)
    assert wrong.job is not None
    socket = wrong.job.model_copy(update={"endpoint": UnixEndpoint(path="/s")})
    for record in (wrong.model_copy(update={"job": socket}), wrong.model_copy(update={"job": None})):
        assert doubts(listening, record) == []
    assert doubts(listening, wrong.model_copy(update={"claim": None})) == []
