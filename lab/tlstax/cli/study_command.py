"""`tlstax study`: what studies there are, what one would do, and doing it."""

from __future__ import annotations

import textwrap
from dataclasses import replace

from tlstax.cli import quantities
from tlstax.cli.added_servers import knowing_added
from tlstax.cli.asked_cluster import AskedCluster, asked_cluster, check_has_server
from tlstax.cli.external_servers import (
    Allowed,
    ExternalServers,
    external_among,
    let_in,
    typed_servers,
)
from tlstax.cli.kept import open_store
from tlstax.cli.measuring import Shown, bounded, measure
from tlstax.cli.options import ExternalOptions
from tlstax.cli.plan_words import plan_words
from tlstax.cli.streams import show, show_json, tell, terminal_width
from tlstax.cli.study_app import PlanOptions, StudyRunOptions
from tlstax.plan.budget import check_budget
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.plan.order import plan
from tlstax.records.trial import Changes
from tlstax.run.external import check_external
from tlstax.run.preparing import Request
from tlstax.run.resume import check_study, check_where, unfinished
from tlstax.study import (
    Study,
    at_rate,
    built_in_studies,
    check_nothing_is_lost,
    load_study,
    override,
    study_toml,
)
from tlstax.study.changes import at_external_servers
from tlstax.study.needs import has_plaintext, lacking
from tlstax.study.questions import asking_what_is_there
from tlstax.support.errors import UserMistake
from tlstax.support.text import counted

SET = "--set server="


def list_command() -> int:
    """Every built-in study and its question, below it where the two do not fit a line."""
    names = built_in_studies()
    indent = " " * (max(map(len, names)) + 2)
    for name in names:
        question = load_study(name).question
        text = textwrap.wrap(
            question, terminal_width(), initial_indent=name.ljust(len(indent)), subsequent_indent=indent
        )
        show("\n".join(text) + "\n")
    return 0


def show_command(name: str) -> int:
    """A study as TOML that can be saved and changed, with everything that its file leaves to defaults."""
    show(study_toml(load_study(name)))
    return 0


def plan_command(options: PlanOptions) -> int:
    """What running a study would mean, without running it."""
    changes = options.study.changes()
    servers = external_among(typed_servers(changes.set), ExternalOptions(), SET)
    study = changed(load_study(options.study.name), changes, servers)
    planned = plan(study, servers.levels)
    if options.json:
        show_json(planned.model_dump_json(indent=2) + "\n")
    else:
        show(plan_words(planned, study, every_case=options.cases, width=terminal_width()))
    return 0


def run_command(options: StudyRunOptions) -> int:
    """Run a study, or bring one that was cut off to its end; the exit status.

    UserMistake where the budget of a new run has no room for two blocks, and it is not to go on over it.
    """
    cluster, changes = asked_cluster(options.cluster), options.changes
    servers = external_among(typed_servers(changes.set), options.external, SET)
    if cluster is not None:
        check_has_server(cluster)
        if servers:
            raise UserMistake(
                "--ray has each machine measure servers of its own, and an external server is there once",
                remedy="leave one of the two out, or load one with `tlstax run --server … --clients-on …`",
            )
    if options.resume is None:
        request = _new(options, changes, servers)
    elif servers:
        raise UserMistake(
            "a run on an external server cannot be resumed", remedy="leave --resume out to begin a new run"
        )
    else:
        request = _resumed(options, changes, cluster)
    request = replace(request, beside_others=options.beside_others)
    form = "json" if options.json else "terminal"
    shown = Shown(options.report, form, live=options.live, verbose=options.verbose)
    return measure(request, shown=shown, cluster=cluster)


def _new(options: StudyRunOptions, changes: Changes, servers: ExternalServers) -> Request:
    """A new run of the study, at these external servers where there are any. Raises UserMistake."""
    study = changed(load_study(options.study.name), changes, servers)
    if servers:
        study = at_external_servers(study, servers.by_level)
        check_external(study, servers.by_level)
    if not options.over_budget:
        check_budget(study)
    for why, count in lacking(study).items():
        tell(f"tlstax: {counted(count, 'case')} left out: {why}")
    # What a run keeps of its options names no user and no schema.
    kept = changes.model_copy(update={"set": tuple(map(servers.setting, changes.set))})
    request = Request(study=study, seed=options.seed, changes=kept, cpus=_asked_cpus(changes))
    if not servers:
        return request
    chosen = {quantities.setting(setting)[0] for setting in changes.set}
    allowed = Allowed(
        fewer_connections="connections" not in chosen,
        no_tables="workload" not in chosen,
        asks_plaintext="tls" in chosen and has_plaintext(study),
    )
    study, external = let_in(study, servers, allowed)
    return replace(request, study=study, external=external)


def changed(study: Study, changes: Changes, servers: ExternalServers = ExternalServers()) -> Study:  # noqa: B008
    """The study with each `factor=a,b` of --set and the other options in force. Raises UserMistake.

    `servers` are the external ones that are named there.
    """
    chosen, as_written = [], study
    for setting in changes.set:
        factor, levels = quantities.setting(servers.setting(setting))
        chosen.append(factor)
        study = override(study, factor, levels, option=f"--set {factor}", external=servers.levels)
    if changes.rate is not None:
        study = at_rate(study, quantities.open_loop(changes.rate, changes.arrivals))
    study = knowing_added(study)
    check_nothing_is_lost(study, chosen)
    return bounded(
        asking_what_is_there(study, as_written),
        budget=changes.budget,
        precision=changes.precision,
        rows=None,
        profile=changes.profile,
        capture=changes.capture,
        count=changes.count,
    )


def _asked_cpus(changes: Changes) -> AskedCpus:
    return quantities.asked_cpus(changes.server_cpus, changes.client_cpus)


def _resumed(options: StudyRunOptions, typed: Changes, cluster: AskedCluster | None) -> Request:
    """The rest of a run that was cut off. Options that are not given again are those of then."""
    now = load_study(options.study.name)
    with open_store() as store:
        stored = unfinished(store, now.name, options.resume or "last")
    if options.seed not in {None, stored.header.seed}:
        raise UserMistake(
            f"--seed {options.seed} does not go with --resume: run {stored.header.run} has seed "
            f"{stored.header.seed}",
            remedy="leave it out",
        )
    changes = stored.header.changes if typed == Changes() else typed
    study = changed(now, changes)
    check_study(stored, study)
    shares_load = cluster is not None and bool(cluster.clients_on)
    check_where(stored.header, on_cluster=cluster is not None, shares_load=shares_load)
    return Request(study=study, resumed=stored, cpus=_asked_cpus(changes))
