"""Data as it was before every trial: what a trial changed is put back, checked, and left to settle.

Each table that a run's workloads change has a copy that nobody works on. Before a trial, or once
for those that take turns, the table is emptied and filled from it, where a trial changed it since; whether it
then holds what it must is counted and summed up at the server.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from tlstax.records.trial import TableState
from tlstax.specimens.server import Server
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.sql.table_rows import TableContent
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.factors import CaseLevels
from tlstax.study.needs import DataNeeds
from tlstax.study.workloads import Shape
from tlstax.study.workloads.user_defined import UserWorkload, with_table
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake

SETTLING_S, LOOK_AGAIN_S = 2.0, 0.01
"""How long a trial waits for the purge of what an earlier one changed, at most."""


@dataclass
class TrialData:
    """The data of one server's trials, and which tables have been changed since they were put back."""

    server: Server
    contents: dict[Shape, TableContent]
    needs: DataNeeds = field(default_factory=DataNeeds)
    _changed: set[Shape] = field(default_factory=set)
    _unsettled: bool = False

    def ready(self, database: Database, case: CaseLevels) -> tuple[TableState, ...]:
        """Make the data as the case's trial needs it; what a table that will change holds then.

        MachineFault where it is not what it must be, SqlError where the server fails, UserMistake
        where it refuses a statement of the user's.
        """
        workload = CaseWorkload.of(case, self.needs.own)
        own, shape = workload.own, workload.table
        # Where its statements do not name the table, another case's may, or nobody filled one.
        changes_table = workload.changes_data and workload.needs_table
        name = self.server.tables[shape]
        to_check = changes_table or shape in self._changed
        if shape in self._changed:
            self.server.product.table.put_back(database, name)
            self._unsettled = True
        if own is not None and own.restore:
            self._carry_out(database, own, "restore")
            self._unsettled = True
        if self._unsettled:
            self._settle(database, name)
        states = (self._checked(database, shape),) if to_check else ()
        self._changed.discard(shape)
        if changes_table:
            self._changed.add(shape)
        self._unsettled = workload.changes_data
        return states

    def prepare(self, database: Database) -> None:
        """Keep copies of what will change, and carry out what the user's workloads prepare once.

        What those statements create is the server's to drop in the end; then it knows what load clients may
        reach. UserMistake where it refuses one of them, MachineFault where it fails.
        """
        for shape in self.needs.changed:
            name = self.server.tables[shape]
            try:
                self.server.keep_copy(database, shape)
            except SqlError as error:
                raise MachineFault(
                    f"{self.server.specimen.name} did not copy the table {name} ({answers.message_of(error)})"
                ) from error
        for own in self.needs.own.values():
            self._carry_out(database, own, "prepare")
        for own in self.needs.own.values():
            self.server.check_workload(own)

    def _checked(self, database: Database, shape: Shape) -> TableState:
        name = self.server.tables[shape]
        table = self.server.product.table
        actual, wanted = table.state(database, name, shape), table.expected(name, self.contents[shape])
        if actual != wanted:
            raise MachineFault(
                f"the table {name} holds {actual.rows:,} rows (checksum {actual.checksum}) before a trial, "
                f"where it must hold {wanted.rows:,} (checksum {wanted.checksum})"
            )
        return actual

    def _carry_out(self, database: Database, own: UserWorkload, which: str) -> None:
        name = self.server.tables[own.table]
        for sql in own.said_by_themselves()[which]:
            try:
                self.server.carry_out(database, with_table(sql, name), once=which == "prepare")
            except SqlError as error:
                raise self._refused(own, which, sql, error) from error
            except UserMistake as mistake:
                raise UserMistake(
                    f"workload {own.name}, {which}: {mistake.message}", remedy=mistake.remedy
                ) from mistake
        if own.said_by_themselves()[which]:
            try:
                # What was begun and not ended would keep others from changing the tables that were read.
                answers.commit(database)
            except SqlError as error:
                raise self._refused(own, which, "the commit at its end", error) from error

    def _refused(self, own: UserWorkload, which: str, sql: str, error: SqlError) -> TlstaxError:
        """The statement was refused, or it was not carried out because the connection is gone."""
        why = f"({answers.message_of(error)}): {' '.join(sql.split())}"
        if error.is_of_connection:
            return MachineFault(
                f"workload {own.name}: the server did not carry out a statement of {which} {why}"
            )
        return UserMistake(
            f"workload {own.name}: the server refuses a statement of {which} {why}",
            remedy="give yours another name, or drop the existing one if nobody needs it"
            if error.code in self.server.product.database.TABLE_EXISTS
            else "",
        )

    def _settle(self, database: Database, name: str) -> None:
        """Let what putting back has left to do be done before the trial, not in it.

        Changed pages of the table are written, and the server's clearing up is waited for. An account that
        may not do the one or see the other goes without: an external server does its work whenever it likes.
        """
        table = self.server.product.table
        table.write_changed_pages(database, name)
        deadline = time.monotonic() + SETTLING_S
        while table.is_purging(database) and time.monotonic() < deadline:
            time.sleep(LOOK_AGAIN_S)
