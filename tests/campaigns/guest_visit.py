"""The laboratory's own conversation with somebody else's server, from greeting to last DROP, without load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from tlstax.external import connection as external_connection
from tlstax.external import server as guest_server
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.made import Warn
from tlstax.external.tls import ExternalTls, SslMode
from tlstax.mysql import status
from tlstax.run.reset_data import TrialData
from tlstax.sql.database import Database, SqlError
from tlstax.sql.table_rows import TableContent
from tlstax.study.factors import CaseLevels
from tlstax.study.files import parse_workload
from tlstax.study.needs import DataNeeds
from tlstax.support.errors import MachineFault

PASSWORD = "Sesame, open!"
CONTENT = TableContent(rows=60, seed=5)
OWN = """name = "own"
prepare = ["CREATE TABLE mine (id INT)", "CREATE VIEW seen AS SELECT 1 AS one", "DO 1"]
restore = ["TRUNCATE TABLE mine"]
[[transactions]]
statements = [{ sql = "DELETE FROM mine WHERE id={id}" }]
"""


def access_to(port: int, mode: SslMode = "PREFERRED") -> ExternalAccess:
    """The way in for `ann` at this port of 127.0.0.1, in the schema `lent`."""
    return ExternalAccess(
        ExternalAddress("127.0.0.1", port, "ann", "lent"), "ann", PASSWORD, ExternalTls(mode)
    )


def visit(access: ExternalAccess, warn: Warn) -> None:
    """All that the laboratory itself asks of an external server, in the order of a run."""
    with guest_server.ExternalServer.open(access, warn) as guest:
        guest.room()
        guest.prepare_table(CONTENT)
        with closing(guest.admin()) as admin:
            own = parse_workload(OWN, where="own.toml")
            data = TrialData(guest, {"sbtest": CONTENT}, DataNeeds(("sbtest",), ("sbtest",), {"own": own}))
            data.prepare(admin)
            for workload in ("own", "delete", "delete"):
                guest.hold()
                _trial(guest, data, admin, workload)


def _trial(guest: guest_server.ExternalServer, data: TrialData, admin: Database, workload: str) -> None:
    """What fails here costs the trial alone, as long as the server answers (`Bench.revived`)."""
    try:
        data.ready(admin, CaseLevels.of({"workload": workload}))
        status.read_status(admin)
    except (MachineFault, SqlError, OSError):
        if not guest.is_alive():
            raise MachineFault(f"{guest.specimen.name} no longer answers") from None


@contextmanager
def impatient(login_s: float, statement_s: float) -> Iterator[None]:
    """In this block the laboratory waits this long, so that silence costs no minutes."""
    defaults = external_connection.connect.__defaults__
    kept = external_connection.STATEMENT_TIMEOUT_S, guest_server.CLEAN_UP_TIMEOUT_S
    external_connection.connect.__defaults__ = (login_s,)
    external_connection.STATEMENT_TIMEOUT_S = guest_server.CLEAN_UP_TIMEOUT_S = statement_s
    try:
        yield
    finally:
        external_connection.connect.__defaults__ = defaults
        external_connection.STATEMENT_TIMEOUT_S, guest_server.CLEAN_UP_TIMEOUT_S = kept
