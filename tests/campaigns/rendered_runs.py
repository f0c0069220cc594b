"""Renders recorded runs with the code of any tree, in every format, for `same_numbers.py` to compare."""

from __future__ import annotations

import csv
import gc
import gzip
import importlib
import json
import os
import pkgutil
import runpy
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

BOTH = ("csv", "json")
ROWS = {"runs": BOTH, "trials": BOTH, "findings": BOTH, "slices": BOTH[:1], "observations": BOTH[:1]}
"""The tables, and in which formats they are exported; two are large."""

OPENING: dict[str, tuple[int, str]] = {"opened.txt": (80, "open {own}")}

REPORTS: dict[str, tuple[int, str]] = {
    "report.json": (80, "report {run} --format json"),
    "report.csv": (80, "report {run} --format csv"),
    "report.md": (80, "report {run} --format md"),
    "report.html": (80, "report {run} --format html"),
    "report-40.txt": (40, "report {run}"),
    "report-80.txt": (80, "report {run}"),
    "report-120.txt": (120, "report {run}"),
    "report-40-verbose.txt": (40, "report {run} -v"),
    "report-80-verbose.txt": (80, "report {run} -v"),
    "report-120-verbose.txt": (120, "report {run} -v"),
    "tracked/bencher.json": (80, "report {run} --format bencher"),
    "tracked/openmetrics.txt": (80, "report {run} --format openmetrics"),
    "tracked/smaller.json": (80, "report {run} --format smaller-is-better"),
    "tracked/bigger.json": (80, "report {run} --format bigger-is-better"),
    "run.json": (80, "runs export {run} --format json"),
    "rows/blocks.csv": (80, "runs export {run} --format csv --rows blocks"),
    "explain.json": (80, "explain {run} --json"),
    "explain-80.txt": (80, "explain {run}"),
    "explain-120.txt": (120, "explain {run}"),
    "flames-server.txt": (80, "flames {run} --folded --side server"),
    "flames-client.txt": (80, "flames {run} --folded --side client"),
    "check.json": (80, "check {run} --max-regression 5% --json"),
    "check.txt": (80, "check {run} --max-regression 5%"),
} | {
    f"rows/{table}.{form}": (80, f"runs export {{run}} --format {form} --rows {table}")
    for table, forms in ROWS.items()
    for form in forms
}
"""What is shown of every run, by its file: how wide the terminal is, and the command."""

DOCUMENT_TEXTS: Mapping[str, tuple[str, ...]] = {
    "memory": (
        "tlstax.tools.probes.memory.table:memory_text",
        "tlstax.tools.probes.external_memory:memory_text",
    ),
    "storm": ("tlstax.tools.probes.storms.table:storm_text",),
    "library-bench": ("tlstax.tools.librarybench.table:terminal", "tlstax.tools.librarybench.table:markdown"),
    "self-bench-bytes": (
        "tlstax.selfbench.bytes_table:bytes_terminal",
        "tlstax.selfbench.bytes_table:bytes_markdown",
    ),
    "self-bench-hold": (
        "tlstax.selfbench.hold_table:hold_terminal",
        "tlstax.selfbench.hold_table:hold_markdown",
    ),
    "predict": (
        "tlstax.report.prediction.text:prediction_text",
        "tlstax.topics.prediction.text:prediction_text",
        "tlstax.topics.prediction.prediction:prediction_text",
    ),
    "predict-validate": (
        "tlstax.report.prediction.validation_text:validation_text",
        "tlstax.topics.prediction.text:validation_text",
        "tlstax.topics.prediction.validation:validation_text",
    ),
    "inspect": (
        "tlstax.report.inspection.text:inspection_text",
        "tlstax.topics.inspection.text:inspection_text",
    ),
    "advise": (
        "tlstax.report.advice.text:advice_text",
        "tlstax.topics.advice.sections:advice_text",
        "tlstax.report.page.html:advice_html",
    ),
    "drivers-probe": ("tlstax.tools.probes.drivers.probe_table:probe_text",),
}
"""What makes texts of a document, by the longest of these that its name begins with: functions whose first
parameter is the document. One that the tree does not have is passed over, so a new place is one more."""

