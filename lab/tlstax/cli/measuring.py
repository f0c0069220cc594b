"""What `run`, `study run` and `ab` share: a request, the pipeline with its progress, then what was found."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.options import MeasuringOptions
from tlstax.cli.streams import check_writable
from tlstax.cli.target_servers import AskedCluster, ExternalServers
from tlstax.plan.budget import check_budget
from tlstax.plan.order import cases
from tlstax.plan.timing import SHORTEST_S, block_s
from tlstax.records.trial import StoredRun
from tlstax.specimens import added
from tlstax.specimens.resolve import check_library_name, check_server_name
from tlstax.study import Study
from tlstax.study.changes import at_external_servers
from tlstax.study.design import LONGEST_BUDGET_S
from tlstax.study.files import rebuilt
from tlstax.study.level_names import AUTH_PLUGINS, COMPRESSIONS
from tlstax.study.needs import check_shared, tls_libraries
from tlstax.study.product import ProductName, product_of
from tlstax.study.server_abilities import ServerAbilities
from tlstax.support import interruption
from tlstax.support.directories import reports_dir
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest

if TYPE_CHECKING:
    from tlstax.run.pipeline import Watcher
    from tlstax.run.preparing import Request
    from tlstax.store import Store

ROOM_FOR_SLOW_BLOCKS = 20
"""How many times as long as it is thought to take a run may take that ends with a number of blocks."""


def new_request(
    study: Study, servers: ExternalServers, options: MeasuringOptions, *, own_options: bool
) -> Request:
    """A new run of the study as it was asked for, of whose external servers none was asked yet.

    With `own_options` a budget that is too small is told by options of the command's own. Raises UserMistake.
    """
    cpus = quantities.asked_cpus(options.server_cpus, options.client_cpus)
    for name in study.levels_of().get("server", ()):
        if name not in servers.by_level:
            check_server_name(str(name))
    for name in tls_libraries(study):
        check_library_name(name)
    if servers:
        from tlstax.run.external import check_external

        study = at_external_servers(study, servers.by_level)
        check_external(study, servers.by_level)
    if not options.over_budget:
        check_budget(study, own_options=own_options)
    # Only now: mistakes are told before what measures is imported, which takes longer than finding them.
    from tlstax.run.preparing import Request

    return Request(study=study, seed=options.seed, beside_others=options.beside_others, cpus=cpus)


def ending_with(study: Study, blocks: int) -> Study:
    """The study that ends with this block, however long they take."""
    budget_s = ROOM_FOR_SLOW_BLOCKS * blocks * block_s(study, cases(study), SHORTEST_S)
    changes = {"minimum_blocks": blocks, "maximum_blocks": blocks, "overtime": True}
    return study.model_copy(update={**changes, "budget_s": min(budget_s, LONGEST_BUDGET_S)})


def bounded(study: Study, typed: Mapping[str, Any]) -> Study:
    """The study with the bounds among these options, by their names; None leaves its own. Raises UserMistake.

    They are `budget`, `precision`, `alike_within` and `rows`; and `profile`, `capture` and `count`, without
    which it is as its file says.
    """
    changes = {name: typed[name] for name in ("rows", "profile", "capture", "count") if typed.get(name)}
    if typed.get("budget") is not None:
        changes["budget_s"] = quantities.seconds(typed["budget"], "--budget")
    if typed.get("precision") is not None:
        changes["precision"] = quantities.fraction(typed["precision"], "--precision")
    if typed.get("alike_within") is not None:
        changes["alike_within"] = 1 + quantities.fraction(typed["alike_within"], "--alike-within")
    count = typed.get("count")
    if count not in {None, *COUNTED}:
        raise UserMistake(
            f"--count {count}: there is nothing of that name to count{closest(str(count), COUNTED)}",
            remedy="give --count locks",
        )
    return study.model_copy(update=changes)


COUNTED = ("locks",)
"""What can be counted beside what is measured."""


def measure(request: Request, options: MeasuringOptions, cluster: AskedCluster | None = None) -> int:
    """Measure, show what was found, write the report; the exit status. Faults as of `measured`."""
    stored = measured(request, options, cluster)
    return INTERRUPTED if stored.status == "interrupted" else 0


def measured(request: Request, options: MeasuringOptions, cluster: AskedCluster | None = None) -> StoredRun:
    """Measure, show what was found as options ask for it, write the report; the run as it is kept.

    As JSON, standard output is the document alone, and a report is written only if asked for. Raises
    UserMistake or MachineFault, before anything is measured, where the report could not be written, and once
    all is shown where the run answered nothing. With a cluster its machines measure.
    """
    if options.report is not None:
        from tlstax.cli.report_command import format_of_report

        format_of_report(options.report, "html")
        check_writable(options.report)
    elif not options.json:
        reports_dir()
    from tlstax.cli.progress import ProgressLine
    from tlstax.run.live_notes import noting
    from tlstax.store import open_store

    with ExitStack() as pages, open_store() as store:
        with noting(ProgressLine(quiet=options.json)) as (watcher, directory):
            if options.live and directory is not None:
                from tlstax.cli.pages_command import served_beside

                pages.enter_context(served_beside(directory))
            stored = _run(request, store, watcher, cluster)
        interruption.forget()
        # Only now: what measures has no use for what reports, which takes time and memory.
        from tlstax.cli.report_command import report_measured

        report_measured(store, stored, options)
    from tlstax.run.early_abort import unanswered

    fault = unanswered(stored) if stored.status == "complete" else None
    if fault is not None:
        raise fault
    return stored


def _run(request: Request, store: Store, watcher: Watcher, asked: AskedCluster | None) -> StoredRun:
    from tlstax.run.pipeline import run

    if asked is None:
        return run(request, store, watcher)
    from tlstax.machines.on_ray import connected
    from tlstax.machines.parcels import Parcels, fetched_servers, on_shelf
    from tlstax.machines.pipeline import run_on
    from tlstax.machines.team import Team, check_trusted, load_from

    if asked.clients_on:
        check_shared(request.study)
    servers = fetched_servers(request.study) if request.external is None else []
    with (
        Parcels(servers, on_shelf(watcher.step)) as parcels,
        connected(asked.address, parcels, asked.wanted) as cluster,
    ):
        if not asked.clients_on:
            return run_on(cluster, request, store, watcher)
        check_trusted(cluster.nodes(), is_private=request.external is None, is_trusted=asked.is_trusted)
        if asked.server_on is not None:
            team = Team(cluster, asked.server_on, asked.clients_on, watcher.warn)
            return run_on(team, request, store, watcher)
        with load_from(cluster, request, watcher) as load:
            return run(replace(request, load=load), store, watcher)


def knowing_added(study: Study) -> Study:
    """The study with the abilities of its servers that were added; UserMistake where nothing is left of it.

    A server that could not be asked, or was added by an earlier version, is taken to do everything.
    """
    wanted = {str(level) for level in study.levels_of().get("server", ())}
    if not wanted:
        return study
    known = {
        entry.name: _abilities(entry.name, product_of(entry.version))
        for entry in added.entries()
        if entry.name in wanted
    }
    servers = {name: abilities for name, abilities in known.items() if abilities is not None}
    return rebuilt(study, "server", servers={**study.servers, **servers}) if servers else study


def knowing_external(study: Study, servers: ExternalServers) -> Study:
    """The study with the products of its external servers, as far as their addresses say them."""
    known = servers.abilities
    return rebuilt(study, "server", servers={**study.servers, **known}) if known else study


def _abilities(name: str, product: ProductName) -> ServerAbilities | None:
    from tlstax.tools.probes import specimen

    facts = specimen.read(specimen.added_facts(name))
    if facts is None or facts.unasked or facts.account_plugins is None:
        return None
    plugins = tuple(plugin for plugin in AUTH_PLUGINS if plugin in facts.account_plugins)
    return ServerAbilities(
        product=product,
        tls_versions=facts.tls_versions,
        account_plugins=plugins,
        compressions=COMPRESSIONS if facts.compressions is None else facts.compressions,
    )
