"""The benches on external servers: in what a study gives way there, and what each server is promised."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from tlstax.clients.engine import built_beside, engine_command
from tlstax.clients.fleet import Fleet
from tlstax.contract import TcpEndpoint
from tlstax.external import conditions, ways
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.conditions import NothingMayBeMade
from tlstax.external.near import Near
from tlstax.external.server import ExternalServer
from tlstax.external.tls import ExternalTls
from tlstax.external.ways import Way
from tlstax.network.paths.design import Ends
from tlstax.network.paths.opening import RunningPath, open_path
from tlstax.observers.far_process import ConnectionEnds, FarProcess
from tlstax.observers.machine import available_cpus, describe_machine
from tlstax.observers.profiler import Sampling
from tlstax.observers.tree import WORDS, TreeClock
from tlstax.plan import at_work
from tlstax.plan.addresses import is_loopback
from tlstax.plan.admission import Admission, Leeway, admit, beside_others
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.plan.elsewhere import Room
from tlstax.records.beforehand import AtWork
from tlstax.records.beforehand import ExternalServer as Promised
from tlstax.records.trial import Machine
from tlstax.run.at_work import found_there
from tlstax.run.bench import Bench, Equipment, Needs, Paths, external_terms, furnished
from tlstax.run.benches import (
    Benches,
    Say,
    Specimens,
    leaving_out,
    open_benches,
    option_of,
    with_counters,
)
from tlstax.run.pilot import machine_of, piloted
from tlstax.specimens.certificates import issue
from tlstax.specimens.sessions import Session, open_session
from tlstax.sql import answering, answers
from tlstax.sql.database import Database
from tlstax.study import Study
from tlstax.study.changes import (
    without_by,
    without_plaintext,
    without_tables,
)
from tlstax.study.client_kinds import SYSBENCH, kind_of
from tlstax.study.factors import (
    CaseLevels,
    ServerChoice,
    factors_of,
)
from tlstax.study.job_parts import JobTerms
from tlstax.study.labels import asking_what_is_there
from tlstax.study.level_names import ENGINE, UNIX_SOCKET, UNSET
from tlstax.study.needs import data_needs, has_plaintext, paths, server_choices
from tlstax.study.tls_levels import BEGINS_TLS, ENDS_TLS, LEADS_ANYWHERE
from tlstax.support.errors import UserMistake

ALONE = (None,)
"""The external server of a study that has no other and names none."""

ITS_OWN = (*factors_of("server", "state", "distance", "observation"), "auth", "client_certificate")
"""Factors of which an external server has one level: the one that stands for leaving it as it is."""


@dataclass(frozen=True)
class ExternalRequest:
    """Which external servers a run measures, and on what terms.

    `servers` has how to get into each by its level of the factor `server`, None for one that is alone and
    that no case names. `leeway` is how far the study may give way to them. `addresses` are others by which
    one that is alone is reached.
    """

    servers: Mapping[str | None, ExternalAccess]
    leeway: Leeway = field(default_factory=Leeway)
    addresses: Mapping[str, ExternalAddress] = field(default_factory=dict)

    def ours(self, study: Study) -> tuple[ServerChoice, ...]:
        """The servers of our own that the study has beside them."""
        return tuple(choice for choice in server_choices(study) if choice.server not in self.servers)


def check_external(study: Study, servers: Collection[str | None] = ALONE) -> None:
    """UserMistake where the study needs a private server in place of one of these levels of `server`."""
    plain = CaseLevels()
    check_paths(study, servers)
    for case in study.included():
        if case.server not in servers:
            continue
        if study.has_process_for_each_trial:
            raise UserMistake(
                f"each trial of the study {study.name} has a new process of the server, and an external one "
                "is not ours to start",
                remedy="name specimens; `tlstax study run memory --set server=mysql://…` opens connections "
                "step by step",
            )
        for name in ITS_OWN:
            if name in case and name != "server" and getattr(case, name) != getattr(plain, name):
                raise UserMistake(
                    f"an external server keeps what it has: {name} cannot be chosen there",
                    remedy="leave it out, or name specimens alone",
                )
        if kind_of(case.client).copies is not None:
            raise UserMistake(
                f"{case.client} copies all of a server, by rights and for a time that no external one has "
                "promised",
                remedy="name specimens, such as --set server=postgresql-18",
            )
        if not kind_of(case.client).asks:
            raise UserMistake(
                f"{case.client} does not tell what its connections have negotiated, and an external server "
                "is not made to log it",
                remedy=f"choose another client ({option_of(study, 'client')}{ENGINE}), "
                "or name specimens alone",
            )


def check_clients(study: Study, level: str | None, access: ExternalAccess, *, allow_plaintext: bool) -> None:
    """UserMistake where a client of other makers is not to log in at this server, or cannot without a file.

    In the clear they encrypt a password, where one is asked for, with a key that they take from whoever
    answers; none of them can be told not to. On this machine nobody is between.
    """
    others = [case for case in study.included() if case.client != ENGINE and case.server == level]
    in_the_clear = next((case for case in others if case.tls in {"off", UNSET}), None)
    address = access.address
    is_here = address.socket is not None or is_loopback(address.host)
    if in_the_clear is not None and not is_here and not allow_plaintext:
        raise UserMistake(
            f"without TLS {in_the_clear.client} gives the password to whoever answers in the place of "
            f"{address}, encrypted with a key of theirs, if they ask for it",
            remedy="permit it with --allow-plaintext where nobody is between, or measure TLS alone with "
            "--ssl-mode=REQUIRED",
        )
    if access.tls.ca_file is None and any(case.client == SYSBENCH and case.is_encrypted for case in others):
        raise UserMistake(
            f"{SYSBENCH} begins no TLS without the file of an authority",
            remedy="name the server's with --ssl-ca (with --allow-plaintext, since that demands TLS)",
        )


@dataclass(frozen=True)
class _LetIn:
    """An external server that lets the run work there, and what jobs on it have in common."""

    level: str | None
    access: ExternalAccess
    server: ExternalServer
    terms: JobTerms
    near: Near | None


Reasons = Mapping[str | None, str]
"""Why something is left out, by the level of the server that it is for."""


@dataclass(frozen=True)
class _Party:
    """The external servers of a run, and the study and its needs as all of them allow.

    `no_tables` and `no_plaintext` are why nothing is made, or nobody logs in in the clear, by the server that
    it is for; `ways` are other addresses of one that is alone.
    """

    members: tuple[_LetIn, ...]
    study: Study
    needs: Needs
    admitted: tuple[Admission, ...]
    no_tables: Reasons
    no_plaintext: Reasons
    ways: Mapping[str, Way]

    def record(self, admission: Admission, round_trip_s: float, seen: AtWork | None) -> Promised:
        """What the run's header has of a server that answers within this; `seen` is what others do there."""
        level = admission.server
        left_out = self.no_plaintext.get(level, ""), self.no_tables.get(level, "")
        return admission.record(round_trip_s, *left_out).model_copy(update={"at_work": seen})


