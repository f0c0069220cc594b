"""What an external PostgreSQL can do, by its own word."""

from __future__ import annotations

import pytest

from answering_database import AnsweringDatabase
from tlstax.external import connection
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.connection import abilities_of

ACCESS = ExternalAccess(
    address=ExternalAddress(host="db.example", port=5432, product="postgresql"), user="u", password=""
)


@pytest.mark.parametrize(
    ("version", "least", "direct", "versions"),
    [
        ("18.1", "TLSv1.2", True, ("1.2", "1.3")),
        ("16.4 (Debian)", "TLSv1", False, ("1.0", "1.1", "1.2", "1.3")),
        ("17.0", "TLSv1.3", True, ("1.3",)),
        ("11.22", None, False, ("1.0", "1.1", "1.2", "1.3")),
    ],
)
def test_direct_tls_is_by_its_release_and_versions_are_by_its_settings(
    monkeypatch: pytest.MonkeyPatch, version: str, least: str | None, direct: bool, versions: tuple[str, ...]
) -> None:
    told = [("ssl", "on"), *([("ssl_min_protocol_version", least)] if least else [])]
    server = AnsweringDatabase({"server_version": [(version,)], "pg_settings": told})
    closed: list[object] = []
    monkeypatch.setattr(connection, "connect", lambda *_: server)
    monkeypatch.setattr(connection, "close", closed.append)
    known = abilities_of(ACCESS)
    assert (known.product, known.direct_tls, known.tls_versions) == ("postgresql", direct, versions)
    assert closed == [server]
