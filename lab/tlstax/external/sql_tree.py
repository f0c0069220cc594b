"""A statement's tree (sqlglot): parsed to its end, of known nodes alone, and the tables that it is about.

sqlglot is lenient, and takes what it does not know for a `Command`; so its word is not taken for anything but
which names are tables. It is imported by `sql_guard` when there is a statement to be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from sqlglot import expressions as exp
from sqlglot.expressions import Expr
from sqlglot.generators.mysql import MySQLGenerator

from tlstax.external import sql_text
from tlstax.external.parsing import Range, parsed
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
from tlstax.external.sql_text import is_character_set
from tlstax.sql.ownership import Thing

_EXPRESSIONS = word_set(
    "Select Union Except Intersect Subquery From Where Group Having Order Ordered Limit Offset Join",
    "With CTE TableAlias Alias Table Column Identifier Star Literal Null Boolean Tuple Values Insert",
    "Update Delete OnConflict Returning Schema Distinct Window WindowSpec Interval Var Parameter",
    "SessionParameter Introducer National HexString BitString Lock DataType DataTypeParam Partition",
    "IndexTableHint Filter JSONPath JSONPathRoot JSONPathKey JSONPathSubscript JSONPathWildcard",
    "JSONKeyValue CharacterSet WithinGroup Lateral Rollup",
)
_DEFINITIONS = word_set(
    "Create Alter Drop TruncateTable Analyze ColumnDef ColumnConstraint PrimaryKey ForeignKey Reference",
    "Constraint Index IndexParameters Properties EngineProperty CharacterSetProperty CollateProperty",
    "AutoIncrementProperty RowFormatProperty SchemaCommentProperty LikeProperty AlgorithmProperty",
    "SqlSecurityProperty AddConstraint ModifyColumn OnProperty NotNullColumnConstraint",
    "AutoIncrementColumnConstraint CharacterSetColumnConstraint CollateColumnConstraint",
    "DefaultColumnConstraint OnUpdateColumnConstraint UniqueColumnConstraint IndexColumnConstraint",
    "CheckColumnConstraint ComputedColumnConstraint PrimaryKeyColumnConstraint CommentColumnConstraint",
    "ColumnPrefix ColumnPosition GeneratedAsIdentityColumnConstraint ZeroFillColumnConstraint",
    "InvisibleColumnConstraint",
)
_STATEMENTS = frozenset({"Insert", "Update", "Delete", "Create", "Alter", "Drop", "TruncateTable", "Analyze"})
"""Those that stand alone, and in no other."""

_ARGUMENTS = {
    "Table": "this db alias joins hints partition",
    "Select": "expressions from_ joins where group having order limit offset distinct windows locks with_"
    " operation_modifiers",
    "Insert": "this expression conflict returning ignore with_",
    "Update": "this expressions where order limit with_",
    "Delete": "this tables using where order limit with_ returning",
    "Create": "this kind expression properties unique exists",
    "Alter": "this kind actions",
    "Drop": "tables kind exists cluster",
    "TruncateTable": "expressions",
    "Analyze": "kind tables",
}
"""What else sqlglot notes of these nodes is not let through."""


def read(text: SqlText, schema: str) -> tuple[str, Reading]:
    """The kind of statement as sqlglot names it, and what it does to tables. Raises Refused."""
    tree = parsed(text, "mysql", _prefixed(text))
    names = _check_nodes(tree, schema)
    _check_words(text.tokens, names)
    reads = frozenset(checked_name(table.name) for table in _own_tables(tree) if not _is_dual(table))
    common = frozenset(one.alias for one in tree.find_all(exp.CTE))
    reading = Reading(reads=reads, common=common)
    kind = type(tree).__name__
    if kind in {"Insert", "Update", "Delete"}:
        return kind, _of_writing(tree, reading, kind)
    if kind in {"Select", "Union", "Except", "Intersect", "Subquery"}:
        return kind, replace(reading, reads_ours=tree.find(exp.Lock) is not None)
    if kind in {"TruncateTable", "Analyze", "Alter"}:
        return kind, replace(reading, writes=reading.reads, reads=frozenset())
    if kind == "Drop":
        return kind, _of_drop(tree, reading)
    if kind == "Create":
        return kind, _of_create(tree, text, reading)
    raise Refused(f"it is read as {kind}, which is not let through there")


def _prefixed(text: SqlText) -> frozenset[Range]:
    """Texts that a word touches, as in _utf8mb4'x' and x'00'."""
    return frozenset(
        (after.start, after.end)
        for one, after in pairwise(text.tokens)
        if one.sort == "word" and after.sort == "text" and not after.is_apart
    )


def _check_nodes(tree: Expr, schema: str) -> frozenset[str]:
    """The tree's names that are not quoted, in small letters; Refused where a node is not a known one."""
    names = set()
    for node in tree.walk():
        _check_kind(node, tree)
        if isinstance(node, exp.Identifier) and not node.quoted:
            names.add(node.name.lower())
            if node.name.lower() in MySQLGenerator.RESERVED_KEYWORDS and not _is_dual(node.parent):
                raise Refused(f"{node.name} is a word of SQL; write it in backquotes where it is a name")
        if isinstance(node, exp.Column) and node.name.lower() in {"nextval", "currval", "lastval"}:
            raise Refused(f"{node.name} may be the next number of a sequence")
        if isinstance(node, exp.Table):
            _check_table(node, schema)
        if isinstance(node, exp.EngineProperty) and node.this.name.upper() not in sql_text.ENGINES:
            raise Refused(f"a table of the engine {node.this.name} may reach beyond itself")
    return frozenset(names)


