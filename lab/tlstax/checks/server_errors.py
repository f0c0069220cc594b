"""What the numbers of servers' errors mean: in a sentence, whose fault it is, and what to do.

The numbers are those of MySQL's and MariaDB's error references (server: 1xxx, 3xxx, 4xxx; client: 2xxx), and
the SQLSTATEs of PostgreSQL (its documentation, appendix A), which clients report as a number in base 36.
"""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.support.errors import MachineFault, UserMistake


@dataclass(frozen=True)
class ServerError:
    """Error numbers that mean the same; `{where}`, `{user}`, `{schema}`, `{said}` stand in the texts.

    It is the user's fault where an account or a setting of the server's demands it, which they can change or
    go around. `in_trials` is what to do about a load client that meets it, where that is something else.
    """

    codes: tuple[int | str, ...]
    fault: type[UserMistake] | type[MachineFault]
    message: str
    remedy: str
    in_trials: str = ""


SERVER_ERRORS = (
    ServerError(
        (1045, 1698),
        UserMistake,
        "{where} refused the user {user} with this password{plain}",
        "check the user, the password (prompt, {variable} or file), from which hosts it may log in, and "
        "{certificate}",
        in_trials="use an account that is let in without TLS as well, and without a certificate",
    ),
    ServerError(
        (3118, 4151), UserMistake, "the account {user} at {where} is locked", "unlock it, or use another"
    ),
    ServerError(
        (3955,),
        UserMistake,
        "the account {user} at {where} is blocked after too many wrong passwords ({said})",
        "unlock it, or wait",
    ),
    ServerError((1820, 1862), UserMistake, "the password of {user} at {where} has expired", "set a new one"),
    ServerError(
        (1130,),
        UserMistake,
        "{where} accepts no connections from this machine",
        "create an account for this host there",
    ),
    ServerError(
        (3159,),
        UserMistake,
        "{where} accepts encrypted connections only",
        "leave --ssl-mode=DISABLED out",
        in_trials="plaintext is what TLS is compared with: set require_secure_transport=OFF there for the "
        "run, or measure a private server of that version",
    ),
    ServerError(
        (1251, 1524, 2059),
        UserMistake,
        "the account {user} at {where} logs in by a method that tlstax does not support ({said})",
        "use an account with caching_sha2_password or mysql_native_password",
    ),
    ServerError(
        (1184,),
        UserMistake,
        "{where} ends the connections of {user} as soon as they are made ({said})",
        "correct init_connect there, or use an account with CONNECTION_ADMIN, which it does not hold for",
    ),
    ServerError(
        (3032,), UserMistake, "{where} is in offline mode", "set offline_mode=OFF there, or choose another"
    ),
    ServerError(
        (1040,),
        MachineFault,
        "{where} has no free connection (max_connections)",
        "wait, or raise max_connections",
    ),
    ServerError(
        (1203,),
        UserMistake,
        "{where} allows {user} no more connections ({said})",
        "ask for fewer connections, or raise max_user_connections",
    ),
    ServerError(
        (1226,),
        UserMistake,
        "{where} allows {user} no more ({said})",
        "raise that limit of the account's, or use an account without one",
    ),
    ServerError(
        (1129,),
        MachineFault,
        "{where} has blocked this machine after too many broken connections",
        "say TRUNCATE TABLE performance_schema.host_cache there, or FLUSH HOSTS (MariaDB, MySQL before 8.4)",
    ),
    ServerError(
        (1049,),
        UserMistake,
        "{where} has no schema {schema}",
        "create it, or leave the schema out of the URL to use one of tlstax's own",
    ),
    ServerError(
        (1044, 1142, 1143, 1227, 1370, 1410),
        UserMistake,
        "{user} may not do what is needed at {where} ({said})",
        "grant it CREATE, DROP, INDEX, INSERT and SELECT on a schema, and name that in the URL; where a role "
        "has them, make that one of its default roles",
    ),
    ServerError(
        (1290, 1792, 1836, 1874, 3989),
        UserMistake,
        "{where} is read-only ({said})",
        "choose a server that a table can be created on",
    ),
    ServerError(
        (1461,),
        UserMistake,
        "{where} prepares no more statements ({said})",
        "raise max_prepared_stmt_count there",
    ),
    ServerError(
        (1153,),
        UserMistake,
        "{where} takes no statement as long as is needed ({said})",
        "raise max_allowed_packet there",
    ),
    ServerError(
        (1969, 3024),
        UserMistake,
        "{where} breaks off statements that take too long ({said})",
        "raise max_execution_time (MySQL) or max_statement_time (MariaDB) there",
    ),
    ServerError(
        (1104,),
        UserMistake,
        "{where} refuses to look at that many rows ({said})",
        "raise max_join_size there",
    ),
    ServerError(
        (4031,),
        UserMistake,
        "{where} closes connections that are idle ({said})",
        "raise wait_timeout there",
    ),
    ServerError((1053,), MachineFault, "{where} is shutting down ({said})", "start it again"),
    ServerError(
        (1927, 3169),
        MachineFault,
        "somebody ended a connection at {where} ({said})",
        "find out who, and start again",
    ),
    ServerError(
        (1037, 1038, 1041, 1135),
        MachineFault,
        "{where} has no memory or threads left ({said})",
        "make room there",
    ),
    ServerError(
        (2027,),
        MachineFault,
        "{where} does not follow MySQL's protocol ({said})",
        "check what listens there, and what is in between",
    ),
    ServerError(
        (2068,),
        MachineFault,
        "{where} asked for a file of this machine, which was not sent ({said})",
        "check whether that server, and what is in between, can be trusted",
    ),
    ServerError(
        (2006, 2013, "08006"), MachineFault, "{where} broke the connection ({said})", "check the server's log"
    ),
    ServerError(
        (2026,), MachineFault, "the TLS handshake with {where} failed ({said})", "check the TLS settings"
    ),
    ServerError(
        (1021, 1114, "53100"),
        MachineFault,
        "{where} has no room for the table ({said})",
        "make room there",
    ),
    ServerError(
        ("28P01", "28000"),
        UserMistake,
        "{where} refused the user {user} with this password{plain} ({said})",
        "check the user, the password (prompt, {variable} or file), the lines of pg_hba.conf there, and "
        "{certificate}",
        in_trials="use an account that pg_hba.conf lets in without TLS as well, and without a certificate",
    ),
    ServerError(
        ("53300",),
        MachineFault,
        "{where} has no free connection ({said})",
        "wait, or raise max_connections, or the limit of the role or the database",
    ),
    ServerError(
        ("3D000",),
        UserMistake,
        "{where} has no database {schema}",
        "create it, and name it in the URL",
    ),
    ServerError(
        ("42501",),
        UserMistake,
        "{user} may not do what is needed at {where} ({said})",
        "grant it CREATE and USAGE on a schema of that database, or use its owner",
    ),
    ServerError(
        ("25006",),
        UserMistake,
        "{where} is read-only ({said})",
        "choose a server that a table can be created on: neither a standby nor one with "
        "default_transaction_read_only",
    ),
    ServerError(
        ("57014",),
        UserMistake,
        "{where} breaks off statements that take too long ({said})",
        "raise statement_timeout there",
    ),
    ServerError(
        ("25P03", "57P05"),
        UserMistake,
        "{where} closes connections that are idle ({said})",
        "raise idle_session_timeout and idle_in_transaction_session_timeout there",
    ),
    ServerError(
        ("57P01",),
        MachineFault,
        "somebody ended a connection at {where}, or is stopping it ({said})",
        "find out who, and start again",
    ),
    ServerError(
        ("57P02", "57P03"),
        MachineFault,
        "{where} is starting, stopping or recovering ({said})",
        "check the server's log, and start again when it is up",
    ),
    ServerError(("53200",), MachineFault, "{where} has no memory left ({said})", "make room there"),
    ServerError(
        ("08P01",),
        MachineFault,
        "{where} does not follow PostgreSQL's protocol, or says so of its client ({said})",
        "check what listens there, and what is in between",
    ),
)


def sqlstate_number(state: str) -> int:
    """A SQLSTATE as the number under which clients report it: in base 36. None of MySQL's is as large."""
    return int(state, 36)


_BY_NUMBER = {
    sqlstate_number(code) if isinstance(code, str) else code: known
    for known in SERVER_ERRORS
    for code in known.codes
}


def meaning_of(code: int | str | None) -> ServerError | None:
    """What an error of this number, or SQLSTATE, means; None for one that is not listed."""
    number = sqlstate_number(code) if isinstance(code, str) else code
    return None if number is None else _BY_NUMBER.get(number)
