"""The commands below `tlstax study` and their options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tlstax.cli.command import command
from tlstax.cli.options import (
    Arrivals,
    BesideOthers,
    Budget,
    Capture,
    ClientCpus,
    ClusterOptions,
    Count,
    ExternalOptions,
    Json,
    Live,
    OverBudget,
    Precision,
    Profile,
    Rate,
    ServerCpus,
    Settings,
    StudyName,
    Verbose,
)

if TYPE_CHECKING:
    from tlstax.records.trial import Changes

study_app = typer.Typer(help="Studies: what is compared with what, as files.", no_args_is_help=True)


@study_app.command("list")
def study_list() -> None:
    """The built-in studies and their questions."""
    from tlstax.cli.study_command import list_command

    raise typer.Exit(list_command())


@study_app.command("show")
def study_show(name: StudyName) -> None:
    """A study with all its factors, levels and defaults."""
    from tlstax.cli.study_command import show_command

    raise typer.Exit(show_command(name))


@dataclass(frozen=True)
class StudyOptions:
    """A study, and what options change of it, as they were typed."""

    name: StudyName
    settings: Settings = None
    budget: Budget = None
    precision: Precision = None
    rate: Rate = None
    arrivals: Arrivals = None
    profile: Profile = False
    capture: Capture = False
    count: Count = None

    def changes(self, server_cpus: str | None = None, client_cpus: str | None = None) -> Changes:
        """The same as a run keeps it."""
        from tlstax.records.trial import Changes

        return Changes(
            set=tuple(self.settings or ()),
            budget=self.budget,
            precision=self.precision,
            rate=self.rate,
            arrivals=self.arrivals,
            profile=self.profile,
            capture=self.capture,
            count=self.count,
            server_cpus=server_cpus,
            client_cpus=client_cpus,
        )


@dataclass(frozen=True)
class PlanOptions:
    """The options of `tlstax study plan` as they were typed."""

    study: StudyOptions
    cases: Annotated[bool, typer.Option("--cases", help="List every case, however many.")] = False
    json: Json = False


@command(study_app, "plan")
def plan(options: PlanOptions) -> int:
    """What running a study would mean: its cases, trials and time."""
    from tlstax.cli.study_command import plan_command

    return plan_command(options)


@dataclass(frozen=True)
class StudyRunOptions:
    """The options of `tlstax study run` as they were typed; `resume` is a run, or `last`."""

    study: StudyOptions
    over_budget: OverBudget = False
    server_cpus: ServerCpus = None
    client_cpus: ClientCpus = None
    seed: Annotated[int | None, typer.Option(min=0, help="Repeat a run's order and random choices.")] = None
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="[RUN]",
            help="Finish a run that was cut off: the last one of this study, or the one named.",
        ),
    ] = None
    report: Annotated[
        Path | None, typer.Option(help="Write the report here: .html, or as of `report`.", dir_okay=False)
    ] = None
    external: ExternalOptions = field(default_factory=ExternalOptions)
    beside_others: BesideOthers = False
    live: Live = False
    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    verbose: Verbose = False
    json: Json = False

    @property
    def changes(self) -> Changes:
        """What options change of the study, and the CPUs that were asked for."""
        return self.study.changes(self.server_cpus, self.client_cpus)


@command(study_app, "run")
def run(options: StudyRunOptions) -> int:
    """Run a study: start its servers, measure in blocks, report what was found.

    Servers that are there already are named by their addresses: --set server=mysql://user@host:port/db.
    """
    from tlstax.cli.study_command import run_command

    return run_command(options)
