"""The commands that serve pages to a browser of this machine: `watch`, `explore`; and their options."""

from __future__ import annotations

from typing import Annotated

import typer

pages_app = typer.Typer()


@pages_app.command()
def watch(
    run_name: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run, or `last`. Default: the one under way.")
    ] = None,
) -> None:
    """Show a run as it goes, on a page for a browser of this machine; until Ctrl-C."""
    from tlstax.cli.watch_command import watch_command

    raise typer.Exit(watch_command(run_name))


@pages_app.command("live-page", hidden=True)
def live_page() -> None:
    """What `run --live` starts beside itself: the run's page, until the run is gone."""
    from tlstax.cli.watch_command import inherited_command

    raise typer.Exit(inherited_command())


@pages_app.command()
def explore(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0: any free one.")] = 0,
) -> None:
    """The runs in a browser: views, the README's questions with charts; read-only, on this machine alone."""
    from tlstax.cli.explore_command import explore_command

    raise typer.Exit(explore_command(port))
