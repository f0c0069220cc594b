"""The facts around the figures, in words: who took part, on what machine, how many trials, why it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tlstax.contract import OpenLoop, Schedule
from tlstax.plan.cpu_shares import Split, client_share
from tlstax.records.trial import Machine, StoredRun
from tlstax.results.document import RunDocument
from tlstax.stats.outcomes import is_large
from tlstax.stats.stats import ROUNDING
from tlstax.stats.wording import percent
from tlstax.study import Case, Study
from tlstax.study.labels import full_label, schedule_label
from tlstax.study.workloads.user_defined import UserTransaction, UserWorkload
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, enumerated, some_of, with_commas
from tlstax.topics.core import figures
from tlstax.topics.core.figures import ALIKE, UNKNOWN
from tlstax.topics.core.groups import Group

MOST_SENTENCES = 12
"""The most of a list that are shown of a large study, or where room is short."""


def facts(stored: StoredRun, document: RunDocument) -> dict[str, str]:
    """What ran, where, how often and why it stopped, by name; what is not known is left out."""
    header, study = stored.header, stored.header.study
    clients = (
        (f"{ready.client} {ready.client_version}", ready.tls_library.version if ready.tls_library else "")
        for record in stored.measured
        if (ready := record.ready) is not None
    )
    known = {
        "Server": server_words(stored),
        "Client": "; ".join(_programs(clients)),
        "Load": _load_words(study.schedule),
        **{f"Workload {name}": text for name, text in own_workloads(study).items()},
    }
    for name, machine in header.all_machines.items() if header.machines else (("", header.machine),):
        of = f" {name}" if name else ""
        known |= {
            f"Machine{of}": machine_words(machine),
            f"Pilot{of}": _pilot_words(machine, study),
            f"Limits{of}": "; ".join(machine.notes),
        }
    profiling = document.topics.get("profiling")
    why = f": {document.stopped_because}" if document.stopped_because else ""
    known |= {
        "Trials": trials_words(stored, document),
        "Profiles": "; ".join(profiling.sentences) if profiling is not None else "",
        "Ended": f"{document.status}{why}",
        "Run": f"{header.run}, started {header.started_at}, seed {header.seed}",
        "Tool": f"tlstax {header.tlstax_version}",
    }
    return {name: text for name, text in known.items() if text}


def server_words(stored: StoredRun) -> str:
    """Every server that answered, with the name of its specimen where there was one alone; those outside."""
    servers = (record.server for record in stored.measured if record.server)
    said = ((server.version, " ".join((server.tls_library_version or "").split())) for server in servers)
    versions = "; ".join(sorted(_programs(said)))
    names = [specimen.name for specimen in stored.header.specimens if specimen.kind == "server"]
    name = f"{names[0]}, " if len(names) == 1 and versions else ""
    several = [own.server for own in stored.header.external if own.server is not None]
    outside = f"; external: {enumerated(several)}" if several else ", an external server"
    return f"{name}{versions}{outside if several or stored.header.guest else ''}"


def _programs(named: Iterable[tuple[str, str]]) -> list[str]:
    """Each program with all TLS libraries that were seen with it."""
    programs = []
    for program, several in grouped(named, lambda both: both[0]).items():
        libraries = ", ".join(sorted({library for _, library in several if library}))
        programs.append(f"{program} with {libraries}" if libraries else program)
    return programs


def _load_words(schedule: Schedule) -> str:
    """What sets an open loop apart, so that its latencies are not taken for a closed loop's; else nothing."""
    if not isinstance(schedule, OpenLoop):
        return ""
    spacing = "evenly spaced" if schedule.arrivals == "uniform" else "at random times (Poisson)"
    return (
        f"open loop: {schedule_label(schedule)}, {spacing}; the latency of an operation counts from when it "
        "was due"
    )


def machine_words(machine: Machine) -> str:
    """The machine in one line."""
    pinned = Split(machine.server_cpus, machine.client_cpus).words()
    words = [
        machine.cpu_model,
        counted(machine.cores, "core"),
        figures.quantity(machine.memory_bytes, "B"),
        machine.distribution,
        machine.kernel,
        f"virtualised by {machine.virtualization}" if machine.virtualization else "",
        f"{pinned} (as asked for)" if pinned and machine.cpus_asked_for else pinned,
    ]
    return with_commas(*words)


def _pilot_words(machine: Machine, study: Study) -> str:
    """What a pilot saw of the case that decided, and what followed; empty where there was none."""
    pilot = machine.pilot
    decisive = pilot.decisive if pilot is not None else None
    if pilot is None or decisive is None:
        return ""
    used = decisive.client_busy_cpus, decisive.server_busy_cpus
    case = full_label(Case(levels=decisive.case, role="treatment"), study)
    share = client_share(*used, Split(machine.server_cpus, machine.client_cpus))
    return (
        f"{case} kept {used[0]:.2g} of the client's {counted(len(pilot.client_cpus), 'CPU')} busy and "
        f"{used[1]:.2g} of the server's {len(pilot.server_cpus)}; shared out as they are now, the client's "
        f"are {percent(share)} busy when all of the server's are"
    )


