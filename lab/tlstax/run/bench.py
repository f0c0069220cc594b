"""What trials are run on: a server up and filled, the client built, the processors shared out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace

from tlstax.clients.choice import ClientProgram
from tlstax.clients.client import Client
from tlstax.clients.engine import engine_command
from tlstax.clients.fleet import Fleet
from tlstax.clients.fleet_client import FleetClient
from tlstax.clients.process import LoadClient
from tlstax.contract import ClosedLoop, Job, Schedule, TcpEndpoint
from tlstax.external.access import GuestAccess
from tlstax.external.conditions import Intent
from tlstax.external.server import GuestServer
from tlstax.mysql.answer_rows import answers_of
from tlstax.mysql.database import Database, SqlError, TableContent
from tlstax.network.paths.route import Route, RunningPath, Span
from tlstax.observers.clock import Clock, CpuClock
from tlstax.observers.counters import Counters
from tlstax.observers.far_process import FarClock, FarProcess
from tlstax.observers.machine import describe_machine
from tlstax.observers.perf_events import Event
from tlstax.observers.profiler import Sampling
from tlstax.observers.sides import FarSide, Side
from tlstax.observers.tree import TreeClock
from tlstax.plan.jobs import SOURCE_ADDRESSES
from tlstax.records.trial import LibraryClaim, Machine
from tlstax.run.reset_data import TrialData
from tlstax.specimens import certificates
from tlstax.specimens.authorities import Bundle, write_trusted
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.fault import Fault
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.process_tree import ProcessTree
from tlstax.specimens.resolve import default_server
from tlstax.specimens.server import Server
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings, buffer_pool_bytes
from tlstax.specimens.sessions import Session, open_session
from tlstax.specimens.tls_library import TlsLibrary
from tlstax.study import cpu_features, legacy_tls
from tlstax.study.client_kinds.known import kind_of
from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.study.factors import CaseLevels
from tlstax.study.job_parts import JobTerms, Verification
from tlstax.study.level_names import DEFAULT_CERTIFICATE, UNIX_SOCKET
from tlstax.study.needs import DataNeeds
from tlstax.study.workloads import EMPTY, Shape
from tlstax.support import temporary
from tlstax.support.errors import MachineFault, TlstaxError
from tlstax.support.here import LOOPBACK

MOST_CRASHES = 3
"""A server that dies more often than this is not worth another start."""

TABLE_SEED = 1
"""The same data in every run, so that runs can be compared."""

Say = Callable[[str], None]


@dataclass
class Bench:
    """A server ready to be measured, and all that its trials have in common.

    `command` starts the engine, `clients` has the load clients of other makers by their level of `client`.
    `client_claims` says what each level of `client_tls_library` stands for. `counted_events` is what can be
    counted here of a trial, `counters` counts it of the server's process; None where that is not observed.
    `sampling` is what can be sampled of profiled trials, `data` puts back what trials change (None:
    nothing). `span` is the distance that can be put between client and server, None where none is wanted;
    `paths` has the running programs between them, by the level of `path` and whether they lead over the
    distance. `fleet` has the machines that the load comes from, None where it comes from here. `far` is the
    process of a server on another machine, where it may be read, `near` that of an external one on this.
    `tree` reads all processes of a server here that has one for each connection; None of one that has not.
    """

    server: Server
    terms: JobTerms
    machine: Machine
    command: list[str]
    guest: bool
    admin: Database
    crashes: int = field(default=0)
    path_deaths: int = field(default=0)
    client_claims: Mapping[str, LibraryClaim] = field(default_factory=dict)
    clients: Mapping[str, ClientProgram] = field(default_factory=dict)
    counted_events: tuple[Event, ...] = ()
    counters: Counters | None = None
    sampling: Sampling | None = None
    data: TrialData | None = None
    span: Span | None = None
    paths: dict[tuple[str, bool], RunningPath] = field(default_factory=dict)
    fleet: Fleet | None = None
    far: FarProcess | None = None
    near: int | None = None
    tree: TreeClock | None = None

    @property
    def server_pid(self) -> int | None:
        """The server's process on this machine; None where it is out of reach."""
        return self.near if self.server.pid is None else self.server.pid

    @property
    def server_clock(self) -> Clock:
        """The CPU clock of the server's process, here or where it runs; at 0 where it is out of reach."""
        if self.far is not None:
            return FarClock(self.far)
        return self.tree if self.tree is not None else CpuClock(self.server_pid)

    @property
    def server_side(self) -> Side:
        """The server's process as it is watched: here, where it runs, or out of reach."""
        if self.far is not None:
            return FarSide(None, far=self.far)
        return self.tree.side() if self.tree is not None else Side(self.server_pid)

    def client(self, levels: CaseLevels, job: Job, before_exec: Callable[[int], None] | None) -> Client:
        """The load client of the case with these levels, for this job.

        `before_exec` gets its process before it executes its program, where that is a process here.
        """
        if self.fleet is not None:
            return FleetClient(self.fleet, job)
        # Where other cases have a distance, the server stands at its far end, and this client beside it.
        command = [*self.route(levels).entering, *self.command_of(levels)]
        return LoadClient(command, job, before_exec)

    def route(self, case: CaseLevels) -> Route:
        """How the case with these levels reaches the server."""
        terms, span, distance = self.terms, self.span, case.distance
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
        program = self.clients.get(case.client)
        hidden = [f"{name}={value}" for name, value in cpu_features.environment(case.cpu_features).items()]
        return [*(["env", *hidden] if hidden else []), *(program.command if program else self.command)]

    def connects_in_window(self, case: CaseLevels) -> bool:
        """Whether that client makes its connections within the window (see `ClientKind`)."""
        return kind_of(case.client).connects_in_window

    def revive(self, failure: str, say: Say) -> None:
        """Bring back what died in a trial: a server, where it ended with `failure` (not empty), or a path.

        MachineFault when one dies too often. An external server is not ours to start again: UserMistake or
        MachineFault, with the reason, when it lets nobody in; where only the connection to it was cut, it is
        made again. Nor are load machines ours to start again, nor is what reads its clock.
        """
        if failure and self.fleet is not None:
            self.fleet.check_there()
        if failure and self.far is not None:
            self.far.check_there()
        if not failure or self.server.is_alive():
            if not self.admin.open:
                self.admin = self.server.admin()
            self._revive_paths(say)
            return
        server = self.server
        if not isinstance(server, PrivateServer):
            self._log_in_again(server)
            return
        self.crashes += 1
        if self.crashes > MOST_CRASHES:
            raise MachineFault(f"{server.specimen.name} died {self.crashes} times: {server.log_tail(1)}")
        say(f"the server died in a trial, which is not counted; starting it again ({self.crashes})")
        self._start_again(server)

    def _log_in_again(self, server: Server) -> None:
        """A new connection to an external server that answered no login; the fault says why it does not.

        It is the user's where the server refuses the account, and otherwise the server's.
        """
        try:
            self.admin = server.admin()
        except TlstaxError as fault:
            kind = type(fault) if isinstance(fault.__cause__, SqlError) else MachineFault
            raise kind(
                f"{server.specimen.name} no longer lets the run in: {fault.message}", remedy=fault.remedy
            ) from fault

    def renew(self) -> None:
        """Go on with a new process of the server, on its data; an external one goes on as it is.

        MachineFault when it does not come up.
        """
        if isinstance(self.server, PrivateServer):
            self._start_again(self.server)

    def _start_again(self, server: PrivateServer) -> None:
        server.restart()
        self.terms = self.terms.model_copy(update={"endpoint": server.endpoint()})
        self.admin = server.admin()
        for path in self.paths.values():
            path.restart(server.endpoint().port)

    def _revive_paths(self, say: Say) -> None:
        """Start paths again of which a program has died."""
        for (name, _), path in self.paths.items():
            if path.is_alive():
                continue
            self.path_deaths += 1
            if self.path_deaths > MOST_CRASHES:
                raise MachineFault(f"programs of paths died {self.path_deaths} times, {name}'s last")
            say(f"the path {name} died in a trial, which is not counted; starting it again")
            endpoint = self.server.endpoint()
            if isinstance(endpoint, TcpEndpoint):
                path.restart(endpoint.port)


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
    common name too. `counted_events` are counted of its process from before its start. With a `span`, it
    stands in its far place. With a `fleet` it listens where that reaches it.
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
    max_connections: int = ServerSettings.max_connections
    counted_events: tuple[Event, ...] = ()
    span: Span | None = None
    fleet: Fleet | None = None


