"""The benches on external servers: in what a study gives way there, and what each server is promised."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tlstax.clients.engine import built_beside, engine_command
from tlstax.clients.fleet import Fleet
from tlstax.external import ways
from tlstax.external.access import GuestAccess
from tlstax.external.address import GuestAddress
from tlstax.external.conditions import NothingMayBeMade
from tlstax.external.near import Near
from tlstax.external.server import GuestServer
from tlstax.external.tls import DEMANDING
from tlstax.external.ways import Way
from tlstax.mysql import answering, server_facts
from tlstax.observers.far_process import ConnectionEnds, FarProcess
from tlstax.observers.machine import available_cpus, describe_machine
from tlstax.observers.tree import WORDS, TreeClock
from tlstax.plan import at_work
from tlstax.plan.addresses import is_loopback
from tlstax.plan.admission import Admission, Leeway, admit, beside_others
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.plan.elsewhere import Room
from tlstax.records.external import AtWork, ExternalServer
from tlstax.records.trial import Machine
from tlstax.run import external_paths
from tlstax.run.at_work import found_there
from tlstax.run.bench import Bench, Needs, furnished, guest_terms
from tlstax.run.benches import (
    Benches,
    Say,
    Specimens,
    open_benches,
    option_of,
    paths_of_libraries,
    with_counters,
)
from tlstax.run.cpus import machine_of
from tlstax.run.external_paths import check_paths
from tlstax.run.pilot import piloted
from tlstax.study import Study
from tlstax.study.changes import (
    without_plaintext,
    without_plaintext_by,
    without_tables,
    without_tls_by,
)
from tlstax.study.client_kinds.known import kind_of
from tlstax.study.client_kinds.sysbench import NAME as SYSBENCH
from tlstax.study.factors import (
    CaseLevels,
    ServerChoice,
    factors_of,
)
from tlstax.study.job_parts import JobTerms
from tlstax.study.level_names import ENGINE, UNSET
from tlstax.study.needs import data_needs, has_plaintext, server_choices
from tlstax.study.questions import asking_what_is_there
from tlstax.support.errors import UserMistake

ALONE = (None,)
"""The external server of a study that has no other and names none."""

_ITS_OWN = (*factors_of("server", "state", "distance", "observation"), "auth")
"""Factors that an external server has one level of, which is what stands for leaving it as it is."""


@dataclass(frozen=True)
class ExternalRequest:
    """Which external servers a run measures, and on what terms.

    `servers` has how to get into each by its level of the factor `server`, None for one that is alone and
    that no case names. `leeway` is how far the study may give way to them. `addresses` are others by which
    one that is alone is reached.
    """

    servers: Mapping[str | None, GuestAccess]
    leeway: Leeway = field(default_factory=Leeway)
    addresses: Mapping[str, GuestAddress] = field(default_factory=dict)

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
        for name in _ITS_OWN:
            if name in case and name != "server" and getattr(case, name) != getattr(plain, name):
                raise UserMistake(
                    f"an external server keeps what it has: {name} cannot be chosen there",
                    remedy="leave it out, or name specimens alone",
                )
        if not kind_of(case.client).asks:
            raise UserMistake(
                f"{case.client} does not tell what its connections have negotiated, and an external server "
                "is not made to log it",
                remedy=f"choose another client ({option_of(study, 'client')}{ENGINE}), "
                "or name specimens alone",
            )


def check_clients(study: Study, level: str | None, guest: GuestAccess, *, allow_plaintext: bool) -> None:
    """UserMistake where a client of other makers is not to log in at this server, or cannot without a file.

    In the clear they encrypt a password, where one is asked for, with a key that they take from whoever
    answers; none of them can be told not to. On this machine nobody is between.
    """
    others = [case for case in study.included() if case.client != ENGINE and case.server == level]
    in_the_clear = next((case for case in others if case.tls in {"off", UNSET}), None)
    address = guest.address
    is_here = address.socket is not None or is_loopback(address.host)
    if in_the_clear is not None and not is_here and not allow_plaintext:
        raise UserMistake(
            f"without TLS {in_the_clear.client} gives the password to whoever answers in the place of "
            f"{address}, encrypted with a key of theirs, if they ask for it",
            remedy="permit it with --allow-plaintext where nobody is between, or measure TLS alone with "
            "--ssl-mode=REQUIRED",
        )
    if guest.tls.ca_file is None and any(case.client == SYSBENCH and case.is_encrypted for case in others):
        raise UserMistake(
            f"{SYSBENCH} begins no TLS without the file of an authority",
            remedy="name the server's with --ssl-ca (with --allow-plaintext, since that demands TLS)",
        )


@dataclass(frozen=True)
class _LetIn:
    """An external server that lets the run work there, and what jobs on it have in common."""

    level: str | None
    access: GuestAccess
    server: GuestServer
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

    def record(self, admission: Admission, round_trip_s: float, seen: AtWork | None) -> ExternalServer:
        """What the run's header has of a server that answers within this; `seen` is what others do there."""
        level = admission.server
        left_out = self.no_plaintext.get(level, ""), self.no_tables.get(level, "")
        return admission.record(round_trip_s, *left_out).model_copy(update={"at_work": seen})


