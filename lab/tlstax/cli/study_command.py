"""`tlstax study`: what studies there are, what one would do, in words for a person, and doing it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.measure_app import PlanOptions, StudyRunOptions
from tlstax.cli.measuring import (
    bounded,
    ending_with,
    knowing_added,
    knowing_external,
    measure,
    new_request,
)
from tlstax.cli.options import ExternalOptions
from tlstax.cli.streams import show, show_found, show_json, terminal_width, warn
from tlstax.cli.target_servers import (
    SERVER,
    AskedCluster,
    ExternalServers,
    asked_cluster,
    check_has_server,
    external_among,
    typed_servers,
)
from tlstax.plan.admission import Leeway
from tlstax.plan.budget import no_room, what_fits
from tlstax.plan.order import Plan, plan
from tlstax.records.trial import Changes
from tlstax.specimens.resolve import flavour_named
from tlstax.study import (
    Exclusion,
    Level,
    Study,
    at_rate,
    built_in_studies,
    check_nothing_is_lost,
    configuration,
    listed,
    load_study,
    override,
    study_toml,
)
from tlstax.study.changes import over_client_library
from tlstax.study.client_kinds import FLOOR
from tlstax.study.files import rebuilt
from tlstax.study.labels import asking_what_is_there, full_label, group_label, label_levels
from tlstax.study.needs import has_plaintext, lacking
from tlstax.support.errors import UserMistake
from tlstax.support.text import counted, time_left

if TYPE_CHECKING:
    from tlstax.run.preparing import Request

SET = "--set server="

MEMORY = "server_rss_bytes"
"""The outcome that decides of studies of connections that are kept."""

EXTERNAL_MEMORY, USUAL_ROUNDS = "memory", 3
"""The study that external servers have a measurement of their own for, and how many rounds that has."""


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
    if changes.blocks is not None and changes.budget is not None:
        raise UserMistake(
            "--blocks ends a run with a number of blocks, and --budget with a time",
            remedy="leave one of the two out",
        )
    servers = external_among(typed_servers(changes.set), options.external, SET)
    if cluster is not None:
        check_has_server(cluster)
        if servers:
            raise UserMistake(
                "--ray has each machine measure servers of its own, and an external server is there once",
                remedy="leave one of the two out, or load one with `tlstax run --server … --clients-on …`",
            )
    if servers and options.study.name == EXTERNAL_MEMORY:
        return _external_memory(options, servers)
    if options.resume is None:
        request = _new(options, changes, servers)
    elif servers:
        raise UserMistake(
            "a run on an external server cannot be resumed", remedy="leave --resume out to begin a new run"
        )
    else:
        request = _resumed(options, changes, cluster)
    return measure(request, options, cluster)


def _new(options: StudyRunOptions, changes: Changes, servers: ExternalServers) -> Request:
    """A new run of the study, at these external servers where there are any. Raises UserMistake."""
    study = changed(load_study(options.study.name), changes, servers)
    request = new_request(study, servers, options, own_options=False)
    for why, count in lacking(request.study).items():
        warn(f"{counted(count, 'case')} left out: {why}")
    # What a run keeps of its options names no user and no schema.
    kept = changes.model_copy(update={"set": tuple(map(servers.setting, changes.set))})
    chosen = {quantities.setting(setting)[0] for setting in changes.set}
    as_able = holds_connections(study) and "tls" not in chosen
    request = replace(request, changes=kept, tls_as_able=as_able)
    if not servers:
        return request
    from tlstax.cli.external_servers import let_in

    leeway = Leeway(
        fewer_connections="connections" not in chosen,
        no_tables="workload" not in chosen,
        no_plaintext="tls" not in chosen or not has_plaintext(request.study),
    )
    study, external = let_in(request.study, servers, leeway)
    return replace(request, study=study, external=external)


def changed(study: Study, changes: Changes, servers: ExternalServers = ExternalServers()) -> Study:  # noqa: B008
    """The study with each `factor=a,b` of --set and the other options in force. Raises UserMistake.

    `servers` are the external ones that are named there.
    """
    chosen, as_written = [], study
    study = knowing_external(study, servers)
    for setting in changes.set:
        factor, levels = quantities.setting(servers.setting(setting))
        chosen.append(factor)
        study = _overridden(study, factor, levels, servers)
    if changes.rate is not None:
        study = at_rate(study, quantities.open_loop(changes.rate, changes.arrivals))
    study = knowing_added(study)
    check_nothing_is_lost(study, {factor: f"--set {factor}" for factor in chosen})
    if holds_connections(study) and "connections" in chosen:
        study = _along_a_ladder(study)
    if "server" in chosen and "configuration" not in chosen and not servers:
        study = _with_thread_pools(study)
    bound = bounded(asking_what_is_there(study, as_written), dict(changes))
    blocks = changes.blocks
    if blocks is None and changes.budget is None and holds_connections(bound):
        blocks = bound.maximum_blocks
    return bound if blocks is None else ending_with(bound, blocks)


def _overridden(study: Study, factor: str, levels: Sequence[str], servers: ExternalServers) -> Study:
    """The study with these levels of a factor, as `--set` names them. Raises UserMistake."""
    option = f"--set {factor}"
    # Beside the floor some clients keep the TLS library that they have.
    beside_the_floor = any(treatment.get("client") == FLOOR for treatment in study.treatments)
    if factor == "client_tls_library" and len(levels) == 1 and beside_the_floor:
        return over_client_library(study, levels[0], option)
    return override(study, factor, levels, option=option, external=servers.levels)


def holds_connections(study: Study) -> bool:
    """Whether the study asks what each further connection costs that is kept."""
    return study.deciding_outcome == MEMORY


def _along_a_ladder(study: Study) -> Study:
    """The study with its numbers of connections in their order, the fewest with a control. UserMistake."""
    option = "--set connections"
    sizes = tuple(sorted(int(level) for level in study.levels_of()["connections"]))
    if len(sizes) < 2:
        raise UserMistake(f"{option}: what each further one costs takes two numbers at the least")
    factors = {**study.factors, "connections": sizes}
    return rebuilt(study, option, factors=factors, control_within={"connections": sizes[0]})


def _with_thread_pools(study: Study) -> Study:
    """A study of servers with a thread pool without it at those that have none."""
    levels = study.levels_of()
    if levels.get("configuration") != (configuration.THREAD_POOL,):
        return study
    names = tuple(map(str, levels["server"]))
    pooled = [name for name in names if flavour_named(name) == "mariadb"]
    plain = [name for name in names if name not in pooled]
    if not plain:
        return study
    if not pooled:
        return override(study, "configuration", (configuration.AS_IT_COMES,))
    both = override(study, "configuration", (configuration.THREAD_POOL, configuration.AS_IT_COMES))
    left_out = (
        Exclusion(levels={"server": tuple(own), "configuration": level}, why=why)
        for level, own, why in (
            (configuration.THREAD_POOL, plain, "it has no thread pool"),
            (configuration.AS_IT_COMES, pooled, "it is measured with its thread pool"),
        )
    )
    return rebuilt(both, "--set server", exclude=(*both.exclude, *left_out))


def _external_memory(options: StudyRunOptions, servers: ExternalServers) -> int:
    """What connections cost an external server, whose process nobody may start anew; the exit status.

    UserMistake for an option that is about private servers, and where another server is beside it.
    """
    from tlstax.cli.external_servers import let_into
    from tlstax.cli.progress import ProgressLine
    from tlstax.tools.probes.external_memory import ExternalRequest, external_memory, memory_text

    _check_external_memory(options, servers)
    (guest,) = servers.by_level.values()
    access = let_into(guest)
    request = ExternalRequest(
        rounds=options.study.blocks or USUAL_ROUNDS,
        max_connections=options.external.max_connections,
        seed=options.seed,
        beside_others=options.beside_others,
    )
    with closing(ProgressLine(quiet=options.json)) as line:
        found = external_memory(request, access, line)
    show_found(found, partial(memory_text, found), as_json=options.json)
    return INTERRUPTED if found.status == "interrupted" else 0


def _check_external_memory(options: StudyRunOptions, servers: ExternalServers) -> None:
    if len(typed_servers(options.changes.set)) > 1:
        raise UserMistake(
            "the memory of an external server is measured by itself", remedy=f"name one server with {SET}"
        )
    stated = options.changes.model_dump(exclude_defaults=True, exclude={"set", "blocks"})
    settings = (quantities.setting(servers.setting(text))[0] for text in options.changes.set)
    others = {"report": options.report, "live": options.live, "resume": options.resume}
    named = [
        *(f"--set {factor}" for factor in settings if factor != SERVER),
        *(f"--{name.replace('_', '-')}" for name in stated),
        *(f"--{name}" for name, value in others.items() if value),
    ]
    for option in named:
        raise UserMistake(
            f"{option} needs private servers: an external one keeps what it has, and connections to it are "
            "opened step by step, as many as --max-connections allows",
            remedy="leave it out",
        )


def _resumed(options: StudyRunOptions, typed: Changes, cluster: AskedCluster | None) -> Request:
    """The rest of a run that was cut off. Options that are not given again are those of then."""
    from tlstax.run.preparing import Request
    from tlstax.run.resume import check_study, check_where, unfinished
    from tlstax.store import open_store

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
    cpus = quantities.asked_cpus(changes.server_cpus, changes.client_cpus)
    return Request(study=study, resumed=stored, cpus=cpus, beside_others=options.beside_others)


FEW_CASES = 30
"""How many cases are listed without being asked for."""


def plan_words(planned: Plan, study: Study, *, every_case: bool, width: int) -> str:
    """The plan as lines no wider than `width`."""
    paragraphs = (
        f"{study.name}: {study.question}",
        *_factors(study),
        *_cases(planned, study, every_case=every_case),
        *_left_out(planned, study, every_case=every_case),
        *_servers(planned),
        _time(planned, study),
    )
    indents = (" " * (len(text) - len(text.lstrip()) + 2) for text in paragraphs)
    lines = (
        textwrap.fill(text, width, subsequent_indent=indent)
        for text, indent in zip(paragraphs, indents, strict=True)
    )
    return "\n".join(lines) + "\n"


def _factors(study: Study) -> Iterator[str]:
    """The factors with their levels; those that are bundled, bundle by bundle."""
    bundled = set(study.treatments[0]) if study.treatments else set()
    for name, levels in study.levels_of().items():
        if name not in bundled:
            yield f"  {name}: {listed(levels)}"
    if study.treatments:
        bundles = "; ".join(_bundle(treatment) for treatment in study.treatments)
        yield f"  {' + '.join(study.treatments[0])}: {bundles}"
    yield f"  compared with: {_bundle(study.baseline)}"


def _bundle(levels: dict[str, Level]) -> str:
    if set(levels) <= {"tls", "resumption"}:
        return label_levels(levels)
    return ", ".join(f"{name} {level}" for name, level in levels.items())


def _cases(planned: Plan, study: Study, *, every_case: bool) -> Iterator[str]:
    roles = Counter(case.role for case in planned.cases)
    yield (
        f"{counted(len(planned.cases), 'case')}, each once in a block, in random order: "
        f"{counted(roles['baseline'], 'baseline')}, {counted(roles['control'], 'control')}, "
        f"{counted(roles['treatment'], 'treatment')}"
    )
    if planned.counted:
        yield f"First {counted(planned.counted, 'trial')} on servers whose locks are counted."
    if planned.captured:
        yield f"First {counted(planned.captured, 'case')} once through a tap: what crosses the wire."
    if study.profile:
        yield "Each is run once more in a block, sampled by perf: where its CPU time goes."
    if every_case or len(planned.cases) <= FEW_CASES:
        for case in planned.cases:
            yield f"  {full_label(case, study)}"
    else:
        yield "  (--cases lists them)"


def _left_out(planned: Plan, study: Study, *, every_case: bool) -> Iterator[str]:
    reasons = Counter(excluded.why for excluded in planned.excluded)
    if reasons and not every_case and len(planned.excluded) > FEW_CASES:
        yield f"{counted(len(planned.excluded), 'case')} left out:"
        for why, count in reasons.items():
            yield f"  {count}: {why}"
        return
    for excluded in planned.excluded:
        levels = excluded.case
        name = ", ".join(filter(None, (label_levels(levels, study), group_label(levels, study))))
        yield f"  left out: {name}: {excluded.why}"


def _servers(planned: Plan) -> Iterator[str]:
    if len(planned.servers) > 1:
        yield f"{counted(len(planned.servers), 'server')}, started once, paused while others are measured:"
        for server in planned.servers:
            yield f"  {server}"
    if planned.specimens:
        yield f"Specimens, fetched first where they are not there: {', '.join(planned.specimens)}"


def _time(planned: Plan, study: Study) -> str:
    per_block = planned.trials // planned.blocks
    if message := no_room(study, planned.block_s):
        from tlstax.stats.wording import capitalised

        fits = " or ".join(what_fits(study))
        return (
            f"{capitalised(message)}. `study run` refuses that without --over-budget"
            f"{f'; it fits with {fits}' if fits else ''}."
        )
    return (
        f"A block of {counted(per_block, 'trial')} of {planned.trial_duration_s:g} s and more takes "
        f"about {time_left(planned.block_s)}. At most {counted(planned.blocks, 'block')}, "
        f"{counted(planned.trials, 'trial')}"
        f"{f' ({planned.profiled} of them profiled)' if planned.profiled else ''}, about "
        f"{time_left(planned.estimated_s)} with the start of the servers; fewer if every ratio is known "
        f"to ±{study.precision:.1%}."
    )
