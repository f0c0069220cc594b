"""The benches of a study: every server its cases need, started once, paused while others are measured."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tlstax.clients.choice import ClientProgram, obtain_client, put_over
from tlstax.clients.engine import engine_command, engine_specimen
from tlstax.clients.fleet import Fleet
from tlstax.contract import Account
from tlstax.network.paths.design import Ends
from tlstax.observers import countable
from tlstax.observers.counters import HARDWARE_EVENTS, Event
from tlstax.observers.machine import describe_machine
from tlstax.observers.profiler import Sampling
from tlstax.observers.turn import Turn
from tlstax.plan.cpu_shares import Split, of_server
from tlstax.records.beforehand import ExternalServer
from tlstax.records.trial import LoadMachines, Machine, Specimen
from tlstax.run.bench import Bench, Equipment, Needs, PrivateBench, Wanted, private_bench
from tlstax.specimens.authorities import Bundle, write_trusted
from tlstax.specimens.certificates import write_authorities
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import (
    check_library_name,
    check_server_name,
    default_server,
    named_fault,
    named_server,
    named_tls_library,
)
from tlstax.specimens.server_build import Fault, ServerBuild, TlsLibrary, capabilities
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session, open_session
from tlstax.study import Level, Levels, Study, configuration, cpu_features, listed
from tlstax.study.changes import OWN_OPTIONS
from tlstax.study.client_kinds import kind_of
from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.study.factor import is_specimen_name
from tlstax.study.factors import CaseLevels, ServerChoice
from tlstax.study.job_parts import ClientProof
from tlstax.study.level_names import DEFAULT_AUTH, DEFAULT_CERTIFICATE, DIRECT, ENGINE, UNIX_SOCKET
from tlstax.study.needs import (
    cases_at,
    clients,
    faults,
    needs_distance,
    only_tls_version,
    paths,
    paths_of,
    replicates,
    server_choices,
    tls_libraries,
)
from tlstax.study.tls_levels import HAS_PASSWORDS, POOLS
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake
from tlstax.support.text import as_ranges, counted, enumerated, time_left

if TYPE_CHECKING:  # few studies have either
    from tlstax.network.distance.opening import Span
    from tlstax.network.paths.opening import RunningPath

SPARE_CONNECTIONS = 50
"""Connections that a server has room for besides those of its cases."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Specimens:
    """All that a study names, there to be used: servers (None: the default), libraries, faults, clients.

    `paths` has what stands between client and server, by the level of `path`.
    """

    servers: Mapping[str | None, ServerBuild]
    tls_libraries: Mapping[str, TlsLibrary]
    faults: Mapping[str, Fault] = field(default_factory=dict)
    clients: Mapping[str, ClientProgram] = field(default_factory=dict)
    paths: Mapping[str, Specimen] = field(default_factory=dict)

    def equipment(
        self, events: tuple[Event, ...], sampling: Sampling | None, span: Span | None, fleet: Fleet | None
    ) -> Equipment:
        """What benches have of them, and of what is given."""
        return Equipment(
            clients=self.clients,
            libraries=self.tls_libraries,
            counted_events=events,
            sampling=sampling,
            span=span,
            fleet=fleet,
        )

    def described(self) -> tuple[Specimen, ...]:
        """What they are, servers first, and the load clients that measure them."""
        servers = (server.specimen for server in self.servers.values())
        libraries = (library.specimen for library in self.tls_libraries.values())
        planted = (fault.specimen for fault in self.faults.values())
        clients = [program.specimen for program in self.clients.values()] or [engine_specimen()]
        between = {specimen.name: specimen for specimen in self.paths.values()}
        return (*servers, *libraries, *planted, *between.values(), *clients)


