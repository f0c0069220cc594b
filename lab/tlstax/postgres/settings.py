"""Settings of a running PostgreSQL: read, and changed for the whole server without starting it again.

Source: PostgreSQL documentation, "ALTER SYSTEM", "pg_settings" and "Setting Parameters". What stands on the
server's command line, or is set for a role or a database, overrides what is changed here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from tlstax.postgres.database import apart
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.support.errors import MachineFault

_IN_FORCE_S, _LOOK_AGAIN_S = 10.0, 0.002


def read(database: Database, names: Sequence[str]) -> dict[str, str]:
    """The values of these settings, without units, as far as the server has them. Raises SqlError."""
    wanted = ", ".join(["%s"] * len(names))
    asked = f"SELECT name, setting FROM pg_settings WHERE name IN ({wanted})"  # noqa: S608 (places)
    return {str(name): str(value) for name, value in answers.rows(apart(database), asked, *names, columns=2)}


def change(admin: Database, wanted: Mapping[str, str]) -> None:
    """Have these settings in force for whoever connects from now on. Raises MachineFault.

    Sessions that are there take them, too: those of their beginning alone cannot be changed so.
    """
    server = apart(admin)
    for name, value in wanted.items():
        answers.demand(server, f"ALTER SYSTEM SET {name} = %s", value)
    read_again(admin)
    deadline = time.monotonic() + _IN_FORCE_S
    while other := _other(server, wanted):
        if time.monotonic() > deadline:
            name, now = other
            raise MachineFault(
                f"the server keeps {name} at {now!r}, where {wanted[name]!r} was asked for",
                remedy="leave it out of the server's command line and of what is set for its roles",
            )
        time.sleep(_LOOK_AGAIN_S)


def read_again(admin: Database) -> None:
    """Have the server read its files of settings, and wait until it has. Raises MachineFault.

    Once a session that is there has read them again, the postmaster has done so before: it tells the others
    when it has, and starts no session meanwhile (`process_pm_reload_request`).
    """
    server = apart(admin)
    loaded = answers.demand(server, "SELECT pg_conf_load_time()")
    answers.demand(server, "SELECT pg_reload_conf()")
    deadline = time.monotonic() + _IN_FORCE_S
    while answers.demand(server, "SELECT pg_conf_load_time()") == loaded:
        if time.monotonic() > deadline:
            raise MachineFault("the server does not read its settings again")
        time.sleep(_LOOK_AGAIN_S)


def _other(server: Database, wanted: Mapping[str, str]) -> tuple[str, str | None] | None:
    """The first setting that this session has otherwise, and how; None where there is none."""
    try:
        now = read(server, tuple(wanted))
    except SqlError as error:
        raise MachineFault(f"the server does not say what is set ({answers.message_of(error)})") from error
    return next(((one, now.get(one)) for one, value in wanted.items() if now.get(one) != value), None)


def version_number(database: Database) -> int:
    """The server's version as one number: 180004 for 18.4 (`server_version_num`). Raises SqlError."""
    return answers.number(answers.row(apart(database), "SHOW server_version_num", columns=1)[0])
