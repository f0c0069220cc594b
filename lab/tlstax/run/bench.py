"""What trials are run on: a server up and filled, the client built, the processors shared out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from tlstax.clients.choice import ClientProgram
from tlstax.clients.companions import counting
from tlstax.clients.engine import engine_command
from tlstax.clients.fleet import Fleet, FleetClient
from tlstax.clients.process import Client, LoadClient
from tlstax.contract import ClosedLoop, Job, Schedule, TcpEndpoint
from tlstax.network.paths.design import Route
from tlstax.observers.counters import Counters, Event
from tlstax.observers.far_process import FarClock, FarProcess
from tlstax.observers.machine import describe_machine
from tlstax.observers.process import Clock, CpuClock
from tlstax.observers.profiler import Sampling
from tlstax.observers.tree import TreeClock
from tlstax.observers.window import FarSide, Side
from tlstax.plan.jobs import SOURCE_ADDRESSES
from tlstax.records.trial import Machine
from tlstax.run.reset_data import TrialData
from tlstax.specimens import certificates
from tlstax.specimens.authorities import Bundle, write_trusted
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.process_tree import ProcessTree
from tlstax.specimens.resolve import default_server
from tlstax.specimens.server import MOST_DEATHS, Server
from tlstax.specimens.server_build import Fault, ServerBuild, TlsLibrary
from tlstax.specimens.server_settings import ServerSettings, buffer_pool_bytes
from tlstax.specimens.sessions import Session, open_session
from tlstax.specimens.shared_pages import LOCKS_VARIABLE, ClientLocks, LockPage
from tlstax.sql import recorded_connections
from tlstax.sql.database import Database
from tlstax.sql.table_rows import TableContent, answers_of
from tlstax.study import cpu_features, tls_levels
from tlstax.study.client_kinds import kind_of
from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.study.factors import CaseLevels
from tlstax.study.job_parts import JobTerms, Verification
from tlstax.study.level_names import DEFAULT_CERTIFICATE, UNIX_SOCKET
from tlstax.study.needs import DataNeeds
from tlstax.study.workloads import EMPTY, Shape
from tlstax.support import temporary
from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK

if TYPE_CHECKING:
    from tlstax.external.access import ExternalAccess
    from tlstax.external.server import ExternalServer
    from tlstax.network.distance.opening import Span
    from tlstax.network.paths.opening import RunningPath

TABLE_SEED = 1
"""The same data in every run, so that runs can be compared."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Equipment:
    """What all benches of a run have in common.

    `clients` has the load clients by their level of `client` (the engine need not be there), `libraries` the
    TLS libraries by theirs of `client_tls_library`. `counted_events` is what can be counted here of a trial,
    `sampling` what can be sampled of profiled ones. `span` is the distance that can be put between client and
    server, None where none is wanted. `fleet` has the machines that the load comes from, None where it comes
    from here.
    """

    clients: Mapping[str, ClientProgram] = field(default_factory=dict)
    libraries: Mapping[str, TlsLibrary] = field(default_factory=dict)
    counted_events: tuple[Event, ...] = ()
    sampling: Sampling | None = None
    span: Span | None = None
    fleet: Fleet | None = None

    @property
    def library_files(self) -> dict[str, str]:
        """The file of each TLS library, by its name."""
        return {name: str(library.libssl) for name, library in self.libraries.items()}


Paths = Mapping[tuple[str, bool], "RunningPath"]
"""The running programs between client and server, by the level of `path` and whether over the distance."""


