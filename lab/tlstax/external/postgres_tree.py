"""The tree of a statement in PostgreSQL's SQL (sqlglot): of known nodes alone, and the tables it is about.

As in `sql_tree`, sqlglot's word is not taken for anything but which names are tables. It is imported by
`postgres_guard` when there is a statement to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import expressions as exp
from sqlglot.expressions import Expr

from tlstax.external.parsing import parsed
from tlstax.external.reading import (
    Creation,
    Reading,
    Refused,
    SqlText,
    Token,
    checked_name,
    new_name,
    word_set,
)
from tlstax.sql.ownership import Thing

_EXPRESSIONS: Final = word_set(
    "Select Union Except Intersect Subquery From Where Group Having Order Ordered Limit Offset Fetch",
    "LimitOptions Join With CTE TableAlias Alias Table Column Identifier Star Literal Null Boolean Tuple",
    "Values Insert Update Delete OnConflict Returning Schema Distinct Window WindowSpec Interval Var Lock",
    "DataType DataTypeParam JSONPath JSONPathRoot JSONPathKey JSONPathSubscript JSONKeyValue Filter Dot",
)
_DEFINITIONS: Final = word_set(
    "Create Drop TruncateTable Analyze ColumnDef ColumnConstraint PrimaryKey ForeignKey Reference",
    "Constraint Index IndexParameters NotNullColumnConstraint DefaultColumnConstraint",
    "UniqueColumnConstraint CheckColumnConstraint PrimaryKeyColumnConstraint",
    "GeneratedAsIdentityColumnConstraint",
)
_STATEMENTS: Final = frozenset({"Insert", "Update", "Delete", "Create", "Drop", "TruncateTable", "Analyze"})
"""Those that stand alone, and in no other: not in a WITH."""

_ARGUMENTS: Final = {
    "Table": "this db alias joins",
    "Select": "expressions from_ joins where group having order limit offset distinct windows locks with_",
    "Insert": "this expression conflict returning with_",
    "Update": "this expressions from_ where with_ returning",
    "Delete": "this using where with_ returning",
    "Create": "this kind expression unique",
    "Drop": "tables kind exists",
    "TruncateTable": "expressions",
    "Analyze": "tables",
}
"""What else sqlglot notes of these nodes is not let through."""

Check = Callable[[tuple[Token, ...], frozenset[str]], None]


def read(text: SqlText, schema: str, check_words: Check, known_functions: Collection[str]) -> Reading:
    """What the statement does to tables of the schema. Raises Refused.

    `known_functions`, in capitals, may be called though sqlglot has no node for them.
    `functions` of the reading are columns that stand behind a table's name: PostgreSQL takes such a one for a
    function of the row where there is no column of its name.
    """
    tree = parsed(text, "postgres")
    common = frozenset(_name(one.args["alias"].this) for one in tree.find_all(exp.CTE))
    names = _check_nodes(tree, schema, common, known_functions)
    check_words(text.tokens, names)
    columns = {one.name.upper() for one in tree.find_all(exp.Column) if one.args.get("table") is not None} - {
        "*"
    }
    reading = Reading(common=common, functions=frozenset(columns))
    kind = type(tree).__name__
    tables = [one for one in tree.find_all(exp.Table) if _is_of_schema(one)]
    if kind in {"Select", "Union", "Except", "Intersect"}:
        return replace(reading, reads=_names(tables), reads_ours=tree.find(exp.Lock) is not None)
    if kind in {"Insert", "Update", "Delete"}:
        target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        if not isinstance(target, exp.Table) or not _is_of_schema(target):
            raise Refused("the table that it writes cannot be read")
        others = [one for one in tables if one is not target]
        return replace(reading, writes=_names([target]), reads=_names(others))
    if kind in {"TruncateTable", "Analyze"} and tables:
        return replace(reading, writes=_names(tables))
    if kind == "Drop" and tree.args.get("kind") == "TABLE" and tables:
        things = frozenset(Thing("TABLE", new_name(_name(one.this))) for one in tables)
        return replace(reading, drops=things, drops_if_there=bool(tree.args.get("exists")))
    if kind == "Create":
        return _of_create(tree, tables, reading)
    raise Refused(f"it is read as {kind}, which is not let through there")


def _of_create(tree: Expr, tables: Sequence[Expr], reading: Reading) -> Reading:
    if tree.args.get("kind") == "INDEX":
        if len(tables) != 1:
            raise Refused("the table of the index cannot be read")
        return replace(reading, writes=_names(tables))
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if tree.args.get("kind") != "TABLE" or not isinstance(target, exp.Table) or not _is_of_schema(target):
        raise Refused("what it creates cannot be read")
    name = new_name(_name(target.this))
    referred = {
        checked_name(_name(table.this))
        for one in tree.find_all(exp.Reference)
        for table in one.find_all(exp.Table)
    }
    others = _names([one for one in tables if one is not target])
    return replace(
        reading,
        # Where the statement ends is known to who has its tokens.
        creation=Creation("TABLE", name, if_not_exists=False, after_name=0),
        writes=frozenset(referred - {name}),
        reads=others - referred,
    )


def _check_nodes(
    tree: Expr, schema: str, common: frozenset[str], known_functions: Collection[str]
) -> frozenset[str]:
    """The tree's names that are not quoted, in small letters; Refused where a node is not a known one."""
    names = set()
    for node in tree.walk():
        _check_kind(node, tree, known_functions)
        if isinstance(node, exp.Identifier) and not node.quoted:
            names.add(node.name.lower())
        if isinstance(node, exp.Table):
            _check_table(node, schema, common)
    return frozenset(names)


