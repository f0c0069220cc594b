"""What is set at a running server for one trial: whether it takes TLS, and when a commit is on the disk.

The very process is set, so that nothing else differs between two cases. What is in force is read back while
it is in force, and everything is put back as it was when the trial ends, however it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple

import pymysql

from tlstax.mysql import tls_facts
from tlstax.mysql.database import Database
from tlstax.run.bench import Bench
from tlstax.run.benches import Benches
from tlstax.study import Levels, Study
from tlstax.study.case_levels import CaseLevels
from tlstax.study.level_names import DURABILITY
from tlstax.support.errors import MachineFault, UserMistake

NO_TLS = ""
"""The value of tls_version that leaves a server no TLS (MySQL reference manual, 8.0.16 and later)."""


class InForce(NamedTuple):
    """What held at the server during a trial; None where its case leaves it alone.

    `tls_versions` are those that it took, empty where it took no TLS; `durability` is a level, or the
    server's own setting where that is none.
    """

    tls_versions: str | None = None
    durability: str | None = None


def check_switchable(study: Study, benches: Benches) -> None:
    """UserMistake when TLS is to be switched at a server that cannot do that while it runs."""
    choices = dict.fromkeys(case.server_choice for case in study.typed() if case.is_switched_at_server)
    for choice in choices:
        with benches.using(choice) as bench:
            if not _rows(bench.admin, "SHOW GLOBAL STATUS LIKE 'Current_tls_version'"):
                raise UserMistake(
                    f"{choice.words()} cannot turn TLS off and on while it runs, as tls_switch=server asks "
                    "for; MySQL can from 8.0.16 on",
                    remedy="leave it out, or leave tls_switch at client",
                )


@contextmanager
def applied(levels: Levels, bench: Bench) -> Iterator[None]:
    """The server as the case with these levels wants it, until the block ends.

    MachineFault when it does not let itself be set. Where the block fails, its own error is the one that is
    told: a server that died has nothing to be put back, and starts anew with what it had.
    """
    undo: list[Callable[[], None]] = []
    try:
        for set_it in (_switch_tls, _set_durability):
            set_it(levels, bench, undo)
        yield
    except BaseException:
        with suppress(MachineFault):
            _put_back(undo)
        raise
    _put_back(undo)


def in_force(levels: Levels, bench: Bench) -> InForce:
    """What holds at the server now, of what its case sets.

    It logs in once more, because only a greeting says what a new connection would meet: after a reload that
    failed, the variables say one thing and the server does another.
    """
    case = CaseLevels.of(levels)
    versions = durability = None
    if case.is_switched_at_server:
        with closing(bench.server.admin()) as fresh:
            facts = tls_facts.read(fresh)
        versions = ",".join(facts.versions) or "versions that it does not report" if facts.offered else NO_TLS
    if case.durability is not None:
        value = _flushing(bench.admin)
        named = {number: level for level, number in DURABILITY.items()}
        durability = named.get(value, f"innodb_flush_log_at_trx_commit={value}")
    return InForce(versions, durability)


def _switch_tls(levels: Levels, bench: Bench, undo: list[Callable[[], None]]) -> None:
    case = CaseLevels.of(levels)
    if case.is_encrypted or not case.is_switched_at_server:
        return
    had = str(_rows(bench.admin, "SELECT @@GLOBAL.tls_version")[0][0])
    undo.append(lambda: _take_tls(bench.admin, had))
    _take_tls(bench.admin, NO_TLS)


def _take_tls(admin: Database, versions: str) -> None:
    """From now on new connections may have these TLS versions.

    A reload that finds no version is an error, and rolled back unless told otherwise; then the server turns
    TLS off (MySQL reference manual, ALTER INSTANCE). Seen with 8.0.33 and 9.7.
    """
    _run(admin, "SET GLOBAL tls_version = %s", versions)
    _run(admin, "ALTER INSTANCE RELOAD TLS" + (" NO ROLLBACK ON ERROR" if versions == NO_TLS else ""))


def _set_durability(levels: Levels, bench: Bench, undo: list[Callable[[], None]]) -> None:
    wanted = CaseLevels.of(levels).durability
    if wanted is None:
        return
    had = _flushing(bench.admin)
    undo.append(lambda: _flush(bench.admin, had))
    _flush(bench.admin, DURABILITY[wanted])


def _flush(admin: Database, value: int) -> None:
    _run(admin, "SET GLOBAL innodb_flush_log_at_trx_commit = %s", value)


def _flushing(admin: Database) -> int:
    return int(_rows(admin, "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit")[0][0])


def _put_back(undo: list[Callable[[], None]]) -> None:
    """All that can be put back; MachineFault for the first that cannot."""
    faults = []
    for step in reversed(undo):
        try:
            step()
        except MachineFault as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


def _run(admin: Database, statement: str, *values: object) -> None:
    _rows(admin, statement, *values)


def _rows(admin: Database, statement: str, *values: object) -> tuple[tuple[Any, ...], ...]:
    try:
        with admin.cursor() as cursor:
            cursor.execute(statement, values or None)
            return tuple(cursor.fetchall())
    except (pymysql.Error, OSError) as error:
        raise MachineFault(f"the server did not carry out {statement} ({error.args[-1]})") from error
