"""SQL and the libraries that carry it are in their rooms, but for what is listed here with its reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tlstax

PACKAGE = Path(tlstax.__file__).parent

STATEMENT = re.compile(
    r"\s*(?:(?:ALTER|CREATE|DROP)(?: OR REPLACE)? (?:DATABASE|INDEX|INSTANCE|TABLE|USER|\{)"
    r"|ANALYZE TABLE|BEGIN$|COMMIT$|DELETE FROM|FLUSH |GRANT |(?:INSERT|REPLACE) INTO|KILL \{?"
    r"|(?:UN)?LOCK TABLES|SELECT (?!statements)|SET (?:GLOBAL|SESSION|@|autocommit)|SHOW [A-Z]+|TRUNCATE"
    r"|UNION |UPDATE \S+ SET|USE )"
)
"""How the text of a statement begins; `{` stands for what is filled in."""

THE_ROOMS = ("mysql/", "postgres/", "sql/")
SQL_ELSEWHERE = {
    "store": "SQLite's: it is no server that is asked",
    "cli/completion/names.py": "the store's: to import the store itself takes longer than a key press may",
    "clients/mysqlslap": "what mysqlslap is given to say: the work that is measured",
    "clients/streams/received.py": "how the rows of a dump begin, which it counts; it says nothing",
    "study/workloads": "what load clients say: the work that is measured",
    "external/conditions.py": "a line for an administrator to paste; nothing here says it",
    "external/postgres_guard.py": "reads what users say; it says nothing itself",
    "external/sql_guard.py": "reads what users say; it says nothing itself",
    "external/sql_text.py": "words by which statements of users are read",
    "external/sql_tree.py": "reads what users say; it says nothing itself",
    "network/paths/pgbouncer.py": "words for a pooler's console, which is no server",
    "tools/probes/drivers/probed.py": "what probed drivers say",
    "tools/probes/postgres_drivers/adapter.py": "what probed drivers say",
    "tools/probes/postgres_drivers/hostile_server.py": "what a server is played that answers them",
    "stats/remedies.py": "lines for administrators to paste; nothing here says them",
    "specimens/mysql_setup.py": "carried out by a server's program before it has a socket or takes a login",
}
"""Folders and files outside the room in which statements may stand, and why."""

LIBRARIES = {"pymysql", "pg8000"}
LIBRARIES_ELSEWHERE = {
    "external/mysql_login.py": "proves a password to somebody else's server, which only they do",
}
"""Folders and files outside the rooms that may import what carries SQL, and why."""

PRODUCT_ROOMS = ("mysql", "postgres")
ROOMS_ELSEWHERE = {
    "products": "chooses the room that answers for a product",
    "external/mysql_login.py": "a login to somebody else's server, by the product's own protocol",
    "external/postgres_login.py": "the same",
    "specimens/mysql_setup.py": "how a private server of the product is set up",
    "specimens/postgres_setup.py": "the same",
    "tools/tls_probe.py": "asks an external server by MySQL's protocol",
    "tools/probes/postgres_drivers": "drivers of PostgreSQL, whose words and logins are theirs alone",
    "tools/probes/drivers": "drivers of MySQL and MariaDB, whose logins and log are theirs alone",
}
"""Folders and files outside a product's room that may import from it, and why."""


def statements(source: str) -> Iterator[str]:
    """The texts of a module that begin as a statement does. What stands alone, as docstrings do, is none."""
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in alone or id(node) in parts:
            continue
        text = text_of(node)
        if text is not None and STATEMENT.match(text):
            yield text


def text_of(node: ast.AST) -> str | None:
    """The text of a string, with `{}` for what is filled in; None for anything else."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "{}" for part in node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return node.value.decode(errors="replace") if isinstance(node.value, bytes) else node.value
    return None


def imported(source: str) -> set[str]:
    """The modules that a module imports, or imports from, at its top or within a function."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{name.name}" for name in node.names}
    return names


def imports_library(source: str) -> bool:
    """Whether the module imports what carries SQL, or a part of it."""
    return any(name.partition(".")[0] in LIBRARIES for name in imported(source))


def imports_product(source: str) -> bool:
    """Whether the module imports a product's room, or a part of it."""
    return any(
        f"{name}.".startswith(f"tlstax.{room}.") for name in imported(source) for room in PRODUCT_ROOMS
    )