@contextmanager
def open_external(  # noqa: PLR0913, PLR0917 (what is measured, on what, and who hears of it)
    study: Study,
    asked: ExternalRequest,
    specimens: Specimens,
    needs: Needs,
    say: Say,
    warn: Say | None = None,
    cpus: AskedCpus = AskedCpus(),  # noqa: B008 (frozen)
    fleet: Fleet | None = None,
    sampling: Sampling | None = None,
) -> Iterator[Benches]:
    """The benches on external servers, and on private ones where the study has those beside them.

    The study is one that `check_external` lets pass, and `specimens` what it names otherwise. Every external
    server is asked all that may stand in the way before a private one is started, and before a load table is
    made. UserMistake where the study has no room at one of them. `warn` gets what has to be left there, in
    place of `say`. `cpus` are those that the user asked for. With a `fleet` the load comes from there;
    `sampling` is what can be sampled of profiled trials.
    """
    ours = asked.ours(study)
    described, events = with_counters(describe_machine())
    equipment = specimens.equipment(events, sampling, None, fleet)
    with ExitStack() as stack:
        arrival = _Arrival(asked, equipment, say, warn or say)
        party = arrival.let_in(stack, study, needs)
        if ours:
            machine = machine_of(cpus)
            if not cpus.is_any:
                machine = piloted(
                    party.study, specimens, party.needs, machine, say, external=frozenset(asked.servers)
                )
            private = open_benches(
                party.study,
                specimens,
                party.needs,
                say,
                machine=machine,
                only=ours,
                fleet=fleet,
                sampling=sampling,
            )
            benches = stack.enter_context(private)
        else:
            here = [own.near for own in party.members if own.near is not None]
            machine = _of_client_alone(described, cpus, here)
            benches = Benches(machine, specimens.described(), fleet=fleet)
        seen: dict[str | None, AtWork] = {}
        promised: list[Promised] = []
        for own, admission in zip(party.members, party.admitted, strict=True):
            bench = stack.enter_context(_furnished(own, party, equipment, benches.machine, say))
            if asked.leeway.looks:
                seen[own.level] = _looked(party.study, own, bench, asked.leeway, say)
            running, along = stack.enter_context(open_paths(party.study, own.access, bench))
            round_trip_s = answers.round_trip_s(bench.admin)
            found_ways = {**party.ways, **along}.values()
            farthest_s = max([round_trip_s, *(way.round_trip_s for way in found_ways)])
            promised.append(party.record(admission, farthest_s, seen.get(own.level)))
            benches.add(ServerChoice(own.level), replace(bench, paths=running))
        theirs = [own.server.specimen for own in reversed(party.members)]
        yield replace(
            benches,
            specimens=(*theirs, *benches.specimens),
            external=tuple(promised),
            admitted=beside_others(party.study, seen.values()),
        )


