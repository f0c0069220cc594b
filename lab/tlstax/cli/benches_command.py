"""`tlstax storm`, `library-bench` and the old spelling for long results: measured, shown, written."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path

from pydantic import ValidationError

from tlstax.cli import quantities
from tlstax.cli.benches_app import LibraryBenchOptions, StormOptions
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.external_servers import external_of
from tlstax.cli.old_spellings import SelfBenchOptions
from tlstax.cli.options import BenchOptions
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import (
    check_writable,
    colourful,
    format_of_name,
    show,
    show_json,
    terminal_width,
    write_text,
)
from tlstax.cli.target_servers import external_url
from tlstax.contract import HIGHEST_RATE_PER_S
from tlstax.network.paths import pgbouncer
from tlstax.report.formats.render import FORMATS, OF_BENCHES, BenchTopic, bench_report
from tlstax.results.document import BenchDocument, RunDocument
from tlstax.specimens import shelf
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.resolve import named_fault, named_tls_library
from tlstax.store import open_store
from tlstax.study.level_names import COUNT_LOCKS, DIRECT, PATHS, PGBOUNCERS, UNIX_SOCKET, Level
from tlstax.study.server_abilities import product_named
from tlstax.support import interruption
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.plain_words import reason
from tlstax.support.text import closest
from tlstax.tools.librarybench import costs, session
from tlstax.tools.librarybench.measure import Contestant
from tlstax.tools.librarybench.split import libraries_of, subjects_of
from tlstax.tools.librarybench.subjects import CHOICES, subjects
from tlstax.tools.probes import long_results, storm_search
from tlstax.tools.probes.storm_search import Sought
from tlstax.tools.probes.storms import StormRequest, storm_limits
from tlstax.topics.answer.document import document

PROGRAMS = tuple(name for name in PATHS if name not in {DIRECT, UNIX_SOCKET})
"""The paths that have a program."""

BY_SUFFIX = {suffix: name for name in OF_BENCHES for suffix in FORMATS[name].suffixes}


def bench_command(
    topic: BenchTopic, options: BenchOptions, measure: Callable[[ProgressLine], BenchDocument]
) -> int:
    """Measure, show it, and write it where that was asked for; the exit status.

    UserMistake for a format that there is not, or a file that cannot be written, before anything is measured.
    MachineFault where it failed before its end; what there is has been shown then.
    """
    form = format_of(options.format_name, json=options.json)
    written = format_of_output(options.output)
    with closing(ProgressLine(quiet=form == "json")) as line:
        document = measure(line)
    interruption.forget()
    try:
        show_bench(topic, document, form)
    finally:
        if options.output is not None:
            text = bench_report(topic, document, written, width=terminal_width())
            write_text(options.output, text)
    if document.status == "failed":
        raise MachineFault(document.stopped_because)
    return INTERRUPTED if document.status == "interrupted" else 0


def format_of(named: str, *, json: bool) -> str:
    """The format that was asked for, by --format or by --json. UserMistake for one that there is not."""
    if named not in OF_BENCHES:
        raise UserMistake(
            f"--format: there is no format {named!r}{closest(named, OF_BENCHES)}",
            remedy=f"the formats are {', '.join(OF_BENCHES)}",
        )
    return "json" if json else named


def format_of_output(output: Path | None) -> str:
    """The format that --output is written in: by its name, else JSON. UserMistake where it cannot be."""
    if output is None:
        return "json"
    form = format_of_name(output, BY_SUFFIX, "json", what="a bench")
    check_writable(output)
    return form


def show_bench(topic: BenchTopic, document: BenchDocument, form: str) -> None:
    """Write it to standard output, in colours where that is a terminal."""
    colour = form == "terminal" and colourful()
    text = bench_report(topic, document, form, width=terminal_width(), colour=colour)
    if form == "json":
        show_json(text)
    else:
        show(text, coloured=colour)


LONGEST_S = 60.0
"""Storms and rates that take longer are not searched."""

MOST: dict[Sought, int] = {"connections": 2000, "connections_per_s": 100_000}
LASTING_S = 3.0


def storm_command(options: StormOptions) -> int:
    """Search and show what was found; the exit status. UserMistake for an option that cannot be."""
    request = _storm_request(options)
    return bench_command(storm_search.TOPIC, options, lambda line: storm_limits(request, line))


def _storm_request(options: StormOptions) -> StormRequest:
    sought: Sought = "connections_per_s" if options.steady else "connections"
    url = external_url(options.server)
    _check_path(options, external=bool(url))
    access = external_of(options.login.access(url), options.max_connections)
    if access is not None and options.back_log is not None:
        raise UserMistake(
            "--back-log starts a private server with it, and an external one keeps what it has",
            remedy="leave one of --back-log and --server out",
        )
    _check_back_log(options)
    return StormRequest(
        sought=sought,
        within_s=_short(options.within, "--within"),
        share=quantities.share(options.share),
        most=_most(options.most, sought),
        budget_s=quantities.seconds(options.budget, "--budget"),
        lasting_s=LASTING_S if options.lasting is None else _short(options.lasting, "--lasting"),
        seed=secrets.randbelow(2**32) if options.seed is None else options.seed,
        server=None if url else options.server,
        back_log=options.back_log,
        beside_others=options.beside_others,
        external=access,
        max_connections=options.max_connections,
        path=options.path,
    )


def _check_path(options: StormOptions, *, external: bool) -> None:
    """UserMistake for a path that there is not, or that no program makes, or to a server that is not ours."""
    if options.path is None:
        return
    if external:
        raise UserMistake(
            "--path starts a program beside a private server, and --server names an external one",
            remedy="leave one of --path and --server out",
        )
    if options.path not in PROGRAMS:
        raise UserMistake(
            f"--path: there is no path {options.path!r} with a program of its own"
            f"{closest(options.path, PROGRAMS)}",
            remedy="name one such as pgbouncer-terminate or haproxy; docs/distance-and-paths.md has them all",
        )
    if options.path in PGBOUNCERS and not options.steady and (options.most or 0) > pgbouncer.MOST_CONNECTIONS:
        raise UserMistake(
            f"--most {options.most}: PgBouncer takes {pgbouncer.MOST_CONNECTIONS:,} clients at once here",
            remedy="name a smaller --most",
        )


def _check_back_log(options: StormOptions) -> None:
    """UserMistake for a queue of connections that a server is not given by itself."""
    if options.back_log is not None and product_named(options.server) == "postgresql":
        raise UserMistake(
            "--back-log is a setting of MySQL and MariaDB: PostgreSQL has as many wait as twice its "
            "max_connections, which follow from --most",
            remedy="leave it out",
        )


def _most(most: int | None, sought: Sought) -> int:
    if most is None:
        return MOST[sought]
    if sought == "connections_per_s" and most > HIGHEST_RATE_PER_S:
        raise UserMistake(
            f"--most: {most:,} connections a second are more than any client can make",
            remedy=f"name up to {HIGHEST_RATE_PER_S:,}",
        )
    return most


def _short(text: str, option: str) -> float:
    length_s = quantities.seconds(text, option)
    if length_s > LONGEST_S:
        raise UserMistake(
            f"{option}: {length_s:g} s is more than {LONGEST_S:g} s", remedy="name a shorter time"
        )
    return length_s


DEFAULT_BUDGET_S = 60.0

MACHINES_OWN = "machine"
"""The name under which the machine's own libssl takes part."""

