"""From the levels of a case to the workload that it runs and the data that this works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tlstax.contract import Statement, Transaction, Workload
from tlstax.study import workloads
from tlstax.study.design import Study
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import Levels
from tlstax.study.workloads import TABLES, Shape
from tlstax.study.workloads.user_defined import UserWorkload, as_workload, names_table

Own = Mapping[str, UserWorkload]
"""The workloads that a user wrote, by name."""


@dataclass(frozen=True)
class DataNeeds:
    """The tables that a run's workloads read, those that they change, and the workloads of the user's own.

    `answer_bytes` are the sizes that a table of answers holds. `writes` is whether any of them changes data,
    its own tables' too.
    """

    tables: tuple[Shape, ...] = ("sbtest",)
    changed: tuple[Shape, ...] = ()
    own: Own = field(default_factory=dict)
    answer_bytes: tuple[int, ...] = ()
    writes: bool = False

    @property
    def makes_tables(self) -> bool:
        """Whether anything is made in the schema: a load table, or what a user's own workload prepares."""
        return bool(self.tables) or any(one.prepare or one.restore for one in self.own.values())


def data_needs(study: Study) -> DataNeeds:
    """What a study's cases need, each table once."""
    cases = list(study.included())
    shapes = dict.fromkeys(
        table_of(levels, study.workloads) for levels in cases if needs_table(levels, study.workloads)
    )
    changed = dict.fromkeys(
        table_of(levels, study.workloads)
        for levels in cases
        if needs_table(levels, study.workloads) and changes_data(levels, study.workloads)
    )
    sized = {workloads.by_numbers(CaseLevels.of(levels).workload) for levels in cases}
    sizes = sorted({own.answer_bytes for own in sized if isinstance(own, workloads.Session)})
    writes = any(changes_data(levels, study.workloads) for levels in cases)
    return DataNeeds(tuple(shapes), tuple(changed), study.workloads, tuple(sizes), writes)


def workload_of(levels: Levels, own: Own, tables: Mapping[Shape, str], rows: int) -> Workload:
    """The workload of the case with these levels, over `tables` (names by shape) of `rows` rows each."""
    case = CaseLevels.of(levels)
    name = case.workload
    table = tables[table_of(levels, own)]
    workload = as_workload(own[name], table, rows) if name in own else workloads.built_in(name, table, rows)
    return _over_protocol(workload, case.protocol)


def table_of(levels: Levels, own: Own) -> Shape:
    """The shape of the table that the case's workload works on."""
    name = CaseLevels.of(levels).workload
    return own[name].table if name in own else workloads.table_of(name)


def needs_table(levels: Levels, own: Own) -> bool:
    """Whether the case's workload has anything to do with the table that is filled for it."""
    name = CaseLevels.of(levels).workload
    return names_table(own[name]) if name in own else workloads.needs_table(name)


def changes_data(levels: Levels, own: Own) -> bool:
    """Whether the case's workload may change data."""
    name = CaseLevels.of(levels).workload
    return (
        workloads.writes(as_workload(own[name], TABLES[own[name].table], 1))
        if name in own
        else (workloads.changes_data(name))
    )


def sets_values(levels: Levels, workload: Workload) -> tuple[str, ...]:
    """What the case's workload says on connecting without which its statements read nothing.

    Only what is known to set variables and nothing else: a user's own may begin a transaction.
    """
    sized = workloads.by_numbers(CaseLevels.of(levels).workload)
    return workload.on_connect if isinstance(sized, workloads.Rows) else ()


def shares_data(levels: Levels, own: Own, rows: int) -> bool:
    """Whether clients of the case can change the same `rows` rows in turn, one resting while another works.

    A statement that goes through a whole table takes longer than anybody's turn.
    """
    shape = table_of(levels, own)
    workload = workload_of(levels, own, TABLES, rows)
    changed = workloads.writes(workload)
    only_adds = all(
        workloads.verb(each) == "INSERT" for one in workload.transactions for each in one.statements
    )
    return changed and workloads.can_be_shared(workload) and (shape != "people" or only_adds)


def makes_connections(levels: Levels, own: Own) -> bool:
    """Whether operations of the case make connections: a storm's, or those that reconnect."""
    workload = workload_of(levels, own, TABLES, 1)
    return workload.storm or workload.reconnect


def statements_of(levels: Levels, own: Own) -> int:
    """How many statements one operation of the case has: of a mix, the most that one has."""
    name = CaseLevels.of(levels).workload
    table = TABLES[table_of(levels, own)]
    workload = as_workload(own[name], table, 1) if name in own else workloads.built_in(name, table, 1)
    each = (sum(one.repeat for one in unit.statements) for unit in workload.transactions)
    return max(each, default=0)


def _over_protocol(workload: Workload, level: str) -> Workload:
    """The workload with all its statements sent as the level of `protocol` has it."""
    if level == "default":
        return workload

    def sent(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(one.model_copy(update={"protocol": None}) for one in statements)

    mix: tuple[Transaction, ...] = tuple(
        one.model_copy(update={"statements": sent(one.statements)}) for one in workload.mix
    )
    return workload.model_copy(
        update={"protocol": level, "statements": sent(workload.statements), "mix": mix}
    )
