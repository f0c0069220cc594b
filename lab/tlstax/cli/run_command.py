"""`tlstax run`: its options into a request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tlstax.cli import quantities
from tlstax.cli.measure_app import RunOptions
from tlstax.cli.measuring import bounded, knowing_added, knowing_external, measure, new_request
from tlstax.cli.options import ExternalOptions
from tlstax.cli.streams import warn
from tlstax.cli.target_servers import (
    AskedCluster,
    ExternalServers,
    asked_cluster,
    check_has_server,
    external_among,
    needs_external,
)
from tlstax.external.tls import VERIFYING, mode_named
from tlstax.plan.admission import Leeway
from tlstax.records.trial import Changes
from tlstax.specimens import authorities
from tlstax.specimens.authorities import Bundle
from tlstax.study import Study, along_paths, at_rate, check_nothing_is_lost, load_study, override
from tlstax.study.changes import by_addresses, trusting
from tlstax.study.labels import asking_what_is_there
from tlstax.study.level_names import EACH, RECONNECT, STORM
from tlstax.study.workloads.statements import STORM_CONNECTIONS
from tlstax.support.errors import UserMistake

if TYPE_CHECKING:
    from tlstax.external.access import ExternalAddress
    from tlstax.external.existing_table import KeyRange, TableKey
    from tlstax.run.preparing import Request


def run_command(options: RunOptions) -> int:
    """Measure, show, write the report; the exit status.

    UserMistake where the budget has no room for two blocks, and it is not to go on over it, and for a
    workload of the user's own that an external server is not to be given.
    """
    cluster = asked_cluster(options.cluster)
    servers = external_among(_typed(options), _verifying(options))
    if servers:
        _check_external_options(options, servers)
    else:
        for name, value in (
            ("--table", options.table),
            ("--share", options.share),
            ("--full-load", options.full_load or None),
            ("--address", options.address),
        ):
            if value is not None:
                raise needs_external(name, "--server")
    _check_cluster(options, cluster, servers)
    if options.external.server_host is not None and cluster is not None:
        raise UserMistake(
            "--server-host reads the server's CPU time for load that comes from here",
            remedy="leave it out, or leave --ray out",
        )
    if len(_typed(options)) == 1 and servers:
        servers = servers.alone()
    bundle = _bundle(options)
    addresses = _addresses(options)
    study = study_of(options, servers, bundle, addresses)
    request = replace(
        new_request(study, servers, options, own_options=True),
        changes=Changes(
            capture=options.capture,
            count=options.count,
            server_cpus=options.server_cpus,
            client_cpus=options.client_cpus,
        ),
        tls_as_able=options.tls is None,
        share=1.0 if options.share is None else quantities.share(options.share),
        bundle=bundle,
    )
    if servers:
        # Last, since it may ask for a password.
        request = _at_external_servers(request, servers, options, addresses)
    return measure(request, options, cluster)


def _verifying(options: RunOptions) -> ExternalOptions:
    """What was said of external servers: they are verified by the file of --trust where none was named."""
    external, login = options.external, options.external.login
    if login.ssl_ca is not None or mode_named(login.ssl_mode) not in VERIFYING:
        return external
    return replace(external, login=replace(login, ssl_ca=options.trust))


def _at_external_servers(
    request: Request, servers: ExternalServers, options: RunOptions, addresses: Mapping[str, ExternalAddress]
) -> Request:
    """The request with how to get into its external servers, and how far its study may give way to them."""
    from tlstax.cli.external_servers import let_in
    from tlstax.external import existing_table
    from tlstax.external.connection import chain_verified_by

    # Whether the user said nothing of how much the server is to have to do.
    leaves_the_load = options.connections is None and options.rate is None and options.share is None
    leeway = Leeway(
        fewer_connections=options.connections is None,
        no_tables=options.workload is None and options.table is None,
        no_plaintext=options.tls is None or "off" not in quantities.names(options.tls, "--tls"),
        looks=not options.full_load,
        raises_load=not options.full_load and leaves_the_load,
    )
    study, external = let_in(request.study, servers, leeway)
    bundle = request.bundle
    if bundle is not None and options.trust is not None:
        (access,) = external.servers.values()
        needed = authorities.needed_of(*chain_verified_by(access, options.trust, authorities.OPTION))
        bundle = authorities.with_needed(bundle, options.trust, needed)
        study = trusting(study, bundle.needed_count, bundle.authorities)
    if options.table is not None:
        key = existing_table.parse(options.table)
        (access,) = external.servers.values()
        study = reading(study, key, existing_table.key_range(access, key), access.address)
    external = replace(external, addresses=addresses)
    return replace(request, study=study, external=external, bundle=bundle)


def _typed(options: RunOptions) -> tuple[str, ...]:
    """The servers as they were typed."""
    return () if options.server is None else quantities.names(options.server, "--server")


def _check_external_options(options: RunOptions, servers: ExternalServers) -> None:
    """UserMistake for what an external server is not, or is not given."""
    for option, value, why in (
        ("--capture", options.capture or None, "no tap is put in front of an external one"),
        ("--count", options.count, "nothing is put into an external one"),
        ("--tls-library", options.tls_library, "an external one keeps the library it has"),
    ):
        if value is not None:
            raise UserMistake(
                f"{option} needs private servers alone: {why}",
                remedy="leave it out, or name specimens with --server",
            )
    if len(_typed(options)) == 1:
        if options.server_cpus is not None:
            raise UserMistake(
                "--server-cpus needs a private server: an external one has the CPUs that it has",
                remedy="leave it out; --client-cpus chooses the load client's",
            )
        return
    for option, value, why in (
        ("--address", options.address, "ways to one server are compared, not to several"),
        ("--table", options.table, "a table that is there is one server's"),
        ("--trust", options.trust, "each server needs other authorities of the file"),
        ("--ray", options.cluster.ray, "a cluster's machines load that one, or private ones"),
    ):
        if value is not None:
            raise UserMistake(
                f"{option} goes with one external server alone: {why}",
                remedy="leave it out, or name one server",
            )
    if options.server_cpus is not None and len(servers.by_level) == len(_typed(options)):
        raise UserMistake(
            "--server-cpus needs a private server: external ones have the CPUs that they have",
            remedy="leave it out; --client-cpus chooses the load client's",
        )


def _check_cluster(options: RunOptions, cluster: AskedCluster | None, servers: ExternalServers) -> None:
    """UserMistake where it is not said which machines have which part in measuring an external server."""
    if cluster is None:
        return
    if options.trust is not None:
        raise UserMistake(
            "--trust gives load clients a file of this machine, and with --ray they are on others",
            remedy="leave one of the two out",
        )
    if not servers:
        check_has_server(cluster)
        return
    if cluster.server_on is not None:
        raise UserMistake(
            "--server-on says where a private server runs, and an external one is where it is",
            remedy="leave one of the two out",
        )
    if not cluster.clients_on:
        raise UserMistake(
            "--ray has each machine measure servers of its own, and an external server is there once",
            remedy="leave one of the two out, or say with --clients-on which machines the load comes from",
        )
    if options.client_cpus is not None:
        raise UserMistake(
            "--client-cpus chooses CPUs of this machine, and the load comes from others",
            remedy="leave it out",
        )


def study_of(
    options: RunOptions,
    servers: ExternalServers = ExternalServers(),  # noqa: B008 (frozen)
    bundle: Bundle | None = None,
    addresses: Collection[str] = (),
) -> Study:
    """The built-in study `tax` with what the options change. Raises UserMistake.

    `servers` are the external ones among the servers that were typed, `bundle` is the file of authorities,
    `addresses` are other ways to one of them.
    """
    study = knowing_external(load_study("tax"), servers)
    if options.table is not None:
        if options.workload is not None:
            raise UserMistake(
                "--table says what is read, and --workload as well", remedy="leave one of the two out"
            )
        from tlstax.external import existing_table
        from tlstax.external.access import address_of

        key, address = existing_table.parse(options.table), None
        for own in servers.by_level.values():
            address = address_of(own)
        study = reading(study, key, existing_table.UNKNOWN, address)
    if named := servers.named(_typed(options)) if servers.levels or not servers else ():
        study = override(study, "server", named, external=servers.levels)
    typed = (
        ("tls_library", options.tls_library),
        ("client_tls_library", options.client_tls_library),
        ("tls", options.tls),
        ("workload", options.workload),
        ("connections", options.connections or _connections_of_storms(options, servers)),
        ("rtt_ms", options.rtt_ms),
        # Last: what a client cannot do is left out of what has been chosen.
        ("client", options.client),
    )
    options_of = {"server": "--server"} if options.server is not None else {}
    for factor, text in typed:
        if text is not None:
            options_of[factor] = f"--{factor.replace('_', '-')}"
            study = override(study, factor, quantities.names(text, options_of[factor]))
    study = _trusting(study, options, bundle)
    if addresses:
        study = by_addresses(study, list(addresses))
    if options.path is not None:
        study = along_paths(study, quantities.names(options.path, "--path"))
    if options.rate is not None:
        study = at_rate(study, quantities.open_loop(options.rate, options.arrivals))
    study = knowing_added(study)
    check_nothing_is_lost(study, options_of)
    return bounded(asking_what_is_there(study, load_study("tax")), vars(options))


def _trusting(study: Study, options: RunOptions, bundle: Bundle | None) -> Study:
    """The study with the user's file of authorities beside one with those that are needed.

    What a file costs is paid where a connection is made, and by whoever reads it for each: so, unless options
    say otherwise, every operation makes a connection, the TLS version is left to both sides, since some
    drivers keep a context where one is named, the engine reads the file for each, and there is one
    connection at a time, since what is compared is the client's own work.
    """
    if bundle is None:
        return study
    if options.workload is None:
        study = override(study, "workload", [RECONNECT])
    if options.tls is None:
        study = override(study, "tls", ["default"])
    if options.client is None:
        study = override(study, "tls_context", [EACH])
    if options.connections is None:
        study = override(study, "connections", ["1"])
    return trusting(study, bundle.needed_count, bundle.authorities)


def _bundle(options: RunOptions) -> Bundle | None:
    """The user's file of authorities as a server of ours needs it; None without. Raises UserMistake."""
    if options.trust is None:
        return None
    bundle = authorities.read(options.trust)
    if noted := authorities.notes(options.trust, bundle):
        warn(noted)
    return bundle


