"""What trials are run on: the server up and filled, the client built, the processors shared out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tlstax.clients.engine import engine_command
from tlstax.errors import MachineFault
from tlstax.guests.access import GuestAccess
from tlstax.guests.server import GuestServer
from tlstax.jobs import SOURCE_ADDRESSES, JobTerms, Verification
from tlstax.observers.machine import describe_machine
from tlstax.records import Machine, TrialRecord
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import default_server
from tlstax.specimens.server import Database, Server, TableContent
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import open_session
from tlstax.study import Study

MOST_CRASHES = 3
"""A server that dies more often than this is not worth another start."""

TABLE_SEED = 1
"""The same data in every run, so that runs can be set beside each other."""

Say = Callable[[str], None]


@dataclass
class Bench:
    """A server ready to be measured, and all that its trials have in common."""

    server: Server
    terms: JobTerms
    machine: Machine
    command: list[str]
    guest: bool
    admin: Database
    crashes: int = field(default=0)

    def revive(self, record: TrialRecord, say: Say) -> None:
        """Bring a server back that died in the trial of `record`; MachineFault when it dies too often.

        A guest is not ours to start again: MachineFault when it does not answer any more.
        """
        if not record.failure or self.server.is_alive():
            return
        self.crashes += 1
        server = self.server
        if not isinstance(server, PrivateServer):
            raise MachineFault(f"{server.specimen.name} does not answer any more")
        if self.crashes > MOST_CRASHES:
            raise MachineFault(f"{server.specimen.name} died {self.crashes} times: {server.log_tail(1)}")
        say(f"the server died in a trial, which is not counted; starting it again ({self.crashes})")
        server.restart()
        self.terms = self.terms.model_copy(update={"endpoint": server.endpoint()})
        self.admin = server.admin()


@contextmanager
def open_bench(
    study: Study, guest: GuestAccess | None, *, seed: int, duration_s: float, say: Say
) -> Iterator[Bench]:
    """Bring up what the study needs and take it down at the end, however that comes.

    `guest` is a server that is not ours, None for the default server.
    """
    command = engine_command()
    machine = describe_machine()
    content = TableContent(rows=study.rows, seed=TABLE_SEED)
    opened = _private(machine, say) if guest is None else _guest(guest)
    with opened as (server, verification):
        say(f"measuring {server.specimen.name} ({server.version}): {server.specimen.why}")
        server.check_connections(max(_connections(study)))
        rows = server.prepare_table(content, say)
        admin = server.admin()
        try:
            yield Bench(
                server=server,
                terms=JobTerms(
                    endpoint=server.endpoint(),
                    account=server.load_account,
                    table=server.table_name,
                    rows=rows,
                    verification=verification,
                    client_cpus=machine.client_cpus if guest is None else (),
                    source_addresses=SOURCE_ADDRESSES if guest is None else (),
                    schedule=study.schedule,
                    duration_s=duration_s,
                    seed=seed,
                ),
                machine=machine if guest is None else _unpinned(machine),
                command=command,
                guest=guest is not None,
                admin=admin,
            )
        finally:
            admin.close()


def _connections(study: Study) -> list[int]:
    return [int(level) for level in study.levels_of().get("connections", (1,))]


@contextmanager
def _private(machine: Machine, say: Say) -> Iterator[tuple[Server, Verification]]:
    build = default_server(say)
    with open_session() as session:
        say(f"starting {build.specimen.name}")
        settings = ServerSettings(cpus=machine.server_cpus)
        with PrivateServer.start(build, session, settings) as server:
            yield server, Verification(verify="identity", ca_file=server.ca_file)


@contextmanager
def _guest(access: GuestAccess) -> Iterator[tuple[Server, Verification]]:
    tls = access.tls
    with GuestServer.open(access) as server:
        verification = Verification(
            verify={"VERIFY_CA": "ca", "VERIFY_IDENTITY": "identity"}.get(tls.mode, "none"),
            ca_file=tls.ca_file,
            certificate_file=tls.certificate_file,
            key_file=tls.key_file,
        )
        yield server, verification


def _unpinned(machine: Machine) -> Machine:
    return machine.model_copy(update={"server_cpus": (), "client_cpus": ()})