@contextmanager
def open_guest(  # noqa: PLR0913, PLR0917 (what is measured, on what, and who hears of it)
    study: Study,
    asked: ExternalRequest,
    specimens: Specimens,
    needs: Needs,
    say: Say,
    warn: Say | None = None,
    cpus: AskedCpus = AskedCpus(),  # noqa: B008 (frozen)
    fleet: Fleet | None = None,
) -> Iterator[Benches]:
    """The benches on external servers, and on private ones where the study has those beside them.

    The study is one that `check_external` lets pass, and `specimens` what it names otherwise. Every external
    server is asked all that may stand in the way before a private one is started, and before a load table is
    made. UserMistake where the study has no room at one of them. `warn` gets what has to be left there, in
    place of `say`. `cpus` are those that the user asked for. With a `fleet` the load comes from there.
    """
    ours = asked.ours(study)
    described, events = with_counters(describe_machine())
    with ExitStack() as stack:
        arrival = _Arrival(asked, say, warn or say, is_here=fleet is None)
        party = arrival.let_in(stack, study, needs)
        if ours:
            machine = machine_of(cpus)
            if not cpus.is_any:
                machine = piloted(
                    party.study, specimens, party.needs, machine, say, external=frozenset(asked.servers)
                )
            opened = open_benches(
                party.study, specimens, party.needs, say, machine=machine, only=ours, fleet=fleet
            )
            benches = stack.enter_context(opened)
        else:
            here = [own.near for own in party.members if own.near is not None]
            machine = _of_client_alone(described, cpus, here)
            benches = Benches(machine, specimens.described(), fleet=fleet)
        seen: dict[str | None, AtWork] = {}
        for own, admission in zip(party.members, party.admitted, strict=True):
            bench = _furnished(stack, own, party, specimens, benches.machine, say)
            bench.counted_events, bench.fleet = events, fleet
            if asked.leeway.looks:
                seen[own.level] = _looked(party.study, own, bench, asked.leeway, say)
            along = stack.enter_context(external_paths.open_paths(party.study, own.access, bench))
            round_trip_s = server_facts.round_trip_s(bench.admin)
            found_ways = {**party.ways, **along}.values()
            farthest_s = max([round_trip_s, *(way.round_trip_s for way in found_ways)])
            benches.external = (*benches.external, party.record(admission, farthest_s, seen.get(own.level)))
            benches.specimens = (own.server.specimen, *benches.specimens)
            benches.add(ServerChoice(own.level), bench)
            stack.enter_context(_watched_there(own.access, bench, say))
        benches.admitted = beside_others(party.study, seen.values())
        yield benches


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
    access: GuestAccess, needs: Needs, say: Say, warn: Say, at_most: int | None
) -> Iterator[QuietBench]:
    """The bench on an external server for what is no study: statements that read nothing, and no table.

    `at_most` is how many connections the user allows it at once. UserMistake or MachineFault where nobody is
    let in, or the server's process cannot be read at the host that was named.
    """
    engine_command()
    machine = describe_machine()
    with ExitStack() as stack:
        server, terms = stack.enter_context(guest_terms(access, needs, warn))
        refusal = server.no_plaintext()
        demanded = f"{access.tls.mode_by} demands TLS" if access.tls.mode in DEMANDING else ""
        room = server.room(at_most)
        here = server.near() if access.host is None else None
        cpus = () if here is None else _beside([here], machine.client_cpus)
        machine = machine.model_copy(update={"server_cpus": (), "client_cpus": cpus})
        terms = terms.model_copy(update={"client_cpus": cpus})
        bench = stack.enter_context(furnished(server, terms, needs, machine, say))
        bench.near = here.pid if here is not None else None
        stack.enter_context(_watched_there(access, bench, say))
        yield QuietBench(bench, room, demanded if refusal is None else refusal.message, here)


