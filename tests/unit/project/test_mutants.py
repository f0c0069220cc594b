"""The mutation tester (tests/mutants): what it says of survivors; its reasons still have their lines."""

from __future__ import annotations

import ast
import importlib.util
import sys
import tomllib
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
CONFIGURED = tomllib.loads((ROOT / "tests" / "mutants" / "reasons.toml").read_text())


def test_every_reason_is_of_lines_that_are_there() -> None:
    for entry in CONFIGURED["survivor"]:
        source = (ROOT / "lab" / "tlstax" / entry["file"]).read_text()
        there = "".join(source.split())
        for change in entry["changes"]:
            was, _, _ = change.partition(" → ")
            assert "".join(was.split()) in there, f"{entry['file']} has no {was}"
        assert f"def {entry['function'].rpartition('.')[2]}(" in source, entry["function"]


def test_every_reason_is_one() -> None:
    for entry in CONFIGURED["survivor"]:
        assert entry.keys() == {"file", "function", "changes", "why"}
        assert entry["why"].strip()
        assert entry["changes"]


def test_every_module_is_judged_or_left_out_for_a_reason(run: ModuleType) -> None:
    left_out = [file for entry in CONFIGURED["left_out"] for file in entry["files"]]
    assert len(left_out) == len(set(left_out))
    assert all(entry["why"].strip() for entry in CONFIGURED["left_out"])
    modules = {
        str(path.relative_to(ROOT / "lab" / "tlstax")): path
        for room in run.ROOMS
        for path in (ROOT / "lab" / "tlstax" / room).rglob("*.py")
        if any(isinstance(node, ast.FunctionDef) for node in ast.walk(ast.parse(path.read_text())))
    }
    assert all(any(fnmatch(file, pattern) for file in modules) for pattern in left_out)
    for file in (*modules, *run.ALONE):
        is_left_out = any(fnmatch(file, pattern) for pattern in left_out)
        assert is_left_out or run.tests_of(file, CONFIGURED["judges"]), f"nothing judges {file}"


def test_every_judge_is_there() -> None:
    for file, judges in CONFIGURED["judges"].items():
        assert (ROOT / "lab" / "tlstax" / file).is_file()
        missing = [judge for judge in judges if not (ROOT / "tests" / "unit" / judge).is_file()]
        assert not missing, f"{file} is judged by {missing}"


@pytest.fixture(scope="module")
def run() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants_run", ROOT / "tests" / "mutants" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_what_only_words_need_is_not_judged(run: ModuleType) -> None:
    source = """
def rows(run): return [Cost(run).of(run)]
class Cost:
    def of(self, run): return helped(run)
def helped(run): return run
def sentences(run, shown): return [worded(helped(run))]
def worded(row): return str(row)
"""
    assert run.putting_into_words(source) == {"sentences", "worded"}
    assert run.putting_into_words(source.replace("rows", "prediction")) == {"sentences", "worded"}
    assert run.putting_into_words("def law(): return 1\n") == set()


DECORATED = """
from functools import cache, lru_cache

class Square:
    side = 3

    @property
    def area(self):
        return self.side * self.side

    @staticmethod
    @lru_cache(
        maxsize=1
    )
    def corners():
        return 4

@lru_cache(maxsize=2)
def twice(value):
    return 2 * value

@cache
def thrice(value):
    return 3 * value
"""


def test_decorators_are_called_after_their_functions(run: ModuleType) -> None:
    """mutmut passes over decorated functions, and a property would never be changed."""
    plain = run.undecorated(DECORATED)
    assert "@" not in plain
    known: dict[str, Any] = {}
    exec(plain, known)  # noqa: S102 (our own text)
    assert (known["Square"]().area, known["Square"].corners(), known["twice"](5)) == (9, 4, 10)
    assert known["twice"].cache_info().maxsize == 2
    assert run.lines_of_functions(DECORATED) == {
        "Square.area": 8,
        "Square.corners": 15,
        "twice": 19,
        "thrice": 23,
    }


def test_every_call_of_a_cached_function_is_a_test_s_own(run: ModuleType) -> None:
    known: dict[str, Any] = {}
    exec(run.undecorated(DECORATED), known)  # noqa: S102 (our own text)
    assert known["thrice"](5) == 15
    assert not hasattr(known["thrice"], "cache_info")


