"""A probe of PostgreSQL's drivers that is interrupted: what was tried is kept, what was not is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from tlstax.cli.progress import ProgressLine
from tlstax.contract import Account, TcpEndpoint
from tlstax.report.formats.terminal import printed_sections
from tlstax.support.errors import Interrupted
from tlstax.tools.probes.drivers.probe import ProbeRequest
from tlstax.tools.probes.postgres_drivers import probe
from tlstax.tools.probes.postgres_drivers.document import PostgresProbe, WordRow
from tlstax.tools.probes.postgres_drivers.probe import probe_postgres
from tlstax.tools.probes.postgres_drivers.tables import sections
from tlstax.tools.probes.postgres_drivers.words import Word, words_of

NAMES = ("psycopg-3", "asyncpg-0.32", "pgx-5")
ENDPOINT = TcpEndpoint(host="127.0.0.1", port=5432)


@contextmanager
def a_server(*_: object) -> Iterator[SimpleNamespace]:
    """All that a probe needs of a server, its states and the wire before it, where no driver comes to it."""
    server = SimpleNamespace(
        specimen=SimpleNamespace(name="postgresql-18"), version="18.6", ca_file="/ca.pem"
    )
    terms = SimpleNamespace(endpoint=ENDPOINT, account=Account(user="me", password="secret", database="own"))
    yield SimpleNamespace(server=server, admin=None, terms=terms, nobody=None, right=None, listening=a_server)


def probed(monkeypatch: pytest.MonkeyPatch, ends_at: tuple[str, str]) -> PostgresProbe:
    """A probe in which that driver's word is not tried to its end."""

    def by(driver: Any, word: Word) -> WordRow:
        if (driver._name, word.meaning) == ends_at:
            raise Interrupted
        return WordRow(meaning=word.meaning, written=word.written)

    for name in ("open_private_bench", "server_states"):
        monkeypatch.setattr(probe, name, a_server)
    monkeypatch.setattr(probe, "named_server", lambda *_: None)
    monkeypatch.setattr(probe, "HostileServer", lambda *_: SimpleNamespace(listening=a_server))
    monkeypatch.setattr(probe._Driver, "_by", by)
    monkeypatch.setattr(probe._Driver, "_reads_anew", lambda _: True)
    request = ProbeRequest(NAMES, obtain=lambda name, _: (name,))
    return probe_postgres(request, no_store, ProgressLine(quiet=True))


def no_store() -> NoReturn:
    raise AssertionError("a store was opened")


def test_the_words_that_were_tried_are_kept_and_what_was_left_out_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = probed(monkeypatch, ("asyncpg-0.32", "prefer"))
    assert found.status == "interrupted"
    whole, cut = found.drivers
    assert (whole.name, len(whole.words), whole.untried) == ("psycopg-3", len(words_of("psycopg-3")), ())
    assert whole.reads_authorities_anew is True
    assert [word.meaning for word in cut.words] == ["nothing", "disable", "allow"]
    assert cut.untried == ("prefer", "require", "verify-ca", "verify-full", "direct")
    assert (cut.failed, cut.reads_authorities_anew, found.unprobed) == (None, None, ("pgx-5",))
    text = " ".join(printed_sections(sections(found), width=100).split())
    assert "asyncpg-0.32 was not told: prefer; require; verify-ca; verify-full; verify-full, direct." in text
    assert "Not probed: pgx-5." in text


def test_a_driver_of_which_nothing_was_tried_has_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    found = probed(monkeypatch, ("asyncpg-0.32", "nothing"))
    assert [row.name for row in found.drivers] == ["psycopg-3"]
    assert found.unprobed == ("asyncpg-0.32", "pgx-5")


def test_what_comes_to_its_end_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = probed(monkeypatch, ("none", "none"))
    assert (found.status, found.unprobed, len(found.drivers)) == ("complete", (), 3)
    assert not [row for row in found.drivers if row.untried or row.failed]