@dataclass(frozen=True)
class Benches:
    """The servers of a study, ready to be measured. With several, ours are paused but for those in use.

    `benches` has each as it is now: where a server or a path is brought back, there is a new one. `turn` is
    the run's turn to measure, and reports others; None where that does not matter. `fleet` has the machines
    that the load comes from, and `load` what the run's header says of them; None where it is here. `external`
    is what external servers were promised, and `admitted` the study as they have room for it, None where all
    are ours.
    """

    machine: Machine
    specimens: tuple[Specimen, ...]
    benches: dict[ServerChoice, Bench] = field(default_factory=dict)
    turn: Turn | None = None
    fleet: Fleet | None = None
    load: LoadMachines | None = None
    external: tuple[ExternalServer, ...] = ()
    admitted: Study | None = None

    def study_of(self, study: Study) -> Study:
        """The study as external servers have room for it."""
        return self.admitted or study

    def at(self, server: str | None) -> Bench:
        """The bench of the external server with this level of `server`."""
        return next(bench for choice, bench in self.benches.items() if choice.server == server)

    def awake(self, case: CaseLevels) -> AbstractContextManager[Bench]:
        """The bench of the case with these levels, its server running until the block ends."""
        return self.using(case.server_choice)

    @contextmanager
    def using(self, choice: ServerChoice) -> Iterator[Bench]:
        """The bench of this server, which runs until the block ends."""
        bench = self.benches[choice]
        self._resume(bench)
        try:
            yield bench
        finally:
            self._pause(bench)

    def add(self, choice: ServerChoice, bench: Bench) -> None:
        """One more server; where there are several, it waits for its turn."""
        self.benches[choice] = bench
        for other in self.benches.values() if len(self.benches) == 2 else [bench]:
            self._pause(other)

    def hold(self) -> None:
        """See that external servers, which others may use meanwhile, still have what is ours.

        MachineFault where one has not.
        """
        for bench in self.benches.values():
            bench.server.hold()

    def renew_all(self) -> None:
        """Go on with new processes of all servers. MachineFault when one does not come up."""
        for choice in self.benches:
            self._pause(self.renew(choice))

    def renew(self, choice: ServerChoice) -> Bench:
        """Go on with a new process of this server (see `Bench.renewed`)."""
        self.benches[choice] = self.benches[choice].renewed()
        return self.benches[choice]

    def revive(self, choice: ServerChoice, failure: str, say: Say) -> None:
        """Bring back what died at this server in a trial that ended with `failure` (see `Bench.revived`)."""
        self.benches[choice] = self.benches[choice].revived(failure, say)

    def _pause(self, bench: Bench) -> None:
        if len(self.benches) > 1:
            bench.server.pause()

    def _resume(self, bench: Bench) -> None:
        if len(self.benches) > 1:
            bench.server.resume()


def obtain(study: Study, say: Say, *, external: Collection[str | None] = ()) -> Specimens:
    """Everything that the study names, fetched where it is not there yet; nothing is started.

    `external` are levels of `server` that are no specimens (None: what no case names).
    A specimen that is not available stops the study here, before its first trial. MachineFault and
    UserMistake name it, and the option that leaves it out.
    """
    engine_command()
    check_hidden(study)
    for choice in server_choices(study):
        only_tls_version(study, choice)
    chosen = (choice.server for choice in server_choices(study))
    names = dict.fromkeys(name for name in chosen if name not in external)
    _check_names(study, names)
    servers: dict[str | None, ServerBuild] = {}
    for name in names:
        with leaving_out(study, {"server": name or ""}):
            servers[name] = default_server(say) if name is None else named_server(name, say)
    libraries: dict[str, TlsLibrary] = {}
    for library in tls_libraries(study):
        with leaving_out(study, {_library_factor(study, library): library}):
            libraries[library] = named_tls_library(library, say)
    planted: dict[str, Fault] = {}
    for fault in faults(study):
        with leaving_out(study, {"fault": fault}):
            planted[fault] = named_fault(fault, say)
    named = study.levels_of().get(CLIENT_LIBRARY, ())
    for_clients = {name: library for name, library in libraries.items() if name in named}
    return Specimens(
        servers,
        libraries,
        planted,
        {name: put_over(client_program(study, name, say), for_clients, say) for name in clients(study)},
        {name: _path(study, name, say) for name in paths(study)},
    )


CLIENT_LIBRARY = "client_tls_library"


def _check_names(study: Study, servers: Iterable[str | None]) -> None:
    """UserMistake for a name that is none, before what goes by the other names is fetched."""
    for name in filter(None, servers):
        with leaving_out(study, {"server": name}):
            check_server_name(name)
    for name in tls_libraries(study):
        with leaving_out(study, {_library_factor(study, name): name}):
            check_library_name(name)


def _library_factor(study: Study, name: str) -> str:
    return "tls_library" if name in study.levels_of().get("tls_library", ()) else CLIENT_LIBRARY


