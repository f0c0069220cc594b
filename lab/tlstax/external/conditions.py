"""Whether a run can be made at an external server, and put right again, asked before anything is made there.

What account or server rule out is refused here, in a sentence that names what to change: a run that cannot
get in without TLS answers nothing, and one that may not drop what it creates would leave it behind.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

from tlstax.external import connection as external_connection
from tlstax.external import failures as external_failures
from tlstax.external import postgres_failures
from tlstax.external.access import ExternalAccess
from tlstax.external.tls import ExternalTls
from tlstax.products.external import ExternalProduct, external_product
from tlstax.sql.database import Database, GuardedDatabase, SqlError
from tlstax.support.errors import TlstaxError, UserMistake
from tlstax.support.text import counted

OTHER_SERVER = "or measure a private server of that version"


class NothingMayBeMade(UserMistake):
    """The server, or the account, lets nothing be made: it is read-only, or a right is not granted."""


@dataclass(frozen=True)
class Intent:
    """What a run does there: whether it makes tables, and whether load clients change data."""

    makes: bool = True
    writes: bool = False


READS_ONLY = Intent()


def check(database: GuardedDatabase, access: ExternalAccess, schema_name: str, intent: Intent) -> None:
    """UserMistake where the run cannot be made. Raises SqlError where the server does not answer."""
    product = external_product(access.product)
    if product.session.has_pooler(database):
        raise UserMistake(
            f"a pooler answers at {access.address}, and what the server counts, locks and says of TLS is of "
            "the pooler's own connections",
            remedy="name the server itself in the URL, and the pooler as a way to it: --address "
            f"direct,pooler={access.address}",
        )
    terms = product.accounts.terms(database)
    hindrance = product.session.hindrance(database, writes=intent.writes)
    if hindrance is not None:
        raise UserMistake(f"{access.address} {hindrance[0]}", remedy=hindrance[1])
    for name, limit in terms.hourly:
        raise UserMistake(
            f"the account {access.user} at {access.address} is limited to {limit:,} an hour ({name}), which "
            "a run soon exceeds: then it could not drop what it made",
            remedy=f"use an account without such a limit, or ALTER USER … WITH {name} 0",
        )
    if intent.makes:
        nothing = product.session.why_nothing_is_made(database)
        if nothing is not None:
            raise NothingMayBeMade(f"{access.address} {nothing[0]}", remedy=nothing[1])
        _check_drops(product, database, access, schema_name)


def no_plaintext(database: Database, access: ExternalAccess) -> UserMistake | None:
    """That nobody logs in there in the clear, and what would change that; None where this account may.

    UserMistake where it offers no TLS beside which plaintext would stand. Raises SqlError where the server
    does not answer.
    """
    product = external_product(access.product)
    if not product.server_tls.offers_tls(database):
        raise UserMistake(
            f"{access.address} does not offer TLS, so there is nothing to compare",
            remedy="turn TLS on at the server",
        )
    if product.name == "postgresql":
        return _no_plaintext_by_hosts(access)
    if product.server_facts.requires_tls(database):
        return UserMistake(
            f"{access.address} accepts encrypted connections only (require_secure_transport is ON)",
            remedy=f"set require_secure_transport=OFF there for the run, {OTHER_SERVER}",
        )
    if requires := product.accounts.terms(database).requires:
        return UserMistake(
            f"the account {access.user} at {access.address} may log in over TLS only (REQUIRE {requires})",
            remedy=f"use an account that was made with REQUIRE NONE, {OTHER_SERVER}",
        )
    return None


def _no_plaintext_by_hosts(access: ExternalAccess) -> UserMistake | None:
    """That PostgreSQL lets the account in over TLS only, which one login in the clear shows.

    An ordinary account may not read pg_hba.conf. No password is sent in the clear (`postgres_login.py`).
    Where there is no room for one connection more, nothing is known.
    """
    in_the_clear = replace(access, tls=ExternalTls(mode="DISABLED"))
    try:
        external_connection.close(external_connection.connect(in_the_clear, access.address.schema))
    except TlstaxError as error:
        if postgres_failures.has_no_room(error):
            return None
        return UserMistake(
            f"{access.address} lets {access.user} in over TLS only ({error.message})",
            remedy=f"have a line for it in pg_hba.conf that takes any connection (host), {OTHER_SERVER}",
        )
    return None


def check_connect_errors(database: Database, access: ExternalAccess, least: int, what_for: str) -> int | None:
    """UserMistake where the server blocks a host after no more than `least` broken connects in a row.

    `what_for` breaks off as many. Returns the limit, None where the server does not tell.
    """
    limit = external_product(access.product).server_facts.most_connect_errors(database)
    if limit is None or limit > least:
        return limit
    raise UserMistake(
        f"{access.address} blocks a host after {counted(limit, 'connect')} in a row that is broken off "
        f"(max_connect_errors), and {what_for} breaks off more",
        remedy="SET GLOBAL max_connect_errors = 100 there for the time",
    )


def _check_drops(
    product: ExternalProduct, database: Database, access: ExternalAccess, schema_name: str
) -> None:
    """UserMistake where the account may not drop tables: the server is asked to drop one that is none."""
    try:
        product.schema.drop_table_if_there(database, schema_name, f"tlstax_{secrets.token_hex(16)}")
    except SqlError as error:
        if error.code not in product.database.NOT_ALLOWED:
            raise
        refused = external_failures.of_refusal(access, error)
        raise UserMistake(
            f"{refused.message}: a run drops the tables that it makes, and this account may not drop any in "
            f"{schema_name}, so nothing was made there",
            remedy=refused.remedy,
        ) from error