class QuietBench(NamedTuple):
    """An external server at which nothing is made, the bench on it, and its room before that was opened.

    `no_plaintext` says who rules out connections in the clear; empty where nobody does. `near` is its process
    on this machine, None where it is elsewhere.
    """

    bench: Bench
    room: Room
    no_plaintext: str
    near: Near | None


@contextmanager
def open_quiet_bench(
    access: ExternalAccess, needs: Needs, say: Say, warn: Say, at_most: int | None
) -> Iterator[QuietBench]:
    """The bench on an external server for what is no study: statements that read nothing, and no table.

    `at_most` is how many connections the user allows it at once. UserMistake or MachineFault where nobody is
    let in, or the server's process cannot be read at the host that was named.
    """
    engine_command()
    equipment, machine = Equipment(), describe_machine()
    with ExitStack() as stack:
        server, terms = stack.enter_context(external_terms(access, needs, equipment, warn))
        refusal = server.no_plaintext()
        demanded = f"{access.tls.demanded_by} demands TLS" if access.tls.demanded_by else ""
        room = server.room(at_most)
        here = server.near() if access.host is None else None
        cpus = () if here is None else _beside([here], machine.client_cpus)
        machine = machine.model_copy(update={"server_cpus": (), "client_cpus": cpus})
        terms = terms.model_copy(update={"client_cpus": cpus})
        tree = stack.enter_context(_tree_read(here, say))
        admin, data = stack.enter_context(furnished(server, needs, say))
        far = stack.enter_context(_watched_there(access, admin, say))
        bench = Bench(server, terms, machine, admin, equipment, data, far=far, tree=tree)
        yield QuietBench(bench, room, demanded if refusal is None else refusal.message, here)


def _looked(study: Study, own: _LetIn, bench: Bench, leeway: Leeway, say: Say) -> AtWork:
    """Whether others are at work at this server, and how much load it bears beside them."""
    # One connection cannot come from several machines.
    raises = leeway.raises_load and bench.equipment.fleet is None
    seen = found_there(study, own.level, bench, raises=raises)
    say(at_work.words(seen) or f"nobody else is at work at {own.access.address}")
    return seen


