"""Style as a test: every file says why it is there, nothing is too long, nothing names a place not ours."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tlstax.study import load_study

ROOT = Path(__file__).parents[3]
LAB = ROOT / "lab"
LEFT_OUT = {"target", "node_modules", "__pycache__", "corpus", "artifacts"}
LONGEST_FILE = 800
LONGEST_FUNCTION = 60
PYTHON_LOCKS = ("setup/requirements.txt", "setup/requirements-test.txt")
RUST_LOCKS = ("engine/Cargo.lock", "engine/fuzz/Cargo.lock")
LOCKS = {*PYTHON_LOCKS, *RUST_LOCKS}

REASONS = {
    ".py": r'r?"""\S',
    ".rs": r"//! \S",
    ".sh": r"# \S",
    ".go": r"// \S",
    ".java": r"// \S|/\*",
    ".js": r"// \S|/\*",
    ".css": r"/\*",
    ".c": r"// \S|/\*",
    ".lua": r"-- \S",
    ".php": r"<\?php // \S",
    ".pl": r"# \S",
    ".pm": r"# \S",
    ".rb": r"# \S",
    ".R": r"# \S",
}
"""How the first line of a file begins, after a `#!` line, so that it can say the file's reason."""


@cache
def texts() -> dict[str, str]:
    """Every text file of the project by its path."""
    return {name: text for name, text in _texts() if "\0" not in text}


def _texts() -> Iterator[tuple[str, str]]:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [n for n in folders if n not in LEFT_OUT and (n[0] != "." or n == ".ci")]
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8", errors="replace")


def sources() -> dict[str, str]:
    """The programs among them: by their suffix, or by a `#!` line."""
    return {n: t for n, t in texts().items() if Path(n).suffix in REASONS or t.startswith("#!/")}


def test_the_project_is_found() -> None:
    assert {
        "tlstax",
        "test",
        ".ci/run",
        "lab/tlstax/contract/__init__.py",
        "engine/Cargo.toml",
    } <= texts().keys()
    assert len(sources()) > 30


def test_the_tests_that_begin_first_are_there() -> None:
    names = re.findall(r'^    "([\w/]+\.py)",$', texts()["tests/conftest.py"], re.MULTILINE)
    assert len(names) > 10
    assert [name for name in names if f"tests/{name}" not in texts()] == []


def test_every_source_begins_with_its_reason() -> None:
    silent = []
    for name, text in sources().items():
        lines = text.splitlines()
        shell = lines and lines[0].startswith("#!/")
        first = next(iter(lines[1:] if shell else lines), "")
        reason = r"# \S" if shell and Path(name).suffix != ".py" else REASONS[Path(name).suffix]
        if not re.match(reason, first):
            silent.append(name)
    assert silent == []


def test_scripts_may_be_run() -> None:
    scripts = [name for name, text in texts().items() if text.startswith("#!/")]
    assert [name for name in scripts if not os.access(ROOT / name, os.X_OK)] == []


UNMEASURED = (".java", ".go", ".js", ".css", ".c", ".lua", ".php", ".pl", ".pm", ".rb", ".R")
"""Sources whose functions are not told apart here."""


def test_no_file_is_too_long() -> None:
    lengths = {n: t.count("\n") for n, t in sources().items()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_function_is_too_long() -> None:
    lengths: dict[str, int] = {}
    for name, text in sources().items():
        if name.endswith(".py"):
            lengths |= {f"{name}:{line}": length for line, length in python_functions(text)}
        elif name.endswith(".rs"):
            lengths |= {f"{name}:{line}": length for line, length in braced(text, RUST_FUNCTION)}
        elif not name.endswith(
            (".java", ".go", ".js", ".css", ".c", ".lua", ".php", ".pl", ".pm", ".rb", ".R")
        ):
            lengths |= {f"{name}:{line}": length for line, length in braced(text, SHELL_FUNCTION)}
    assert {place: length for place, length in lengths.items() if length > LONGEST_FUNCTION} == {}


RUST_FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe |extern \"C\" )*fn \w")
SHELL_FUNCTION = re.compile(r"^(\s*)\w+\(\) \{$")


