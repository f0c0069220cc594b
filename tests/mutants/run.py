"""Which small changes of the checks, the findings and the plan does no unit test notice? `./test mutants`.

Each file, or each that is named, is changed in a copy, by mutmut, one small change at a time, and judged by
the tests near it. What survives needs a reason in reasons.toml beside this file; a reason for what no longer
survives fails too. Nothing is left to chance: one process, fixed seeds, and time limits in CPU seconds, which
another program's load does not shorten. `--share 0.2 --seed 7` tries a fifth, drawn by that seed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from mutmut.mutation.diff_apply import get_diff_for_mutant

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = ROOT / "lab" / "tlstax"
ROOMS = ("checks", "plan", "results", "stats", "topics")
ALONE = ("postgres/hba.py",)
"""Files of other rooms that decide as purely, and what a user is told."""

NEEDED_SHARE = 0.95
MEMORY_BYTES = 4 << 30
FILE_TIMEOUT_S = 3600
"""So long that only what waits for nothing is ended by it: on a busy machine any shorter one ends tests."""

LIVED = {0: "survived", 5: "no test", 33: "no test"}
ENDED = {-24, -9, 24, 36, 152, 255}
"""Statuses of what was ended: it took many times the CPU time, or the memory, that the tests take."""
NO_TEST = "could not find any test case for any mutant"
SPINNER = tuple("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
UNJUDGED = {None, 2}

Change = tuple[str, str, str]
"""A change by file, function, and what changes there ("if square <= 0 → if square < 0")."""

TOKEN = re.compile(r"\w+|[<>=!+*/-]=|\*\*|//|->|\S")
BEFORE, BEHIND = 2, 1
"""How many tokens around it a change is known by: the rest of its line may become another."""


@dataclass(frozen=True)
class Survivor:
    """A change that no test noticed, at a line of the file as it is."""

    change: Change
    line: int
    how: str
    was: str = ""
    became: str = ""


@dataclass(frozen=True)
class Judged:
    """What became of the changes of one file; those that were `ended` count as noticed."""

    file: str
    changes: int
    survivors: tuple[Survivor, ...]
    ended: int = 0

    @property
    def share(self) -> float:
        """The share that was killed."""
        return 1 - len(self.survivors) / self.changes if self.changes else 1.0


def main(arguments: Sequence[str]) -> int:
    """Judges the files named, or all; 0 if enough is killed, each survivor has a reason and none is stale."""
    parser = argparse.ArgumentParser(prog="./test mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--share", type=float, default=1.0, help="try this share of the changes (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="draws which these are")
    asked = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    configured = tomllib.loads((HERE / "reasons.toml").read_text())
    reasons = Counter(change for entry in configured.get("survivor", []) for change in changes_of(entry))
    files = chosen(asked.files, {file for entry in configured["left_out"] for file in entry["files"]})
    judged = []
    for file in files:
        started = time.monotonic()
        judged.append(judge(file, configured["judges"], asked.share, asked.seed))
        print_file(judged[-1], reasons, time.monotonic() - started)
    return sum_up(judged, reasons, is_sample=asked.share < 1)


def changes_of(entry: Mapping[str, Any]) -> Iterator[Change]:
    """The changes that an entry of reasons.toml gives a reason for. Ends for an entry without one."""
    if not entry.get("why"):
        sys.exit(f"mutants: reasons.toml does not say why these may survive: {entry['changes']}")
    for change in entry["changes"]:
        yield entry["file"], entry["function"], change


def chosen(arguments: Sequence[str], left_out: Set[str]) -> list[str]:
    """The files asked for, from their room on, or all but those left out. Ends for one that is not there."""
    paths = (path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py")))
    everything = [*(str(path.relative_to(PACKAGE)) for path in paths), *ALONE]
    if not arguments:
        return [file for file in everything if not any(fnmatch(file, own) for own in left_out)]
    wanted = [argument.rpartition("tlstax/")[2] for argument in arguments]
    for argument, file in zip(arguments, wanted, strict=True):
        if file not in ALONE and (file.split("/")[0] not in ROOMS or not (PACKAGE / file).is_file()):
            places = (*(f"{room}/" for room in ROOMS), *ALONE)
            sys.exit(f"mutants: {argument} is no file of {', '.join(f'lab/tlstax/{own}' for own in places)}")
    return wanted


def tests_of(file: str, judges: Mapping[str, Sequence[str]]) -> list[str]:
    """The tests that judge a file: those that reasons.toml lists for it, or else those of its name."""
    found = judges.get(file, (f"{file.partition('/')[0]}/test_{Path(file).name}",))
    return [f"tests/unit/{each}" for each in found if (ROOT / "tests" / "unit" / each).is_file()]


def judge(file: str, judges: Mapping[str, Sequence[str]], share: float, seed: int) -> Judged:
    """Runs mutmut over one file in a copy, with this share of its changes. Ends where mutmut itself fails."""
    tests = tests_of(file, judges)
    if not lines_of_functions((PACKAGE / file).read_text()):
        return Judged(file, 0, ())
    if not tests:
        sys.exit(
            f"mutants: no test judges {file}: call one test_{Path(file).name}, or list it in reasons.toml"
        )
    with tempfile.TemporaryDirectory(prefix="tlstax-mutants-") as folder:
        workplace = Path(folder)
        lay_out(workplace, file, tests)
        return collect(workplace, file, tested=run_mutmut(workplace, share, seed))


def lay_out(workplace: Path, file: str, tests: Sequence[str]) -> None:
    """A copy of the laboratory and its unit tests in which mutmut finds its way."""
    no_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, workplace / "src" / "tlstax", ignore=no_caches)
    for folder in ("unit", "fakes", "campaigns"):
        shutil.copytree(ROOT / "tests" / folder, workplace / "tests" / folder, ignore=no_caches)
    shutil.copy(ROOT / "tests" / "conftest.py", workplace / "tests")
    (workplace / "mutants").mkdir()
    for folder in ("contract", "docs", "drivers"):
        (workplace / "mutants" / folder).symlink_to(ROOT / folder)
    source = workplace / "src" / "tlstax" / file
    text = source.read_text()
    words = putting_into_words(text) if file.startswith("topics/") else frozenset()
    source.write_text(spared(undecorated(text), words))
    lists = {
        "source_paths": ["src"],
        "only_mutate": [f"src/tlstax/{file}"],
        "pytest_add_cli_args_test_selection": list(tests),
        "pytest_add_cli_args": [
            "-p",
            "no:cacheprovider",
            "-p",
            "pytest_timeout",
            "-p",
            "_hypothesis_pytestplugin",
            f"--timeout={FILE_TIMEOUT_S // 2}",
        ],
    }
    lines = [
        "[tool.pytest.ini_options]",
        'pythonpath = ["src", "tests/fakes", "tests/campaigns"]',
        'addopts = "--strict-markers"',
        "[tool.mutmut]",
        # Forked from a server that has only imported: no cache of a function is filled before it is changed.
        'process_isolation = "forkserver"',
        "timeout_multiplier = 1.0",
        "timeout_constant = 10.0",
        "use_setproctitle = false",
        *(f"{key} = {json.dumps(value)}" for key, value in lists.items()),
    ]
    (workplace / "pyproject.toml").write_text("\n".join(lines) + "\n")


def undecorated(source: str) -> str:
    """The same module with decorators called after their functions: mutmut passes over decorated ones.

    Without a `cache` of everything: only the test that fills it would be seen to call the function.
    """
    lines = source.splitlines()
    for node in sorted(decorated(ast.parse(source)), key=lambda node: node.lineno, reverse=True):
        indent = " " * node.col_offset
        names = [ast.unparse(decorator) for decorator in reversed(node.decorator_list)]
        calls = [f"{indent}{node.name} = {name}({node.name})" for name in names if name != "cache"]
        lines[node.end_lineno : node.end_lineno] = calls
        for decorator in node.decorator_list:
            lines[decorator.lineno - 1 : decorator.end_lineno] = [""] * (
                (decorator.end_lineno or decorator.lineno) - decorator.lineno + 1
            )
    return "\n".join(lines) + "\n"


def decorated(module: ast.Module) -> Iterable[ast.FunctionDef]:
    """The decorated functions of a module and of its classes."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            yield node


