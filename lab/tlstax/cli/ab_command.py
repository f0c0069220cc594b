"""`tlstax ab`: two things in one run, and whether what the second changes keeps to limits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tlstax.cli import quantities
from tlstax.cli.asked_outcomes import limits_of
from tlstax.cli.compare_command import STATUS
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.measure_app import AbOptions
from tlstax.cli.measuring import bounded, knowing_added, measured, new_request
from tlstax.cli.streams import show_found, warn
from tlstax.cli.target_servers import SERVER, ExternalServers, external_among, typed_servers
from tlstax.plan.admission import Leeway
from tlstax.study import Study, check_nothing_is_lost
from tlstax.study.two_sides import side_of, two_sided
from tlstax.topics.compare.text import gate_text
from tlstax.topics.two_sides import gated_sides

PRECISION = "1%"


def ab_command(options: AbOptions) -> int:
    """Measure both sides in turns, show what B changes; the exit status, with limits that of `compare`."""
    limits = limits_of(options.limits, warn)
    servers = external_servers(options)
    request = new_request(ab_study(options, servers), servers, options, own_options=True)
    if servers:
        from tlstax.cli.external_servers import let_in

        # Last, since it may ask for a password.
        study, external = let_in(request.study, servers, _leeway(options, request.study))
        request = replace(request, study=study, external=external)
    stored = measured(request, options)
    if stored.status == "interrupted":
        return INTERRUPTED
    if not limits:
        return 0
    found = gated_sides(stored, limits)
    if not options.json:
        show_found(found, partial(gate_text, found), as_json=False)
    return STATUS[found.verdict]


def external_servers(options: AbOptions) -> ExternalServers:
    """The external servers that either side names, or both have by `--set`. Raises UserMistake."""
    sides = (side.partition("=") for side in (*options.a, *options.b))
    of_sides = [level.strip() for factor, _, level in sides if factor.strip() == SERVER]
    return external_among((*of_sides, *typed_servers(options.settings or ())), options.external, "server=")


def _leeway(options: AbOptions, study: Study) -> Leeway:
    """What an external server may change: what nobody chose, and both sides have alike."""
    chosen = {quantities.setting(setting)[0] for setting in options.settings or ()} | study.baseline.keys()
    return Leeway(
        fewer_connections=options.connections is None and "connections" not in chosen,
        no_tables=options.workload is None and "workload" not in chosen,
    )


def ab_study(options: AbOptions, servers: ExternalServers = ExternalServers()) -> Study:  # noqa: B008 (frozen)
    """The study that the options ask for; `servers` are the external ones. Raises UserMistake."""
    common = {
        name: quantities.names(text, f"--{name}")
        for name, text in (
            ("tls", options.tls),
            ("workload", options.workload),
            ("connections", options.connections),
        )
        if text is not None
    }
    by_set = dict(map(quantities.setting, map(servers.setting, options.settings or ())))
    common |= by_set
    precision = quantities.fraction(options.precision or PRECISION, "--precision")
    external = servers.levels
    study = two_sided(
        side_of(map(servers.side, options.a), "--a", external),
        side_of(map(servers.side, options.b), "--b", external),
        common,
        precision=precision,
        by_set=by_set,
        external=external,
        abilities=servers.abilities,
    )
    study = knowing_added(study)
    check_nothing_is_lost(
        study, {name: f"--set {name}" if name in by_set else f"--{name}" for name in common}
    )
    return bounded(study, {**vars(options), "precision": None})