@dataclass(frozen=True, eq=False)
class Bench:
    """A server ready to be measured, and all that its trials have in common.

    `admin` is the laboratory's connection to it. `counters` counts events of its process; None where that is
    not observed. `data` puts back what trials change (None: nothing). `far` is its process on another
    machine, where it may be read. What died of it, or of its paths, is counted in `server_deaths` and
    `path_deaths`: where something is brought back, there is a new bench. `tree` reads
    all processes of a server here that has one for each connection; None of one that has not. By
    `client_locks` clients count theirs; None where the server counts none.
    """

    server: Server
    terms: JobTerms
    machine: Machine
    admin: Database
    equipment: Equipment = field(default_factory=Equipment)
    data: TrialData | None = None
    counters: Counters | None = None
    paths: Paths = field(default_factory=dict)
    far: FarProcess | None = None
    tree: TreeClock | None = None
    client_locks: ClientLocks | None = None
    server_deaths: int = 0
    path_deaths: int = 0

    @property
    def server_clock(self) -> Clock:
        """The CPU clock of the server's process, here or where it runs; at 0 where it is out of reach."""
        if self.far is not None:
            return FarClock(self.far)
        return self.tree if self.tree is not None else CpuClock(self.server.watched_pid)

    @property
    def server_side(self) -> Side:
        """The server's process as it is watched: here, where it runs, or out of reach."""
        if self.far is not None:
            return FarSide(None, far=self.far)
        return self.tree.side() if self.tree is not None else Side(self.server.watched_pid)

    def client(self, levels: CaseLevels, job: Job, before_exec: Callable[[int], None] | None) -> Client:
        """The load client of the case with these levels, for this job.

        `before_exec` gets its process before it executes its program, where that is a process here.
        """
        if self.equipment.fleet is not None:
            return FleetClient(self.equipment.fleet, job)
        # Where other cases have a distance, the server stands at its far end, and this client beside it.
        command = [*self.route(levels).entering, *self.command_of(levels)]
        return LoadClient(command, job, before_exec)

    def route(self, case: CaseLevels) -> Route:
        """How the case with these levels reaches the server."""
        terms, span, distance = self.terms, self.equipment.span, case.distance
        near = span is not None and distance.is_any
        path = self.paths.get((case.path, near))
        endpoint, sources = terms.addresses.get(case.address, terms.endpoint), terms.source_addresses
        entering: tuple[str, ...] = ()
        if span is not None:
            entering = span.enter_near() if near else span.enter_far()
        if span is not None and near and isinstance(endpoint, TcpEndpoint):
            endpoint, sources = endpoint.model_copy(update={"host": span.far_address}), span.near_addresses
        unix = self.server.unix_endpoint()
        if case.path == UNIX_SOCKET and unix is not None:
            endpoint, sources = unix, ()
        if path is not None:
            endpoint = path.entry
            at_far = (
                span is not None and isinstance(endpoint, TcpEndpoint) and endpoint.host == span.far_address
            )
            sources = span.near_addresses if span is not None and at_far else SOURCE_ADDRESSES
        return Route(endpoint, sources, entering, path, span if near else None, distance)

    def terms_of(self, levels: CaseLevels) -> JobTerms:
        """What jobs of the case with these levels have in common."""
        route = self.route(levels)
        return self.terms.model_copy(
            update={"endpoint": route.endpoint, "source_addresses": route.source_addresses}
        )

    def command_of(self, case: CaseLevels) -> Sequence[str]:
        """The command that starts the load client of the case with these levels."""
        program = self.equipment.clients.get(case.client)
        over = program.over.get(case.client_tls_library) if program else None
        command = over or (program.command if program else engine_command())
        variables = cpu_features.environment(case.cpu_features)
        if (counter := self.client_locks_of(case)) is not None:
            command = counting(command, counter.library)
            variables = {**variables, LOCKS_VARIABLE: str(counter.page.path)}
        told = [f"{name}={value}" for name, value in variables.items()]
        return [*(["env", *told] if told else []), *command]

    def client_locks_of(self, case: CaseLevels) -> ClientLocks | None:
        """What counts the locks of that case's client; None where they are not counted."""
        return self.client_locks if kind_of(case.client).has_locks_counted else None

    def connects_in_window(self, case: CaseLevels) -> bool:
        """Whether that client makes its connections within the window (see `ClientKind`)."""
        return kind_of(case.client).connects_in_window

    def reporting(self, job: Job, case: CaseLevels) -> Job:
        """The job; its connections record themselves at the server where the client tells nothing of them.

        One that copies all of it is told what the server has of that now. Raises SqlError.
        """
        copied, product = kind_of(case.client).copies, self.server.product
        if copied is not None:
            terms = product.streams.terms(
                self.admin, copied, self.terms.tables["sbtest"], 1 + (job.operations or 1)
            )
            job = job.model_copy(update={"stream": terms})
        if not self.connects_in_window(case):
            return job
        product, version = self.server.product, self.server.version
        return recorded_connections.recording(job, product.connection_log.statement(version))

    def revived(self, failure: str, say: Say) -> Self:
        """With all brought back that died in a trial: a server, if that ended with `failure`, or a path.

        MachineFault when one dies too often. An external server is not ours to start again: UserMistake or
        MachineFault, with the reason, when it lets nobody in; where only the connection to it was cut, it is
        made again. Nor are load machines ours to start again, nor is what reads its clock.
        """
        if failure and self.equipment.fleet is not None:
            self.equipment.fleet.check_there()
        if failure and self.far is not None:
            self.far.check_there()
        if failure and not self.server.is_alive():
            deaths = self.server_deaths + 1
            return replace(self._on(self.server.recover(deaths, say)), server_deaths=deaths)
        bench = self if self.admin.is_open else replace(self, admin=self.server.admin())
        return bench._with_paths_revived(say)

    def renewed(self) -> Self:
        """On a new process of the server, with its data; on an external one as it was.

        MachineFault when it does not come up.
        """
        return self._on(self.server.admin()) if self.server.restart() else self

    def _on(self, admin: Database) -> Self:
        """On the server as it can be reached now; paths lead to where it listens."""
        endpoint = self.server.endpoint()
        if endpoint != self.terms.endpoint and isinstance(endpoint, TcpEndpoint):
            for path in self.paths.values():
                path.restart(endpoint.port)
        return replace(self, admin=admin, terms=self.terms.model_copy(update={"endpoint": endpoint}))

    def _with_paths_revived(self, say: Say) -> Self:
        """With those paths started again of which a program has died."""
        deaths = self.path_deaths
        for (name, _), path in self.paths.items():
            if path.is_alive():
                continue
            deaths += 1
            if deaths > MOST_DEATHS:
                raise MachineFault(f"programs of paths died {deaths} times, {name}'s last")
            say(f"the path {name} died in a trial, which is not counted; starting it again")
            endpoint = self.server.endpoint()
            if isinstance(endpoint, TcpEndpoint):
                path.restart(endpoint.port)
        return self if deaths == self.path_deaths else replace(self, path_deaths=deaths)


