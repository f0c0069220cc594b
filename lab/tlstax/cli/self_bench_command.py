"""`tlstax self-bench`: the study of that name with what options change; or connections held, results read."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from tlstax.cli import quantities
from tlstax.cli.bench_command import OF_RUNS, bench_command, format_of, show_bench
from tlstax.cli.benches_app import SelfBenchOptions
from tlstax.cli.measuring import Shown, measure
from tlstax.cli.memory_command import hold_command
from tlstax.cli.options import BenchOptions
from tlstax.cli.progress import ProgressLine
from tlstax.cli.study_command import changed
from tlstax.clients.choice import obtain_client
from tlstax.probes import long_results
from tlstax.records.trial import Changes
from tlstax.results.bench import BenchDocument
from tlstax.run.preparing import Request
from tlstax.study import RESUMED, load_study
from tlstax.study.changes import over_client_library
from tlstax.study.client_kinds.floor import NAME as FLOOR
from tlstax.study.client_kinds.sysbench import NAME as SYSBENCH
from tlstax.study.level_names import ENGINE, RECONNECT
from tlstax.support.errors import TlstaxError, UserMistake
from tlstax.support.plain_words import reason
from tlstax.support.text import closest

STUDY, TLS_RESUMED = "self-bench", f"1.3{RESUMED}"


def self_bench_command(options: SelfBenchOptions) -> int:
    """Compare, hold connections or read results, and show it; or show results read before. The exit status.

    MachineFault when the figures must not be used; what there is has been shown then.
    """
    if options.show is not None:
        form = format_of(options.format_name, json=options.json)
        show_bench(long_results.TOPIC, read_document(options.show), form)
        return 0
    if options.bytes:
        shown_as = BenchOptions(output=options.output, format_name=options.format_name, json=options.json)
        asked = _bytes_request(options)
        return bench_command(long_results.TOPIC, shown_as, lambda line: long_results.measure(asked, line))
    if options.hold is not None:
        _check_holding(options)
        return hold_command(options.hold, options)
    form = format_of(options.format_name, json=options.json, known=OF_RUNS)
    request = _request(options, ProgressLine(quiet=form == "json"))
    shown = Shown(options.output, form)
    return measure(request, shown=shown)


def read_document(path: Path) -> BenchDocument:
    """What `--output` wrote before of `--bytes`. Raises UserMistake."""
    try:
        return BenchDocument.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as fault:
        raise UserMistake(f"{path} cannot be read ({reason(fault)})") from fault
    except ValidationError as fault:
        raise UserMistake(
            f"{path} is not what self-bench --bytes of this version writes",
            remedy="a comparison is a run: `tlstax report RUN` shows it, `tlstax pack RUN` makes a file",
        ) from fault


def _request(options: SelfBenchOptions, line: ProgressLine) -> Request:
    """A run of the study; without a sysbench to be had, of the others, which is said. Raises UserMistake."""
    chosen = [
        f"{factor}={','.join(levels)}"
        for factor, levels in (
            ("workload", _levels(options.workload, "workload")),
            ("tls", _tls_levels(options)),
            ("connections", _connections(options.connections)),
        )
        if levels
    ]
    changes = Changes(
        set=tuple(chosen),
        budget=options.budget,
        server_cpus=options.server_cpus,
        client_cpus=options.client_cpus,
    )
    cpus = quantities.asked_cpus(options.server_cpus, options.client_cpus)
    changed(load_study(STUDY), changes)  # A mistake is told before anything is fetched.
    try:
        obtain_client(SYSBENCH, line.step)
    except TlstaxError as error:
        line.warn(f"no {SYSBENCH} to compare with: {error.sentence()}")
        changes = changes.model_copy(update={"set": (*chosen, f"client={ENGINE},{FLOOR}")})
    study = changed(load_study(STUDY), changes)
    if options.client_tls_library is not None:
        study = over_client_library(study, options.client_tls_library)
    return Request(
        study=study, seed=options.seed, changes=changes, cpus=cpus, beside_others=options.beside_others
    )


def _levels(text: str | None, factor: str) -> tuple[str, ...]:
    """Levels of the study's own. UserMistake for others: the clients do no other work alike."""
    levels = _names(text, f"--{factor}")
    known = [*map(str, load_study(STUDY).factors[factor]), *([TLS_RESUMED] if factor == "tls" else [])]
    for level in levels:
        if level not in known:
            raise UserMistake(
                f"--{factor}: the self-bench has no {level!r}{closest(level, known)}",
                remedy=f"allowed are {', '.join(known)}",
            )
    return levels


def _tls_levels(options: SelfBenchOptions) -> tuple[str, ...]:
    """TLS levels, resumed or not; what a resumed one is compared with, full handshakes, comes along."""
    levels, full = _levels(options.tls, "tls"), TLS_RESUMED.removesuffix(RESUMED)
    if TLS_RESUMED not in levels:
        return levels
    if RECONNECT not in (_names(options.workload, "--workload") or (RECONNECT,)):
        raise UserMistake(
            f"--tls: {TLS_RESUMED} concerns new connections only",
            remedy=f"ask for it with --workload {RECONNECT}",
        )
    return (
        levels
        if full in levels
        else (*(level for level in levels if level != TLS_RESUMED), full, TLS_RESUMED)
    )


def _connections(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(map(str, quantities.counts(text, "--connections")))


def _names(text: str | None, option: str) -> tuple[str, ...]:
    return quantities.names(text, option) if text is not None else ()


def _bytes_request(options: SelfBenchOptions) -> long_results.BytesRequest:
    for name, value in (
        ("--workload", options.workload),
        ("--tls", options.tls),
        ("--connections", options.connections),
        ("--client-tls-library", options.client_tls_library),
        ("--hold", options.hold),
        ("--rate", options.rate),
        ("--seed", options.seed),
    ):
        if value is not None:
            raise UserMistake(f"{name} does not go with --bytes", remedy="leave one of them out")
    cpus = quantities.asked_cpus(options.server_cpus, options.client_cpus)
    if options.budget is None:
        return long_results.BytesRequest(cpus=cpus, beside_others=options.beside_others)
    budget_s = quantities.seconds(options.budget, "--budget")
    return long_results.BytesRequest(budget_s=budget_s, cpus=cpus, beside_others=options.beside_others)


def _check_holding(options: SelfBenchOptions) -> None:
    """UserMistake for what is there to compare clients alone."""
    for name, value in (
        ("--workload", options.workload),
        ("--tls", options.tls),
        ("--connections", options.connections),
        ("--budget", options.budget),
        ("--client-tls-library", options.client_tls_library),
    ):
        if value is not None:
            raise UserMistake(f"{name} does not go with --hold", remedy="leave one of them out")
