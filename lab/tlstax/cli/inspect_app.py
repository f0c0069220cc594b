"""The command that looks at a server and measures nothing: `inspect`, and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.options import Json

inspect_app = typer.Typer()


@inspect_app.command("inspect")
def inspect(
    context: typer.Context,
    server: Annotated[str, typer.Argument(help="mysql://user@host:port/schema", metavar="URL")],
    ssl_mode: Annotated[
        str | None, typer.Option(help="PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY.")
    ] = None,
    ssl_ca: Annotated[str | None, typer.Option(help="Trusted certificates (PEM).")] = None,
    ssl_cert: Annotated[str | None, typer.Option(help="A client certificate (PEM).")] = None,
    ssl_key: Annotated[str | None, typer.Option(help="Its key (PEM).")] = None,
    defaults_file: Annotated[
        Path | None, typer.Option(help="A my.cnf whose [client] section has user and password.")
    ] = None,
    login_path: Annotated[str | None, typer.Option(help="A login path of mysql_config_editor.")] = None,
    watch: Annotated[str, typer.Option(help="How long its counters are watched, such as 5s or 1m.")] = "5s",
    json: Json = False,
) -> None:
    """How a server's TLS is, seen from outside with a few dozen connections, and what is unsafe about it."""
    from tlstax.cli.inspect_command import inspect_command
    from tlstax.guests.access import GuestOptions

    options = GuestOptions(
        url=server,
        ssl_mode=ssl_mode,
        ssl_ca=ssl_ca,
        ssl_cert=ssl_cert,
        ssl_key=ssl_key,
        defaults_file=defaults_file,
        login_path=login_path,
        given_password=context.obj,
    )
    raise typer.Exit(inspect_command(options, watch, as_json=json))