@dataclass(frozen=True, eq=False)
class PrivateBench(Bench):
    """The bench on a private server."""

    server: PrivateServer


@dataclass(frozen=True)
class Needs:
    """What trials ask of a bench: rows, connections at once, a seed, their length, loop and data.

    `bundle` is the user's file of authorities that clients are to be given.
    """

    rows: int
    connections: int
    seed: int
    duration_s: float
    schedule: Schedule = field(default_factory=ClosedLoop)
    data: DataNeeds = field(default_factory=DataNeeds)
    bundle: Bundle | None = None


@dataclass(frozen=True)
class Wanted:
    """Which private server, over which TLS library, with which fault, and its own options.

    `build` None is the default server, `tls_library` None what it comes with, `fault` None a sound server;
    `cpu_features` is what OpenSSL finds there, `configuration` are options of the server's own,
    `certificate` one of factors.CERTIFICATES, `chain` how many it sends (None: as it does with one),
    `proves_clients` whether clients have one too, `addresses` are those that it names, the first as its
    common name too. One that `replicates` keeps
    a log and lets it be read. Where it is `observed`, events are counted of its process from before its
    start.
    """

    build: ServerBuild | None = None
    tls_library: TlsLibrary | None = None
    certificate: str = DEFAULT_CERTIFICATE
    chain: int | None = None
    proves_clients: bool = False
    addresses: tuple[str, ...] = CertificateRequest.addresses
    fault: Fault | None = None
    cpu_features: str = OWN_FEATURES
    configuration: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    replicates: bool = False
    max_connections: int = ServerSettings.max_connections
    observed: bool = False