WORDED = """
def rows(run): return [run]

def worded(
    row,
):
    if row:
        return "so"
    return ""

class Words:
    def of(self): return 1
"""


def test_what_is_spared_is_said_where_its_body_begins(run: ModuleType) -> None:
    spared = run.spared(WORDED, {"worded", "Words"})
    marked = [line.split("  #")[0] for line in spared.splitlines() if "pragma: no mutate block" in line]
    assert marked == ["):", "class Words:"]
    assert spared.replace("  # pragma: no mutate block", "") == WORDED


DIFF = """--- a
+++ b
@@ -1,4 +1,4 @@
 def area(self):
     # of it
-    return self.side * self.side
+    return self.side / self.side

"""


def test_a_survivor_has_its_line_and_what_became_of_it(run: ModuleType) -> None:
    name = "tlstax.stats.square.xǁSquareǁarea__mutmut_3"
    found = run.survivor("stats/square.py", DIFF, name, {"Square.area": 40}, "survived")
    assert found.line == 42
    assert found.change == ("stats/square.py", "Square.area", ". side * self → . side / self")
    assert (found.was, found.became) == ("return self.side * self.side", "return self.side / self.side")
    assert run.survivor("f", DIFF, "m.x_area__mutmut_1", {"area": 1}, "survived").change[1] == "area"


@pytest.mark.parametrize(
    ("was", "became", "change"),
    [
        ("if square <= 0:", "if square < 0:", "if square <= 0 → if square < 0"),
        ("np.asarray(above, dtype=float)", "np.asarray(above, )", "above , dtype = float ) → above , )"),
        ("'off'", "'XXoffXX'", "' off ' → ' XXoffXX '"),
        ("return a", "return a + 1", "return a → return a + 1"),
        ("renamed(x, 2, strict=True)", "renamed(x, 2, strict=False)", "strict = True ) → strict = False )"),
    ],
)
def test_a_change_is_known_by_what_changes(run: ModuleType, was: str, became: str, change: str) -> None:
    assert run.changed(was, became) == change


KNOWN, NEW = ("f.py", "f", "a → b"), ("f.py", "f", "a → c")


@pytest.mark.parametrize(
    ("changes", "lived", "reasons", "status"),
    [
        (100, [], set(), 0),
        (100, [KNOWN], {KNOWN}, 0),
        (100, [KNOWN], set(), 1),
        (100, [], {KNOWN}, 1),
        (100, [], {("other.py", "f", "a → b")}, 0),
        (100, [KNOWN] * 2, {KNOWN}, 1),
        (100, [KNOWN] * 5, [KNOWN] * 5, 0),
        (100, [KNOWN] * 6, [KNOWN] * 6, 1),
        (100, [KNOWN] * 4, [KNOWN] * 5, 1),
        (100, [KNOWN, NEW], {KNOWN}, 1),
        (0, [], set(), 0),
    ],
)
def test_enough_is_killed_and_the_rest_has_reasons_that_are_needed(
    run: ModuleType, changes: int, lived: list[tuple[str, ...]], reasons: Any, status: int
) -> None:
    survivors = tuple(run.Survivor(change, 1, "survived") for change in lived)
    assert run.sum_up([run.Judged("f.py", changes, survivors)], Counter(reasons)) == status


def test_files_are_found_by_any_path_and_all_but_those_left_out_by_none(run: ModuleType) -> None:
    assert run.chosen(["lab/tlstax/stats/stats.py", "plan/order.py"], {"plan/order.py"}) == [
        "stats/stats.py",
        "plan/order.py",
    ]
    everything = run.chosen([], set())
    assert {"checks/verdict.py", "stats/stats.py", "plan/jobs.py", "postgres/hba.py"} <= set(everything)
    assert run.chosen(["lab/tlstax/postgres/hba.py"], set()) == ["postgres/hba.py"]
    assert run.chosen([], {"plan/jobs.py"}) == [file for file in everything if file != "plan/jobs.py"]
    with pytest.raises(SystemExit, match=r"study/design\.py is no file of"):
        run.chosen(["lab/tlstax/study/design.py"], set())
