"""The commands about this machine: `doctor`, `specimens`, `machines`, `bundle`, `completion`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tlstax.cli.command import Group
from tlstax.cli.options import Json

machine_app = typer.Typer()
specimens_app = typer.Typer(
    cls=Group, help="Servers and TLS libraries, fetched, built or added.", no_args_is_help=True
)


@machine_app.command()
def doctor(json: Json = False) -> None:
    """What this machine can measure, and what would help."""
    from tlstax.cli import streams
    from tlstax.tools.doctor.check import to_json, to_text
    from tlstax.tools.doctor.diagnosis import diagnose

    checks = diagnose()
    if json:
        streams.show_json(to_json(checks))
    else:
        streams.show(to_text(checks, streams.terminal_width()))


@specimens_app.command("list")
def specimens_list(json: Json = False) -> None:
    """Every specimen that is known, and what its TLS can do.

    What it is, and whether it is here.
    """
    from tlstax.cli.machine_command import list_command

    raise typer.Exit(list_command(as_json=json))


@specimens_app.command("fetch")
def specimens_fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Names from the list.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them, which takes a while.")] = False,
) -> None:
    """Fetch or build specimens, and check them.

    By their checksums or signatures.
    """
    from tlstax.cli.machine_command import fetch_command

    raise typer.Exit(fetch_command(names or [], everything=everything))


@specimens_app.command("verify")
def specimens_verify(
    names: Annotated[list[str] | None, typer.Argument(help="Names; none: all that are here.")] = None,
) -> None:
    """Check every file of what is here, and that it runs."""
    from tlstax.cli.machine_command import verify_command

    raise typer.Exit(verify_command(names or []))


@specimens_app.command("remove")
def specimens_remove(names: Annotated[list[str], typer.Argument(help="Names from the list.")]) -> None:
    """Remove specimens from the cache.

    One that was added is forgotten, and its files stay.
    """
    from tlstax.cli.machine_command import remove_command

    raise typer.Exit(remove_command(names))


@specimens_app.command("add")
def specimens_add(
    name: Annotated[str, typer.Argument(help="Its name from now on, such as percona-8.4.")],
    mysqld: Annotated[Path, typer.Option(help="The path of its mysqld or mariadbd.", dir_okay=False)],
    libssl: Annotated[
        Path | None, typer.Option(help="The directory of its libssl, where it does not find that itself.")
    ] = None,
) -> None:
    """Give a server of this machine a name, to be measured by it."""
    from tlstax.cli.machine_command import add_command

    raise typer.Exit(add_command(name, mysqld, libssl))


@machine_app.command()
def machines(
    ray: Annotated[
        str,
        typer.Option(
            "--ray", metavar="ADDRESS", help="The head of a Ray cluster, as host:port.", show_default=False
        ),
    ],
    json: Json = False,
) -> None:
    """The machines of a Ray cluster, and what each can measure.

    With their clocks, and how far they are apart.
    """
    from tlstax.cli.target_servers import check_can_supply

    check_can_supply()
    from tlstax.cli.streams import show_found
    from tlstax.machines.listing import MachineListing, listing_text
    from tlstax.machines.on_ray import connected
    from tlstax.machines.parcels import Parcels

    with Parcels() as parcels, connected(ray, parcels) as cluster:
        surveyed, round_trips = cluster.survey(cluster.nodes())
    listing = MachineListing(address=ray, machines=tuple(surveyed), round_trips=tuple(round_trips))
    show_found(listing, partial(listing_text, listing), as_json=json)


@machine_app.command()
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
    """All of tlstax in one file, for machines without a network.

    There, `tar xf tlstax.tar && tlstax/tlstax run`.
    """
    from tlstax.cli.machine_command import bundle_command

    raise typer.Exit(bundle_command(output, server, tls_library, python))


@machine_app.command()
def completion(shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """The script by which bash, zsh or fish complete commands.

    Options, names of servers, studies and runs as well.
    """
    from tlstax.cli.app import command_tree
    from tlstax.cli.completion.scripts import script
    from tlstax.cli.streams import show

    show(script(shell, command_tree()))