_SIZE = re.compile(r"(?P<number>[1-9][0-9]{0,8})(?P<kilo>k|K|KiB)?")
_LARGEST_BYTES = 16384
"""A record holds no more (RFC 8446, section 5.1)."""


def library_bench_command(options: LibraryBenchOptions) -> int:
    """Compare the libraries, and show it. The exit status. MachineFault where nothing could be measured."""
    if options.count not in {None, "locks"}:
        raise UserMistake(f"--count: {options.count!r} cannot be counted", remedy="locks can be")
    asked = _asked(options)
    run_beside = _run_beside(options.beside, asked)
    wanted = subjects(asked) if run_beside is None else subjects_of(run_beside)
    budget_s = quantities.seconds(options.budget, "--budget") if options.budget else DEFAULT_BUDGET_S
    cpus = quantities.asked_cpus(None, options.client_cpus)

    def measured(line: ProgressLine) -> BenchDocument:
        request = session.Request(
            contestants=tuple(
                Contestant(name, None if name == MACHINES_OWN else named_tls_library(name, line.step))
                for name in _libraries(options, run_beside)
            ),
            subjects=wanted,
            budget_s=budget_s,
            seed=options.seed,
            instructions=options.instructions,
            lock_counter=named_fault(COUNT_LOCKS, line.step) if options.count is not None else None,
            beside=run_beside,
            cpus=cpus,
            beside_others=options.beside_others,
        )
        return costs.document(session.run(request, line))

    return bench_command(costs.TOPIC, options, measured)