def _check_kind(node: Expr, tree: Expr) -> None:
    """Refused unless the node is of a known kind, where such a one may be, with nothing else in it."""
    kind = type(node).__name__
    known = (exp.Func, exp.Binary, exp.Unary, exp.Predicate, exp.SubqueryPredicate)
    if kind == "Command":
        raise Refused("tlstax cannot read it to its end")
    if kind not in _EXPRESSIONS | _DEFINITIONS and (isinstance(node, exp.Dot) or not isinstance(node, known)):
        raise Refused(f"it has what sqlglot calls {kind}")
    if node is not tree and kind in _STATEMENTS and not (kind == "Drop" and isinstance(tree, exp.Alter)):
        raise Refused(f"there is {kind.upper()} within it")
    if isinstance(node, exp.PropertyEQ) and not isinstance(node.this, exp.Parameter):
        raise Refused("it gives a value to what is no variable of the user's")
    allowed = _ARGUMENTS.get(kind)
    extra = [name for name, value in node.args.items() if value and allowed and name not in allowed.split()]
    if extra:
        raise Refused(f"{kind.upper()} is not let through there with {extra[0].strip('_')}")


def _check_table(table: Expr, schema: str) -> None:
    if table.args.get("db") is not None and table.text("db") != schema:
        raise Refused(f"it goes to the schema {table.text('db')}; only {schema} is let through")
    if not isinstance(table.this, exp.Identifier):
        raise Refused("it reads from something that is no table")


def _check_words(tokens: tuple[Token, ...], names: frozenset[str]) -> None:
    """Refused for a word that is neither a known one nor a name that sqlglot has seen as such."""
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        touches = after is not None and not after.is_apart
        if token.text in {"@", "@@"} and not (touches and after is not None and after.name):
            raise Refused("the name of a variable cannot be read")
        if token.sort != "word" or (after is not None and after.text == "("):
            continue
        if before is not None and (before.text in {"@", "@@"} or _is_of_variable(tokens, place)):
            continue
        if touches and after is not None and after.sort == "text":
            if token.word not in {"X", "B", "N", *(f"_{one}" for one in sql_text.CHARACTER_SETS)}:
                raise Refused(f"a text begins with {token.text}")
            continue
        if token.word in sql_text.KEYWORDS or token.text.lower() in names or is_character_set([token]):
            continue
        if token.word in sql_text.ENGINES and before is not None and before.word in {"=", "ENGINE"}:
            continue
        raise Refused(f"tlstax does not know the word {token.text} there")


def _is_of_variable(tokens: tuple[Token, ...], place: int) -> bool:
    """Whether it is the name in @@session.name."""
    return place >= 3 and tokens[place - 1].text == "." and tokens[place - 3].text == "@@"


