"""The commands that measure beside studies, `storm` and `library-bench`; and their options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import typer

from tlstax.cli.command import With, command
from tlstax.cli.options import (
    BenchOptions,
    ClientCpus,
    LoginOptions,
    MaxConnections,
)

benches_app = typer.Typer()


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
    """TLS libraries alone, in one process and in turn.

    Handshakes, records, signatures and key exchanges.
    """
    from tlstax.cli.benches_command import library_bench_command

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
            help="A private server, such as mysql-8.0.33 or postgresql-18; or mysql://user@host:port, an "
            "external one. Default: MySQL 9.7."
        ),
    ] = None
    path: Annotated[
        str | None,
        typer.Option(
            help="What connections go through to a private server, such as pgbouncer-terminate or haproxy."
        ),
    ] = None
    max_connections: MaxConnections = None
    back_log: Annotated[
        int | None, typer.Option(min=1, help="The back_log of MySQL or MariaDB; 4096 where it is not said.")
    ] = None
    login: LoginOptions = field(default_factory=LoginOptions)
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat random choices.")] = None


@command(benches_app)
def storm(options: StormOptions) -> int:
    """The most new connections that a server takes in time.

    A storm opens them at once; with --steady it is the highest rate of them. By kind of TLS.
    """
    from tlstax.cli.benches_command import storm_command

    return storm_command(options)