def _path(study: Study, name: str, say: Say) -> Specimen:
    from tlstax.network.paths.opening import obtain_path  # noqa: PLC0415 (few studies have paths)

    with leaving_out(study, {"path": name}, f"the path {name} is not available"):
        return obtain_path(name, say)


def client_program(study: Study, name: str, say: Say) -> ClientProgram:
    """The load client of this name; UserMistake or MachineFault where it is not to be had."""
    if name == ENGINE:
        return obtain_client(name, say)
    with leaving_out(study, {"client": name}, f"the load client {name} is not available"):
        return obtain_client(name, say)


@contextmanager
def leaving_out(study: Study, at_fault: Levels, what: str = "") -> Iterator[None]:
    """A failure in the block says `what` it means, and names the option by which the study does without."""
    try:
        yield
    except TlstaxError as error:
        said = type(error)(f"{what}: {error.message}", remedy=error.remedy) if what else error
        raise left_out(said, study, at_fault) from error


def left_out(error: TlstaxError, study: Study, at_fault: Levels) -> TlstaxError:
    """The same failure, with the option that makes the study do without the level at fault.

    Where the study has no other level, there is nothing to be left out, nor of two sides.
    """
    for factor, level in at_fault.items() if study.sides is None else ():
        others = [other for other in study.levels_of().get(factor, ()) if other != level]
        if others and study.baseline.get(factor) != level:
            without = f"leave it out with {option_of(study, factor)}{listed(others).replace(' ', '')}"
            is_external = factor == "server" and not all(is_specimen_name(str(other)) for other in others)
            if is_external:
                without = "leave it out"  # An external server is not named by what it is called.
            remedy = f"{error.remedy}, or {without}" if error.remedy else without
            return type(error)(error.message, remedy=remedy)
    return error


def option_of(study: Study, factor: str) -> str:
    """How a factor is chosen: the study behind `tlstax run` by options of its own."""
    if study.name == "tax" and factor in OWN_OPTIONS:
        return f"--{factor.replace('_', '-')} "
    return f"--set {factor}="


@contextmanager
def open_benches(  # noqa: PLR0913 (each is a choice of its own, the last four with a default)
    study: Study,
    specimens: Specimens,
    needs: Needs,
    say: Say,
    *,
    machine: Machine | None = None,
    only: Collection[ServerChoice] | None = None,
    fleet: Fleet | None = None,
    sampling: Sampling | None = None,
) -> Iterator[Benches]:
    """Start every server that the study's cases need, fill its table, and take all down at the end.

    `machine` says which CPUs are whose, None as by default; of the servers, `only` those are started. With
    a `fleet` the load comes from there, and servers listen where it reaches them. `sampling` is what can be
    sampled of profiled trials.
    A server that cannot be started ends the study before its first trial, with the option that leaves it
    out. One after another: two that start at once would only wait for each other's disk and processor.
    """
    machine, events = with_counters(machine or describe_machine())
    choices = tuple(choice for choice in server_choices(study) if only is None or choice in only)
    several = len(choices) > 1
    cpus_of = {choice: _server_cpus(machine, choice) for choice in choices}
    found = (*hidden_notes(study, specimens.tls_libraries.values()), *_shared(machine, cpus_of))
    machine = machine.model_copy(update={"notes": (*machine.notes, *found)})
    benches = Benches(machine, specimens.described(), fleet=fleet)
    with ExitStack() as stack:
        session = stack.enter_context(open_session())
        cpus = machine.client_cpus
        span = None
        if needs_distance(study):
            from tlstax.network.distance.opening import open_span  # noqa: PLC0415 (few studies have one)

            span = stack.enter_context(open_span(session, say, cpus=cpus))
        equipment = specimens.equipment(events, sampling, span, fleet)
        started = time.monotonic()
        for place, choice in enumerate(choices):
            if several:
                say(_starting(choice, place, len(choices), time.monotonic() - started))
            here = machine.model_copy(update={"server_cpus": cpus_of[choice]})
            try:
                wanted = _wanted(study, choice, specimens, needs.connections)
                bench = stack.enter_context(
                    private_bench(session, wanted, equipment, here, needs, unsaid if several else say)
                )
            except TlstaxError as error:
                raise left_out(_named(error, choice), study, _at_fault(choice)) from error
            terms = {
                "accounts": _accounts(study, bench, choice),
                **identity_terms(study, bench.server, choice, needs.bundle),
            }
            if any(kind_of(name).connects_in_window for name in specimens.clients):
                bench.server.product.connection_log.create(bench.admin)
            running = {
                (name, over): stack.enter_context(_opened(study, name, _ends(bench, session, over, name)))
                for name, over in paths_of(study, choice)
                if name not in (DIRECT, UNIX_SOCKET)
            }
            benches.add(choice, replace(bench, terms=bench.terms.model_copy(update=terms), paths=running))
        yield benches