@contextmanager
def open_private_bench(
    needs: Needs, say: Say, wanted: Wanted | None = None, machine: Machine | None = None
) -> Iterator[Bench]:
    """Bring up a private server with its table and take it down at the end, however it ends.

    `machine` says which CPUs are whose, None as by default.
    MachineFault before anything is started when the engine has not been built.
    """
    engine_command()
    with (
        open_session() as session,
        private_bench(session, wanted or Wanted(), machine or describe_machine(), needs, say) as bench,
    ):
        yield bench


@contextmanager
def private_bench(
    session: Session, wanted: Wanted, machine: Machine, needs: Needs, say: Say
) -> Iterator[Bench]:
    """A private server of this session, started and with its table filled."""
    build = wanted.build or default_server(say)
    counters = Counters(wanted.counted_events) if wanted.counted_events else None
    tree = TreeClock(ProcessTree()) if build.forks else None
    settings = ServerSettings(
        cpus=machine.server_cpus,
        tls_library=wanted.tls_library,
        certificate=_request(wanted),
        openssl_conf=legacy_tls.openssl_conf(wanted.certificate),
        fault=wanted.fault,
        cpu_features=wanted.cpu_features,
        configuration=wanted.configuration,
        options=wanted.options,
        buffer_pool_bytes=buffer_pool_bytes(needs.rows),
        max_connections=wanted.max_connections,
        # Opened anew for each process that it starts: the last one is the server's.
        before_exec=_taken(counters, tree),
        tree=tree.tree if tree else None,
        entering=wanted.span.enter_far() if wanted.span else (),
        address=wanted.fleet.server_address if wanted.fleet else LOOPBACK,
    )
    say(f"starting {build.specimen.name}")
    with (
        counters or nullcontext(),
        tree or nullcontext(),
        PrivateServer.start(build, session, settings) as server,
    ):
        if tree is not None:
            say(f"the CPU time of its processes is read {tree.words}")
        verification = Verification(verify="identity", ca_file=server.ca_file)
        sources = () if wanted.fleet else SOURCE_ADDRESSES
        server.check_connections(needs.connections)
        terms = _terms(server, verification, needs).model_copy(
            update={"client_cpus": machine.client_cpus, "source_addresses": sources}
        )
        with furnished(server, terms, needs, machine, say) as bench:
            bench.counted_events, bench.counters, bench.span = wanted.counted_events, counters, wanted.span
            bench.fleet, bench.tree = wanted.fleet, tree
            yield bench