def _addresses(options: RunOptions) -> dict[str, ExternalAddress]:
    """The addresses besides the server's own that were given. Raises UserMistake."""
    if options.address is None:
        return {}
    from tlstax.external import ways

    found = ways.parse(quantities.names(options.address, "--address"))
    if not found:
        raise UserMistake("--address names no other way than the direct one", remedy=ways.SHAPE)
    if options.path is not None:
        raise UserMistake(
            "--path leads to the server's own address, and --address names others",
            remedy="leave one of the two out",
        )
    if options.client is not None:
        raise UserMistake(
            "--address is measured with tlstax's own engine", remedy="leave one of --address and --client out"
        )
    return found


def reading(
    study: Study, key: TableKey, drawn_from: KeyRange, address: ExternalAddress | None = None
) -> Study:
    """The study with selects of keys of a table that is there, in place of those from one of ours.

    `address` is where it is, None where it is at a server of MySQL's family.
    """
    from tlstax.external import existing_table

    own = existing_table.workloads(key, drawn_from, address)
    named = study.model_copy(update={"workloads": {**study.workloads, **own}})
    return override(named, "workload", list(own), option="--table")


def _connections_of_storms(options: RunOptions, servers: ExternalServers) -> str | None:
    """How many connections there are where nobody says and all that is asked for is a storm; else None.

    Raises UserMistake for an external server: it gets no more connections than were asked for.
    """
    asked = quantities.names(options.workload, "--workload") if options.workload is not None else ()
    if STORM in asked and servers:
        raise UserMistake(
            "a storm opens all its connections at once, and how many an external server may get was not "
            "given",
            remedy="give --connections",
        )
    return str(STORM_CONNECTIONS) if asked == (STORM,) else None
