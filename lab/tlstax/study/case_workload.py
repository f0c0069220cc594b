"""A case's workload: what its operations say, what they need and change, and the data that they work on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tlstax.contract import Workload
from tlstax.study import workloads
from tlstax.study.product import DEFAULT, ProductName
from tlstax.study.workloads import TABLES, Shape
from tlstax.study.workloads.user_defined import UserWorkload, as_workload, names_table

if TYPE_CHECKING:
    from tlstax.study.design import Study
    from tlstax.study.factors import CaseLevels

Own = Mapping[str, UserWorkload]
"""The workloads that a user wrote, by name."""


@dataclass(frozen=True, eq=False)
class CaseWorkload:
    """The workload of this name, sent as the level `protocol` has it; `own` where it is one of the user's.

    Its statements are those that the product understands.
    """

    name: str
    protocol: str
    own: UserWorkload | None
    product: ProductName = DEFAULT

    @classmethod
    def of(cls, case: CaseLevels, own: Own, product: ProductName = DEFAULT) -> CaseWorkload:
        """The case's at this product, where these are the user's own."""
        return cls(case.workload, case.protocol, own.get(case.workload), product)

    def over(self, tables: Mapping[Shape, str], rows: int) -> Workload:
        """The workload over `tables` (names by shape) of `rows` rows each, as a job has it."""
        table = tables[self.table]
        if self.own is not None:
            return _over_protocol(as_workload(self.own, table, rows), self.protocol)
        return _over_protocol(workloads.built_in(self.name, table, rows, self.product), self.protocol)

    @cached_property
    def _sample(self) -> Workload:
        """The same over a table of one row: all but ids is known of it."""
        return self.over(TABLES, 1)

    @cached_property
    def table(self) -> Shape:
        """The shape of the table that it works on."""
        return workloads.table_of(self.name) if self.own is None else self.own.table

    @property
    def needs_table(self) -> bool:
        """Whether it has anything to do with the table that is filled for it."""
        return workloads.needs_table(self.name) if self.own is None else names_table(self.own)

    @cached_property
    def changes_data(self) -> bool:
        """Whether it may change data."""
        return workloads.writes(self._sample)

    @property
    def can_be_repeated(self) -> bool:
        """Whether a round of it costs the same on what the round before left."""
        return self.own is None and workloads.can_be_repeated(self.name)

    @property
    def makes_connections(self) -> bool:
        """Whether its operations make connections: a storm's, or those that reconnect.

        A study asks it of names that are not checked yet; what is no workload makes none.
        """
        is_one = self.own is not None or workloads.is_built_in(self.name)
        return is_one and (self._sample.storm or self._sample.reconnect)

    @property
    def is_prepared(self) -> bool:
        """Whether any of its statements is prepared; where it has none, whether they would be."""
        if self.protocol != "default":
            return self.protocol == "prepared"
        return "prepared" in self._sample.protocols

    @property
    def counts(self) -> bool:
        """Whether it draws values that each are to be used once, over all connections together."""
        return workloads.draws_once(self._sample)

    @cached_property
    def statements(self) -> int:
        """How many statements one operation has: of a mix, the most that one has."""
        each = (sum(one.repeat for one in unit.statements) for unit in self._sample.transactions)
        return max(each, default=0)

    @property
    def answer_bytes(self) -> int | None:
        """The size of what a table of answers must hold for it; None where it reads no such table."""
        sized = workloads.by_numbers(self.name)
        return sized.answer_bytes if isinstance(sized, workloads.Session) else None

    def shares_data(self, rows: int) -> bool:
        """Whether clients can change the same `rows` rows in turn, one resting while another works.

        A statement that goes through a whole table takes longer than anybody's turn.
        """
        workload = self.over(TABLES, rows)
        only_adds = all(workloads.verb(each) == "INSERT" for each in workload.all_statements)
        can_share = workloads.writes(workload) and workloads.can_be_shared(workload)
        return can_share and (self.table != "people" or only_adds)


def workload_in(study: Study | None, case: CaseLevels) -> CaseWorkload:
    """The case's workload in this study; without one it is none of the user's own."""
    return CaseWorkload.of(case, {}) if study is None else study.workload_of(case)


def sets_values(case: CaseLevels, workload: Workload) -> tuple[str, ...]:
    """What the case's workload says on connecting without which its statements read nothing.

    Only what is known to set variables and nothing else: a user's own may begin a transaction.
    """
    sized = workloads.by_numbers(case.workload)
    return workload.on_connect if isinstance(sized, workloads.Rows) else ()


def _over_protocol(workload: Workload, level: str) -> Workload:
    """The workload with all its statements sent as the level of `protocol` has it."""
    if level == "default":
        return workload

    sent = workload.model_copy(update={"protocol": level})
    return workloads.each_changed(sent, lambda one: one.model_copy(update={"protocol": None}))
