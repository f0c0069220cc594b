"""Which CPUs server and client are given: by default, as asked for, as a pilot balances them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from tlstax.contract import Frozen
from tlstax.plan.order import cases
from tlstax.records.beforehand import Pilot
from tlstax.records.trial import Machine
from tlstax.study import Case, Study
from tlstax.study.client_kinds import kind_of
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DIRECT, NO_BURN, NO_FAULT, POINT_SELECT, STORM
from tlstax.support.errors import UserMistake
from tlstax.support.text import as_ranges, counted

Core = tuple[int, ...]
"""The CPUs that are threads of one physical core, as far as they may be used."""

FULLEST = 0.7
"""How busy the client's CPUs may be when all of the server's are: work arrives in bursts, which wait where no
CPU is free, and a pilot of some tenths of a second is not exact."""

ROUNDING = 1e-9
"""Ratios of floating-point numbers are equal within this."""


class Split(NamedTuple):
    """The CPUs that the server and the client are pinned to; an empty side is not pinned."""

    server_cpus: tuple[int, ...]
    client_cpus: tuple[int, ...]

    def words(self) -> str:
        """Who is where, in a clause; empty where nobody is pinned."""
        server, client = (as_ranges(cpus) for cpus in self)
        if server and server == client:
            return f"server and client share CPU {server}"
        placed = (("server", server), ("client", client))
        return ", ".join(f"{side} on CPU {cpus}" for side, cpus in placed if cpus)


def of_server(split: Split, count: int | None) -> tuple[int, ...]:
    """The first N of the server's CPUs, and after those the client's, which it then shares; None: its own.

    UserMistake where there are not as many.
    """
    if count is None:
        return split.server_cpus
    both = tuple(dict.fromkeys((*split.server_cpus, *reversed(split.client_cpus))))
    if count > len(both):
        raise UserMistake(
            f"the server cannot have {counted(count, 'processor')}: this machine lets us use {len(both)}",
            remedy=f"choose others with --set server_cpus=, up to {len(both)}",
        )
    return both[:count]


class AskedCpus(Frozen):
    """The CPUs that the user asked for, in ascending order; None where nobody said."""

    server: tuple[int, ...] | None = None
    client: tuple[int, ...] | None = None

    @property
    def is_any(self) -> bool:
        """Whether any were asked for."""
        return self.server is not None or self.client is not None


def by_default(cores: Sequence[Core]) -> Split:
    """A quarter of the CPUs, at least one, to the client, the others to the server.

    The two sides do not share a physical core where there are two of them, so the client's part may be
    larger than a quarter on a small machine. With one CPU, nothing is pinned.
    """
    if sum(map(len, cores)) < 2:
        return Split((), ())
    if len(cores) == 1:
        # The siblings of one core: kept apart all the same, which at least keeps the scheduler out of it.
        cores = [(cpu,) for cpu in cores[0]]
    wanted = max(1, sum(map(len, cores)) // 4)
    return _dealt(cores, lambda split: len(split.client_cpus) >= wanted)


def as_asked(asked: AskedCpus, cores: Sequence[Core]) -> Split:
    """The CPUs that were asked for, all of which are among the cores; what one side leaves is the other's.

    What is left excludes siblings of the CPUs asked for, unless nothing else is left. UserMistake where both
    sides are to have the same CPU, and where one leaves none to the other.
    """
    if not asked.is_any:
        return by_default(cores)
    both = sorted(set(asked.server or ()) & set(asked.client or ()))
    if both:
        raise UserMistake(
            f"--server-cpus and --client-cpus both name CPU {as_ranges(both)}",
            remedy="give each side CPUs of its own",
        )
    server, client = asked.server, asked.client
    return Split(
        _left_by(client or (), cores, "--client-cpus", "server") if server is None else server,
        _left_by(server or (), cores, "--server-cpus", "client") if client is None else client,
    )


def balanced(client_busy_cpus: float, server_busy_cpus: float, cores: Sequence[Core]) -> Split:
    """The fewest cores to the client with which it is busy at most `FULLEST` when the server is all the time.

    The busy CPUs are CPU seconds a second of the same work on either side; that their ratio stays what it is
    when the shares change is assumed. Whole cores are dealt out, and the server keeps one at least, so of a
    client that needs more than all others it remains the limit (see `client_share`). ValueError where a side
    was not busy at all or there are fewer than two cores.
    """
    if not (client_busy_cpus > 0 and server_busy_cpus > 0 and len(cores) > 1):
        raise ValueError("there is nothing to balance")
    fullest = FULLEST + ROUNDING
    return _dealt(cores, lambda split: client_share(client_busy_cpus, server_busy_cpus, split) <= fullest)


def client_share(client_busy_cpus: float, server_busy_cpus: float, split: Split) -> float:
    """How busy the client's CPUs are when all of the server's are, by what both used for the same work.

    Above 1 the client cannot keep up. Both sides of `split` have CPUs.
    """
    return client_busy_cpus / server_busy_cpus * len(split.server_cpus) / len(split.client_cpus)


def share_cores(split: Split, cores: Sequence[Core]) -> bool:
    """Whether CPUs of both sides are threads of one physical core."""
    return any(set(core) & set(split.server_cpus) and set(core) & set(split.client_cpus) for core in cores)


def _dealt(cores: Sequence[Core], enough: Callable[[Split], bool]) -> Split:
    """Core after core, of two at least, to the client until it has enough or the server but one left."""
    left, client, splits = list(cores), list[int](), list[Split]()
    # From the end: the first CPU usually serves the machine's interrupts, and the server has more CPUs.
    while len(left) > 1:
        smallest = min(reversed(left), key=len)
        left.remove(smallest)
        client += smallest
        splits.append(Split(_cpus(left), tuple(sorted(client))))
    return next((split for split in splits if enough(split)), splits[-1])


def _left_by(taken: Collection[int], cores: Sequence[Core], option: str, side: str) -> tuple[int, ...]:
    """What is left for a side; UserMistake where nothing is."""
    untouched = [core for core in cores if not set(core) & set(taken)]
    left = _cpus(untouched) or tuple(cpu for cpu in _cpus(cores) if cpu not in taken)
    if not left:
        raise UserMistake(
            f"{option}: CPU {as_ranges(taken)} leaves none for the {side}", remedy="leave it at least one"
        )
    return left


def _cpus(cores: Sequence[Core]) -> tuple[int, ...]:
    return tuple(sorted(cpu for core in cores for cpu in core))


FEWEST_CORES = 4
"""With fewer physical cores there is nothing to choose: of three, the default gives the client one."""

MOST_CASES = 8
"""What differs in what its client costs is, in most studies, fewer; a pilot is to take seconds."""

PILOT_S = 0.3
"""How long each case is measured, at the least: thousands of operations."""

DEAREST = (POINT_SELECT, "reconnect")
"""The workloads that cost the client most beside what they cost the server, which has little to do for a
point select, and does about as much of a handshake as the client."""


def pilot_cases(study: Study, external: Collection[str | None] = ()) -> tuple[Case, ...]:
    """The cases of a pilot, all on one server that is not `external`; empty where no case is suited.

    They have the most connections, one of each client, workload and kind of TLS. The CPUs of a driver say
    nothing, as it works in one thread, nor do those of a client that waits for a distance or works in bursts.
    """
    ours = (case for case in cases(study) if case.levels.server not in external)
    suited = [case for case in ours if _is_suited(case, study)]
    if not suited:
        return ()
    most = max(case.levels.connections for case in suited)
    busiest = [case for case in suited if case.levels.connections == most]
    on_one = [case for case in busiest if case.levels.server_choice == busiest[0].levels.server_choice]
    kinds: dict[tuple[str, ...], Case] = {}
    for case in sorted(on_one, key=lambda case: case.levels.workload not in DEAREST):
        # A control comes after its baseline, which is of the same kind.
        kinds.setdefault(_kind(case.levels), case)
    return tuple(kinds.values())[:MOST_CASES]


def shared_by(pilot: Pilot, machine: Machine, cores: Sequence[Core]) -> Machine:
    """The machine with the CPUs shared out by what a pilot saw, and a note where that cannot be enough."""
    decisive = pilot.decisive
    if decisive is None:
        note = (
            "the pilot that was to balance the CPUs could not measure anything: they are shared out as usual"
        )
        return machine.model_copy(update={"pilot": pilot, "notes": (*machine.notes, note)})
    used = decisive.client_busy_cpus, decisive.server_busy_cpus
    split = balanced(*used, cores)
    enough = client_share(*used, split) <= 1
    note = "the client needs more CPUs than there are beside the server's one core: it may limit the rate"
    notes = machine.notes if enough else (*machine.notes, note)
    return machine.model_copy(update={**split._asdict(), "pilot": pilot, "notes": notes})


def _is_suited(case: Case, study: Study) -> bool:
    typed = case.levels
    return (
        not kind_of(typed.client).is_driver
        and typed.workload != STORM
        and typed.queries is None
        and typed.path == DIRECT
        and not typed.distance.is_any
        and typed.fault == NO_FAULT
        and typed.burn == NO_BURN
        and not study.workload_of(typed).changes_data
    )


def _kind(typed: CaseLevels) -> tuple[str, ...]:
    """What the client's work depends on, as far as a pilot goes into it."""
    return typed.client, typed.workload, typed.tls, typed.resumption
