"""The commands beside studies: `self-bench`, `library-bench`, `storm`, `memory`; and their options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.options import (
    BenchOptions,
    BesideOthers,
    ClientCpus,
    DefaultsFile,
    ExternalOptions,
    Json,
    LoginPath,
    MaxConnections,
    ServerCpus,
    ServerHost,
    SslCa,
    SslCert,
    SslKey,
    SslMode,
    command_of,
)

benches_app = typer.Typer()


@benches_app.command("self-bench")
def self_bench(
    workload: Annotated[str | None, typer.Option(help="point-select, reconnect; comma-separated.")] = None,
    tls: Annotated[str | None, typer.Option(help="off, 1.3, 1.3-resumed; comma-separated.")] = None,
    connections: Annotated[str | None, typer.Option(help="How many at once (1,8,64,512).")] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time to spend on trials, such as 2m (10m); at least one block is run.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write it here as well: .json, .md, .txt or .html.", dir_okay=False
        ),
    ] = None,
    client_tls_library: Annotated[
        str | None,
        typer.Option(help="TLS library of the engine and the floor, such as openssl-3.5.5."),
    ] = None,
    bytes_: Annotated[
        bool,
        typer.Option("--bytes", help="Instead: read results of 16 MiB, beside a bare loop that counts them."),
    ] = False,
    hold: Annotated[
        int | None,
        typer.Option(min=2, help="Instead: hold N connections with one engine, in an open loop."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="With --hold: queries a second over all of them (one each)."),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            help="With --hold: servers, such as mariadb-11.8,mysql-9.7, or all that are here (mariadb-11.8)."
        ),
    ] = None,
    server_cpus: ServerCpus = None,
    client_cpus: ClientCpus = None,
    show: Annotated[
        Path | None,
        typer.Option("--show", help="Show what --hold or --bytes wrote with --output.", dir_okay=False),
    ] = None,
    format_name: Annotated[str, typer.Option("--format", help="terminal, md or json.")] = "terminal",
    beside_others: BesideOthers = False,
    json: Json = False,
) -> None:
    """The engine beside sysbench and the bare floor on a private server: the study self-bench, in short."""
    from tlstax.cli.self_bench_command import SelfBenchOptions, self_bench_command

    raise typer.Exit(
        self_bench_command(
            SelfBenchOptions(
                workload=workload,
                tls=tls,
                connections=connections,
                budget=budget,
                seed=seed,
                output=output,
                show=show,
                format_name=format_name,
                json=json,
                client_tls_library=client_tls_library,
                bytes=bytes_,
                hold=hold,
                rate=rate,
                server=server,
                server_cpus=server_cpus,
                client_cpus=client_cpus,
                beside_others=beside_others,
            )
        )
    )


@dataclass(frozen=True, kw_only=True)
class LibraryBenchOptions(BenchOptions):
    """TLS libraries alone: handshakes, records, signatures and key exchanges in one process, in turn."""

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


@dataclass(frozen=True, kw_only=True)
class StormOptions(ExternalOptions, BenchOptions):
    """The largest storm, or rate, of new connections that a server takes in time, by kind of TLS."""

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
    lasting: Annotated[str | None, typer.Option(help="With --steady: how long each rate lasts (3s).")] = None
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
    back_log: Annotated[
        int | None, typer.Option(min=1, help="The server's back_log; 4096 where it is not said.")
    ] = None
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat random choices.")] = None


def _library_bench(options: LibraryBenchOptions) -> int:
    from tlstax.cli.library_bench_command import library_bench_command

    return library_bench_command(options)


def _storm(options: StormOptions) -> int:
    from tlstax.cli.storm_command import storm_command

    return storm_command(options)


benches_app.command("library-bench")(command_of(LibraryBenchOptions, _library_bench))
benches_app.command("storm")(command_of(StormOptions, _storm))


@benches_app.command("memory")
def memory(
    context: typer.Context,
    server: Annotated[
        str | None,
        typer.Option(
            help="Private servers, such as mysql-9.7,mariadb-11.8, in turn; or mysql://user@host:port, an "
            "external one. Default: MySQL 9.7."
        ),
    ] = None,
    tls_library: Annotated[
        str | None, typer.Option(help="TLS libraries under each, such as openssl-3.6; comma-separated.")
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(
            help="Keys of their certificates, such as rsa-4096,ec-p256; comma-separated (rsa-2048)."
        ),
    ] = None,
    connections: Annotated[
        str | None, typer.Option(help="How many are kept, two numbers or more (100,500,2000).")
    ] = None,
    max_connections: MaxConnections = None,
    rounds: Annotated[
        int,
        typer.Option(min=1, help="Blocks, in each of which all is measured once; of an external one, steps."),
    ] = 3,
    ssl_mode: SslMode = None,
    ssl_ca: SslCa = None,
    ssl_cert: SslCert = None,
    ssl_key: SslKey = None,
    defaults_file: DefaultsFile = None,
    login_path: LoginPath = None,
    server_host: ServerHost = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat the order.")] = None,
    beside_others: BesideOthers = False,
    json: Json = False,
) -> None:
    """What a connection that is kept costs server and client in memory, in the clear and under TLS."""
    from tlstax.cli.memory_command import MemoryOptions, memory_command
    from tlstax.guests.access import GuestOptions

    is_external = server is not None and "://" in server
    external = GuestOptions(
        url=server if server is not None and is_external else "",
        ssl_mode=ssl_mode,
        ssl_ca=ssl_ca,
        ssl_cert=ssl_cert,
        ssl_key=ssl_key,
        defaults_file=defaults_file,
        login_path=login_path,
        server_host=server_host,
        given_password=context.obj,
    )
    options = MemoryOptions(
        server=None if is_external else server,
        external=external,
        max_connections=max_connections,
        tls_library=tls_library,
        certificate=certificate,
        connections=connections,
        rounds=rounds,
        seed=seed,
        beside_others=beside_others,
        json=json,
    )
    raise typer.Exit(memory_command(options))