def _own_tables(tree: Expr) -> Iterator[Expr]:
    """The tables that a tree names; not the indexes and columns that ALTER and DROP put in their place."""
    for table in tree.find_all(exp.Table):
        within = table.find_ancestor(exp.Drop)
        of_index = within is not None and (within is not tree or within.args.get("kind") == "INDEX")
        if of_index and table.find_ancestor(exp.OnProperty) is None:
            continue
        yield table


def _is_dual(table: Expr | None) -> bool:
    return (
        table is not None
        and type(table).__name__ == "Table"
        and table.name.lower() == "dual"
        and not table.this.args.get("quoted")
        and table.args.get("db") is None
    )


def _of_writing(tree: Expr, reading: Reading, kind: str) -> Reading:
    """Every table of an UPDATE or DELETE is taken for one that it writes; aliases stand for their tables."""
    if kind == "Insert":
        target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        if not isinstance(target, exp.Table):
            raise Refused("the table that it writes cannot be read")
        others = [one for one in _own_tables(tree) if one is not target and not _is_dual(one)]
        return replace(
            reading,
            writes=frozenset({checked_name(target.name)}),
            reads=frozenset(checked_name(one.name) for one in others),
        )
    aliases = {one.alias for one in _own_tables(tree) if one.args.get("alias") is not None}
    targets = {id(one) for one in tree.args.get("tables") or ()}
    if tree.args.get("using"):
        targets |= {id(one) for one in tree.this.find_all(exp.Table)}
    written = {
        checked_name(one.name)
        for one in _own_tables(tree)
        if not (id(one) in targets and one.name in aliases)
    }
    return replace(reading, writes=frozenset(written), reads=frozenset())


def _of_drop(tree: Expr, reading: Reading) -> Reading:
    kind, tables = str(tree.args.get("kind")), list(_own_tables(tree))
    if kind == "INDEX":
        return replace(reading, writes=reading.reads, reads=frozenset())
    names = frozenset(new_name(one.name) for one in tables)
    if kind not in {"TABLE", "VIEW"} or not names:
        raise Refused(f"DROP {kind} is not let through there")
    things = frozenset(Thing("TABLE" if kind == "TABLE" else "VIEW", name) for name in names)
    return replace(reading, reads=frozenset(), drops=things, drops_if_there=bool(tree.args.get("exists")))


def _of_create(tree: Expr, text: SqlText, reading: Reading) -> Reading:
    kind = str(tree.args.get("kind"))
    if kind == "INDEX":
        return replace(reading, writes=reading.reads, reads=frozenset())
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if kind not in {"TABLE", "VIEW"} or not isinstance(target, exp.Table):
        raise Refused(f"tlstax does not know how to take back CREATE {kind}")
    exists = bool(tree.args.get("exists"))
    query = tree.args.get("expression")
    if exists and query is not None:
        raise Refused("IF NOT EXISTS with a query could write into what others have created")
    name = new_name(target.name)
    referred = {
        checked_name(table.name) for one in tree.find_all(exp.Reference) for table in one.find_all(exp.Table)
    }
    others = [one for one in _own_tables(tree) if one is not target and not _is_dual(one)]
    return replace(
        reading,
        creation=Creation("TABLE" if kind == "TABLE" else "VIEW", name, exists, _end_of_name(text, target)),
        writes=frozenset(referred - {name}),
        reads=frozenset(checked_name(one.name) for one in others) - referred,
        copies=kind == "TABLE",
    )


def _end_of_name(text: SqlText, target: Expr) -> int:
    """Where the name of what is created ends: the first name after TABLE or VIEW, and after EXISTS."""
    tokens = text.tokens
    place = next(place for place, one in enumerate(tokens) if one.word in {"TABLE", "VIEW"}) + 1
    if [one.word for one in tokens[place : place + 3]] == ["IF", "NOT", "EXISTS"]:
        place += 3
    if place + 2 < len(tokens) and tokens[place + 1].text == ".":
        place += 2
    if place >= len(tokens) or tokens[place].name != target.name:
        raise Refused("the name of what it creates cannot be read")
    return tokens[place].end