def _asked(options: LibraryBenchOptions) -> dict[str, tuple[Level, ...]]:
    """The levels that were named, by their options. UserMistake for a size that no record has."""
    typed = {name: getattr(options, name) for name in ("measure", *CHOICES)}
    asked: dict[str, tuple[Level, ...]] = {
        name: quantities.names(text, f"--{name}") for name, text in typed.items() if text is not None
    }
    if "size" in asked:
        asked["size"] = tuple(_bytes(str(size)) for size in asked["size"])
    return asked


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    size = int(match["number"]) * (1024 if match["kilo"] else 1) if match else 0
    if not 1 <= size <= _LARGEST_BYTES:
        raise UserMistake(
            f"--size: {text!r} is not the size of a record",
            remedy="write it like 16, 1k or 16k; the most is 16k",
        )
    return size


def _run_beside(name: str | None, asked: Collection[str]) -> RunDocument | None:
    """The run that the libraries are set beside, if there is one. UserMistake beside options of its own."""
    if name is None:
        return None
    for option in asked:
        raise UserMistake(
            f"--{option} does not go with --beside, which measures what the run's connections did",
            remedy="leave one of them out",
        )
    with open_store() as store:
        return document(store.load(name))


def _libraries(options: LibraryBenchOptions, run_beside: RunDocument | None) -> tuple[str, ...]:
    """Those that were named or that the run's servers had; else the machine's own and all that are there."""
    if options.library is not None:
        return quantities.names(options.library, "--library")
    if run_beside is not None:
        return libraries_of(run_beside)
    there = (
        name for name, recipe in RECIPES.items() if recipe.kind == "tls_library" and shelf.present(recipe)
    )
    return (MACHINES_OWN, *there)


def long_results_command(options: SelfBenchOptions) -> int:
    """Read results and show it, or show what was read before; the exit status.

    MachineFault when the figures must not be used; what there is has been shown then.
    """
    if options.show is not None:
        form = format_of(options.format_name, json=options.json)
        show_bench(long_results.TOPIC, read_document(options.show), form)
        return 0
    shown_as = BenchOptions(output=options.output, format_name=options.format_name, json=options.json)
    asked = _long_results_request(options)
    return bench_command(long_results.TOPIC, shown_as, lambda line: long_results.measure(asked, line))


def read_document(path: Path) -> BenchDocument:
    """What `--output` wrote before of `--bytes`. Raises UserMistake."""
    try:
        return BenchDocument.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as fault:
        raise UserMistake(f"{path} cannot be read ({reason(fault)})") from fault
    except ValidationError as fault:
        raise UserMistake(
            f"{path} is not what self-bench --bytes of this version writes",
            remedy="a comparison is a run: `tlstax report RUN` shows it, `tlstax runs pack RUN` makes a file",
        ) from fault


def _long_results_request(options: SelfBenchOptions) -> long_results.BytesRequest:
    cpus = quantities.asked_cpus(options.server_cpus, options.client_cpus)
    if options.budget is None:
        return long_results.BytesRequest(cpus=cpus, beside_others=options.beside_others)
    budget_s = quantities.seconds(options.budget, "--budget")
    return long_results.BytesRequest(budget_s=budget_s, cpus=cpus, beside_others=options.beside_others)
