"""The bench on an external server: in what a study gives way there, and what the server is promised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import NamedTuple

from tlstax.clients.engine import built_beside, engine_command
from tlstax.clients.fleet import Fleet
from tlstax.guests import ways
from tlstax.guests.access import GuestAccess
from tlstax.guests.address import GuestAddress
from tlstax.guests.conditions import NothingMayBeMade
from tlstax.guests.near import Near
from tlstax.guests.server import GuestServer
from tlstax.guests.tls import DEMANDING
from tlstax.guests.ways import Way
from tlstax.mysql import answering, server_facts
from tlstax.observers.far_process import ConnectionEnds, FarProcess
from tlstax.observers.machine import available_cpus, check_usable, describe_machine
from tlstax.plan.addresses import is_loopback
from tlstax.plan.admission import Leeway, admit
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.plan.elsewhere import Room
from tlstax.plan.jobs import JobTerms
from tlstax.run import external_paths
from tlstax.run.bench import Bench, Needs, furnished, guest_terms
from tlstax.run.benches import Benches, Say, client_program, option_of, paths_of_libraries, with_counters
from tlstax.run.external_paths import check_paths
from tlstax.specimens.resolve import named_tls_library
from tlstax.study import Level, Study
from tlstax.study.case_levels import DISTANCE_FACTORS, SERVER_FACTORS, STATE_FACTORS, ServerChoice
from tlstax.study.changes import (
    without_plaintext,
    without_plaintext_by,
    without_tables,
    without_tls_by,
)
from tlstax.study.client_kinds.known import kind_of
from tlstax.study.client_kinds.sysbench import NAME as SYSBENCH
from tlstax.study.level_names import DEFAULT_AUTH, ENGINE, UNSET
from tlstax.study.needs import clients, has_plaintext, tls_libraries
from tlstax.study.questions import asking_what_is_there
from tlstax.study.workload_level import data_needs
from tlstax.support.errors import UserMistake


def check_external(study: Study) -> None:
    """UserMistake where the study needs a private server."""
    own: dict[str, set[Level]] = {
        "tls_switch": {"client"},
        "rtt_ms": {0},
        "auth": {DEFAULT_AUTH},
    }
    check_paths(study)
    for factor in (*SERVER_FACTORS, *STATE_FACTORS, *DISTANCE_FACTORS, "observers", "auth"):
        if set(study.levels_of().get(factor, ())) - own.get(factor, set()):
            raise UserMistake(
                f"an external server keeps what it has: {factor} cannot be chosen there",
                remedy="leave --server out, or name a specimen",
            )
    for name in clients(study):
        if not kind_of(name).asks:
            raise UserMistake(
                f"{name} does not tell what its connections have negotiated, and an external server is not "
                "made to log it",
                remedy=f"choose another client ({option_of(study, 'client')}{ENGINE}), or name a specimen",
            )


def check_clients(study: Study, guest: GuestAccess, *, allow_plaintext: bool) -> None:
    """UserMistake where a load client of other makers is not to log in there, or cannot without a file.

    In the clear they encrypt a password, where one is asked for, with a key that they take from whoever
    answers; none of them can be told not to. On this machine nobody is between.
    """
    others = [case for case in study.typed() if case.client != ENGINE]
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


@contextmanager
def open_guest(  # noqa: PLR0913 (each is a choice of its own, the last three with a default)
    study: Study,
    guest: GuestAccess,
    needs: Needs,
    say: Say,
    warn: Say | None = None,
    *,
    client_cpus: tuple[int, ...] = (),
    fleet: Fleet | None = None,
    leeway: Leeway = Leeway(),  # noqa: B008 (frozen)
    addresses: Mapping[str, GuestAddress] | None = None,
) -> Iterator[Benches]:
    """The bench on an external server. UserMistake where the study needs a private one, or has no room there.

    `warn` gets what has to be left there, in place of `say`. The client is pinned to `client_cpus`, if any:
    UserMistake where those cannot be had. With a `fleet` the load comes from there. `addresses` are others by
    which the server is reached.
    """
    check_external(study)
    external_paths.check_ends(study, guest)
    check_usable(AskedCpus(client=client_cpus))
    engine_command()
    libraries = {name: named_tls_library(name, say) for name in tls_libraries(study)}
    programs = {name: client_program(study, name, say) for name in clients(study)}
    between = external_paths.obtained(study, say)
    described, events = with_counters(describe_machine())
    machine = described.model_copy(
        update={"server_cpus": (), "client_cpus": client_cpus, "cpus_asked_for": bool(client_cpus)}
    )
    with ExitStack() as stack:
        found = _let_in(stack, study, guest, needs, leeway, say, warn or say)
        server, own_terms, study, needs = found.server, found.terms, found.study, found.needs
        study, no_plaintext = _as_let_in(study, server, leeway, say)
        study, found_ways = _as_reached(study, guest, server, addresses or {})
        admission = admit(
            study, server.room(leeway.at_most), str(guest.address), fewer=leeway.fewer_connections
        )
        say(f"{guest.address} gets {admission.words()}")
        here = server.near() if guest.host is None and fleet is None else None
        if here is not None:
            say(here.words)
            client_cpus = client_cpus or _beside(here, described.client_cpus)
            machine = machine.model_copy(update={"client_cpus": client_cpus})
        external_paths.check_reach(study, guest, here)
        terms = own_terms.model_copy(
            update={
                "client_libraries": paths_of_libraries(libraries),
                "client_cpus": client_cpus,
                "addresses": {name: way.endpoint for name, way in found_ways.items()},
            }
        )
        bench = stack.enter_context(furnished(server, terms, needs, machine, say))
        bench.client_claims = {name: library.claim() for name, library in libraries.items()}
        bench.counted_events, bench.clients = events, programs
        bench.fleet, bench.near = fleet, here.pid if here is not None else None
        used = [server.specimen, *(library.specimen for library in libraries.values())]
        used += [*between, *(program.specimen for program in programs.values())]
        along = stack.enter_context(external_paths.open_paths(study, guest, bench))
        round_trip_s = server_facts.round_trip_s(bench.admin)
        farthest_s = max([round_trip_s, *(way.round_trip_s for way in {**found_ways, **along}.values())])
        benches = Benches(
            machine,
            tuple(used),
            guest=True,
            fleet=fleet,
            admission=admission,
            external=admission.record(farthest_s, no_plaintext, found.no_tables),
        )
        benches.add(ServerChoice(), bench)
        stack.enter_context(_watched_there(guest, bench, say))
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
        cpus = () if here is None else _beside(here, machine.client_cpus)
        machine = machine.model_copy(update={"server_cpus": (), "client_cpus": cpus})
        terms = terms.model_copy(update={"client_cpus": cpus})
        bench = stack.enter_context(furnished(server, terms, needs, machine, say))
        bench.near = here.pid if here is not None else None
        stack.enter_context(_watched_there(access, bench, say))
        yield QuietBench(bench, room, demanded if refusal is None else refusal.message, here)


class _LetIn(NamedTuple):
    """An external server, what jobs on it have in common, and the study and its needs as they can be."""

    server: GuestServer
    terms: JobTerms
    study: Study
    needs: Needs
    no_tables: str = ""


def _let_in(  # noqa: PLR0913, PLR0917 (what is asked of the server, and who hears of it)
    stack: ExitStack, study: Study, guest: GuestAccess, needs: Needs, leeway: Leeway, say: Say, warn: Say
) -> _LetIn:
    """The server until the stack is left; where nothing may be made there, with a study that makes nothing.

    UserMistake where the study may not give way so far.
    """
    try:
        return _LetIn(*stack.enter_context(guest_terms(guest, needs, warn)), study, needs)
    except NothingMayBeMade as refusal:
        changed = without_tables(study) if leeway.no_tables else None
        if changed is None:
            raise
        say(f"{refusal.message}: statements that read nothing take the place of point selects")
        changed = asking_what_is_there(changed, study)
        needs = replace(needs, data=data_needs(changed))
        opened = stack.enter_context(guest_terms(guest, needs, warn))
        return _LetIn(*opened, changed, needs, refusal.message)


def _beside(here: Near, usual: tuple[int, ...]) -> tuple[int, ...]:
    """The CPUs that a server of this machine leaves to the load client.

    Where it may use all of them, those that a client has beside a server of ours (`usual`): one that stays on
    its own disturbs the server less than one that goes from CPU to CPU.
    """
    left = available_cpus() - here.cpus if here.cpus else set[int]()
    return tuple(sorted(left)) or (usual if here.pid is not None else ())


def _as_let_in(study: Study, server: GuestServer, leeway: Leeway, say: Say) -> tuple[Study, str]:
    """The study without cases in the clear where those are ruled out, and by whom (empty: by nobody)."""
    refusal = server.no_plaintext() if has_plaintext(study) else None
    if refusal is None:
        return study, leeway.tls_demanded_by
    changed = _over_tls_alone(study, refusal, leeway)
    say(f"{refusal.message}: plaintext is left out")
    return changed, refusal.message


def _as_reached(
    study: Study, guest: GuestAccess, server: GuestServer, addresses: Mapping[str, GuestAddress]
) -> tuple[Study, dict[str, Way]]:
    """The study without the cases that cannot be by these addresses, and what was seen of each."""
    schema = server.load_account.database
    found = ways.look(guest, schema, addresses, in_the_clear=has_plaintext(study))
    study = without_tls_by(study, [name for name, way in found.items() if not way.offers_tls])
    demanding = [name for name, way in found.items() if way.takes_plaintext is False]
    return without_plaintext_by(study, demanding), found


def _over_tls_alone(study: Study, refusal: UserMistake, leeway: Leeway) -> Study:
    """The study without its cases in the clear, if it may give way so far; else UserMistake."""
    changed = without_plaintext(study) if leeway.no_plaintext else None
    if changed is None:
        raise UserMistake(
            f"{refusal.message}, and plaintext is what TLS is compared with", remedy=refusal.remedy
        )
    return asking_what_is_there(changed, study)


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
        bench.far = process
        yield
