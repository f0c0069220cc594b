"""`tlstax memory`, and `self-bench --hold`: their options become changes of a study, which is run as any."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tlstax.cli import quantities
from tlstax.cli.added_servers import knowing_added
from tlstax.cli.bench_command import OF_RUNS, format_of
from tlstax.cli.benches_app import MemoryOptions, SelfBenchOptions
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.lent_server import external_of, external_url
from tlstax.cli.measuring import Shown, measure
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import show_found
from tlstax.contract import OpenLoop
from tlstax.guests.access import GuestAccess
from tlstax.plan.order import cases
from tlstax.plan.timing import SHORTEST_S, block_s
from tlstax.probes.external_memory import ExternalRequest, external_memory, memory_text
from tlstax.probes.specimen_list import listing
from tlstax.run.preparing import Request
from tlstax.specimens.resolve import check_library_name, check_server_name, flavour_named
from tlstax.study import Exclusion, Study, configuration, load_study, override
from tlstax.study.design import LONGEST_BUDGET_S
from tlstax.study.faults import rebuilt
from tlstax.support.errors import UserMistake

ROOM_FOR_SLOW_BLOCKS = 20
"""How many times as long as it is thought to take a run may take that ends with a number of blocks."""

FEWER = 10
"""Held connections are how many times as many as those that their memory is told beside."""

ALL = "all"

NAMED: Mapping[str, Callable[[str], None]] = {"server": check_server_name, "tls_library": check_library_name}
"""Factors whose levels are names of specimens, and what refuses one that there is not."""


def memory_command(options: MemoryOptions) -> int:
    """Measure and show it; the exit status. UserMistake for an option that cannot be."""
    url = external_url(options.server)
    if url:
        _check_external(options)
    access = external_of(options.login.guest(url, options.server_host), options.max_connections)
    if access is not None:
        return _external(options, access)
    request = Request(
        study=memory_study(options),
        seed=options.seed,
        tls_as_able=True,
        beside_others=options.beside_others,
    )
    return measure(request, shown=Shown(form="json" if options.json else "terminal"))


def memory_study(options: MemoryOptions) -> Study:
    """The built-in study `memory` with what the options change. Raises UserMistake."""
    study = load_study("memory")
    for factor, text in (
        ("server", options.server),
        ("tls_library", options.tls_library),
        ("certificate", options.certificate),
        ("connections", options.connections),
    ):
        if text is not None:
            option = f"--{factor.replace('_', '-')}"
            names = quantities.names(text, option)
            for name in names if factor in NAMED else ():
                NAMED[factor](name)
            study = override(study, factor, names, option=option)
    return _ending(_along_a_ladder(knowing_added(study), "--connections"), options.rounds)


def _along_a_ladder(study: Study, option: str) -> Study:
    """The study with its numbers of connections in their order, the fewest with a control. UserMistake."""
    sizes = tuple(sorted(int(level) for level in study.levels_of()["connections"]))
    if len(sizes) < 2:
        raise UserMistake(f"{option}: what each further one costs takes two numbers at the least")
    factors = {**study.factors, "connections": sizes}
    return rebuilt(study, option, factors=factors, control_within={"connections": sizes[0]})


def _ending(study: Study, blocks: int) -> Study:
    """The study that ends with so many blocks, however long they take."""
    budget_s = ROOM_FOR_SLOW_BLOCKS * blocks * block_s(study, cases(study), SHORTEST_S)
    changes = {"minimum_blocks": blocks, "maximum_blocks": blocks}
    return study.model_copy(update={**changes, "budget_s": min(budget_s, LONGEST_BUDGET_S)})


def _external(options: MemoryOptions, access: GuestAccess) -> int:
    """What connections cost an external server, which is no study: nobody may start it anew."""
    line = ProgressLine(quiet=options.json)
    request = ExternalRequest(
        rounds=options.rounds,
        max_connections=options.max_connections,
        seed=options.seed,
        beside_others=options.beside_others,
    )
    try:
        found = external_memory(request, access, line)
    finally:
        line.close()
    show_found(found, partial(memory_text, found), as_json=options.json)
    return INTERRUPTED if found.status == "interrupted" else 0


def _check_external(options: MemoryOptions) -> None:
    """UserMistake for what an external server is not, or is not given."""
    for option, value, why in (
        ("--tls-library", options.tls_library, "an external one keeps the library it has"),
        ("--certificate", options.certificate, "an external one has a certificate"),
        (
            "--connections",
            options.connections,
            "an external one's are opened step by step, as many as --max-connections allows",
        ),
    ):
        if value is not None:
            raise UserMistake(f"{option} needs private servers: {why}", remedy="leave it out")


def hold_command(connections: int, options: SelfBenchOptions) -> int:
    """Hold connections with one engine, and show what that took; the exit status."""
    form = format_of(options.format_name, json=options.json, known=OF_RUNS)
    request = Request(
        study=hold_study(connections, options),
        seed=options.seed,
        tls_as_able=True,
        beside_others=options.beside_others,
        cpus=quantities.asked_cpus(options.server_cpus, options.client_cpus),
    )
    shown = Shown(options.output, form)
    return measure(request, shown=shown)


def hold_study(connections: int, options: SelfBenchOptions) -> Study:
    """The built-in study `hold` with what the options change. Raises UserMistake.

    One connection alone cannot do what many are asked for: what each adds is seen beside a tenth of them.
    """
    study, many = load_study("hold"), connections
    if options.server is not None:
        study = _on_servers(study, _servers(options.server))
    rate_per_s = float(many) if options.rate is None else options.rate
    study = override(study, "connections", [str(max(1, many // FEWER)), str(many)], option="--hold")
    schedule = OpenLoop(rate_per_s=rate_per_s, arrivals="uniform")
    study = knowing_added(study.model_copy(update={"schedule": schedule}))
    return _ending(_along_a_ladder(study, "--hold"), 1)


def _on_servers(study: Study, names: Sequence[str]) -> Study:
    """The study on these servers, each with its thread pool where it has one."""
    for name in names:
        check_server_name(name)
    pooled = [name for name in names if flavour_named(name) == "mariadb"]
    plain = [name for name in names if name not in pooled]
    chosen = [
        level
        for level, own in ((configuration.THREAD_POOL, pooled), (configuration.AS_IT_COMES, plain))
        if own
    ]
    study = override(override(study, "server", names), "configuration", chosen)
    if len(chosen) < 2:
        return study
    why = {
        configuration.THREAD_POOL: "it has no thread pool",
        configuration.AS_IT_COMES: "it is measured with its thread pool",
    }
    left_out = (
        Exclusion(levels={"server": tuple(own), "configuration": level}, why=why[level])
        for level, own in ((configuration.THREAD_POOL, plain), (configuration.AS_IT_COMES, pooled))
    )
    return rebuilt(study, "--server", exclude=(*study.exclude, *left_out))


def _servers(text: str) -> Sequence[str]:
    """The servers by name; `all` are those that are here. UserMistake where none is."""
    if text.strip() != ALL:
        return quantities.names(text, "--server")
    here = [known.name for known in listing().specimens if known.kind == "server" and known.status == "ready"]
    if not here:
        raise UserMistake(
            "--server all: there is no server here yet", remedy="fetch some with `tlstax specimens fetch`"
        )
    return here
