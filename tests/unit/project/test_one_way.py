"""Data flows one way: a room imports only rooms below it; what plans and what reports nothing that acts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tlstax

PACKAGE = Path(tlstax.__file__).parent

ROOMS = (
    "support",
    "contract",
    "study",
    "records",
    "plan",
    "checks",
    "results",
    "stats",
    "topics",
    "report",
    "store",
    "sql",
    "mysql",
    "postgres",
    "products",
    "specimens",
    "observers",
    "clients",
    "external",
    "network",
    "run",
    "tools",
    "machines",
    "cli",
)
"""From the ground up."""

PURE_ROOMS = (
    "contract",
    "study",
    "records",
    "plan",
    "checks",
    "results",
    "stats",
    "topics",
    "report",
)
PURE_MODULES = {
    "clients": ("fleet_messages", "merging"),
    "machines": ("cluster",),
    "tools.probes": ("storm_search",),
    "tools.probes.drivers": ("probe_costs", "probe_reading", "probe_table", "probed"),
    "run": ("early_abort", "progress"),
    "tools.librarybench": ("costs", "split", "subjects"),
    "support": ("credentials", "errors", "grouping", "installation", "plain_words", "text", "untrusted"),
    "network.tap": (
        "handshake",
        "listening",
        "mysql_packets",
        "postgres_messages",
        "units",
    ),
}
"""What is pure in rooms that act."""

ACTING_LIBRARIES = {
    "asyncio",
    "fcntl",
    "multiprocessing",
    "pg8000",
    "psutil",
    "pymysql",
    "pyroute2",
    "signal",
    "socket",
    "sqlite3",
    "subprocess",
    "threading",
    "time",
}


def module_of(path: Path) -> str:
    """Its name below `tlstax`, such as `study.factors`; a package's is its folder's."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE}
PURE = {
    *(module for module in MODULES if module.partition(".")[0] in PURE_ROOMS),
    *(f"{folder}.{name}" for folder, names in PURE_MODULES.items() for name in names),
    *(
        module
        for module, path in MODULES.items()
        if path.name == "__init__.py" and "import" not in path.read_text()
    ),
}


@cache
def import_statements(module: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Those at a module's top and within its functions."""
    nodes = ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8")))
    return tuple(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))


def imported(module: str) -> Iterator[str]:
    """The modules of the package that a module imports, at its top or within a function."""
    for node in import_statements(module):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tlstax."):
            base = node.module.removeprefix("tlstax.")
            for name in node.names:
                yield f"{base}.{name.name}" if f"{base}.{name.name}" in MODULES else base


def libraries(module: str) -> Iterator[str]:
    """What a module imports from elsewhere, by the first part of its name."""
    for node in import_statements(module):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_every_room_has_its_floor_and_nothing_lies_in_the_hallway() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(ROOMS)
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    below = ROOMS[: ROOMS.index(room) + 1]
    upward = {
        f"{module} imports {other}"
        for module in MODULES
        if module.partition(".")[0] == room
        for other in imported(module)
        if other.partition(".")[0] not in below
    }
    assert not upward


@pytest.mark.parametrize("room", ["topics", "report"])
def test_a_topic_imports_no_other_topic(room: str) -> None:
    """Topics stand on `core`, and are joined above: in the answer, by the formats, in tables, on the page."""
    above = {"answer", "index", "formats", "page", "run_tables"}
    across = {
        f"{module} imports {other}"
        for module in MODULES
        for other in imported(module)
        if module.startswith(f"{room}.") and other.startswith(f"{room}.")
        if module.split(".")[1] not in above and other.split(".")[1] not in {module.split(".")[1], "core"}
    }
    assert not across


def test_what_is_called_pure_is_there() -> None:
    assert MODULES.keys() >= PURE


@pytest.mark.parametrize("module", sorted(PURE))
def test_what_is_pure_imports_nothing_that_acts(module: str) -> None:
    assert set(imported(module)) <= PURE
    assert not ACTING_LIBRARIES & set(libraries(module))


def test_only_what_joins_machines_imports_ray() -> None:
    """It is an extra: whoever measures on one machine need not have it."""
    assert {module for module in MODULES if "ray" in set(libraries(module))} == {"machines.on_ray"}


@pytest.mark.parametrize("crate", ["wire", "wire_pg"])
def test_the_engine_protocol_code_has_no_socket_and_no_clock(crate: str) -> None:
    folder = PACKAGE.parents[1] / "engine" / "crates" / crate / "src"
    sources = {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.rs")}
    assert sources
    for name, text in sources.items():
        code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
        for forbidden in ("std::net", "std::time", "std::thread", "std::fs", "rustix"):
            assert forbidden not in code, f"{name} uses {forbidden}"


def test_extras_are_imported_where_they_are_used() -> None:
    """The launcher installs them for their commands alone."""
    found = {module: {"datasette", "duckdb", "uvicorn"} & set(libraries(module)) for module in MODULES}
    assert {module for module, extras in found.items() if extras} == {
        "cli.export_command",
        "store.explore.serving",
    }
