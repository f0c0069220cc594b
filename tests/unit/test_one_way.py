"""Data flows one way: what plans and what reports never imports what acts on the world."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tlstax

PACKAGE = Path(tlstax.__file__).parent
ACTING = (
    "paths.design",
    "paths.ends",
    "paths.exchange",
    "paths.haproxy",
    "paths.opening",
    "paths.program",
    "paths.router",
    "paths.running",
    "paths.ssh",
    "paths.stunnel",
    "run.bench",
    "run.benches",
    "run.connection_log",
    "run.pipeline",
    "run.reset_data",
    "run.resume",
    "run.route_guard",
    "run.server_variables",
    "run.tls_support",
    "run.trial",
    "cli",
    "clients",
    "distance",
    "doctor",
    "drivers.asking",
    "drivers.probe",
    "drivers.readiness",
    "drivers.served_certificates",
    "drivers.statement_log",
    "guests",
    "observers",
    "selfbench.contestants",
    "selfbench.hold",
    "selfbench.measure",
    "selfbench.rounds",
    "selfbench.session",
    "specimens",
    "store",
    "support.checksums",
    "support.directories",
    "tap.capturing",
    "tap.opening",
    "tap.relay",
)
PURE = (
    "run.early_abort",
    "run.progress",
    "checks",
    "contract",
    "drivers.listed_table",
    "drivers.probe_costs",
    "drivers.probe_document",
    "drivers.probe_reading",
    "drivers.probe_table",
    "drivers.probed",
    "drivers.statements_sent",
    "findings",
    "plan",
    "paths.route",
    "profiles",
    "records",
    "report",
    "results",
    "selfbench.caveats",
    "selfbench.document",
    "selfbench.estimate",
    "selfbench.hold_estimate",
    "selfbench.hold_records",
    "selfbench.hold_table",
    "selfbench.outcomes",
    "selfbench.plan",
    "selfbench.proof",
    "selfbench.records",
    "selfbench.table",
    "selfbench.words",
    "study",
    "support.text",
    "tap.commands",
    "tap.handshake",
    "tap.hellos",
    "tap.listening",
    "tap.names",
    "tap.units",
)


MIXED = {name.partition(".")[0] for name in (*ACTING, *PURE) if "." in name}
"""Folders with modules of both sides; each of their modules is listed."""


def modules(name: str) -> list[Path]:
    folder = PACKAGE / name.replace(".", "/")
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def imported(path: Path) -> Iterator[str]:
    """The parts of the package that a module imports, at its top or within a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tlstax":
            yield from (part_of(f"{node.module}.{name.name}") for name in node.names)


def part_of(dotted: str) -> str:
    """The part that `tlstax.PART.…` belongs to; in a mixed folder, the module."""
    names = dotted.split(".")[1:]
    return ".".join(names[:2]) if names[0] in MIXED else names[0]


def parts(folder: Path) -> set[str]:
    return {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}


def test_every_part_is_on_one_side() -> None:
    found = parts(PACKAGE) - {"__init__", "__main__"}
    for folder in MIXED:
        found.remove(folder)
        found |= {f"{folder}.{module}" for module in parts(PACKAGE / folder) - {"__init__"}}
    assert found - {"support.errors"} == {*ACTING, *PURE}


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
