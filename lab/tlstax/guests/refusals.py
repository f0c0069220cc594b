"""What an external server's error numbers mean, in a sentence that names the server and whose fault it is.

The numbers are those of MySQL's and MariaDB's error references (server: 1xxx, 3xxx, 4xxx; client: 2xxx).
"""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.guests.access import GuestAccess
from tlstax.guests.given_password import PASSWORD_VARIABLE
from tlstax.mysql import answers, error_codes
from tlstax.mysql.database import SqlError
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake


@dataclass(frozen=True)
class Refusal:
    """Error numbers that mean the same; `{where}`, `{user}`, `{schema}`, `{said}` stand in the texts."""

    codes: tuple[int, ...]
    fault: type[UserMistake] | type[MachineFault]
    message: str
    remedy: str


REFUSALS = (
    Refusal(
        (1045, 1698),
        UserMistake,
        "{where} refused the user {user} with this password{plain}",
        "check the user, the password (prompt, {variable} or file), and from which hosts it may log in",
    ),
    Refusal(
        (3118, 4151), UserMistake, "the account {user} at {where} is locked", "unlock it, or use another"
    ),
    Refusal((1820, 1862), UserMistake, "the password of {user} at {where} has expired", "set a new one"),
    Refusal(
        (1130,),
        UserMistake,
        "{where} accepts no connections from this machine",
        "create an account for this host there",
    ),
    Refusal(
        (3159,), UserMistake, "{where} accepts encrypted connections only", "leave --ssl-mode=DISABLED out"
    ),
    Refusal(
        (2059,),
        UserMistake,
        "the account {user} at {where} logs in by a method that tlstax does not support ({said})",
        "use an account with caching_sha2_password or mysql_native_password",
    ),
    Refusal(
        (1040,),
        MachineFault,
        "{where} has no free connection (max_connections)",
        "wait, or raise max_connections",
    ),
    Refusal(
        (1203, 1226),
        UserMistake,
        "{where} allows {user} no more connections ({said})",
        "ask for fewer connections, or raise the account's limit",
    ),
    Refusal(
        (1129,),
        MachineFault,
        "{where} has blocked this machine after too many broken connections",
        "say TRUNCATE TABLE performance_schema.host_cache there, or FLUSH HOSTS (MariaDB, MySQL before 8.4)",
    ),
    Refusal(
        (1049,),
        UserMistake,
        "{where} has no schema {schema}",
        "create it, or leave the schema out of the URL to use one of tlstax's own",
    ),
    Refusal(
        (1044, 1142, 1227, 1370),
        UserMistake,
        "{user} may not do what is needed at {where} ({said})",
        "grant it CREATE, DROP, INDEX, INSERT and SELECT on a schema, and name that in the URL",
    ),
    Refusal(
        (1290, 1792, 1836),
        UserMistake,
        "{where} is read-only ({said})",
        "choose a server that a table can be created on",
    ),
    Refusal(
        (2027,),
        MachineFault,
        "{where} does not follow MySQL's protocol ({said})",
        "check what listens there, and what is in between",
    ),
    Refusal(
        (2068,),
        MachineFault,
        "{where} asked for a file of this machine, which was not sent ({said})",
        "check whether that server, and what is in between, can be trusted",
    ),
    Refusal((2006, 2013), MachineFault, "{where} broke the connection ({said})", "check the server's log"),
    Refusal(
        (2026,), MachineFault, "the TLS handshake with {where} failed ({said})", "check the TLS settings"
    ),
    Refusal((1021, 1114), MachineFault, "{where} has no room for the table ({said})", "make room there"),
)


def fault_of(access: GuestAccess, error: SqlError) -> TlstaxError:
    """The server refused a login or a statement, or the connection was lost."""
    code = error_codes.number_of(error)
    message = answers.message_of(error)
    names = {
        "where": access.address,
        "user": access.user,
        "schema": access.address.schema,
        "said": message,
        "variable": PASSWORD_VARIABLE,
        "plain": " and without TLS" if access.tls.mode == "DISABLED" else "",
    }
    for refusal in REFUSALS:
        if code in refusal.codes:
            return refusal.fault(refusal.message.format_map(names), remedy=refusal.remedy.format_map(names))
    return MachineFault(f"{access.address} reports an error ({message}, {code})")