@contextmanager
def open_private_bench(
    needs: Needs, say: Say, wanted: Wanted | None = None, machine: Machine | None = None
) -> Iterator[PrivateBench]:
    """Bring up a private server with its table and take it down at the end, however it ends.

    `machine` says which CPUs are whose, None as by default.
    MachineFault before anything is started when the engine has not been built.
    """
    engine_command()
    equipment, machine = Equipment(), machine or describe_machine()
    with (
        open_session() as session,
        private_bench(session, wanted or Wanted(), equipment, machine, needs, say) as bench,
    ):
        yield bench


@contextmanager
def private_bench(  # noqa: PLR0913, PLR0917 (what it is made of, and for whom)
    session: Session, wanted: Wanted, equipment: Equipment, machine: Machine, needs: Needs, say: Say
) -> Iterator[PrivateBench]:
    """A private server of this session, started and with its table filled.

    With a `span` it stands in its far place, with a `fleet` it listens where that reaches it.
    """
    build, events = wanted.build or default_server(say), equipment.counted_events
    span, fleet = equipment.span, equipment.fleet
    counters = Counters(events) if wanted.observed and events else None
    tree = TreeClock(ProcessTree()) if build.forks else None
    settings = ServerSettings(
        cpus=machine.server_cpus,
        tls_library=wanted.tls_library,
        certificate=_request(wanted, fleet),
        openssl_conf=tls_levels.openssl_conf(wanted.certificate),
        fault=wanted.fault,
        cpu_features=wanted.cpu_features,
        configuration=wanted.configuration,
        options=wanted.options,
        replicates=wanted.replicates,
        buffer_pool_bytes=buffer_pool_bytes(needs.rows),
        max_connections=wanted.max_connections,
        # Opened anew for each process that it starts: the last one is the server's.
        before_exec=_taken(counters, tree),
        tree=tree.tree if tree else None,
        entering=span.enter_far() if span else (),
        address=fleet.server_address if fleet else LOOPBACK,
    )
    say(f"starting {build.specimen.name}")
    with (
        counters or nullcontext(),
        tree or nullcontext(),
        _client_locks(wanted.fault) as client_locks,
        PrivateServer.start(build, session, settings) as server,
    ):
        if tree is not None:
            say(f"the CPU time of its processes is read {tree.words}")
        verification = Verification(verify="identity", ca_file=server.ca_file)
        server.check_connections(needs.connections)
        terms = _terms(server, verification, needs, equipment).model_copy(
            update={
                "client_cpus": machine.client_cpus,
                "source_addresses": () if fleet else SOURCE_ADDRESSES,
            }
        )
        with furnished(server, needs, say) as (admin, data):
            yield PrivateBench(
                server,
                terms,
                machine,
                admin,
                equipment,
                data,
                counters,
                tree=tree,
                client_locks=client_locks,
            )


@contextmanager
def _client_locks(fault: Fault | None) -> Iterator[ClientLocks | None]:
    """Where clients may count their locks beside a server that counts its own; None beside others."""
    if fault is None or not fault.counts_locks:
        yield None
        return
    with temporary.directory() as folder:
        page = LockPage(folder / "locks")
        page.count_everyone()
        yield ClientLocks(fault.library, page)


