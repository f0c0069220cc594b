"""The command `bundle` and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

bundle_app = typer.Typer()


@bundle_app.command("bundle")
def bundle(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file (tlstax.tar).", dir_okay=False)
    ] = Path("tlstax.tar"),
    server: Annotated[
        str | None,
        typer.Option(help="Servers to carry, the default one first; comma-separated (mysql-9.7)."),
    ] = None,
    tls_library: Annotated[
        str | None, typer.Option(help="TLS libraries to carry, such as openssl-3.0.2; comma-separated.")
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(help="Versions of Python to serve, such as 3.11,3.13. Default: the one that runs this."),
    ] = None,
) -> None:
    """All of tlstax in one file, for machines without a network: `tar xf tlstax.tar && tlstax/tlstax run`."""
    from tlstax.cli.bundle_command import bundle_command

    raise typer.Exit(bundle_command(output, server, tls_library, python))