@dataclass(frozen=True)
class _Arrival:
    """How a run gets into its external servers."""

    asked: ExternalRequest
    equipment: Equipment
    say: Say
    warn: Say

    def let_in(self, stack: ExitStack, study: Study, needs: Needs) -> _Party:
        """The servers until the stack is left, and the study as it can be at all of them.

        UserMistake where the study may not give way so far, or one server is named twice.
        """
        asked, leeway = self.asked, self.asked.leeway
        for access in asked.servers.values():
            check_ends(study, access)
        if len(asked.servers) > 1:
            ways.check_are_several(tuple(asked.servers.values()))
        members, study, needs, no_tables = self._entered(stack, study, needs)
        study, no_plaintext = self._over_tls_alone(study, members)
        found: dict[str, Way] = {}
        for own in members if asked.addresses else ():
            schema = own.server.load_account.database
            found = ways.look(own.access, schema, asked.addresses, in_the_clear=has_plaintext(study))
        demanding = [name for name, way in found.items() if way.takes_plaintext is False]
        study = without_by(study, [name for name, way in found.items() if not way.offers_tls], tls=True)
        study = without_by(study, demanding, tls=False)
        rooms = {own.level: own.server.room(leeway.at_most) for own in members}
        study, admitted = admit(study, rooms, fewer=leeway.fewer_connections)
        for own, admission in zip(members, admitted, strict=True):
            self.say(f"{own.access.address} gets {admission.words()}")
            if own.near is not None:
                self.say(own.near.words)
            check_reach(study, own.access, own.near)
        return _Party(members, study, needs, admitted, no_tables, no_plaintext, found)

    def _entered(
        self, stack: ExitStack, study: Study, needs: Needs
    ) -> tuple[tuple[_LetIn, ...], Study, Needs, Reasons]:
        """The servers; where one lets nothing be made, all of them with a study that makes nothing, and why.

        UserMistake where the study may not give way so far.
        """
        no_tables: dict[str | None, str] = {}
        while True:
            level: str | None = None
            members = []
            with ExitStack() as attempt:
                try:
                    for level, access in self.asked.servers.items():
                        server, terms = attempt.enter_context(
                            external_terms(access, needs, self.equipment, self.warn)
                        )
                        is_here = self.equipment.fleet is None and access.host is None
                        near = server.near() if is_here else None
                        members.append(_LetIn(level, access, server, terms, near))
                except NothingMayBeMade as refusal:
                    changed = without_tables(study) if self.asked.leeway.no_tables else None
                    if changed is None:
                        raise
                    no_tables[level] = refusal.message
                else:
                    stack.enter_context(attempt.pop_all())
                    return tuple(members), study, needs, no_tables
            self.say(
                f"{no_tables[level]}: statements that read nothing take the place of point selects"
                f"{_everywhere(study)}"
            )
            study = asking_what_is_there(changed, study)
            needs = replace(needs, data=data_needs(study))

    def _over_tls_alone(self, study: Study, members: Sequence[_LetIn]) -> tuple[Study, Reasons]:
        """The study without its cases in the clear where a server rules them out, and why each does.

        UserMistake where it may not give way so far.
        """
        if not has_plaintext(study):
            by = self.asked.leeway.tls_demanded_by
            return study, {own.level: by[own.level] for own in members if own.level in by}
        asked = {
            own.level: own.server.no_plaintext() for own in members if _has_plaintext_at(own.level, study)
        }
        refusals = {level: refusal for level, refusal in asked.items() if refusal is not None}
        if not refusals:
            return study, {}
        changed = without_plaintext(study) if self.asked.leeway.no_plaintext else None
        for refusal in refusals.values():
            if changed is None:
                raise UserMistake(
                    f"{refusal.message}, and plaintext is what TLS is compared with", remedy=refusal.remedy
                )
            self.say(f"{refusal.message}: plaintext is left out{_everywhere(study)}")
        changed = asking_what_is_there(changed or study, study)
        return changed, {level: refusal.message for level, refusal in refusals.items()}


def _everywhere(study: Study) -> str:
    """Where something is left out that one server rules out: at all of them, which are compared."""
    return " at all servers" if len(server_choices(study)) > 1 else ""


def _has_plaintext_at(level: str | None, study: Study) -> bool:
    return any(case.server == level and not case.is_encrypted for case in study.included())


def _of_client_alone(machine: Machine, asked: AskedCpus, here: Sequence[Near]) -> Machine:
    """The machine where all servers are external, and have no CPUs by us.

    The client has those that were asked for, else those that servers of this machine leave to it.
    """
    cpus = asked.client or _beside(here, machine.client_cpus)
    return machine.model_copy(
        update={"server_cpus": (), "client_cpus": cpus, "cpus_asked_for": bool(asked.client)}
    )


def _beside(here: Sequence[Near], usual: tuple[int, ...]) -> tuple[int, ...]:
    """The CPUs that servers of this machine leave to the load client; none in particular without any.

    Where they may use all of them, those that a client has beside a server of ours (`usual`): one that stays
    on its own disturbs the server less than one that goes from CPU to CPU.
    """
    theirs = {cpu for near in here for cpu in near.cpus}
    left = available_cpus() - theirs if theirs else set[int]()
    return tuple(sorted(left)) or (usual if any(near.pid is not None for near in here) else ())


@contextmanager
def _furnished(
    own: _LetIn, party: _Party, equipment: Equipment, machine: Machine, say: Say
) -> Iterator[Bench]:
    """The bench on one of the servers."""
    terms = own.terms.model_copy(
        update={
            "client_cpus": machine.client_cpus,
            "addresses": {name: way.endpoint for name, way in party.ways.items()},
        }
    )
    machine = machine.model_copy(update={"server_cpus": ()})
    with (
        _tree_read(own.near, say) as tree,
        furnished(own.server, party.needs, say) as (admin, data),
        _watched_there(own.access, admin, say) as far,
    ):
        yield Bench(own.server, terms, machine, admin, equipment, data, far=far, tree=tree)


@contextmanager
def _tree_read(here: Near | None, say: Say) -> Iterator[TreeClock | None]:
    """What reads all processes of a server of this machine that has one for each connection."""
    if here is None or here.tree is None:
        yield None
        return
    with TreeClock(here.tree) as tree:
        tree.around()
        say(f"it starts others: the CPU time of all is read {tree.words}")
        yield tree


