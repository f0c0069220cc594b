"""The pilot: which cases tell how many CPUs the client needs, and how these are shared out then. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tlstax.plan.cpu_shares import Core, balanced, client_share
from tlstax.plan.order import cases
from tlstax.records.beforehand import Pilot
from tlstax.records.trial import Machine
from tlstax.study import Case, Study
from tlstax.study.client_kinds import kind_of
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DIRECT, NO_BURN, NO_FAULT, POINT_SELECT, STORM

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
