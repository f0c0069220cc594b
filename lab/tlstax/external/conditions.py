"""Whether a run can be made at an external server, and put right again, asked before anything is made there.

What account or server rule out is refused here, in a sentence that names what to change: a run that cannot
get in without TLS answers nothing, and one that may not drop what it creates would leave it behind.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from tlstax.external import failures as external_failures
from tlstax.external.access import ExternalAccess
from tlstax.mysql import accounts, schema, server_facts, server_tls, session
from tlstax.mysql.database import NOT_ALLOWED, error_number
from tlstax.sql.database import Database, SqlError
from tlstax.support.errors import UserMistake
from tlstax.support.text import counted

LEAST_ROWS = 1000
"""An answer may have as many rows at the least."""

OTHER_SERVER = "or measure a private server of that version"


class NothingMayBeMade(UserMistake):
    """The server, or the account, lets nothing be made: it is read-only, or a right is not granted."""


@dataclass(frozen=True)
class Intent:
    """What a run does there: whether it makes tables, and whether load clients change data."""

    makes: bool = True
    writes: bool = False


READS_ONLY = Intent()


def check(database: Database, access: ExternalAccess, schema_name: str, intent: Intent) -> None:
    """UserMistake where the run cannot be made. Raises SqlError where the server does not answer."""
    terms = accounts.terms(database)
    _check_sessions(database, access, intent)
    for name, limit in terms.hourly:
        raise UserMistake(
            f"the account {access.user} at {access.address} is limited to {limit:,} an hour ({name}), which "
            "a run soon exceeds: then it could not drop what it made",
            remedy=f"use an account without such a limit, or ALTER USER … WITH {name} 0",
        )
    if intent.makes:
        _check_drops(database, access, schema_name)


def no_plaintext(database: Database, access: ExternalAccess) -> UserMistake | None:
    """That nobody logs in there in the clear, and what would change that; None where this account may.

    UserMistake where it offers no TLS beside which plaintext would stand. Raises SqlError where the server
    does not answer.
    """
    if not server_tls.offers_tls(database):
        raise UserMistake(
            f"{access.address} does not offer TLS, so there is nothing to compare",
            remedy="turn TLS on at the server",
        )
    if server_facts.requires_tls(database):
        return UserMistake(
            f"{access.address} accepts encrypted connections only (require_secure_transport is ON)",
            remedy=f"set require_secure_transport=OFF there for the run, {OTHER_SERVER}",
        )
    if requires := accounts.terms(database).requires:
        return UserMistake(
            f"the account {access.user} at {access.address} may log in over TLS only (REQUIRE {requires})",
            remedy=f"use an account that was made with REQUIRE NONE, {OTHER_SERVER}",
        )
    return None


def check_connect_errors(database: Database, access: ExternalAccess, least: int, what_for: str) -> int | None:
    """UserMistake where the server blocks a host after no more than `least` broken connects in a row.

    `what_for` breaks off as many. Returns the limit, None where the server does not tell.
    """
    limit = server_facts.most_connect_errors(database)
    if limit is None or limit > least:
        return limit
    raise UserMistake(
        f"{access.address} blocks a host after {counted(limit, 'connect')} in a row that is broken off "
        f"(max_connect_errors), and {what_for} breaks off more",
        remedy="SET GLOBAL max_connect_errors = 100 there for the time",
    )


def _check_sessions(database: Database, access: ExternalAccess, intent: Intent) -> None:
    """UserMistake where what the server sets for all connections keeps load clients from their work."""
    defaults = session.defaults(database)
    if defaults.rows_at_most < LEAST_ROWS:
        raise UserMistake(
            f"{access.address} cuts every answer to {counted(defaults.rows_at_most, 'row')} "
            "(sql_select_limit)",
            remedy="SET GLOBAL sql_select_limit = 18446744073709551615 there for the run",
        )
    if intent.writes and not defaults.commits:
        raise UserMistake(
            f"{access.address} opens connections without autocommit, so that what a workload writes would "
            "never be committed",
            remedy="set autocommit=ON there for the run, or choose workloads that only read",
        )


def _check_drops(database: Database, access: ExternalAccess, schema_name: str) -> None:
    """UserMistake where the account may not drop tables: the server is asked to drop one that is none."""
    try:
        schema.drop_table_if_there(database, schema_name, f"tlstax_{secrets.token_hex(16)}")
    except SqlError as error:
        if error_number(error) not in NOT_ALLOWED:
            raise
        refused = external_failures.of_refusal(access, error)
        raise UserMistake(
            f"{refused.message}: a run drops the tables that it makes, and this account may not drop any in "
            f"{schema_name}, so nothing was made there",
            remedy=refused.remedy,
        ) from error
