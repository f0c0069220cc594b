"""The table `runs`: what each run set out to do, where it ran, how it ended."""

from __future__ import annotations

from collections import Counter

from tlstax.report.tables.case_columns import RUN
from tlstax.results.exported_run import ExportedRun
from tlstax.topics.core.columns import Column, Table

RUNS = Table(
    name="runs",
    one_row="a run",
    key=("run",),
    columns=(
        RUN,
        Column("study", "TEXT", "the study's name"),
        Column("started_at", "TEXT", "when it began, ISO 8601"),
        Column("status", "TEXT", "running, complete, interrupted or failed"),
        Column("stopped_because", "TEXT", "why it ended"),
        Column("tlstax_version", "TEXT", "the version that measured"),
        Column("seed", "TEXT", "the seed of its order and random choices, a whole number of any size"),
        Column("trial_duration_s", "REAL", "how long a trial was to last", "s"),
        Column("external_server", "INTEGER", "1 where a server was not started by tlstax"),
        Column("machines", "INTEGER", "on how many machines blocks were measured"),
        Column("load_machines", "INTEGER", "how many machines the load came from; empty: no others"),
        Column("cpu_model", "TEXT", "the processor, of the first machine as all that follows"),
        Column("cores", "INTEGER", "logical processors"),
        Column("memory_bytes", "INTEGER", "memory", "B"),
        Column("kernel", "TEXT", "the kernel's version"),
        Column("distribution", "TEXT", "the operating system"),
        Column("virtualization", "TEXT", "what virtualises the machine; empty: nothing that was seen"),
        Column("microcode", "TEXT", "the processor's microcode"),
        Column("server_cpus", "INTEGER", "how many processors the server was pinned to; 0: not pinned"),
        Column("client_cpus", "INTEGER", "how many processors the client was pinned to; 0: not pinned"),
        Column("valid_trials", "INTEGER", "trials that were what they claim to be"),
        Column("invalid_trials", "INTEGER", "trials that were not"),
        Column("unknown_trials", "INTEGER", "trials of which that is not known"),
    ),
)


def run_row(run: ExportedRun) -> dict[str, object]:
    """The run's row."""
    machine = run.machine
    verdicts = Counter(trial.verdict for trial in run.trials)
    return {
        "run": run.run,
        "study": run.study.name,
        "started_at": run.started_at,
        "status": run.status,
        "stopped_because": run.stopped_because,
        "tlstax_version": run.tlstax_version,
        "seed": run.seed,
        "trial_duration_s": run.trial_duration_s,
        "external_server": run.guest,
        "machines": len(run.all_machines),
        "load_machines": len(run.load.machines) if run.load is not None else None,
        "cpu_model": machine.cpu_model,
        "cores": machine.cores,
        "memory_bytes": machine.memory_bytes,
        "kernel": machine.kernel,
        "distribution": machine.distribution,
        "virtualization": machine.virtualization,
        "microcode": machine.microcode,
        "server_cpus": len(machine.server_cpus),
        "client_cpus": len(machine.client_cpus),
        **{f"{verdict}_trials": verdicts[verdict] for verdict in ("valid", "invalid", "unknown")},
    }
