"""`tlstax run`: its options into a request."""

from __future__ import annotations

import getpass
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from tlstax.cli import quantities
from tlstax.cli.added_servers import knowing_added
from tlstax.cli.asked_cluster import AskedCluster, check_has_server
from tlstax.cli.lent_server import warn
from tlstax.cli.measuring import Shown, bounded, measure
from tlstax.guests import existing_table, ways
from tlstax.guests.access import GuestAccess, GuestOptions, settle
from tlstax.guests.address import GuestAddress
from tlstax.guests.connection import chain_verified_by
from tlstax.guests.existing_table import KeyRange, TableKey
from tlstax.guests.server import GUEST_TABLES, OWN_SCHEMA
from tlstax.guests.tls import DEMANDING, VERIFYING, GuestTls
from tlstax.guests.workload_guard import check_workloads
from tlstax.plan.admission import Leeway
from tlstax.plan.budget import check_budget
from tlstax.records.trial import Changes
from tlstax.run.external import check_external
from tlstax.run.preparing import Request
from tlstax.specimens import authorities
from tlstax.specimens.authorities import Bundle
from tlstax.study import Study, along_paths, at_rate, load_study, override
from tlstax.study.changes import at_an_external_server, by_addresses, trusting, without_plaintext
from tlstax.study.level_names import EACH, RECONNECT, STORM
from tlstax.study.needs import has_plaintext
from tlstax.study.questions import asking_what_is_there
from tlstax.study.workloads.storm import CONNECTIONS
from tlstax.support.errors import UserMistake


@dataclass(frozen=True)
class RunOptions:
    """The options of `tlstax run` as they were typed.

    `server` has names of specimens; for an external server, `guest.url` has its address instead.
    """

    server: str | None = None
    tls_library: str | None = None
    client: str | None = None
    client_tls_library: str | None = None
    tls: str | None = None
    workload: str | None = None
    connections: str | None = None
    max_connections: int | None = None
    table: str | None = None
    share: str | None = None
    full_load: bool = False
    address: str | None = None
    trust: str | None = None
    path: str | None = None
    rtt_ms: str | None = None
    rows: int | None = None
    server_cpus: str | None = None
    client_cpus: str | None = None
    budget: str | None = None
    over_budget: bool = False
    precision: str | None = None
    alike_within: str | None = None
    rate: str | None = None
    arrivals: str | None = None
    profile: bool = False
    capture: bool = False
    count: str | None = None
    seed: int | None = None
    report: Path | None = None
    beside_others: bool = False
    live: bool = False
    cluster: AskedCluster | None = None
    verbose: bool = False
    json: bool = False
    allow_plaintext: bool = False
    guest: GuestOptions = field(default_factory=lambda: GuestOptions(url=""))


def run_command(options: RunOptions) -> int:
    """Measure, show, write the report; the exit status.

    UserMistake where the budget has no room for two blocks, and it is not to go on over it, and for a
    workload of the user's own that an external server is not to be given.
    """
    if options.guest.url:
        _check_external_options(options)
    _check_cluster(options)
    if options.guest.server_host is not None and options.cluster is not None:
        raise UserMistake(
            "--server-host reads the server's CPU time for load that comes from here",
            remedy="leave it out, or leave --ray out",
        )
    cpus = quantities.asked_cpus(options.server_cpus, options.client_cpus)
    study = study_of(options)
    if options.guest.url:
        study = at_an_external_server(study)
        check_external(study)
    if not options.over_budget:
        check_budget(study, own_options=True)
    # Last, since it may ask for a password.
    guest = guest_of(options, study)
    bundle = _bundle(options, guest)
    if bundle is not None and guest is not None:
        study = at_an_external_server(study_of(options, bundle))
    demanded_by = _demanded_by(options, guest, study)
    if demanded_by:
        study = _over_tls_alone(study)
    if guest is not None and options.table is not None:
        key = existing_table.parse(options.table)
        study = reading(study, key, existing_table.key_range(guest, key))
    if guest is not None:
        check_workloads(study.workloads.values(), guest.address.schema or OWN_SCHEMA, GUEST_TABLES)
    as_able = options.tls is None
    request = Request(
        study=study,
        guest=guest,
        seed=options.seed,
        changes=Changes(
            capture=options.capture,
            count=options.count,
            server_cpus=options.server_cpus,
            client_cpus=options.client_cpus,
        ),
        tls_as_able=as_able,
        beside_others=options.beside_others,
        leeway=_leeway(options, demanded_by),
        share=1.0 if options.share is None else quantities.share(options.share),
        addresses=_addresses(options),
        cpus=cpus,
        bundle=bundle,
    )
    shown = Shown(report=options.report, as_json=options.json, live=options.live, verbose=options.verbose)
    return measure(request, shown=shown, cluster=options.cluster)