def trials_words(stored: StoredRun, document: RunDocument) -> str:
    """How the trials came out: 78 valid, 2 invalid, 0 unknown, in 8 blocks of trials of 1 s.

    Where cases took turns it is said in slices of what length.
    """
    counts = document.trials
    blocks = len({record.trial.block for record in stored.measured})
    verdicts = f"{counts.valid:,} valid, {counts.invalid:,} invalid, {counts.unknown:,} unknown"
    return f"{verdicts}, in {counted(blocks, 'block')} of trials of {_lengths(stored)}{_slices(stored)}"


def _slices(stored: StoredRun) -> str:
    """How long the slices were in which cases took turns; empty where none did."""
    slices = [record.slices for record in stored.measured if record.slices is not None]
    lengths = {one.length_s for one in slices if not one.rounds_s}
    ends = sorted({min(lengths), max(lengths)}) if lengths else []
    words = [" to ".join(figures.quantity(length_s * 1e6, "us") for length_s in ends)] if ends else []
    words += ["one round of a storm"] if any(one.rounds_s for one in slices) else []
    return f", in slices of {' and '.join(words)}" if words else ""


def _lengths(stored: StoredRun) -> str:
    """How long trials measured: "100 ms to 1 s", "10,000 operations", or the one and the other."""
    jobs = [record.job for record in stored.measured if record.job is not None]
    timed = {job.duration_s for job in jobs if job.operations is None}
    numbers = {job.operations for job in jobs if job.operations is not None}
    ends = sorted({min(timed), max(timed)}) if timed else []
    if not jobs:
        ends = [stored.header.trial_duration_s]
    found = [" to ".join(figures.quantity(duration_s * 1e6, "us") for duration_s in ends)]
    if numbers:
        some = " to ".join(f"{number:,}" for number in sorted({min(numbers), max(numbers)}))
        found.append(f"{some} operations")
    return " or ".join(filter(None, found))


def failures(stored: StoredRun) -> list[str]:
    """Why trials were not used, a sentence for each case and reason, the most frequent first."""
    times: Counter[str] = Counter()
    for record in stored.measured:
        if not record.is_valid:
            reasons = record.verdict.reasons or (f"the verdict is {record.verdict.value}",)
            case = full_label(record.trial.case, stored.header.study)
            times.update(f"{case}: {reason}" for reason in reasons)
    return [f"{said} ({number} trials)" if number > 1 else said for said, number in times.most_common()]


def nothing_to_show(stored: StoredRun) -> str:
    """The sentence that stands where the figures would, when no trial was valid."""
    if not stored.measured:
        return "Nothing to show, because no trial was run."
    reasons = Counter(reason for record in stored.measured for reason in record.verdict.reasons)
    most = reasons.most_common(1)
    why = f": {most[0][0]} ({counted(most[0][1], 'trial')})" if most else ""
    if stored.valid:
        return f"Nothing to show, because no block has a valid trial of a baseline{why}."
    return f"Nothing to show, because none of {counted(len(stored.measured), 'trial')} was valid{why}."


def shortened(texts: Sequence[str], study: Study) -> tuple[str, ...]:
    """All of these sentences, but of a large study only the first, and how many more there are."""
    return tuple(some_of(texts, MOST_SENTENCES) if is_large(study) else texts)


def noise_words(group: Group, outcome: str, within: float) -> str:
    """What the control says about how small a difference can be told, or that there is no control.

    `within` is the factor within which two things count as alike.
    """
    floor = group.noise_floor(outcome)
    marks = f"{ALIKE}: alike within {percent(within - 1)}; {UNKNOWN}: inconclusive."
    if floor is None and any(row.case.role == "control" for row in group.found()):
        return "One block alone shows no scatter: all is inconclusive (?), and there is no noise floor."
    if floor is None:
        return f"Noise floor unknown: there is no valid control. {marks}"
    if floor > 1:
        return f"Noise floor over ±100 %: the control strays too far, and this run cannot tell. {marks}"
    if floor <= ROUNDING:
        return "No noise: the control is exactly like the baseline, so any difference counts."
    wide = " That is wider than what counts as alike, so nothing can be." if floor >= within - 1 else ""
    if all(row.case.role != "control" for row in group.found()):
        nearest = "from the control of the nearest cases that ran one"
        return f"Noise floor ±{percent(floor)}, {nearest}.{wide} {marks}"
    return (
        f"Noise floor ±{percent(floor)}: how far “{group.baseline_label} again”, the control, "
        f"may stray from the baseline.{wide} {marks}"
    )


def own_workloads(study: Study) -> dict[str, str]:
    """The statements of each of the user's workloads that the study's cases run, by name."""
    run = study.levels_of().get("workload", ())
    return {name: _words(own) for name, own in study.workloads.items() if name in run}


def _words(own: UserWorkload) -> str:
    total = sum(transaction.weight for transaction in own.transactions)
    words = [_transaction(transaction, total) for transaction in own.transactions]
    how = "on a connection of its own each" if own.reconnect else "on kept connections"
    sent = "prepared" if own.protocol == "prepared" else "as text"
    return f"{how}, {sent}, on the table of {own.table}: {' / '.join(words)}"


def _transaction(one: UserTransaction, total: int) -> str:
    share = f"{one.weight} of {total}: " if one.weight != total else ""
    statements = "; ".join(
        each.sql + (f" ({each.repeat} times)" if each.repeat > 1 else "") for each in one.statements
    )
    return share + (f"BEGIN; {statements}; COMMIT" if one.bracketed else statements)