def _wanted(study: Study, choice: ServerChoice, specimens: Specimens, connections: int) -> Wanted:
    """The server of this choice, as its cases in the study need it, with N connections at once."""
    many, usual = connections + SPARE_CONNECTIONS, ServerSettings.max_connections
    version = only_tls_version(study, choice)
    return Wanted(
        build=specimens.servers[choice.server],
        tls_library=specimens.tls_libraries.get(choice.tls_library),
        certificate=choice.certificate,
        chain=choice.chain,
        proves_clients=any(case.proves_client for case in cases_at(study, choice)),
        fault=specimens.faults.get(choice.fault),
        cpu_features=choice.cpu_features,
        configuration=configuration.arguments(choice.configuration),
        options=(f"--tls-version=TLSv{version}",) if version else (),
        replicates=replicates(study, choice),
        max_connections=max(many, usual),
        observed=choice.observed,
    )


def _server_cpus(machine: Machine, choice: ServerChoice) -> tuple[int, ...]:
    return of_server(Split(machine.server_cpus, machine.client_cpus), choice.server_cpus)


def _shared(machine: Machine, cpus_of: Mapping[ServerChoice, tuple[int, ...]]) -> Iterator[str]:
    """Which servers share a processor with the client, once for each number of processors."""
    for cpus in sorted(set(cpus_of.values()), key=len):
        both = [cpu for cpu in cpus if cpu in machine.client_cpus and cpu not in machine.server_cpus]
        if both:
            words = counted(len(cpus), "processor")
            yield f"a server on {words} shares CPU {as_ranges(both)} with its client"


def _accounts(study: Study, bench: PrivateBench, choice: ServerChoice) -> dict[str, Account]:
    """The accounts of this server's cases that are not proved by its default plugin."""
    plugins = dict.fromkeys(case.auth for case in cases_at(study, choice))
    accounts = {}
    for plugin in plugins:
        if plugin != DEFAULT_AUTH:
            with leaving_out(study, {"auth": plugin}):
                accounts[plugin] = bench.server.account_by(plugin)
    return accounts


@contextmanager
def through_path(bench: PrivateBench, name: str) -> Iterator[PrivateBench]:
    """The bench with this path to its server, running, in a session of its own; stopped with the block.

    It has to be fetched already. MachineFault where it does not come up.
    """
    from tlstax.network.paths.opening import open_path  # noqa: PLC0415 (as in `_opened`)

    with open_session() as session, open_path(name, _ends(bench, session, over=False, name=name)) as running:
        yield replace(bench, paths={**bench.paths, (name, False): running})


@contextmanager
def _opened(study: Study, name: str, ends: Ends) -> Iterator[RunningPath]:
    """The path, running; where it does not come up, the option that leaves it out is named."""
    from tlstax.network.paths.opening import open_path  # noqa: PLC0415 (few studies have paths)

    with ExitStack() as stack:
        with leaving_out(study, {"path": name}):
            running = stack.enter_context(open_path(name, ends))
        yield running


def _ends(bench: PrivateBench, session: Session, over: bool, name: str) -> Ends:
    """Between what the path of this name runs at this bench; `over` the distance, or beside the server."""
    server, span = bench.server, bench.equipment.span
    return Ends(
        session=session,
        server_port=server.endpoint().port,
        certificates=server.certificates,
        entering=span.enter_far() if span else (),
        over=span if over else None,
        secrets=pooler_secrets(bench, name),
        spoken="postgresql" if server.product.name == "postgresql" else "mysql",
        near_cpus=bench.machine.client_cpus,
        far_cpus=bench.machine.server_cpus,
    )


def pooler_secrets(bench: PrivateBench, name: str) -> dict[str, str]:
    """What a path of this name is given to log in by, by account; nothing where it leaves that to clients."""
    account = bench.server.load_account
    if name in HAS_PASSWORDS:
        return {account.user: account.password}
    return bench.server.product.accounts.kept_secrets(bench.admin) if name in POOLS else {}