def spared(source: str, names: Set[str]) -> str:
    """The same module with a word for mutmut that it is to leave these functions and classes as they are."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
            head = next(at for at in range(node.body[0].lineno - 2, -1, -1) if lines[at].endswith(":"))
            lines[head] += "  # pragma: no mutate block"
    return "\n".join(lines) + "\n"


def run_mutmut(workplace: Path, share: float, seed: int) -> bool:
    """Lets mutmut try every change, in one process at a time; false where no test reaches any of them."""
    # CI makes Hypothesis draw the same examples each time, and keep none.
    settings = {"CI": "true", "PYTHONHASHSEED": "0", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment = {**os.environ, **settings, "PYTHONPATH": ""}
    run = subprocess.run(
        [sys.executable, HERE / "mutmut_here.py", str(share), str(seed), "run", "--max-children", "1"],
        cwd=workplace,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=FILE_TIMEOUT_S,
        check=False,
    )
    if NO_TEST in run.stdout:
        return False
    if run.returncode != 0:
        say("\n".join(line for line in run.stdout.splitlines() if not line.startswith(SPINNER))[-8000:])
        sys.exit(f"mutants: mutmut ended with status {run.returncode}")
    return True


def collect(workplace: Path, file: str, *, tested: bool) -> Judged:
    """What mutmut has written down of a file."""
    source = Path("src", "tlstax", file)
    meta = workplace / "mutants" / f"{source}.meta"
    results = json.loads(meta.read_text())["exit_code_by_key"] if meta.exists() else {}
    if not tested:
        results = dict.fromkeys(results, 33)
    unjudged = [name for name, code in results.items() if code in UNJUDGED]
    if unjudged:
        sys.exit(f"mutants: {len(unjudged)} changes of {file} were not judged, such as {unjudged[0]}")
    lines = lines_of_functions((PACKAGE / file).read_text())
    os.chdir(workplace)
    survivors = tuple(
        survivor(file, get_diff_for_mutant(name, path=source), name, lines, LIVED[code])
        for name, code in results.items()
        if code in LIVED
    )
    os.chdir(ROOT)
    ended = sum(code in ENDED for code in results.values())
    return Judged(file, len(results), tuple(sorted(survivors, key=lambda survivor: survivor.line)), ended)


def lines_of_functions(source: str) -> dict[str, int]:
    """The line on which each function's `def` stands, by its name with its class."""
    found = {}
    module = ast.parse(source)
    for node in module.body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef):
                found[f"{node.name}.{inner.name}" if isinstance(node, ast.ClassDef) else inner.name] = (
                    inner.lineno
                )
    return found


