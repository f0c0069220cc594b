"""TLS records that the engine counts are those that a relay sees pass, both ways."""

from __future__ import annotations

from collections import Counter

import pytest
from load_jobs import ROWS, measured
from load_jobs import job as job_of

from tlstax.contract import Compression, Job, TlsOn, TlsVersion, UnixEndpoint
from tlstax.network.tap.handshake import APPLICATION_DATA
from tlstax.network.tap.opening import Hearer, Relay
from tlstax.network.tap.units import PACKETS, RECORDS, Splitter
from tlstax.records.capture import Sender
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.table_rows import TableContent

FEW, MANY = 5, 25


class Counting:
    """Counts the records with data on one connection: after the greeting and the client's request for TLS."""

    def __init__(self) -> None:
        self.seen: Counter[Sender] = Counter()
        self._splitters = {"client": Splitter(PACKETS), "server": Splitter(PACKETS)}

    def hear(self, sender: Sender, data: bytes) -> None:
        while data:
            unit, data = self._splitters[sender].take(data)
            if unit is not None and self._splitters[sender].framing is PACKETS:
                self._splitters[sender] = Splitter(RECORDS)
            elif unit is not None and unit.header[0] == APPLICATION_DATA:
                self.seen[sender] += 1


def passed_and_counted(server: PrivateServer, asked: Job, operations: int) -> dict[Sender, tuple[int, int]]:
    """Records that passed on a job's connection, and those of its window by the engine's count."""
    endpoint = server.endpoint()
    assert not isinstance(endpoint, UnixEndpoint)
    counting = Counting()
    relay = Relay(endpoint, lambda: Hearer(counting.hear, lambda _: None))
    try:
        _, done = measured(asked.model_copy(update={"endpoint": relay.entry, "operations": operations}))
    finally:
        relay.close()
    assert done.operations == operations
    assert done.wire is not None
    assert done.wire.records_sent is not None
    assert done.wire.records_received is not None
    return {
        "client": (counting.seen["client"], done.wire.records_sent),
        "server": (counting.seen["server"], done.wire.records_received),
    }


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize(
    ("name", "compression"),
    [("point-select", "off"), ("rows-1x200000", "off"), ("sent-200000", "off"), ("rows-500x100", "zlib")],
)
def test_more_operations_have_as_many_records_as_pass(
    mysql: PrivateServer, version: TlsVersion, name: str, compression: Compression
) -> None:
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    tls = TlsOn(min_version=version, max_version=version)
    asked = job_of(mysql, name, tls=tls, compression=compression, connections=1, warmup_s=0.0, operations=FEW)
    few = passed_and_counted(mysql, asked, FEW)
    many = passed_and_counted(mysql, asked, MANY)
    for side in few:
        passed, counted = (many[side][place] - few[side][place] for place in (0, 1))
        assert counted == passed >= MANY - FEW, side
    if name == "sent-200000":
        # 16 KiB are the most that a record holds (RFC 8446, section 5.1).
        assert many["client"][1] == MANY * 13


def test_in_the_clear_there_are_none(mysql: PrivateServer) -> None:
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    _, done = measured(job_of(mysql, operations=FEW))
    assert done.wire is not None
    assert done.wire.records_sent is done.wire.records_received is None