def takes_cursor(source: str) -> bool:
    """Whether the module speaks to a server past the rooms: a connection's `cursor()`."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return any(isinstance(call, ast.Attribute) and call.attr == "cursor" for call in calls)


SOURCES = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
OUTSIDE = {name: source for name, source in SOURCES.items() if not name.startswith(THE_ROOMS)}


def place_of(name: str, places: dict[str, str]) -> str:
    """The listed folder or file that a module belongs to, else the module itself."""
    return next((place for place in places if name == place or name.startswith(f"{place}/")), name)


def test_sql_is_in_its_room_or_listed_with_a_reason() -> None:
    found = {place_of(name, SQL_ELSEWHERE) for name, source in OUTSIDE.items() if list(statements(source))}
    assert found == set(SQL_ELSEWHERE)


def test_what_carries_sql_is_imported_in_its_rooms_or_where_that_is_listed() -> None:
    found = {
        place_of(name, LIBRARIES_ELSEWHERE) for name, source in OUTSIDE.items() if imports_library(source)
    }
    assert found == set(LIBRARIES_ELSEWHERE)


def test_a_products_room_is_asked_through_the_product_or_where_that_is_listed() -> None:
    """What runs, watches and loads a server need not know which product it is."""
    outside = {name: source for name, source in SOURCES.items() if name.split("/")[0] not in PRODUCT_ROOMS}
    found = {place_of(name, ROOMS_ELSEWHERE) for name, source in outside.items() if imports_product(source)}
    assert found == set(ROOMS_ELSEWHERE)


def test_the_rooms_of_products_do_not_know_each_other() -> None:
    for room in PRODUCT_ROOMS:
        own = {name: source for name, source in SOURCES.items() if name.startswith(f"{room}/")}
        known = {
            name.split(".")[1] for source in own.values() for name in imported(source) if "tlstax." in name
        }
        assert known.isdisjoint(set(PRODUCT_ROOMS) - {room})


def test_nobody_outside_the_rooms_takes_a_cursor() -> None:
    assert [name for name, source in OUTSIDE.items() if takes_cursor(source)] == []


def test_most_of_the_room_says_something_in_sql() -> None:
    speaking = [name for name, source in SOURCES.items() if name not in OUTSIDE and list(statements(source))]
    assert len(speaking) > 10


@pytest.mark.parametrize(
    "source",
    [
        'cursor.execute("SELECT VERSION()")',
        'ask("SHOW ENGINE INNODB STATUS")',
        'run("SET GLOBAL tls_version = %s", versions)',
        'RELOAD = "ALTER INSTANCE RELOAD TLS"',
        'run(f"DROP TABLE IF EXISTS {name}")',
        'run(f"DROP {kind} IF EXISTS {name}")',
        'run(f"KILL {connection}")',
        'run(f"FLUSH TABLES `{name}` FOR EXPORT")',
        'run(f"INSERT INTO {name} " "VALUES (1)")',
        'data = b"DELETE FROM user"',
        'asked = (\n    " UNION ALL SELECT 1"\n)',
        'run(f"USE `{schema}`")',
        'run("LOCK TABLES t READ")',
        'run("UPDATE t SET a=1")',
    ],
)
def test_a_statement_is_seen(source: str) -> None:
    assert len(list(statements(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""SELECT VERSION() is what it asks."""',
        'def f() -> None:\n    """SHOW STATUS of a server."""',
        'words = "SELECT statements"',
        'words = "USER"',
        'words = "update the table"',
        'words = f"{count} SELECTs"',
    ],
)
def test_what_is_no_statement_is_not_taken_for_one(source: str) -> None:
    assert list(statements(source)) == []


@pytest.mark.parametrize(
    "source", ["import pymysql", "from pymysql.err import MySQLError", "def f():\n    import pymysql.cursors"]
)
def test_an_import_of_a_library_is_seen(source: str) -> None:
    assert imports_library(source)
    assert not imports_library(source.replace("pymysql", "pymysqlish"))


@pytest.mark.parametrize(
    "source",
    [
        "from tlstax import mysql",
        "from tlstax.mysql import status",
        "import tlstax.mysql.status",
        "def f():\n    from tlstax.mysql.status import traffic",
    ],
)
def test_an_import_of_a_products_room_is_seen(source: str) -> None:
    assert imports_product(source)
    assert not imports_product(source.replace("mysql", "mysqlish"))


def test_a_cursor_is_seen() -> None:
    assert takes_cursor("with admin.cursor() as cursor:\n    pass")
    assert not takes_cursor("cursor = 1")
