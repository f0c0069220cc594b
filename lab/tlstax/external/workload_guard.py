"""A user's workload at an external server: every statement of it is looked at, wherever it stands.

First before anything is started, as far as the statements themselves show; what is wrong then needs no
server to be seen. Then, with each statement of `prepare` and `restore`, and with those of `on_connect` and
`transactions` when all is prepared, the server is asked what the names in them stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Protocol

from tlstax.external.reading import NUMBER_VALUE, TEXT_VALUE, Creation, Place, Reading, Refused
from tlstax.products.external import ExternalProduct
from tlstax.products.product import Product
from tlstax.sql.database import Database
from tlstax.sql.ownership import Thing
from tlstax.study.workloads import Shape
from tlstax.study.workloads.user_defined import (
    TABLE,
    UserParameter,
    UserTransaction,
    UserWorkload,
    placeholders,
    with_named_table,
    with_table,
)
from tlstax.support.errors import UserMistake

Said = tuple[Place, str, str]
"""Where a statement stands, what the user wrote, and that with stand-ins for its parameters."""

_TYPES = frozenset({"BASE TABLE", "SYSTEM VERSIONED"})


class Guard(Protocol):
    """How statements in one family's SQL are read."""

    @property
    def ENGINES(self) -> frozenset[str]:  # noqa: N802 (a constant of the module)
        """What keeps a table's rows in the table."""
        ...

    def read(self, statement: str, place: Place, schema: str, own_functions: Collection[str] = ()) -> Reading:
        """What the statement does there. Raises Refused unless all of it is known."""
        ...

    def with_comment(self, statement: str, creation: Creation, named: str, comment: str) -> str | None:
        """The CREATE TABLE, which was read, with this comment for the table; None where it has no place.

        `named` is the table as a statement names it.
        """
        ...


def guard_of(product: Product) -> Guard:
    """The one that reads the product's SQL; a module that is imported when it is needed."""
    if product.name == "postgresql":
        from tlstax.external import postgres_guard  # noqa: PLC0415 (others are not imported)

        return postgres_guard
    from tlstax.external import sql_guard  # noqa: PLC0415 (the same)

    return sql_guard


def check_workloads(
    own: Iterable[UserWorkload], product: ExternalProduct, schema: str, tables: Mapping[Shape, str]
) -> None:
    """UserMistake for the first statement that is not known to leave everything of others as it is.

    `tables` names the load table of each shape within the schema.
    """
    workloads, guard = list(own), guard_of(product)
    ours = {Thing("TABLE", name.lower()) for name in tables.values()}
    named = {shape: product.schema.in_schema(schema, name) for shape, name in tables.items()}
    for places in (("prepare", "restore"), ("on_connect", "transactions")):
        for workload in workloads:
            for place, written, sql in statements(workload, named[workload.table]):
                if place in places:
                    look = partial(_check_text, guard, sql, place, schema, ours)
                    with_words(workload, place, written, look)


def statements(workload: UserWorkload, table: str) -> Iterator[Said]:
    """All statements of a workload, over the table of that name."""
    for place in ("prepare", "restore", "on_connect"):
        for sql in workload.said_by_themselves()[place]:
            yield place, sql, with_table(_plain(sql), table)
    for transaction in workload.transactions:
        for sql, text in _of_transaction(transaction, table):
            yield "transactions", sql, text


def with_words(workload: UserWorkload, place: Place, written: str, look: Callable[[], object]) -> None:
    """Look at a statement; for Refused a UserMistake that names the workload, the place and the statement."""
    try:
        look()
    except Refused as why:
        raise UserMistake(
            f"workload {workload.name}, {place}: {sentence(str(why), written)}", remedy=remedy(place)
        ) from why


def sentence(why: str, statement: str) -> str:
    """That a statement is refused, and why."""
    return f"an external server is left as it was found, and {why}: {' '.join(statement.split())}"


def remedy(place: Place) -> str:
    """What to do about it."""
    if place in {"prepare", "restore"}:
        return "change the statement, or carry it out there yourself before the run"
    return "change the statement, or measure a private server"