def _leeway(options: RunOptions, demanded_by: str) -> Leeway:
    """How far the study may give way to an external server: where the user said nothing else."""
    return Leeway(
        at_most=options.max_connections,
        fewer_connections=options.connections is None,
        no_plaintext=not _asks_for_plaintext(options),
        tls_demanded_by=demanded_by,
        no_tables=options.workload is None and options.table is None,
        looks=not options.full_load,
        raises_load=not options.full_load and _leaves_the_load(options),
    )


def _leaves_the_load(options: RunOptions) -> bool:
    """Whether the user said nothing of how much the server is to have to do."""
    return options.connections is None and options.rate is None and options.share is None


def _asks_for_plaintext(options: RunOptions) -> bool:
    """Whether the user named plaintext among the TLS levels."""
    return options.tls is not None and "off" in quantities.names(options.tls, "--tls")


def _demands(options: RunOptions, tls: GuestTls, study: Study) -> bool:
    """Whether how TLS is to be used rules out the cases in the clear that the study has."""
    return tls.mode in DEMANDING and has_plaintext(study) and not options.allow_plaintext


def _demanded_by(options: RunOptions, guest: GuestAccess | None, study: Study) -> str:
    """What the user said that rules out the study's cases in the clear, in a clause; empty where nothing."""
    if guest is None or not _demands(options, guest.tls, study):
        return ""
    return f"{guest.tls.mode_by} demands TLS (--allow-plaintext measures plaintext too)"


def _over_tls_alone(study: Study) -> Study:
    """The study without plaintext, with a question of its own. UserMistake where nothing is left."""
    changed = without_plaintext(study)
    if changed is None:
        raise UserMistake(
            "without plaintext nothing is left to be compared", remedy="name TLS versions with --tls"
        )
    return asking_what_is_there(changed, study)


def _check_external_options(options: RunOptions) -> None:
    """UserMistake for what an external server is not, or is not given."""
    for option, value, why in (
        ("--capture", options.capture or None, "no tap is put in front of an external one"),
        ("--count", options.count, "nothing is put into an external one"),
        ("--tls-library", options.tls_library, "an external one keeps the library it has"),
    ):
        if value is not None:
            raise UserMistake(
                f"{option} needs a private server: {why}",
                remedy="leave it out, or name a specimen with --server",
            )
    if options.server_cpus is not None:
        raise UserMistake(
            "--server-cpus needs a private server: an external one has the CPUs that it has",
            remedy="leave it out; --client-cpus chooses the load client's",
        )
    if "," in options.guest.url:
        raise UserMistake(
            "--server: an external server is measured by itself",
            remedy="name one address, or specimens alone (a comma of the schema's name is written %2C)",
        )


def _check_cluster(options: RunOptions) -> None:
    """UserMistake where it is not said which machines have which part in measuring an external server."""
    cluster = options.cluster
    if cluster is None:
        return
    if options.trust is not None:
        raise UserMistake(
            "--trust gives load clients a file of this machine, and with --ray they are on others",
            remedy="leave one of the two out",
        )
    if not options.guest.url:
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


def study_of(options: RunOptions, bundle: Bundle | None = None) -> Study:
    """The built-in study `tax` with what the options change. Raises UserMistake.

    `bundle` is the file of authorities as an external server needs it, None where that is not known yet.
    """
    study = load_study("tax")
    if options.table is not None:
        if options.workload is not None:
            raise UserMistake(
                "--table says what is read, and --workload as well", remedy="leave one of the two out"
            )
        study = reading(study, existing_table.parse(options.table), existing_table.UNKNOWN)
    for factor, text in (
        ("server", options.server),
        ("tls_library", options.tls_library),
        ("client_tls_library", options.client_tls_library),
        ("tls", options.tls),
        ("workload", options.workload),
        ("connections", options.connections or _connections_of_storms(options)),
        ("rtt_ms", options.rtt_ms),
        # Last: what a client cannot do is left out of what has been chosen.
        ("client", options.client),
    ):
        if text is not None:
            study = override(study, factor, quantities.names(text, f"--{factor.replace('_', '-')}"))
    if options.trust is not None:
        study = _trusting(study, options, bundle or authorities.read(options.trust))
    if options.address is not None:
        study = by_addresses(study, list(_addresses(options)))
    if options.path is not None:
        study = along_paths(study, quantities.names(options.path, "--path"))
    if options.rate is not None:
        study = at_rate(study, quantities.open_loop(options.rate, options.arrivals))
    elif options.arrivals is not None:
        raise UserMistake(
            "--arrivals goes with --rate", remedy="say how many operations a second, or leave it out"
        )
    return bounded(
        asking_what_is_there(knowing_added(study), load_study("tax")),
        budget=options.budget,
        precision=options.precision,
        alike_within=options.alike_within,
        rows=options.rows,
        profile=options.profile,
        capture=options.capture,
        count=options.count,
    )


