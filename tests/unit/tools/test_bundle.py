"""What a bundle has: the C library that its programs need, the packages of a Python, and what is left out."""

from __future__ import annotations

import inspect
import re
import sys
import zipfile
from pathlib import Path

import numpy
import pytest
import sqlglot

import tlstax
from tlstax.external import sql_guard
from tlstax.support.installation import REQUIREMENTS, ROOT
from tlstax.tools.bundle import (
    MIMESIS_KEPT,
    SCIPY_KEPT,
    UNUSED,
    is_served,
    locked,
    oldest_glibc,
    unpack,
)

LOCK = """\
# made by a tool
both==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via somebody
old==2.0 ; python_full_version < '3.12' \\
    --hash=sha256:cc
new==3.0 ; python_full_version >= '3.12' \\
    --hash=sha256:dd
windows==4.0 ; sys_platform == 'win32' \\
    --hash=sha256:ee
"""


def test_each_python_gets_the_lines_that_hold_for_it() -> None:
    assert list(locked(LOCK, "3.11")) == [
        "both==1.0 --hash=sha256:aa --hash=sha256:bb",
        "old==2.0 --hash=sha256:cc",
    ]
    assert [line.split()[0] for line in locked(LOCK, "3.13")] == ["both==1.0", "new==3.0"]


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_every_line_of_the_lock_has_a_version_and_hashes(python: str) -> None:
    lines = list(locked((ROOT / REQUIREMENTS).read_text(), python))
    assert sum(line.startswith("numpy==") for line in lines) == 1
    assert all(re.fullmatch(r"[\w.-]+==\S+( --hash=sha256:[0-9a-f]{64})+", line) for line in lines)


def test_which_pythons_are_served() -> None:
    wanted = ("3.11", "3.14", "3.10", "3.15", "3", "3.x", "4.11", "")
    assert [is_served(python) for python in wanted] == [True, True, *[False] * 6]


def sources() -> str:
    return "\n".join(path.read_text() for path in Path(tlstax.__file__).parent.rglob("*.py"))


def test_only_what_is_kept_of_scipy_is_imported() -> None:
    imported = set(re.findall(r"^\s*(?:from|import) scipy(?:\.(\w+))?", sources(), re.MULTILINE))
    assert imported == {"special"}
    assert imported <= set(SCIPY_KEPT)


def test_only_what_is_kept_of_sqlglot_is_imported() -> None:
    for statement in ("SELECT JSON_EXTRACT(a, '$.b') FROM t", "CREATE TABLE t (a INT)", "DELETE FROM t"):
        sql_guard.read(statement, "prepare", "s")
    sqlglot.parse_one("SELECT regexp_replace(a, b, c, d) FROM t", read="postgres")
    folder = Path(str(sqlglot.__file__)).parents[1]
    files = [str(module.__file__) for name, module in sys.modules.items() if name.startswith("sqlglot.")]
    imported = {str(Path(file).relative_to(folder)) for file in files}
    assert len(imported) > 30
    assert {name for name in imported if UNUSED.fullmatch(name)} == set()


def test_every_python_gets_the_version_of_scipy_whose_parts_are_known() -> None:
    lines = {tuple(locked((ROOT / REQUIREMENTS).read_text(), f"3.{minor}")) for minor in range(11, 15)}
    assert len({line.split()[0] for own in lines for line in own if line.startswith("scipy==")}) == 1


def test_only_what_is_kept_of_mimesis_is_used() -> None:
    assert set(re.findall(r"Locale\.([A-Z]\w*)", sources())) == {"EN"}
    assert "en" in MIMESIS_KEPT


@pytest.mark.parametrize(
    ("name", "unused"),
    [
        ("scipy/special/_ufuncs.so", False),
        ("scipy/special/tests/test_basic.py", True),
        ("scipy/stats/_stats.py", True),
        ("scipy/version.py", False),
        ("sqlglot/dialects/mysql.py", False),
        ("sqlglot/dialects/oracle.py", True),
        ("sqlglot/parsers/base.py", False),
        ("sqlglot/executor/python.py", True),
        ("sqlglot/optimizer/scope.py", False),
        ("sqlglot/optimizer/simplify.py", True),
        ("scipy.libs/libscipy_openblas.so", False),
        ("mimesis/datasets/en/person.json", False),
        ("mimesis/datasets/en-gb/person.json", True),
        ("mimesis/datasets/__init__.py", False),
        ("setuptools/build_meta.py", True),
        ("pydantic-2.14.3.dist-info/RECORD", True),
        ("pydantic-2.14.3.dist-info/METADATA", False),
    ],
)
def test_what_is_left_out(name: str, unused: bool) -> None:
    assert bool(UNUSED.fullmatch(name)) is unused


def test_a_wheel_is_unpacked_to_where_it_is_imported_from(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "some.whl", "w") as wheel:
        for name in (
            "some/a.py",
            "some/tests/b.py",
            "some-1.data/purelib/some/c.py",
            "some-1.data/scripts/run",
        ):
            wheel.writestr(name, "")
    unpack(tmp_path / "some.whl", tmp_path / "there")
    found = {str(path.relative_to(tmp_path / "there")) for path in (tmp_path / "there").rglob("*.py")}
    assert found == {"some/a.py", "some/c.py"}
    assert not (tmp_path / "there" / "some-1.data").exists()


def test_all_that_numpy_exports_is_kept() -> None:
    """SciPy imports every name of it, and with them the modules that it loads when they are asked for."""
    modules = [name for name in numpy.__all__ if inspect.ismodule(getattr(numpy, name))]
    assert [name for name in modules if UNUSED.fullmatch(f"numpy/{name}/__init__.py")] == []


def test_the_newest_version_that_any_program_needs(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"\x7fELF\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0")
    (tmp_path / "two").write_bytes(b"\x7fELF\0GLIBC_2.17\0GLIBC_PRIVATE\0")
    assert oldest_glibc(tmp_path) == "2.34"


def test_what_is_linked_statically_needs_none(tmp_path: Path) -> None:
    (tmp_path / "static").write_bytes(b"\x7fELF\0")
    assert oldest_glibc(tmp_path) == "2.0"