def check_names(  # noqa: PLR0913, PLR0917 (who is asked, where, of what, and by whom it is known)
    product: ExternalProduct,
    database: Database,
    schema: str,
    reading: Reading,
    owns: Callable[[Thing], bool],
    name_of: Callable[[str], str],
) -> bool:
    """Whether there is something to do: a DROP ... IF EXISTS may find nothing. Refused, SqlError.

    `owns` says whether an object is this run's and still as it was made, `name_of` how the server spells a
    table's name.
    """
    if otherwise := product.schema.reads_otherwise(database):
        raise Refused(otherwise)
    for name in reading.writes:
        if not owns(Thing("TABLE", name_of(name))) and not _is_common(
            product, database, schema, reading, name_of(name)
        ):
            raise Refused(f"{name} is not a table that this run has made")
    for thing in reading.calls:
        if not owns(thing):
            raise Refused(f"{thing} is not one that this run has made")
    if others := product.schema.functions_of_others(database, schema, reading.functions):
        raise Refused(f"there is a function named {min(others)}, which others made")
    for name in sorted(reading.reads):
        _check_read(product, database, schema, reading, owns, name_of(name))
    there = product.schema.named_tables(database, schema, {name_of(thing.name) for thing in reading.drops})
    for thing in reading.drops:
        name = name_of(thing.name)
        if not owns(Thing(thing.kind, name)) and (name in there or not reading.drops_if_there):
            raise Refused(f"{thing} is not one that this run has made")
    return not reading.drops or bool(there)


def _is_common(
    product: ExternalProduct, database: Database, schema: str, reading: Reading, name: str
) -> bool:
    """Whether a name is only one of the statement's WITH."""
    common = {one.lower() for one in reading.common}
    return name.lower() in common and not product.schema.named_tables(database, schema, {name})


def _check_read(  # noqa: PLR0913, PLR0917 (as above)
    product: ExternalProduct,
    database: Database,
    schema: str,
    reading: Reading,
    owns: Callable[[Thing], bool],
    name: str,
) -> None:
    if owns(Thing("TABLE", name)) or (owns(Thing("VIEW", name)) and not reading.reads_ours):
        return
    named = product.schema.named_tables(database, schema, {name}).get(name)
    if named is None:
        if name.lower() in {one.lower() for one in reading.common}:
            return
        raise Refused(f"there is no table {name} in {schema}")
    if named.type == "VIEW" and owns(Thing("VIEW", name)):
        raise Refused(f"it could lock rows of what the view {name} reads")
    if named.type not in _TYPES:
        raise Refused(f"{name} is a {named.type.lower()} that others made, which may do more than be read")
    if named.engine not in guard_of(product).ENGINES:
        raise Refused(f"{name} has the engine {named.engine.lower()}, which may reach beyond the table")
    if reading.reads_ours:
        raise Refused(f"it would lock rows of {name}, which is not a table that this run has made")
    if reading.copies and product.schema.advances_sequence(database, schema, name):
        raise Refused(f"a default of {name} takes numbers from a sequence of others")


def _check_text(guard: Guard, sql: str, place: Place, schema: str, ours: set[Thing]) -> None:
    """What can be seen without a server; `ours` gets what the statement creates."""
    functions = {thing.name for thing in ours if thing.kind == "FUNCTION"}
    reading = guard.read(sql, place, schema, functions)
    known = {thing.name for thing in ours if thing.kind == "TABLE"}
    common = {name.lower() for name in reading.common}
    for name in reading.writes:
        if Thing("TABLE", name.lower()) not in ours and name.lower() not in common:
            raise Refused(f"{name} is not a table that prepare creates before")
    for thing in reading.calls:
        if Thing(thing.kind, thing.name.lower()) not in ours:
            raise Refused(f"{thing} is not one that prepare creates before")
    for thing in () if reading.drops_if_there else reading.drops:
        if Thing(thing.kind, thing.name.lower()) not in ours:
            raise Refused(f"{thing} is not one that prepare creates before")
    for name in reading.reads if reading.reads_ours else ():
        if name.lower() not in known | common:
            raise Refused(f"it would lock rows of {name}, which is not a table that prepare creates before")
    if reading.creation is not None:
        ours.add(Thing(reading.creation.kind, reading.creation.name.lower()))


def _of_transaction(transaction: UserTransaction, table: str) -> Iterator[tuple[str, str]]:
    for statement in transaction.statements:
        kinds = {**transaction.parameters, **statement.parameters}
        text = with_named_table(_plain(statement.sql), table)
        for name in placeholders(statement.sql):
            if name != TABLE:
                text = text.replace(f"{{{name}}}", _stand_in(kinds.get(name)))
        yield statement.sql, text.replace("{{", "{").replace("}}", "}")


def _plain(sql: str) -> str:
    """The statement, if it has no character that stands for a parameter; else one that cannot be read."""
    marks = {NUMBER_VALUE, TEXT_VALUE}
    return "\0" if marks & set(sql) else sql


def _stand_in(parameter: UserParameter | None) -> str:
    """A row's id needs no parameter."""
    is_text = parameter is not None and parameter.kind in {"digits", "one_of"}
    return TEXT_VALUE if is_text else NUMBER_VALUE