def _check_kind(node: Expr, tree: Expr, known_functions: Collection[str]) -> None:
    """Refused unless the node is of a known kind, where such a one may be, with nothing else in it."""
    kind = type(node).__name__
    known = (exp.Func, exp.Binary, exp.Unary, exp.Predicate, exp.SubqueryPredicate)
    if kind == "Command":
        raise Refused("tlstax cannot read it to its end")
    is_known = kind in _EXPRESSIONS | _DEFINITIONS or isinstance(node, known)
    is_named = kind == "Anonymous" and str(node.this).upper() in known_functions
    if not (is_known or is_named) or (kind in {"Dot", "Anonymous", "AnonymousAggFunc"} and not is_named):
        raise Refused(f"it has what sqlglot calls {kind}")
    if isinstance(node, exp.DataType) and node.find(exp.Identifier) is not None:
        raise Refused(f"tlstax does not know the type {node.sql(dialect='postgres')}")
    if kind in _STATEMENTS and node is not tree:
        raise Refused(f"{kind.upper()} stands within another statement")
    if kind in _DEFINITIONS - _STATEMENTS and type(tree).__name__ != "Create":
        raise Refused(f"it has what sqlglot calls {kind}")
    allowed = _ARGUMENTS.get(kind)
    if allowed is not None:
        extra = [name for name, value in node.args.items() if value not in (None, [], False, "")]
        extra = [name for name in extra if name not in allowed.split()]
        if extra:
            raise Refused(f"{kind.upper()} is not let through there with {extra[0].strip('_')}")


def _check_table(table: Expr, schema: str, common: frozenset[str]) -> None:
    if isinstance(table.this, exp.ExplodingGenerateSeries):
        return
    if not isinstance(table.this, exp.Identifier):
        raise Refused("it reads from something that is no table")
    within = table.args.get("db")
    if within is not None and not isinstance(within, exp.Identifier):
        raise Refused("the name of a table in it cannot be read")
    if within is None and _name(table.this) not in common:
        raise Refused(
            f"write {schema}.{table.name} for {table.name}: what it means depends on the search_path"
        )
    if within is not None and _name(within) != schema:
        raise Refused(f"it goes to the schema {within.name}; only {schema} is let through")


def _is_of_schema(table: Expr) -> bool:
    return table.args.get("db") is not None


def _name(identifier: Expr) -> str:
    """A name as the server keeps it: in small letters unless it is quoted."""
    return str(identifier.name if identifier.args.get("quoted") else identifier.name.lower())


def _names(tables: Sequence[Expr]) -> frozenset[str]:
    return frozenset(checked_name(_name(one.this)) for one in tables)