def _at_fault(choice: ServerChoice) -> dict[str, Level]:
    """What may keep this server from starting, the likeliest first."""
    special = {} if choice.certificate == DEFAULT_CERTIFICATE else {"certificate": choice.certificate}
    return {
        "fault": choice.fault,
        **special,
        "tls_library": choice.tls_library,
        "server": choice.server or "",
    }


def unsaid(_: str) -> None:
    """Where the steps of a server would drown which of many is being started, or are not the run's."""


def _named(error: TlstaxError, choice: ServerChoice) -> TlstaxError:
    """The failure with the server's name before it, where it does not say so itself."""
    words = choice.words()
    if choice.configuration != configuration.AS_IT_COMES:
        # A server that does not know an option, or takes no such value of it, does not start.
        return UserMistake(f"{words} cannot be measured: {error.message}", remedy="give it other options")
    if choice.server is None or words in error.message:
        return error
    return type(error)(f"{words} cannot be measured: {error.message}", remedy=error.remedy)


def _starting(choice: ServerChoice, place: int, of: int, took_s: float) -> str:
    left = f" ({time_left(took_s / place * (of - place))} left)" if place else ""
    return f"starting {place + 1} of {of}: {choice.words()}{left}"


def with_counters(machine: Machine) -> tuple[Machine, tuple[Event, ...]]:
    """The machine with a note on what cannot be counted there; the events that can."""
    usable = countable.usable_events().among(HARDWARE_EVENTS)
    return machine.model_copy(update={"notes": (*machine.notes, *usable.notes())}), usable.events


X86 = ("x86_64", "amd64", "AMD64")


def check_hidden(study: Study, architecture: str | None = None) -> None:
    """UserMistake where the study hides what processors of another kind have."""
    architecture = architecture or platform.machine()
    if _hidden(study) and architecture not in X86:
        raise UserMistake(
            f"cpu_features hides instructions of x86 processors, and this machine's is {architecture}",
            remedy=f"leave it out, or --set cpu_features={OWN_FEATURES}",
        )


def hidden_notes(study: Study, libraries: Iterable[TlsLibrary]) -> Iterator[str]:
    """What each library says that it finds, in words. MachineFault where it finds what is to be hidden."""
    levels = _hidden(study)
    own = [(library, capabilities(library, {})) for library in libraries] if levels else []
    for level in levels:
        for library, everything in own:
            name = library.specimen.name
            seen = capabilities(library, cpu_features.environment(level))
            if seen is None:
                yield f"{name} cannot say what it finds with {level}; its environment is all that is known"
                continue
            if left := cpu_features.still_there(level, seen):
                raise MachineFault(
                    f"{name} finds {enumerated(left)} all the same with {level}", remedy="leave it out"
                )
            same = " (as without: this processor has none of it)" if seen == everything else ""
            yield f"{name} with {level} finds {':'.join(f'{word:#x}' for word in seen)}{same}"


def _hidden(study: Study) -> tuple[str, ...]:
    """The levels of the study that hide anything."""
    levels = study.levels_of().get("cpu_features", ())
    return tuple(str(level) for level in levels if level != OWN_FEATURES)


def identity_terms(
    study: Study, server: PrivateServer, choice: ServerChoice, bundle: Bundle | None = None
) -> dict[str, Any]:
    """The fields of the server's job terms that its cases need for `trust` and `client_certificate`.

    Files of authorities are written beside the server's own, and go with them. `bundle` is one of the user's.
    """
    files = server.certificates
    trusted: dict[int, str] = {}
    if bundle is not None:
        trusted = write_trusted(files.ca_file.parent, bundle, files.ca_file.read_bytes())
    wanted = dict.fromkeys(case.trust for case in cases_at(study, choice) if case.trust is not None)
    for count in wanted.keys() - trusted.keys():
        file = files.ca_file.with_name(f"authorities-{count}.pem")
        write_authorities(file, files.ca_file, count)
        trusted[count] = str(file)
    if files.client is None:
        return {"trust_files": trusted}
    proof = ClientProof(
        account=server.account_by_certificate(),
        certificate_file=str(files.client.certificate_file),
        key_file=str(files.client.key_file),
    )
    return {"trust_files": trusted, "client_proof": proof}