BESIDE: dict[str, tuple[int, str]] = {
    "compare.json": (80, "compare {other} {own} --json"),
    "compare-80.txt": (80, "compare {other} {own}"),
    "compare-120.txt": (120, "compare {other} {own}"),
    "check-other.json": (80, "check {own} --against {other} --max-regression 5% --json"),
    "check-other.txt": (80, "check {own} --against {other} --max-regression 5%"),
    "check-itself.json": (80, "check {own} --against {other} --max-regression 5% --absolute --json"),
}
"""What is shown of a run beside the next one of its study."""

STATUSES = "statuses.json"
DOCUMENTS = "documents"


def render(runs: Path, folder: Path, tree: Path, only: Sequence[str] = ()) -> int:
    """Write what the code of the tree shows of the packs and documents; the exit status."""
    packs = {path.stem: path.resolve() for path in sorted(runs.glob("*.tlstax"))}
    documents = {path.stem: path.resolve() for path in sorted((runs / DOCUMENTS).glob("*.json"))}
    chosen = {name for name in (*packs, *documents) if not only or name in only}
    others = _others(packs)
    with tempfile.TemporaryDirectory(prefix="same-numbers-") as work:
        commands: dict[str, list[Command]] = {}
        for name in sorted(packs.keys() & chosen):
            shown = OPENING | REPORTS | (BESIDE if name in others else {})
            run = header_of(packs[name])["run"]
            places = {"own": packs[name], "other": packs[others.get(name, name)], "run": run}
            commands[name] = [
                Command(file, width, [word.format_map(places) for word in words.split()], f"{work}/{name}")
                for file, (width, words) in shown.items()
            ]
        for name in sorted(documents.keys() & chosen):
            commands[f"{DOCUMENTS}/{name}"] = [Command("", 100, [str(documents[name])], "")]
        lost = _carried_out(commands, folder, tree)
    say(f"{len(commands)} runs and documents in {folder}")
    if lost:
        say(f"not shown: {', '.join(lost)}")
    return 1 if lost else 0


@dataclass(frozen=True)
class Command:
    """A command of tlstax whose standard output becomes a file; without a store, a document to be shown."""

    file: str
    columns: int
    arguments: Sequence[str]
    store: str


def header_of(pack: Path) -> Any:
    """What a pack says of its run, before the trials (`store/pack.py`)."""
    _, _, rest = pack.read_bytes().partition(b"\n")
    return json.loads(gzip.decompress(rest).partition(b"\n")[0])["header"]


def _others(packs: Mapping[str, Path]) -> dict[str, str]:
    """For each run the next one of the same study by name, for the last the one before it."""
    studies: dict[str, list[str]] = defaultdict(list)
    for name, path in packs.items():
        studies[header_of(path)["study"]["name"]].append(name)
    return {
        name: other
        for names in studies.values()
        for name, other in zip(names, (*names[1:], *names[-2:-1]), strict=False)
    }


def _carried_out(commands: Mapping[str, Sequence[Command]], folder: Path, tree: Path) -> list[str]:
    """Carry these out, those of a run by one process, which has read the tree's code; whose failed."""
    given = json.dumps({name: [vars(command) for command in own] for name, own in commands.items()})
    code = {"PYTHONPATH": str(tree.resolve() / "lab"), "PYTHONHASHSEED": "0", "NO_COLOR": "1"}
    environment = os.environ | code
    engines = sorted(Path(_cache(), "engines").glob("*/tlstax-engine"), key=os.path.getmtime)
    if engines:
        environment.setdefault("TLSTAX_ENGINE", str(engines[-1]))
    for name in commands:
        shutil.rmtree(folder / name, ignore_errors=True)
    command = [sys.executable, "-P", __file__, str(folder)]
    subprocess.run(command, input=given.encode(), env=environment, check=False)
    return [name for name in commands if not _is_shown(folder / name / STATUSES)]