def _taken(counters: Counters | None, tree: TreeClock | None) -> Callable[[int], None] | None:
    """What gets a server's process before it executes its program; None where nobody needs it."""
    takers = [own for own in (tree and tree.take, counters and counters.open_before_exec) if own]

    def take(pid: int) -> None:
        for taker in takers:
            taker(pid)

    return take if takers else None


@contextmanager
def guest_terms(access: GuestAccess, needs: Needs, warn: Say) -> Iterator[tuple[GuestServer, JobTerms]]:
    """An external server, and what jobs on it have in common; `warn` gets what is left there."""
    tls = access.tls
    intent = Intent(makes=needs.data.makes_tables, writes=needs.data.writes)
    with GuestServer.open(access, warn, intent) as server, _trusted(needs.bundle) as trusted:
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
        own = {"counts_lingering": True, "trust_files": trusted}
        yield server, _terms(server, verification, needs).model_copy(update=own)


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
def furnished(server: Server, terms: JobTerms, needs: Needs, machine: Machine, say: Say) -> Iterator[Bench]:
    """The bench on a running server, its tables filled."""
    say(f"measuring {server.specimen.name} ({server.version}): {server.specimen.why}")
    contents = {shape: _content(shape, needs) for shape in needs.data.tables}
    for content in contents.values():
        server.prepare_table(content, say)
    admin = server.admin()
    data = TrialData(server, contents, needs.data)
    try:
        data.prepare(admin)
        yield Bench(
            server=server,
            terms=terms,
            machine=machine,
            command=engine_command(),
            guest=not isinstance(server, PrivateServer),
            admin=admin,
            data=data,
        )
    finally:
        admin.close()


def _content(shape: Shape, needs: Needs) -> TableContent:
    """What the table of this shape holds before a trial."""
    if shape == "answers":
        return answers_of(needs.data.answer_bytes, TABLE_SEED)
    return TableContent(0 if shape in EMPTY else needs.rows, TABLE_SEED, shape)


def _request(wanted: Wanted) -> CertificateRequest:
    own = certificates.requested(wanted.certificate, wanted.chain, clients=wanted.proves_clients)
    return replace(own, addresses=_named_addresses(wanted))


def _named_addresses(wanted: Wanted) -> tuple[str, ...]:
    """The addresses that the server's certificate names: the one at which load machines reach it first."""
    reached = (wanted.fleet.server_address,) if wanted.fleet else ()
    return tuple(dict.fromkeys((*reached, *wanted.addresses)))


def _terms(server: Server, verification: Verification, needs: Needs) -> JobTerms:
    return JobTerms(
        endpoint=server.endpoint(),
        account=server.load_account,
        tables=dict(server.tables),
        rows=needs.rows,
        workloads=dict(needs.data.own),
        verification=verification,
        client_cpus=(),
        schedule=needs.schedule,
        duration_s=needs.duration_s,
        seed=needs.seed,
    )
