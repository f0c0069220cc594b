"""Data flows one way: what plans and what reports never imports what acts on the world."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tlstax

PACKAGE = Path(tlstax.__file__).parent
ACTING = (
    "bench",
    "checksums",
    "cli",
    "clients",
    "doctor",
    "guests",
    "observers",
    "pipeline",
    "places",
    "specimens",
    "store",
    "trial",
)
PURE = (
    "checks",
    "contract",
    "factors",
    "findings",
    "jobs",
    "labels",
    "outcome_table",
    "plan",
    "records",
    "report",
    "study",
    "workloads",
)


def modules(name: str) -> list[Path]:
    folder = PACKAGE / name
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{name}.py"]


def imported(path: Path) -> Iterator[str]:
    """The parts of the package that a module imports, at its top or within a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tlstax."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "tlstax":
            yield from (name.name for name in node.names)


def test_every_part_is_on_one_side() -> None:
    parts = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert parts - {"__init__", "__main__", "errors", "contract_schemas"} == {*ACTING, *PURE}


@pytest.mark.parametrize("name", PURE)
def test_what_is_pure_imports_nothing_that_acts(name: str) -> None:
    wrong = {
        f"{path.relative_to(PACKAGE)} imports {part}"
        for path in modules(name)
        for part in imported(path)
        if part in ACTING
    }
    assert not wrong


def test_the_engine_protocol_code_has_no_socket_and_no_clock() -> None:
    wire = PACKAGE.parents[1] / "engine" / "crates" / "wire" / "src"
    sources = {path.name: path.read_text(encoding="utf-8") for path in wire.rglob("*.rs")}
    assert sources
    for name, text in sources.items():
        code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
        for forbidden in ("std::net", "std::time", "std::thread", "std::fs", "rustix"):
            assert forbidden not in code, f"{name} uses {forbidden}"