@contextmanager
def _watched_there(access: ExternalAccess, admin: Database, say: Say) -> Iterator[FarProcess | None]:
    """The server's process as it is read where it runs, if asked for. MachineFault where it cannot be."""
    ends = answering.ends_of(admin) if access.host is not None else None
    if access.host is None or ends is None:
        yield None
        return
    say(f"looking for the server's process at {access.host}")
    program = built_beside("tlstax-watch")
    with FarProcess(access.host, program, ConnectionEnds(str(ends[0]), access.address.port)) as process:
        say(f"the server is process {process.pid} ({process.name}) there")
        if process.cpu_source is not None:
            say(f"it starts others: the CPU time of all is read {WORDS[process.cpu_source]}")
        yield process


BROKEN_OFF = 10
"""How many connects may be broken off when paths are started: each is up when it brings a greeting."""


def check_paths(study: Study, servers: Collection[str | None]) -> None:
    """UserMistake for a path that leads to no external server; `servers` are their levels of `server`."""
    if any(case.path == UNIX_SOCKET and case.server in servers for case in study.included()):
        raise UserMistake(
            "an external server's Unix socket is an address of its own",
            remedy="name it in the URL: mysql://user@/schema?socket=/run/mysqld/mysqld.sock",
        )


def check_ends(study: Study, access: ExternalAccess) -> None:
    """UserMistake for a path that does not go with how this server is reached, before anybody logs in."""
    for name in paths(study):
        if access.address.socket is not None:
            raise _cannot_lead(name, "it leads over TCP, and the server was named by its Unix socket")
        if access.tls.verify != "none" and name in ENDS_TLS:
            raise _cannot_lead(
                name,
                f"it ends the client's TLS with a certificate of tlstax's own, and {access.tls.mode_by} "
                "verifies the server's",
            )
        if access.tls.verify == "identity" and name not in ENDS_TLS | BEGINS_TLS:
            raise _cannot_lead(
                name,
                f"{access.tls.mode_by} verifies the name in the certificate, and clients connect to the "
                "path, at 127.0.0.1",
                "use --ssl-mode=VERIFY_CA",
            )


def _cannot_lead(name: str, why: str, remedy: str = "leave the path out") -> UserMistake:
    return UserMistake(f"the path {name} cannot lead to this server: {why}", remedy=remedy)


def check_reach(study: Study, access: ExternalAccess, here: Near | None) -> None:
    """UserMistake for a path with an end beside the server, where that is not this machine."""
    if here is not None and here.pid is not None:
        return
    for name in paths(study):
        if name not in LEADS_ANYWHERE:
            raise _cannot_lead(
                name,
                f"one of its programs must run beside the server, and {access.address} is not seen to be a "
                "server of this machine",
                "open that way yourself, and measure your end of it with --address "
                f"{name.partition('-')[0]}=127.0.0.1:PORT",
            )


@contextmanager
def open_paths(
    study: Study, access: ExternalAccess, bench: Bench
) -> Iterator[tuple[Paths, Mapping[str, Way]]]:
    """Start the study's paths, and see by logins through each that the same server is behind it.

    The paths, and what was seen of each, by its name. UserMistake or MachineFault where one does not come up.
    """
    names = paths(study)
    if not names:
        yield {}, {}
        return
    conditions.check_connect_errors(bench.admin, access, BROKEN_OFF, "starting a path")
    with ExitStack() as stack:
        session = stack.enter_context(open_session())
        ends = _ends(access, bench, session)
        running: dict[tuple[str, bool], RunningPath] = {}
        seen: dict[str, Way] = {}
        for name in names:
            with leaving_out(study, {"path": name}):
                path = stack.enter_context(open_path(name, ends))
                entry = path.entry
                assert isinstance(entry, TcpEndpoint)  # noqa: S101 (all of them have a port)
                at = {name: ExternalAddress(host=entry.host, port=entry.port)}
                # One that begins TLS itself is for clients that have none.
                tls = ExternalTls() if name in BEGINS_TLS - ENDS_TLS else None
                seen |= ways.look(access, bench.terms.account.database, at, option="--path", tls=tls)
            running[name, False] = path
        # A login that succeeds has the server forget what was broken off.
        bench.server.is_alive()
        yield running, seen


def _ends(access: ExternalAccess, bench: Bench, session: Session) -> Ends:
    issued = issue(session.new_directory())
    ca_file = access.tls.ca_file
    certificates = issued if ca_file is None else replace(issued, ca_file=Path(ca_file))
    return Ends(
        session=session,
        server_port=access.address.port,
        server_host=access.address.host,
        certificates=certificates,
        verify=access.tls.verify,
        near_cpus=bench.machine.client_cpus,
        spoken=access.product,
    )