MAKES_ROWS = frozenset({"rows", "prediction", "validation"})
"""What makes the rows of a topic, and of the documents that commands make of rows."""


def putting_into_words(source: str) -> frozenset[str]:
    """The functions and classes of a topic that what MAKES_ROWS does without; none of a file without it.

    Whether words read well is for a reader to judge.
    """
    nodes = {
        node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    needed = MAKES_ROWS & nodes.keys()
    waiting = list(needed)
    while waiting:
        names = {node.id for node in ast.walk(nodes[waiting.pop()]) if isinstance(node, ast.Name)}
        waiting += (names & nodes.keys()) - needed
        needed |= names & nodes.keys()
    return frozenset(nodes.keys() - needed) if needed else frozenset()


def function_of(name: str) -> str:
    """The function, with its class, that mutmut's name of a change is of."""
    function = name.rpartition("__mutmut_")[0].rpartition(".")[2]
    return function[2:] if function.startswith("x_") else function[2:].replace("ǁ", ".")


def survivor(file: str, diff: str, name: str, lines: Mapping[str, int], how: str) -> Survivor:
    """A survivor from mutmut's diff of the function, and its name for it."""
    function = function_of(name)
    was, became, line, at = [], [], lines[function] - 1, 0
    for text in diff.splitlines()[2:]:
        if text.startswith("@@"):
            line = lines[function] - 2 + int(text.split()[1].lstrip("-").split(",")[0])
        elif text.startswith("+"):
            became.append(text[1:].strip())
        else:
            line += 1
            if text.startswith("-"):
                was.append(text[1:].strip())
                at = at or line
    before, after = "\n".join(was), "\n".join(became)
    return Survivor((file, function, changed(before, after)), at or line, how, before, after)


def changed(was: str, became: str) -> str:
    """What changes between these lines, with the tokens next to it."""
    own, other = TOKEN.findall(was), TOKEN.findall(became)
    shorter = min(len(own), len(other))
    begin = next((at for at in range(shorter) if own[at] != other[at]), shorter)
    left = shorter - begin
    end = next((at for at in range(left) if own[-1 - at] != other[-1 - at]), left)
    start, behind = max(0, begin - BEFORE), max(0, end - BEHIND)
    return " → ".join(" ".join(side[start : len(side) - behind]) for side in (own, other))


def print_file(judged: Judged, reasons: Counter[Change], seconds: float) -> None:
    """A line of counts, and the survivors that have no reason."""
    unexplained = without_reason(judged.survivors, reasons)
    say(
        f"{judged.file:36} {judged.changes:5} changes, {judged.changes - len(judged.survivors):5} killed "
        f"({judged.share:6.1%}), {len(judged.survivors) - len(unexplained):3} live with a reason, "
        f"{len(unexplained):3} without{f', {judged.ended} ended' if judged.ended else ''}; {seconds:.0f} s",
    )
    for survivor in unexplained:
        file, function, change = survivor.change
        say(f"  lab/tlstax/{file}:{survivor.line} {function}: {survivor.how}: '{change}'")
        for sign, text in (("-", survivor.was), ("+", survivor.became)):
            say("\n".join(f"    {sign} {line}" for line in text.split("\n")))


def without_reason(survivors: Iterable[Survivor], reasons: Counter[Change]) -> list[Survivor]:
    """Those that have no reason, or more of one kind than there are reasons for."""
    left = Counter(reasons)
    unexplained = []
    for survivor in survivors:
        if left[survivor.change] > 0:
            left[survivor.change] -= 1
        else:
            unexplained.append(survivor)
    return unexplained


def sum_up(judged: Sequence[Judged], reasons: Counter[Change], *, is_sample: bool = False) -> int:
    """The sum of all files; the status to end with. Of a sample no reason is stale: it may not be drawn."""
    changes = sum(file.changes for file in judged)
    survivors = [survivor for file in judged for survivor in file.survivors]
    lived = Counter(survivor.change for survivor in survivors)
    ran = {file.file for file in judged}
    stale = [change for change in (reasons - lived).elements() if change[0] in ran and not is_sample]
    unexplained = len(without_reason(survivors, reasons))
    share = 1 - len(survivors) / changes if changes else 1.0
    say(
        f"\n{changes} {'drawn ' if is_sample else ''}changes of {len(judged)} files: {share:.1%} "
        f"killed, {len(survivors)} live, {unexplained} without a reason"
    )
    for file, function, change in stale:
        say(f"stale in reasons.toml: {file}, {function}: {change}")
    return int(share < NEEDED_SHARE or unexplained > 0 or bool(stale))


def say(text: str) -> None:
    """Prints at once, as each file takes a while."""
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