def python_functions(text: str) -> Iterator[tuple[int, int]]:
    """Line and length of every function, less its head, which a command's options make long."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, (node.end_lineno or 0) - node.body[0].lineno + 1


def braced(text: str, head: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Line and length of every function, which ends at the next brace that is as far in as its head."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        found = head.match(line)
        if found and not line.rstrip().endswith(("}", ";")):
            end = next((n for n in range(number, len(lines)) if lines[n] == found[1] + "}"), number)
            yield number + 1, end - number + 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fn a() {\n    b();\n}\n", [(1, 3)]),
        ("impl A {\n    pub(crate) const fn a() -> u8 {\n        1\n    }\n}\n", [(2, 3)]),
        ("fn a(\n    b: u8,\n) {\n}\n", [(1, 4)]),
        ("fn a();\n", []),
    ],
)
def test_the_length_of_rust_functions_is_seen(text: str, expected: list[tuple[int, int]]) -> None:
    assert list(braced(text, RUST_FUNCTION)) == expected


def test_no_file_is_named_after_nothing() -> None:
    empty = re.compile(r"util|helper|misc|common|stuff", re.IGNORECASE)
    assert [name for name in texts() if empty.search(name)] == []


def test_nothing_is_put_off() -> None:
    # Written apart, so that this file does not find itself.
    later = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
    assert [name for name, text in texts().items() if name not in LOCKS and later.search(text)] == []


def test_no_address_of_a_registry_and_no_path_of_one_machine() -> None:
    hosts = (
        ("pypi", "org"),
        ("python", "hosted"),
        ("crates", r"io\b(?!-index)"),
        ("npm", r"js\.(?:org|com)"),
        (r"(?:deb|ftp|security|archive|snapshot)", r"debian\.org"),
        ("archive", r"ubuntu\.com"),
        (r"(?:repo1?|central)", "maven"),
        ("maven", r"(?:org|apache)"),
        (r"(?:proxy|sum)", r"golang\.org"),
    )
    places = [host + r"\.?" + domain for host, domain in hosts]
    places += [re.escape(str(ROOT)) + r"\b", r"/root/\.", r"/home/\w+/"]
    forbidden = re.compile("|".join(places))
    found = {n: m[0] for n, t in texts().items() if n not in RUST_LOCKS and (m := forbidden.search(t))}
    assert found == {}


@pytest.mark.parametrize("name", PYTHON_LOCKS)
def test_locks_hold_hashes_and_no_addresses(name: str) -> None:
    lines = texts()[name].splitlines()
    pins = [place for place, line in enumerate(lines) if re.match(r"[\w.-]+==", line)]
    assert len(pins) > 10
    assert [lines[place] for place in pins if "--hash=sha256:" not in lines[place + 1]] == []
    assert [line for line in lines if "://" in line or line.startswith("-")] == []


def test_the_tests_run_on_what_users_get() -> None:
    """The same versions; for which interpreters each is there depends on what else wants it."""
    users, testers = (set(re.findall(r"^\S+==\S+", texts()[name], re.MULTILINE)) for name in PYTHON_LOCKS)
    assert users <= testers


@pytest.mark.parametrize("path", sorted((LAB / "tlstax" / "studies").glob("*.toml")), ids=lambda p: p.stem)
def test_every_built_in_study_loads(path: Path) -> None:
    study = load_study(path)
    assert study.name == path.stem
    assert load_study(path.stem) == study


def test_every_module_is_used() -> None:
    modules = {_module(path): path for path in LAB.glob("tlstax/**/*.py")}
    imported = {name for module, path in modules.items() for name in _imports(path, module)}
    started_by_name = {
        "tlstax.__main__",
        "tlstax.contract.schemas",
        "tlstax.cli.documents",
        "tlstax.cli.known_drivers",
        "tlstax.cli.shipped_parts",
        "tlstax.clients.sysbench.__main__",
        "tlstax.clients.mysqlslap.__main__",
        "tlstax.clients.pgbench.__main__",
        "tlstax.clients.streams.__main__",
        "tlstax.network.distance.making",
    }
    assert modules.keys() - imported - started_by_name == set()


def _module(path: Path) -> str:
    name = ".".join(path.relative_to(LAB).with_suffix("").parts)
    return name.removesuffix(".__init__")


def _imports(path: Path, module: str) -> Iterator[str]:
    """The modules that a file imports, other than itself; importing one imports its packages."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            parents = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
            yield from (parent for parent in parents if parent != module)
