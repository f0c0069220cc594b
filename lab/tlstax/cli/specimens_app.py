"""The commands below `tlstax specimens` and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.options import Json

specimens_app = typer.Typer(
    help="What can be measured: servers and TLS libraries, fetched, built or added.", no_args_is_help=True
)


@specimens_app.command("list")
def specimens_list(json: Json = False) -> None:
    """Every specimen that is known: what it is, whether it is here, what its TLS can do."""
    from tlstax.cli.specimens_command import list_command

    raise typer.Exit(list_command(as_json=json))


@specimens_app.command("fetch")
def specimens_fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Names from the list.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them, which takes a while.")] = False,
) -> None:
    """Fetch or build specimens, checked against their checksums or signatures."""
    from tlstax.cli.specimens_command import fetch_command

    raise typer.Exit(fetch_command(names or [], everything=everything))


@specimens_app.command("verify")
def specimens_verify(
    names: Annotated[list[str] | None, typer.Argument(help="Names; none: all that are here.")] = None,
) -> None:
    """Check every file of what is here, and that it runs."""
    from tlstax.cli.specimens_command import verify_command

    raise typer.Exit(verify_command(names or []))


@specimens_app.command("remove")
def specimens_remove(names: Annotated[list[str], typer.Argument(help="Names from the list.")]) -> None:
    """Remove specimens from the cache; one that was added is forgotten, and its files stay."""
    from tlstax.cli.specimens_command import remove_command

    raise typer.Exit(remove_command(names))


@specimens_app.command("add")
def specimens_add(
    name: Annotated[str, typer.Argument(help="Its name from now on, such as percona-8.4.")],
    mysqld: Annotated[Path, typer.Option(help="The path of its mysqld or mariadbd.", dir_okay=False)],
    libssl: Annotated[
        Path | None, typer.Option(help="The directory of its libssl, where it does not find that itself.")
    ] = None,
) -> None:
    """Give a server of this machine a name, so that it can be measured like the others."""
    from tlstax.cli.specimens_command import add_command

    raise typer.Exit(add_command(name, mysqld, libssl))
