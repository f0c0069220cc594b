"""`tlstax library-bench`: its options into a request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tlstax.cli import quantities
from tlstax.cli.bench_command import bench_command
from tlstax.cli.benches_app import LibraryBenchOptions
from tlstax.cli.progress import ProgressLine
from tlstax.results.bench import BenchDocument
from tlstax.results.document import RunDocument
from tlstax.specimens import shelf
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.resolve import named_fault, named_tls_library
from tlstax.store import open_store
from tlstax.study.level_names import COUNT_LOCKS
from tlstax.support.errors import UserMistake
from tlstax.tools.librarybench import session
from tlstax.tools.librarybench.costs import TOPIC, document
from tlstax.tools.librarybench.measure import Contestant
from tlstax.tools.librarybench.split import libraries_of, subjects_of
from tlstax.tools.librarybench.subjects import Asked, subjects
from tlstax.topics.answer.document import document as document_of_run

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
    asked, run_beside = _asked(options), _run_beside(options)
    wanted = subjects(asked) if run_beside is None else subjects_of(run_beside)

    budget_s = quantities.seconds(options.budget, "--budget") if options.budget else DEFAULT_BUDGET_S
    cpus = quantities.asked_cpus(None, options.client_cpus)

    def measured(line: ProgressLine) -> BenchDocument:
        request = session.Request(
            contestants=_contestants(_libraries(options, run_beside), line),
            subjects=wanted,
            budget_s=budget_s,
            seed=options.seed,
            instructions=options.instructions,
            lock_counter=named_fault(COUNT_LOCKS, line.step) if options.count is not None else None,
            beside=run_beside,
            cpus=cpus,
            beside_others=options.beside_others,
        )
        return document(session.run(request, line))

    return bench_command(TOPIC, options, measured)


def _asked(options: LibraryBenchOptions) -> Asked:
    def listed(text: str | None, option: str) -> tuple[str, ...] | None:
        return quantities.names(text, option) if text is not None else None

    sizes = listed(options.size, "--size")
    return Asked(
        kinds=listed(options.measure, "--measure"),
        versions=listed(options.tls, "--tls"),
        resumptions=listed(options.resumption, "--resumption"),
        certificates=listed(options.certificate, "--certificate"),
        groups=listed(options.group, "--group"),
        ciphers=listed(options.cipher, "--cipher"),
        sizes_bytes=tuple(_bytes(size) for size in sizes) if sizes else None,
        contexts=listed(options.context, "--context"),
    )


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    size = int(match["number"]) * (1024 if match["kilo"] else 1) if match else 0
    if not 1 <= size <= _LARGEST_BYTES:
        raise UserMistake(
            f"--size: {text!r} is not the size of a record",
            remedy="write it like 16, 1k or 16k; the most is 16k",
        )
    return size


def _run_beside(options: LibraryBenchOptions) -> RunDocument | None:
    """The run that the libraries are set beside, if there is one. UserMistake beside options of its own."""
    if options.beside is None:
        return None
    for option in ("measure", "tls", "resumption", "certificate", "group", "cipher", "size", "context"):
        if getattr(options, option) is not None:
            raise UserMistake(
                f"--{option} does not go with --beside, which measures what the run's connections did",
                remedy="leave one of them out",
            )
    with open_store() as store:
        return document_of_run(store.load(options.beside))


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


def _contestants(names: Sequence[str], line: ProgressLine) -> tuple[Contestant, ...]:
    """The libraries of these names, fetched where they must be."""
    return tuple(
        Contestant(name, None if name == MACHINES_OWN else named_tls_library(name, line.step))
        for name in names
    )