def _is_shown(statuses: Path) -> bool:
    """Whether the process that showed it came to its end, and the tree knows such a run or document."""
    if not statuses.exists():
        return False
    own = json.loads(statuses.read_text())
    return not any(own.get(file) for file in (*OPENING, ""))


def _cache() -> str:
    return os.environ.get("TLSTAX_CACHE") or str(Path.home() / ".cache" / "tlstax")


def carry_out(folder: Path) -> int:
    """Carry out what standard input has, in a process for each run; the exit status."""
    import tlstax  # noqa: PLC0415 (of the tree that is told: PYTHONPATH)

    for module in pkgutil.walk_packages(tlstax.__path__, "tlstax."):
        if not module.name.endswith("__main__"):
            with suppress(Exception):
                importlib.import_module(module.name)
    gc.freeze()
    running: set[int] = set()
    for name, own in json.load(sys.stdin).items():
        if len(running) >= (os.cpu_count() or 1):
            running.remove(os.wait()[0])
        child = os.fork()
        if not child:
            _carry_out_own([Command(**command) for command in own], folder / name)
        running.add(child)
    while running:
        running.remove(os.wait()[0])
    return 0


def _carry_out_own(commands: Sequence[Command], folder: Path) -> NoReturn:
    """Carry out one run's commands, write their statuses, and end."""
    status = 1
    try:
        folder.mkdir(parents=True, exist_ok=True)
        statuses = {
            command.file: _output(command, folder) if command.store else _texts(command, folder)
            for command in commands
        }
        for store in {Path(command.store) for command in commands if command.store}:
            _write_views(store / "store.sqlite", folder / "views")
        (folder / STATUSES).write_text(json.dumps(statuses, indent=1) + "\n")
        status = 0
    finally:
        os._exit(status)


def _output(command: Command, folder: Path) -> int:
    """Write the command's standard output; its status. What it says of a failure is kept as well."""
    path = folder / command.file
    path.parent.mkdir(parents=True, exist_ok=True)
    said = path.with_name(path.name + ".err")
    for number, place in ((1, path), (2, said)):
        opened = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    os.environ |= {"COLUMNS": str(command.columns), "TLSTAX_DATA": command.store}
    sys.argv = ["tlstax", *command.arguments]
    status = 0
    try:
        runpy.run_module("tlstax", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    if not status:
        said.unlink()
    elif not path.stat().st_size:
        path.unlink()
    return status


def _texts(command: Command, folder: Path) -> int:
    """Write the document, and each text of it that this tree can make; 3 where it can make none."""
    (document,) = map(Path, command.arguments)
    kind = max((kind for kind in DOCUMENT_TEXTS if document.stem.startswith(kind)), key=len, default="")
    made = 0
    for place in DOCUMENT_TEXTS.get(kind, ()):
        module, _, name = place.partition(":")
        try:
            function = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
        hints = get_type_hints(function)
        found = next(iter(hints.values())).model_validate_json(document.read_text())
        options = {"width": command.columns, "colour": False}
        text = function(found, **{name: value for name, value in options.items() if name in hints})
        suffix = "html" if name.endswith("html") else "txt"
        (folder / f"{name.rpartition('_')[2]}.{suffix}").write_text(text)
        (folder / "document.json").write_text(found.model_dump_json(by_alias=True, indent=1) + "\n")
        made += 1
    return 0 if made else 3


def _write_views(store: Path, folder: Path) -> None:
    """The views of the store, which has one run, as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(store)) as connection:
        views = connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall()
        for (name,) in views:
            found = connection.execute(f'SELECT * FROM "{name}"')  # noqa: S608 (a view of our own)
            with (folder / f"{name}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(column[0] for column in found.description)
                writer.writerows(found)


def say(text: str) -> None:
    """Tell whoever started this."""
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(carry_out(Path(sys.argv[1])))
