"""Jobs for the load engine against real servers, and carrying one out."""

from __future__ import annotations

from packet_capture import Capture, captured

from tlstax.clients.engine import engine_command
from tlstax.clients.process import LoadClient
from tlstax.contract import Done, Job, Ready, TlsOff
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.table_rows import TableContent
from tlstax.study import workloads

ROWS = 1000
WITHIN_S = 60.0


def job(server: PrivateServer, name: str = "point-select", /, **changes: object) -> Job:
    """A short job of four connections in the clear, with these changes.

    One that ends with a number of operations has time for them on a busy machine, too, and so has any answer.
    """
    plain = Job(
        endpoint=server.endpoint(),
        account=server.load_account,
        tls=TlsOff(),
        workload=workloads.built_in(name, server.tables[workloads.table_of(name)], ROWS),
        connections=4,
        duration_s=WITHIN_S / 2 if "operations" in changes else 0.3,
        seed=1,
        timeout_s=WITHIN_S / 2,
        source_addresses=("127.0.0.2", "127.0.0.3"),
    )
    return plain.model_copy(update=changes)


def client(job: Job) -> LoadClient:
    """The engine with a job, to be led through it."""
    return LoadClient(engine_command(), job)


def counted_and_seen(server: PrivateServer, asked: Job) -> tuple[Done, Capture]:
    """A job on a table that is filled anew, as the engine counted it and as the interface showed it."""
    server.prepare_table(TableContent(rows=ROWS, seed=1))
    with client(asked) as started:
        started.wait_ready(WITHIN_S)
        with captured(server.endpoint().port) as capture:
            started.go()
            done = started.wait_done(WITHIN_S)
    return done, capture


def measured(job: Job) -> tuple[Ready, Done]:
    """What the engine says of a job that it carries out."""
    with client(job) as started:
        ready = started.wait_ready(WITHIN_S)
        started.go()
        return ready, started.wait_done(WITHIN_S)
