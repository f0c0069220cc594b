"""Getting into servers that options name: external ones with a password, private ones once they run."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from tlstax.cli.options import ExternalOptions
from tlstax.cli.streams import warn
from tlstax.cli.target_servers import SERVER, ExternalServers, needs_external
from tlstax.external.access import URL_SHAPE, AccessOptions, ExternalAccess, ExternalAddress, settle
from tlstax.external.connection import abilities_of
from tlstax.external.server import EXTERNAL_TABLES, OWN_SCHEMA
from tlstax.external.tls import ExternalTls
from tlstax.external.workload_guard import check_workloads
from tlstax.plan.admission import Leeway
from tlstax.products.external import external_product
from tlstax.run.external import ExternalRequest, check_clients
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import check_server_name, default_server, named_server
from tlstax.specimens.sessions import open_session
from tlstax.study import Level, Study
from tlstax.study.changes import without_plaintext
from tlstax.study.exclusions import BY_RELEASE
from tlstax.study.factor import is_specimen_name
from tlstax.study.factors import CaseLevels
from tlstax.study.files import rebuilt
from tlstax.study.labels import asking_what_is_there
from tlstax.study.level_names import DIRECT_TLS
from tlstax.study.needs import has_plaintext
from tlstax.study.server_abilities import UNNAMED
from tlstax.support.errors import UserMistake


def let_into(options: AccessOptions) -> ExternalAccess:
    """How to get into the external server; a password is asked for where there is a terminal. UserMistake."""
    return settle(options, getpass.getpass if sys.stdin.isatty() else None, warn=warn)


def external_of(options: AccessOptions, max_connections: int | None) -> ExternalAccess | None:
    """How to get into the external server of --server; None where it names none. UserMistake."""
    if options.url:
        if "," in options.url:
            raise UserMistake(
                "--server: an external server is measured by itself",
                remedy="name one address, or specimens alone (a comma of the schema's name is written %2C)",
            )
        return let_into(options)
    if max_connections is not None:
        raise needs_external("--max-connections", "--server")
    _check_private(options, "--server")
    return None


@contextmanager
def accessed(options: AccessOptions, say: Callable[[str], None]) -> Iterator[ExternalAccess]:
    """How to get into it; a private one runs until the block is left. Raises UserMistake for bad options."""
    if "://" in options.url:
        yield let_into(options)
        return
    _check_private(options)
    if options.url and not is_specimen_name(options.url):
        raise UserMistake(
            "what was given is neither the URL of a server nor the name of a private one",
            remedy=f"{URL_SHAPE}; `tlstax specimens list` names the private ones",
        )
    with private_access(options.url or None, say) as access:
        yield access


def _check_private(options: AccessOptions, where: str = "") -> None:
    """UserMistake for what a private server is not given."""
    for name in options.given():
        raise needs_external(name, where)


@contextmanager
def private_access(name: str | None, say: Callable[[str], None]) -> Iterator[ExternalAccess]:
    """How to get into a server of this name, None for the default one; it runs until the block is left.

    Raises UserMistake for an unknown name, MachineFault where it cannot be fetched or started.
    """
    build = default_server(say) if name is None else named_server(name, say)
    with open_session() as session:
        say(f"starting {build.specimen.name}")
        with PrivateServer.start(build, session) as server:
            with server.admin() as database:
                server.product.accounts.let_it_see_connections(database)
            account, endpoint = server.load_account, server.endpoint()
            is_mysql = server.product.name != "postgresql"
            yield ExternalAccess(
                address=ExternalAddress(
                    host=endpoint.host,
                    port=endpoint.port,
                    user=account.user,
                    schema=account.database if is_mysql else None,
                    product="mysql" if is_mysql else "postgresql",
                    database=None if is_mysql else account.database,
                ),
                user=account.user,
                password=account.password,
            )


def let_in(study: Study, servers: ExternalServers, leeway: Leeway) -> tuple[Study, ExternalRequest]:
    """How to get into each of the servers, and the study without plaintext where TLS is demanded.

    `leeway` is what the command lets them change of its study. Passwords may be asked for. UserMistake for
    the name of no private server, where what is there is not enough to get in, where TLS is demanded and the
    study logs in without, and for a workload of the user's own that a server is not to be given.
    """
    for name in study.levels_of().get(SERVER, ()):
        if name not in servers.by_level:
            check_server_name(str(name))
    ask = getpass.getpass if sys.stdin.isatty() else None
    check = _checking_tls(study, servers.options, leeway)
    if len(servers.by_level) > 1:
        # Nobody types one server's password only to be told of a mistake in what was said of the next.
        for own in servers.by_level.values():
            settle(own, ask and (lambda _: ""), check)
    accesses = {level: settle(own, ask, check, warn) for level, own in servers.by_level.items()}
    demanded_by = {
        level: f"{access.tls.demanded_by} demands TLS (--allow-plaintext measures plaintext too)"
        for level, access in accesses.items()
        if _demands(access.tls, study, servers.options)
    }
    if demanded_by:
        study = _over_tls_alone(study)
    for level, access in accesses.items():
        _check_socket(access)
        check_clients(study, level, access, allow_plaintext=servers.options.allow_plaintext)
        product, schema = external_product(access.product), access.address.schema or OWN_SCHEMA
        check_workloads(study.workloads.values(), product, schema, EXTERNAL_TABLES)
    study = _as_they_can(study, accesses)
    leeway = replace(leeway, at_most=servers.options.max_connections, tls_demanded_by=demanded_by)
    return study, ExternalRequest(accesses, leeway)


def _as_they_can(study: Study, accesses: Mapping[str | None, ExternalAccess]) -> Study:
    """The study without the TLS that a PostgreSQL's version does not have, which its address does not say.

    A server is asked only where it has such cases. UserMistake where none of a level is left.
    """
    depending = {case.server for case in study.included() if case.tls in BY_RELEASE}
    known = {
        level or UNNAMED: abilities_of(access)
        for level, access in accesses.items()
        if access.product == "postgresql" and level in depending
    }
    if not known:
        return study
    changed = rebuilt(study, SERVER, servers={**study.servers, **known})
    left = {case.tls for case in changed.included()}
    before: set[tuple[Level | None, Level | None]] = {(case.server, case.tls) for case in study.included()}
    for levels, exclusion in changed.excluded():
        case = CaseLevels.of(levels)
        if (case.server, case.tls) not in before or case.tls not in BY_RELEASE:
            continue
        if case.tls not in left:
            raise UserMistake(exclusion.why, remedy="leave that level of tls out")
        warn(f"left out: {exclusion.why}")
        before.remove((case.server, case.tls))
    return asking_what_is_there(changed, study)


def _check_socket(access: ExternalAccess) -> None:
    """UserMistake for a Unix socket of PostgreSQL's: it offers TLS over TCP alone, as libpq knows.

    Source: PostgreSQL documentation, "Database Connection Control Functions" (sslmode).
    """
    if access.product == "postgresql" and access.address.socket is not None:
        raise UserMistake(
            f"PostgreSQL has no TLS on a Unix socket ({access.address}), so there is nothing to compare",
            remedy="name the server's host and port: postgres://user@localhost/database",
        )


def _demands(tls: ExternalTls, study: Study, options: ExternalOptions) -> bool:
    """Whether how TLS is to be used rules out the cases in the clear that the study has."""
    return bool(tls.demanded_by) and has_plaintext(study) and not options.allow_plaintext


def _checking_tls(study: Study, options: ExternalOptions, leeway: Leeway) -> Callable[[ExternalTls], None]:
    def check(tls: ExternalTls) -> None:
        if tls.mode == "DISABLED":
            raise UserMistake(
                f"{tls.mode_by} leaves nothing to compare",
                remedy="plaintext is measured beside TLS anyway",
            )
        if _demands(tls, study, options) and not leeway.no_plaintext:
            raise UserMistake(
                f"{tls.demanded_by} demands TLS, and --tls off logs in without it",
                remedy="permit it with --allow-plaintext; even then the password itself goes over TLS alone",
            )
        if tls.bound_by and options.allow_plaintext and has_plaintext(study):
            raise UserMistake(
                f"{tls.bound_by} binds logins to a TLS channel, and --allow-plaintext has some without TLS",
                remedy="leave one of the two out",
            )
        if tls.direct and any(case.tls == DIRECT_TLS for case in study.included()):
            raise UserMistake(
                f"sslnegotiation=direct has TLS begin at once in every case, not in {DIRECT_TLS} alone",
                remedy="leave one of the two out",
            )

    return check


def _over_tls_alone(study: Study) -> Study:
    """The study without plaintext, with a question of its own. UserMistake where nothing is left."""
    changed = without_plaintext(study)
    if changed is None:
        raise UserMistake(
            "without plaintext nothing is left to be compared", remedy="name TLS versions with --tls"
        )
    return asking_what_is_there(changed, study)