def _taken(counters: Counters | None, tree: TreeClock | None) -> Callable[[int], None] | None:
    """What gets a server's process before it executes its program; None where nobody needs it."""
    takers = [own for own in (tree and tree.take, counters and counters.open_before_exec) if own]

    def take(pid: int) -> None:
        for taker in takers:
            taker(pid)

    return take if takers else None


@contextmanager
def external_terms(
    access: ExternalAccess, needs: Needs, equipment: Equipment, warn: Say
) -> Iterator[tuple[ExternalServer, JobTerms]]:
    """An external server, and what jobs on it have in common; `warn` gets what is left there."""
    from tlstax.external.conditions import Intent  # noqa: PLC0415 (for external servers alone)
    from tlstax.external.server import ExternalServer  # noqa: PLC0415 (the same)

    tls = access.tls
    intent = Intent(makes=needs.data.makes_tables, writes=needs.data.writes)
    with ExternalServer.open(access, warn, intent) as server, _trusted(needs.bundle) as trusted:
        verification = Verification(
            verify=tls.verify,
            ca_file=tls.ca_file,
            certificate_file=tls.certificate_file,
            key_file=tls.key_file,
            # Who answers there in the clear is not known; the hash that the server keeps of a login over
            # TLS is enough (see `trial`).
            get_server_public_key=False,
        )
        if trusted:
            verify = "ca" if tls.verify == "none" else tls.verify
            few = {"verify": verify, "ca_file": trusted[min(trusted)]}
            verification = verification.model_copy(update=few)
        own = {
            "counts_lingering": True,
            "trust_files": trusted,
            "ssl_negotiation": "direct" if tls.direct else "request",
            "require_auth": access.require_auth,
        }
        yield server, _terms(server, verification, needs, equipment).model_copy(update=own)


@contextmanager
def _trusted(bundle: Bundle | None) -> Iterator[dict[int, str]]:
    """The user's file of authorities and one of those that the server needs, by how many are in each.

    A copy is given to clients, so that it is the same file to the end. Empty where there is none.
    """
    if bundle is None:
        yield {}
        return
    with temporary.directory() as folder:
        yield write_trusted(folder, bundle)


@contextmanager
def furnished(server: Server, needs: Needs, say: Say) -> Iterator[tuple[Database, TrialData]]:
    """The laboratory's connection to a running server, and the data in its tables, which are filled."""
    say(f"measuring {server.specimen.name} ({server.version}): {server.specimen.why}")
    contents = {shape: _content(shape, needs) for shape in needs.data.tables}
    for content in contents.values():
        server.prepare_table(content, say)
    admin = server.admin()
    data = TrialData(server, contents, needs.data)
    try:
        data.prepare(admin)
        yield admin, data
    finally:
        admin.close()


def _content(shape: Shape, needs: Needs) -> TableContent:
    """What the table of this shape holds before a trial."""
    if shape == "answers":
        return answers_of(needs.data.answer_bytes, TABLE_SEED)
    return TableContent(0 if shape in EMPTY else needs.rows, TABLE_SEED, shape)


def _request(wanted: Wanted, fleet: Fleet | None) -> CertificateRequest:
    """Its certificate, which names the address at which load machines reach it first."""
    own = certificates.requested(wanted.certificate, wanted.chain, clients=wanted.proves_clients)
    reached = (fleet.server_address,) if fleet else ()
    return replace(own, addresses=tuple(dict.fromkeys((*reached, *wanted.addresses))))


def _terms(server: Server, verification: Verification, needs: Needs, equipment: Equipment) -> JobTerms:
    return JobTerms(
        product=server.product.name,
        endpoint=server.endpoint(),
        account=server.load_account,
        tables=dict(server.tables),
        rows=needs.rows,
        workloads=dict(needs.data.own),
        verification=verification,
        client_libraries=equipment.library_files,
        client_cpus=(),
        schedule=needs.schedule,
        duration_s=needs.duration_s,
        seed=needs.seed,
    )
