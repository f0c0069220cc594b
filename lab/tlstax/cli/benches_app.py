"""The commands beside studies: `self-bench`, `library-bench`, `storm`, `memory`; and their options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.command import With, command
from tlstax.cli.options import (
    BenchOptions,
    BesideOthers,
    ClientCpus,
    Json,
    LoginOptions,
    MaxConnections,
    ServerCpus,
    ServerHost,
)

benches_app = typer.Typer()

HOLDING = With("hold", "leave it out, or say how many to hold")


@dataclass(frozen=True)
class SelfBenchOptions:
    """The options of `tlstax self-bench` as they were typed."""

    workload: Annotated[str | None, typer.Option(help="point-select, reconnect; comma-separated.")] = None
    tls: Annotated[str | None, typer.Option(help="off, 1.3, 1.3-resumed; comma-separated.")] = None
    connections: Annotated[str | None, typer.Option(help="How many at once (1,8,64,512).")] = None
    budget: Annotated[
        str | None, typer.Option(help="Time to spend on trials, such as 2m (10m); at least one block is run.")
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write it here as well: .json, .md, .txt or .html.", dir_okay=False
        ),
    ] = None
    client_tls_library: Annotated[
        str | None,
        typer.Option(help="TLS library of the engine and the floor, such as openssl-3.5.5."),
    ] = None
    bytes: Annotated[
        bool,
        typer.Option("--bytes", help="Instead: read results of 16 MiB, beside a bare loop that counts them."),
    ] = False
    hold: Annotated[
        int | None,
        typer.Option(min=2, help="Instead: hold N connections with one engine, in an open loop."),
    ] = None
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="With --hold: queries a second over all of them (one each)."),
        HOLDING,
    ] = None
    server: Annotated[
        str | None,
        typer.Option(
            help="With --hold: servers, such as mariadb-11.8,mysql-9.7, or all that are here (mariadb-11.8)."
        ),
        HOLDING,
    ] = None
    server_cpus: ServerCpus = None
    client_cpus: ClientCpus = None
    show: Annotated[
        Path | None,
        typer.Option("--show", help="Show what --bytes wrote with --output.", dir_okay=False),
    ] = None
    format_name: Annotated[str, typer.Option("--format", help="terminal, md or json.")] = "terminal"
    beside_others: BesideOthers = False
    json: Json = False


@command(benches_app, "self-bench")
def self_bench(options: SelfBenchOptions) -> int:
    """The engine beside sysbench and the bare floor on a private server: the study self-bench, in short."""
    from tlstax.cli.self_bench_command import self_bench_command

    return self_bench_command(options)


@dataclass(frozen=True, kw_only=True)
class LibraryBenchOptions(BenchOptions):
    """The options of `tlstax library-bench` as they were typed."""

    library: Annotated[
        str | None,
        typer.Option(
            help="TLS libraries by name, the first is compared with; `machine` is this machine's own."
        ),
    ] = None
    measure: Annotated[
        str | None, typer.Option(help="handshake, record, signature, exchange; comma-separated (all).")
    ] = None
    tls: Annotated[str | None, typer.Option(help="1.3, 1.2; comma-separated.")] = None
    resumption: Annotated[str | None, typer.Option(help="off, on; comma-separated.")] = None
    certificate: Annotated[
        str | None, typer.Option(help="Keys, such as rsa-2048,ec-p256,ed25519; comma-separated.")
    ] = None
    group: Annotated[
        str | None, typer.Option(help="Key exchange groups, such as P-256,X25519; comma-separated.")
    ] = None
    cipher: Annotated[
        str | None, typer.Option(help="AES-128-GCM, AES-256-GCM, ChaCha20-Poly1305; comma-separated.")
    ] = None
    size: Annotated[str | None, typer.Option(help="Bytes in a record, such as 16,1k,16k.")] = None
    context: Annotated[
        str | None, typer.Option(help="The client's context: one for all connections, each; comma-separated.")
    ] = None
    count: Annotated[
        str | None, typer.Option(metavar="locks", help="Count the locks of every operation as well.")
    ] = None
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Count instructions as well, with valgrind's callgrind.")
    ] = False
    budget: Annotated[
        str | None, typer.Option(help="Time to spend, such as 2m (60s); at least one block is run.")
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order.")] = None
    beside: Annotated[
        str | None,
        typer.Option("--beside", help="A run (`last`): what of its servers' TLS is the library's alone."),
    ] = None
    client_cpus: ClientCpus = None


@command(benches_app, "library-bench")
def library_bench(options: LibraryBenchOptions) -> int:
    """TLS libraries alone: handshakes, records, signatures and key exchanges in one process, in turn."""
    from tlstax.cli.library_bench_command import library_bench_command

    return library_bench_command(options)


@dataclass(frozen=True, kw_only=True)
class StormOptions(BenchOptions):
    """The options of `tlstax storm` as they were typed."""

    steady: Annotated[
        bool,
        typer.Option("--steady", help="Instead: the highest rate of new connections, an open loop."),
    ] = False
    within: Annotated[str, typer.Option(help="How soon connections have to be up, such as 1s.")] = "1s"
    share: Annotated[str, typer.Option(help="How many of them, such as 99%.")] = "99%"
    most: Annotated[
        int | None,
        typer.Option(min=16, help="The largest storm (2000) or highest rate (100000) that is tried."),
    ] = None
    lasting: Annotated[
        str | None,
        typer.Option(help="With --steady: how long each rate lasts (3s)."),
        With("steady", "a storm lasts until all are up; leave it out"),
    ] = None
    budget: Annotated[
        str, typer.Option(help="Time to spend at the most, such as 90s; all kinds get as much of it.")
    ] = "6m"
    server: Annotated[
        str | None,
        typer.Option(
            help="A private server, such as mysql-8.0.33; or mysql://user@host:port, an external one. "
            "Default: MySQL 9.7."
        ),
    ] = None
    max_connections: MaxConnections = None
    back_log: Annotated[
        int | None, typer.Option(min=1, help="The server's back_log; 4096 where it is not said.")
    ] = None
    login: LoginOptions = field(default_factory=LoginOptions)
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat random choices.")] = None


@command(benches_app)
def storm(options: StormOptions) -> int:
    """The largest storm, or rate, of new connections that a server takes in time, by kind of TLS."""
    from tlstax.cli.storm_command import storm_command

    return storm_command(options)


@dataclass(frozen=True)
class MemoryOptions:
    """The options of `tlstax memory` as they were typed; `server` has names, or an external one's address."""

    server: Annotated[
        str | None,
        typer.Option(
            help="Private servers, such as mysql-9.7,mariadb-11.8, in turn; or mysql://user@host:port, an "
            "external one. Default: MySQL 9.7."
        ),
    ] = None
    tls_library: Annotated[
        str | None, typer.Option(help="TLS libraries under each, such as openssl-3.6; comma-separated.")
    ] = None
    certificate: Annotated[
        str | None,
        typer.Option(
            help="Keys of their certificates, such as rsa-4096,ec-p256; comma-separated (rsa-2048)."
        ),
    ] = None
    connections: Annotated[
        str | None, typer.Option(help="How many are kept, two numbers or more (100,500,2000).")
    ] = None
    max_connections: MaxConnections = None
    rounds: Annotated[
        int,
        typer.Option(min=1, help="Blocks, in each of which all is measured once; of an external one, steps."),
    ] = 3
    login: LoginOptions = field(default_factory=LoginOptions)
    server_host: ServerHost = None
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat the order.")] = None
    beside_others: BesideOthers = False
    json: Json = False


@command(benches_app)
def memory(options: MemoryOptions) -> int:
    """What a connection that is kept costs server and client in memory, in the clear and under TLS."""
    from tlstax.cli.memory_command import memory_command

    return memory_command(options)
