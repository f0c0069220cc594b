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
from tlstax.mysql import answering, server_facts
from tlstax.observers.far_process import ConnectionEnds, FarProcess
from tlstax.observers.machine import available_cpus, check_usable, describe_machine
from tlstax.plan import at_work
from tlstax.plan.admission import Admission, Leeway, admit, beside_others
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.plan.jobs import JobTerms
from tlstax.run.at_work import found_there
from tlstax.run.bench import Bench, Needs, furnished, guest_terms
from tlstax.run.benches import Benches, Say, client_program, option_of, paths_of_libraries, with_counters
from tlstax.specimens.resolve import named_tls_library
from tlstax.study import Level, Study
from tlstax.study.case_levels import SERVER_FACTORS, STATE_FACTORS, WAY_FACTORS, ServerChoice
from tlstax.study.changes import without_plaintext, without_tables, without_tls_by
from tlstax.study.client_kinds.known import kind_of
from tlstax.study.level_names import DEFAULT_AUTH, DIRECT, ENGINE
from tlstax.study.needs import clients, has_plaintext, tls_libraries
from tlstax.study.questions import asking_what_is_there
from tlstax.study.workload_level import data_needs
from tlstax.support.errors import UserMistake


def check_external(study: Study) -> None:
    """UserMistake where the study needs a private server."""
    own: dict[str, set[Level]] = {
        "tls_switch": {"client"},
        "path": {DIRECT},
        "rtt_ms": {0},
        "auth": {DEFAULT_AUTH},
    }
    for factor in (*SERVER_FACTORS, *STATE_FACTORS, *WAY_FACTORS, "observers", "auth"):
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
    UserMistake where those cannot be had. With a `fleet` the load comes from there. `addresses` lead there.
    """
    check_external(study)
    check_usable(AskedCpus(client=client_cpus))
    engine_command()
    libraries = {name: named_tls_library(name, say) for name in tls_libraries(study)}
    programs = {name: client_program(study, name, say) for name in clients(study)}
    described, events = with_counters(describe_machine())
    machine = described.model_copy(
        update={"server_cpus": (), "client_cpus": client_cpus, "cpus_asked_for": bool(client_cpus)}
    )
    with ExitStack() as stack:
        found = _let_in(stack, study, guest, needs, leeway, say, warn or say)
        server, own_terms, study, needs = found.server, found.terms, found.study, found.needs
        refusal = server.no_plaintext() if has_plaintext(study) else None
        if refusal is not None:
            study = _over_tls_alone(study, refusal, leeway)
            say(f"{refusal.message}: plaintext is left out")
        found_ways = ways.look(guest, server.load_account.database, addresses or {})
        study = without_tls_by(study, [name for name, way in found_ways.items() if not way.offers_tls])
        admission = admit(
            study, server.room(leeway.at_most), str(guest.address), fewer=leeway.fewer_connections
        )
        say(f"{guest.address} gets {admission.words()}")
        here = server.near() if guest.host is None and fleet is None else None
        if here is not None:
            say(here.words)
            client_cpus = client_cpus or _beside(here, described.client_cpus)
            machine = machine.model_copy(update={"client_cpus": client_cpus})
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
        admission = _beside_others(admission, bench, leeway, say)
        used = [server.specimen, *(library.specimen for library in libraries.values())]
        used += [program.specimen for program in programs.values()]
        round_trip_s = server_facts.round_trip_s(bench.admin)
        farthest_s = max([round_trip_s, *(way.round_trip_s for way in found_ways.values())])
        no_plaintext = leeway.tls_demanded_by if refusal is None else refusal.message
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


def _beside_others(admission: Admission, bench: Bench, leeway: Leeway, say: Say) -> Admission:
    """What a run takes once it is known whether others are at work; as it was where nobody is to look."""
    if not leeway.looks:
        return admission
    # One connection cannot come from several machines.
    raises = leeway.raises_load and bench.fleet is None
    seen = found_there(admission.study, bench, raises=raises)
    say(at_work.words(seen) or f"nobody else is at work at {bench.server.specimen.name}")
    return beside_others(admission, seen)


def _beside(here: Near, usual: tuple[int, ...]) -> tuple[int, ...]:
    """The CPUs that a server of this machine leaves to the load client.

    Where it may use all of them, those that a client has beside a server of ours (`usual`): one that stays on
    its own disturbs the server less than one that goes from CPU to CPU.
    """
    left = available_cpus() - here.cpus if here.cpus else set[int]()
    return tuple(sorted(left)) or (usual if here.pid is not None else ())


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
    client_end = answering.own_end(bench.admin) if guest.host is not None else None
    if guest.host is None or client_end is None:
        yield
        return
    say(f"looking for the server's process at {guest.host}")
    program = built_beside("tlstax-watch")
    with FarProcess(guest.host, program, ConnectionEnds(client_end, guest.address.port)) as process:
        say(f"the server is process {process.pid} ({process.name}) there")
        bench.far = process
        yield
