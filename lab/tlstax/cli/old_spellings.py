"""Old spellings of commands: for a release each does what its new one does, and says which line that is.

They are in no help and in no completion. What was typed becomes the words of the new spelling, which are
carried out as if they had been typed: so the line that is said is what is done.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tlstax.cli.command import command, words_of
from tlstax.cli.options import (
    BesideOthers,
    ClientCpus,
    Json,
    LimitOptions,
    LoginOptions,
    MaxConnections,
    ServerCpus,
    ServerHost,
)
from tlstax.cli.runs_app import ExploreOptions, OpenOptions, PackOptions, PublishOptions, WatchOptions
from tlstax.external.given_password import GivenPassword
from tlstax.support.errors import TlstaxError, UserMistake

NOW = {
    "pack": "runs pack",
    "open": "runs open",
    "publish": "runs publish",
    "watch": "runs watch",
    "explore": "runs explore",
    "check": "compare",
    "memory": "study run memory",
    "self-bench": "study run self-bench",
}
"""What leads to each command now, by what did."""

old_app = typer.Typer()


def follow(words: Sequence[str], password: GivenPassword | None = None) -> int:
    """Say the line that is to be typed from now on, and carry it out; the exit status."""
    from tlstax.cli.app import command_line
    from tlstax.cli.streams import tell
    from tlstax.support.installation import is_clone

    program = "./tlstax" if is_clone() else "tlstax"
    tell(f"deprecated: use {program} {shlex.join(words)}")
    return command_line()(list(words), prog_name="tlstax", obj=password, standalone_mode=False) or 0


def _moved(name: str, options: type) -> None:
    """Let what was a command of its own lead to the one below `runs`, which has the same options."""

    def moved(typed: object) -> int:
        return follow([*NOW[name].split(), *words_of(typed)])

    moved.__annotations__ = {"typed": options, "return": int}
    moved.__doc__ = f"Now `tlstax {NOW[name]}`."
    command(old_app, name, hidden=True)(moved)


_moved("pack", PackOptions)
_moved("open", OpenOptions)
_moved("publish", PublishOptions)
_moved("watch", WatchOptions)
_moved("explore", ExploreOptions)


@dataclass(frozen=True)
class CheckOptions:
    """The options of `tlstax check` as they were typed."""

    run: Annotated[str, typer.Argument(help="The run to be checked.")]
    limits: LimitOptions = field(default_factory=LimitOptions)
    against: Annotated[str | None, typer.Option(help="The run that it is checked against.")] = None
    absolute: Annotated[bool, typer.Option("--absolute", help="Check the values themselves.")] = False
    json: Json = False


@command(old_app, hidden=True)
def check(options: CheckOptions) -> int:
    """Now `tlstax compare AGAINST RUN` with a limit."""
    if options.limits == LimitOptions():
        raise UserMistake(
            "a check needs a limit",
            remedy="give --max-regression 5%, or one for an outcome by --max or --min",
        )
    against = [] if options.against is None else [options.against]
    rest = words_of(replace(options, against=None))
    return follow([*NOW["check"].split(), *against, *rest])


@dataclass(frozen=True)
class MemoryOptions:
    """The options of `tlstax memory` as they were typed."""

    server: Annotated[str | None, typer.Option(help="Servers, or an external one's address.")] = None
    tls_library: Annotated[str | None, typer.Option(help="TLS libraries under each.")] = None
    certificate: Annotated[str | None, typer.Option(help="Keys of their certificates.")] = None
    connections: Annotated[str | None, typer.Option(help="How many are kept.")] = None
    max_connections: MaxConnections = None
    rounds: Annotated[int | None, typer.Option(min=1, help="Blocks.")] = None
    login: LoginOptions = field(default_factory=LoginOptions)
    server_host: ServerHost = None
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat the order.")] = None
    beside_others: BesideOthers = False
    json: Json = False


@command(old_app, hidden=True)
def memory(options: MemoryOptions) -> int:
    """Now `tlstax study run memory`, with `--set` for what is measured and `--blocks` for its rounds."""
    factors = ("server", "tls_library", "certificate", "connections")
    named: dict[str, Any] = dict.fromkeys(factors)
    rest = replace(options, rounds=None, **named)
    settings = [word for name in factors for word in _set(name, getattr(options, name))]
    words = [*NOW["memory"].split(), *settings, *_blocks(options.rounds), *words_of(rest)]
    return follow(words, options.login.given_password)


@dataclass(frozen=True)
class SelfBenchOptions:
    """The options of `tlstax self-bench` as they were typed; those of --bytes are no old spelling."""

    workload: Annotated[str | None, typer.Option(help="point-select, reconnect.")] = None
    tls: Annotated[str | None, typer.Option(help="off, 1.3, 1.3-resumed.")] = None
    connections: Annotated[str | None, typer.Option(help="How many at once.")] = None
    client_tls_library: Annotated[str | None, typer.Option(help="TLS library of the engine.")] = None
    hold: Annotated[int | None, typer.Option(min=2, help="Hold connections with one engine.")] = None
    rate: Annotated[float | None, typer.Option(min=0.001, help="With --hold: queries a second.")] = None
    server: Annotated[str | None, typer.Option(help="Servers; with --hold also `all`.")] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None
    budget: Annotated[str | None, typer.Option(help="Time to spend, such as 2m.")] = None
    server_cpus: ServerCpus = None
    client_cpus: ClientCpus = None
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write it here as well: .json, .md or .txt.", dir_okay=False),
    ] = None
    bytes: Annotated[
        bool,
        typer.Option("--bytes", help="Read results of 16 MiB, beside a bare loop that counts them."),
    ] = False
    show: Annotated[
        Path | None,
        typer.Option("--show", help="Show what --bytes wrote with --output.", dir_okay=False),
    ] = None
    format_name: Annotated[str, typer.Option("--format", help="terminal, md or json.")] = "terminal"
    beside_others: BesideOthers = False
    json: Json = False


OF_BYTES = frozenset(
    (
        "budget",
        "server_cpus",
        "client_cpus",
        "output",
        "bytes",
        "show",
        "format_name",
        "beside_others",
        "json",
    )
)
"""The options that go with --bytes and --show."""


@command(old_app, "self-bench", hidden=True)
def self_bench(options: SelfBenchOptions) -> int:
    """With --bytes, the engine reading long results; all else is now the studies `self-bench` and `hold`."""
    if options.bytes or options.show is not None:
        for name, value in vars(options).items():
            if value is not None and name not in OF_BYTES:
                option = f"--{name.replace('_', '-')}"
                raise UserMistake(f"{option} does not go with --bytes", remedy="leave one of them out")
        from tlstax.cli.benches_command import long_results_command

        return long_results_command(options)
    words = _holding(options) if options.hold is not None else _beside_others_of_its_kind(options)
    return follow(words)


def _beside_others_of_its_kind(options: SelfBenchOptions) -> list[str]:
    if options.rate is not None:
        raise UserMistake("--rate goes with --hold", remedy="leave it out, or say how many to hold")
    shown = _of_a_run(options)
    return [
        *NOW["self-bench"].split(),
        *_set("server", options.server),
        *_set("workload", options.workload),
        *_set("tls", options.tls and _with_full_handshakes(options.tls)),
        *_set("connections", options.connections),
        *_set("client_tls_library", options.client_tls_library),
        *(_clients_that_there_are() if options.server is None else []),
        *(["--over-budget"] if options.budget is not None else []),
        *shown,
    ]


def _clients_that_there_are() -> list[str]:
    """Without sysbench, and a network to fetch it, the others: that was never a reason to stop."""
    from tlstax.cli.progress import ProgressLine
    from tlstax.clients.choice import obtain_client
    from tlstax.study.client_kinds import SYSBENCH

    line = ProgressLine(quiet=True)
    try:
        obtain_client(SYSBENCH, line.step)
    except TlstaxError as error:
        line.warn(f"no {SYSBENCH} to compare with: {error.sentence()}")
        return _set("client", "engine,floor")
    return []


def _with_full_handshakes(tls: str) -> str:
    """The TLS levels with what a resumed session is compared with."""
    resumed, full = "1.3-resumed", "1.3"
    levels = tls.split(",")
    if resumed not in levels or full in levels:
        return tls
    return ",".join([*(level for level in levels if level != resumed), full, resumed])


def _holding(options: SelfBenchOptions) -> list[str]:
    """The study `hold`: what each of many connections adds is seen beside a tenth of them."""
    many = options.hold or 0
    for name in ("workload", "tls", "connections", "budget", "client_tls_library"):
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UserMistake(f"{option} does not go with --hold", remedy="leave one of them out")
    rate = f"{many if options.rate is None else options.rate:g}"
    return [
        *("study", "run", "hold"),
        *_set("server", options.server and _all_that_are_here(options.server)),
        *_set("connections", f"{max(1, many // 10)},{many}"),
        *("--rate", rate, "--arrivals", "uniform"),
        *_blocks(1),
        *_of_a_run(options),
    ]


def _all_that_are_here(server: str) -> str:
    """The servers, in place of `all` those that are here. UserMistake where none is."""
    if server.strip() != "all":
        return server
    from tlstax.tools.probes.specimen import listing

    here = [known.name for known in listing().specimens if known.kind == "server" and known.status == "ready"]
    if not here:
        raise UserMistake(
            "--server all: there is no server here yet", remedy="fetch some with `tlstax specimens fetch`"
        )
    return ",".join(here)


def _of_a_run(options: SelfBenchOptions) -> list[str]:
    """The options that `study run` has too. UserMistake for a format that it does not show a run in."""
    if options.format_name not in {"terminal", "json"}:
        raise UserMistake(
            f"--format {options.format_name} is for --bytes alone",
            remedy="`tlstax report last --format md` shows the run so",
        )
    rest = SelfBenchOptions(
        seed=options.seed,
        budget=options.budget,
        server_cpus=options.server_cpus,
        client_cpus=options.client_cpus,
        beside_others=options.beside_others,
        json=options.json or options.format_name == "json",
    )
    report = [] if options.output is None else ["--report", str(options.output)]
    return [*report, *words_of(rest)]


def _set(factor: str, levels: str | None) -> list[str]:
    return [] if levels is None else ["--set", f"{factor}={levels}"]


def _blocks(blocks: int | None) -> list[str]:
    return [] if blocks is None else ["--blocks", str(blocks)]