def _looked(study: Study, own: _LetIn, bench: Bench, leeway: Leeway, say: Say) -> AtWork:
    """Whether others are at work at this server, and how much load it bears beside them."""
    # One connection cannot come from several machines.
    raises = leeway.raises_load and bench.fleet is None
    seen = found_there(study, own.level, bench, raises=raises)
    say(at_work.words(seen) or f"nobody else is at work at {own.access.address}")
    return seen


@dataclass(frozen=True)
class _Arrival:
    """How a run gets into its external servers; `is_here` is whether the load comes from this machine."""

    asked: ExternalRequest
    say: Say
    warn: Say
    is_here: bool

    def let_in(self, stack: ExitStack, study: Study, needs: Needs) -> _Party:
        """The servers until the stack is left, and the study as it can be at all of them.

        UserMistake where the study may not give way so far, or one server is named twice.
        """
        asked, leeway = self.asked, self.asked.leeway
        for access in asked.servers.values():
            external_paths.check_ends(study, access)
        if len(asked.servers) > 1:
            ways.check_are_several(tuple(asked.servers.values()))
        members, study, needs, no_tables = self._entered(stack, study, needs)
        study, no_plaintext = self._over_tls_alone(study, members)
        found: dict[str, Way] = {}
        for own in members if asked.addresses else ():
            schema = own.server.load_account.database
            found = ways.look(own.access, schema, asked.addresses, in_the_clear=has_plaintext(study))
        study = without_tls_by(study, [name for name, way in found.items() if not way.offers_tls])
        demanding = [name for name, way in found.items() if way.takes_plaintext is False]
        study = without_plaintext_by(study, demanding)
        rooms = {own.level: own.server.room(leeway.at_most) for own in members}
        study, admitted = admit(study, rooms, fewer=leeway.fewer_connections)
        for own, admission in zip(members, admitted, strict=True):
            self.say(f"{own.access.address} gets {admission.words()}")
            if own.near is not None:
                self.say(own.near.words)
            external_paths.check_reach(study, own.access, own.near)
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
                        server, terms = attempt.enter_context(guest_terms(access, needs, self.warn))
                        near = server.near() if self.is_here and access.host is None else None
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


def _furnished(  # noqa: PLR0913, PLR0917 (what a bench is made of)
    stack: ExitStack, own: _LetIn, party: _Party, specimens: Specimens, machine: Machine, say: Say
) -> Bench:
    """The bench on one of the servers, until the stack is left."""
    terms = own.terms.model_copy(
        update={
            "client_libraries": paths_of_libraries(specimens.tls_libraries),
            "client_cpus": machine.client_cpus,
            "addresses": {name: way.endpoint for name, way in party.ways.items()},
        }
    )
    machine = machine.model_copy(update={"server_cpus": ()})
    bench = stack.enter_context(furnished(own.server, terms, party.needs, machine, say))
    bench.client_claims = {name: library.claim() for name, library in specimens.tls_libraries.items()}
    bench.clients = specimens.clients
    bench.near = own.near.pid if own.near is not None else None
    if own.near is not None and own.near.tree is not None:
        bench.tree = stack.enter_context(TreeClock(own.near.tree))
        bench.tree.around()
        say(f"it starts others: the CPU time of all is read {bench.tree.words}")
    return bench


@contextmanager
def _watched_there(guest: GuestAccess, bench: Bench, say: Say) -> Iterator[None]:
    """While the server's process is read where it runs, if asked for. MachineFault where it cannot be."""
    ends = answering.ends_of(bench.admin) if guest.host is not None else None
    if guest.host is None or ends is None:
        yield
        return
    say(f"looking for the server's process at {guest.host}")
    program = built_beside("tlstax-watch")
    with FarProcess(guest.host, program, ConnectionEnds(str(ends[0]), guest.address.port)) as process:
        say(f"the server is process {process.pid} ({process.name}) there")
        if process.cpu_source is not None:
            say(f"it starts others: the CPU time of all is read {WORDS[process.cpu_source]}")
        bench.far = process
        yield