def _trusting(study: Study, options: RunOptions, bundle: Bundle) -> Study:
    """The study with the user's file of authorities beside one with those that are needed.

    What a file costs is paid where a connection is made, and by whoever reads it for each: so, unless options
    say otherwise, every operation makes a connection, the TLS version is left to both sides, since some
    drivers keep a context where one is named, the engine reads the file for each, and there is one
    connection at a time, since what is compared is the client's own work.
    """
    if options.workload is None:
        study = override(study, "workload", [RECONNECT])
    if options.tls is None:
        study = override(study, "tls", ["default"])
    if options.client is None:
        study = override(study, "tls_context", [EACH])
    if options.connections is None:
        study = override(study, "connections", ["1"])
    return trusting(study, bundle.needed_count, bundle.authorities)


def _bundle(options: RunOptions, guest: GuestAccess | None) -> Bundle | None:
    """The user's file of authorities, with those that the external server needs of it; None without."""
    if options.trust is None:
        return None
    bundle = authorities.read(options.trust)
    if noted := authorities.notes(options.trust, bundle):
        warn(noted)
    if guest is None:
        return bundle
    verified, sent = chain_verified_by(guest, options.trust, authorities.OPTION)
    return authorities.with_needed(bundle, options.trust, authorities.needed_of(verified, sent))


def _addresses(options: RunOptions) -> dict[str, GuestAddress]:
    """The addresses besides the server's own that were given. Raises UserMistake."""
    if options.address is None:
        return {}
    found = ways.parse(quantities.names(options.address, "--address"))
    if not found:
        raise UserMistake("--address names no other way than the direct one", remedy=ways.SHAPE)
    if options.client is not None:
        raise UserMistake(
            "--address is measured with tlstax's own engine", remedy="leave one of --address and --client out"
        )
    return found


def reading(study: Study, key: TableKey, drawn_from: KeyRange) -> Study:
    """The study with selects of keys of a table that is there, in place of those from one of ours."""
    own = existing_table.workloads(key, drawn_from)
    named = study.model_copy(update={"workloads": {**study.workloads, **own}})
    return override(named, "workload", list(own), option="--table")


def _connections_of_storms(options: RunOptions) -> str | None:
    """How many connections there are where nobody says and all that is asked for is a storm; else None.

    Raises UserMistake for an external server: it gets no more connections than were asked for.
    """
    asked = quantities.names(options.workload, "--workload") if options.workload is not None else ()
    if STORM in asked and options.guest.url:
        raise UserMistake(
            "a storm opens all its connections at once, and how many an external server may get was not "
            "given",
            remedy="give --connections",
        )
    return str(CONNECTIONS) if asked == (STORM,) else None


def _verifying(options: RunOptions) -> GuestOptions:
    """What was said about the server: it is verified by the file of --trust where nobody named another."""
    guest = options.guest
    verifies = (guest.ssl_mode or "").upper() in VERIFYING
    return replace(guest, ssl_ca=options.trust) if verifies and guest.ssl_ca is None else guest


def guest_of(options: RunOptions, study: Study) -> GuestAccess | None:
    """How to get into the server that was named; None for the default one.

    UserMistake where that is not enough to get in, or where TLS is demanded and the study logs in without.
    """
    guest = _verifying(options)
    if not guest.url:
        only_with_server = (
            ("--ssl-mode", guest.ssl_mode),
            ("--ssl-ca", guest.ssl_ca),
            ("--ssl-cert", guest.ssl_cert),
            ("--ssl-key", guest.ssl_key),
            ("--allow-plaintext", options.allow_plaintext or None),
            ("--defaults-file", guest.defaults_file),
            ("--login-path", guest.login_path),
            ("--server-host", guest.server_host),
            ("--max-connections", options.max_connections),
            ("--table", options.table),
            ("--share", options.share),
            ("--full-load", options.full_load or None),
            ("--address", options.address),
        )
        for name, value in only_with_server:
            if value is not None:
                raise UserMistake(
                    f"{name} needs --server with the address of an external server",
                    remedy="give its mysql:// address, or leave it out",
                )
        return None

    def check(tls: GuestTls) -> None:
        if tls.mode == "DISABLED":
            raise UserMistake(
                f"{tls.mode_by} leaves nothing to compare",
                remedy="plaintext is measured beside TLS anyway",
            )
        if _demands(options, tls, study) and _asks_for_plaintext(options):
            raise UserMistake(
                f"{tls.mode_by} demands TLS, and --tls off logs in without it",
                remedy="permit it with --allow-plaintext; even then the password itself goes over TLS alone",
            )

    return settle(guest, getpass.getpass if sys.stdin.isatty() else None, check, warn)
