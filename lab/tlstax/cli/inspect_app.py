"""The commands about a server as it is, `inspect` and `advise`, and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.options import (
    DefaultsFile,
    Json,
    LoginPath,
    ServerHost,
    SslCa,
    SslCert,
    SslKey,
    SslMode,
    Verbose,
)

inspect_app = typer.Typer()


Url = Annotated[
    str | None,
    typer.Argument(
        help="mysql://user@host:port/schema; or a specimen such as mysql-8.0.33, started privately. "
        "Default: a private MySQL 9.7.",
        metavar="URL",
    ),
]
Watch = Annotated[str, typer.Option(help="How long its counters are watched, such as 5s or 1m.")]


@inspect_app.command("inspect")
def inspect(
    context: typer.Context,
    server: Url = None,
    ssl_mode: SslMode = None,
    ssl_ca: SslCa = None,
    ssl_cert: SslCert = None,
    ssl_key: SslKey = None,
    defaults_file: DefaultsFile = None,
    login_path: LoginPath = None,
    watch: Watch = "5s",
    client: Annotated[
        str | None,
        typer.Option(
            help="Drivers such as go-sql-driver-1.9, separated by commas: whether they could connect, and "
            "every line that mends it. Default: all that are known, in short."
        ),
    ] = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """How a server's TLS is, seen from outside with a few dozen connections, and what is unsafe about it."""
    from tlstax.cli.inspect_command import inspect_command
    from tlstax.guests.access import GuestOptions

    options = GuestOptions(
        url=server or "",
        ssl_mode=ssl_mode,
        ssl_ca=ssl_ca,
        ssl_cert=ssl_cert,
        ssl_key=ssl_key,
        defaults_file=defaults_file,
        login_path=login_path,
        given_password=context.obj,
    )
    raise typer.Exit(inspect_command(options, watch, client, verbose=verbose, as_json=json))


@inspect_app.command("advise")
def advise(
    context: typer.Context,
    server: Url = None,
    connects: Annotated[
        str | None, typer.Option(help="Connections a second, such as 200/s, where that is not to be seen.")
    ] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="Statements on each connection.")] = None,
    bytes_: Annotated[str | None, typer.Option("--bytes", help="Bytes of each answer, such as 2k.")] = None,
    budget: Annotated[
        str, typer.Option(help="How long to measure on a private server like it; off leaves it out.")
    ] = "2m",
    there: Annotated[
        str, typer.Option(help="How long to measure at the server itself, one connection at a time; or off.")
    ] = "60s",
    share: Annotated[
        str, typer.Option(help="For how much of that time one processor there may be at work for it.")
    ] = "10%",
    ssl_mode: SslMode = None,
    ssl_ca: SslCa = None,
    ssl_cert: SslCert = None,
    ssl_key: SslKey = None,
    defaults_file: DefaultsFile = None,
    login_path: LoginPath = None,
    server_host: ServerHost = None,
    watch: Watch = "5s",
    report: Annotated[
        Path | None, typer.Option(help="Write the advice here as an HTML page.", dir_okay=False)
    ] = None,
    redact: Annotated[
        bool | None,
        typer.Option(
            "--redact/--no-redact",
            help="Leave names of hosts, certificates and programs out. By default in the page alone.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """What to change at a server so that TLS costs less, what each change would save, and how it is made."""
    from tlstax.cli.advise_command import AdviseOptions, advise_command
    from tlstax.guests.access import GuestOptions

    guest = GuestOptions(
        url=server or "",
        ssl_mode=ssl_mode,
        ssl_ca=ssl_ca,
        ssl_cert=ssl_cert,
        ssl_key=ssl_key,
        defaults_file=defaults_file,
        login_path=login_path,
        server_host=server_host,
        given_password=context.obj,
    )
    options = AdviseOptions(
        guest=guest,
        watch=watch,
        budget=budget,
        there=there,
        share=share,
        connects=connects,
        queries=queries,
        bytes=bytes_,
        report=report,
        redact=redact,
        json=json,
    )
    raise typer.Exit(advise_command(options))
