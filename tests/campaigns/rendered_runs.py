"""Renders recorded runs with the code of any tree, in every format, for `same_numbers.py` to compare."""

from __future__ import annotations

import csv
import importlib
import json
import os
import pkgutil
import runpy
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import get_type_hints

REPORTS: Mapping[str, tuple[int, str]] = {
    "report.json": (80, "report last --format json"),
    "report.csv": (80, "report last --format csv"),
    "report.md": (80, "report last --format md"),
    "report.html": (80, "report last --format html"),
    "report-40.txt": (40, "report last"),
    "report-80.txt": (80, "report last"),
    "report-120.txt": (120, "report last"),
    "report-40-verbose.txt": (40, "report last -v"),
    "report-80-verbose.txt": (80, "report last -v"),
    "report-120-verbose.txt": (120, "report last -v"),
    "tracked/bencher.json": (80, "report last --format bencher"),
    "tracked/openmetrics.txt": (80, "report last --format openmetrics"),
    "tracked/smaller.json": (80, "report last --format smaller-is-better"),
    "tracked/bigger.json": (80, "report last --format bigger-is-better"),
    "run.json": (80, "runs export last --format json"),
    "rows/blocks.csv": (80, "runs export last --format csv --rows blocks"),
    "explain.json": (80, "explain last --json"),
    "explain-80.txt": (80, "explain last"),
    "explain-120.txt": (120, "explain last"),
    "flames-server.txt": (80, "flames last --folded --side server"),
    "flames-client.txt": (80, "flames last --folded --side client"),
    "check.json": (80, "check last --max-regression 5% --json"),
    "check.txt": (80, "check last --max-regression 5%"),
} | {
    f"rows/{table}.{form}": (80, f"runs export last --format {form} --rows {table}")
    for table in ("runs", "trials", "slices", "findings", "observations")
    for form in ("csv", "json")
}
"""What is shown of every run, by its file: how wide the terminal is, and the command."""

DOCUMENT_TEXTS: Mapping[str, tuple[str, ...]] = {
    "memory": ("tlstax.probes.memory.table:memory_text",),
    "storm": ("tlstax.probes.storms.table:storm_text",),
    "library-bench": ("tlstax.librarybench.table:terminal", "tlstax.librarybench.table:markdown"),
    "self-bench": ("tlstax.selfbench.table:terminal", "tlstax.selfbench.table:markdown"),
    "self-bench-bytes": (
        "tlstax.selfbench.bytes_table:bytes_terminal",
        "tlstax.selfbench.bytes_table:bytes_markdown",
    ),
    "self-bench-hold": (
        "tlstax.selfbench.hold_table:hold_terminal",
        "tlstax.selfbench.hold_table:hold_markdown",
    ),
    "predict": ("tlstax.report.prediction.text:prediction_text",),
    "predict-validate": ("tlstax.report.prediction.validation_text:validation_text",),
    "inspect": ("tlstax.report.inspection.text:inspection_text",),
    "advise": ("tlstax.report.advice.text:advice_text", "tlstax.report.page.html:advice_html"),
    "drivers-probe": ("tlstax.probes.drivers.probe_table:probe_text",),
}
"""What makes texts of a document, by the longest of these that its name begins with: functions whose first
parameter is the document. One that the tree does not have is passed over, so a new place is one more."""

BESIDE: Mapping[str, tuple[int, str]] = {
    "compare.json": (80, "compare {other} {own} --json"),
    "compare-80.txt": (80, "compare {other} {own}"),
    "compare-120.txt": (120, "compare {other} {own}"),
    "check-other.json": (80, "check {own} --against {other} --max-regression 5% --json"),
    "check-other.txt": (80, "check {own} --against {other} --max-regression 5%"),
    "check-itself.json": (80, "check {own} --against {other} --max-regression 5% --absolute --json"),
}
"""What is shown of a run beside the first other one of its study."""

STATUSES = "statuses.json"
DOCUMENTS = "documents"


def render(runs: Path, folder: Path, tree: Path, only: Sequence[str] = ()) -> int:
    """Write what the code of the tree shows of the packs and documents; the exit status."""
    packs = [path for path in sorted(runs.glob("*.tlstax")) if not only or path.stem in only]
    shown = sorted((runs / DOCUMENTS).glob("*.json"))
    documents = [path for path in shown if not only or path.stem in only]
    with tempfile.TemporaryDirectory(prefix="same-numbers-") as work:
        stores = {path.stem: Path(work, path.stem) for path in packs}
        opening = [
            Command(f"{path.stem}/opened.txt", 80, ("open", str(path.resolve())), str(stores[path.stem]))
            for path in packs
        ]
        _carried_out(opening, folder, tree)
        known = {path.stem: path for path in packs if (stores[path.stem] / "store.sqlite").exists()}
        commands = [
            Command(f"{name}/{file}", width, tuple(words.split()), str(stores[name]))
            for name in known
            for file, (width, words) in REPORTS.items()
        ]
        for name, other in _pairs(known, stores).items():
            for file, (width, words) in BESIDE.items():
                typed = tuple(word.format(own=known[name], other=known[other]) for word in words.split())
                commands.append(Command(f"{name}/{file}", width, typed, str(stores[name])))
        texts = [Command(f"{DOCUMENTS}/{path.stem}", 100, (str(path.resolve()),), "") for path in documents]
        _carried_out(commands + texts, folder, tree)
        for name in known:
            _write_views(stores[name] / "store.sqlite", folder / name / "views")
    lost = sorted({path.stem for path in packs} - known.keys())
    say(f"{len(known)} runs and {len(documents)} documents in {folder}")
    if lost:
        say(f"not opened: {', '.join(lost)}")
    return 1 if lost else 0


@dataclass(frozen=True)
class Command:
    """A command of tlstax whose standard output becomes a file; without a store, a document to be shown."""

    file: str
    columns: int
    arguments: tuple[str, ...]
    store: str


def _pairs(known: Mapping[str, Path], stores: Mapping[str, Path]) -> dict[str, str]:
    """For each run the first other one of the same study."""
    studies: dict[str, list[str]] = defaultdict(list)
    for name in known:
        with closing(sqlite3.connect(stores[name] / "store.sqlite")) as store:
            (study,) = store.execute("SELECT study FROM runs").fetchone()
        studies[study].append(name)
    pairs: dict[str, str] = {}
    for names in studies.values():
        pairs |= {name: other for name in names for other in (*names[:2],)[::-1] if other != name}
    return pairs


def _carried_out(commands: Sequence[Command], folder: Path, tree: Path) -> None:
    """Carry these out, in one process that has read the tree's code."""
    folder.mkdir(parents=True, exist_ok=True)
    given = json.dumps([vars(command) for command in commands])
    environment = os.environ | {
        "PYTHONPATH": str(tree.resolve() / "lab"),
        "PYTHONHASHSEED": "0",
        "NO_COLOR": "1",
    }
    engines = sorted(Path(_cache(), "engines").glob("*/tlstax-engine"), key=os.path.getmtime)
    if engines:
        environment.setdefault("TLSTAX_ENGINE", str(engines[-1]))
    command = [sys.executable, "-P", __file__, str(folder)]
    subprocess.run(command, input=given.encode(), env=environment, check=True)


def _cache() -> str:
    return os.environ.get("TLSTAX_CACHE") or str(Path.home() / ".cache" / "tlstax")


def carry_out(folder: Path) -> int:
    """Carry out what standard input has, each in a process of its own that has the code; the status."""
    import tlstax  # noqa: PLC0415 (of the tree that is told: PYTHONPATH)

    for module in pkgutil.walk_packages(tlstax.__path__, "tlstax."):
        if not module.name.endswith("__main__"):
            with suppress(Exception):
                importlib.import_module(module.name)
    commands = [Command(**{**one, "arguments": tuple(one["arguments"])}) for one in json.load(sys.stdin)]
    statuses: dict[str, int] = {}
    running: dict[int, Command] = {}
    for command in commands:
        if len(running) >= (os.cpu_count() or 1):
            _await_one(running, statuses)
        sys.stdout.flush()
        child = os.fork()
        if not child:
            _become(command, folder)
        running[child] = command
    while running:
        _await_one(running, statuses)
    kept: dict[str, dict[str, int]] = defaultdict(dict)
    for file, status in statuses.items():
        name, _, rest = file.partition("/")
        kept[name][rest] = status
    for name, own in kept.items():
        path = folder / name / STATUSES
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(before | own, indent=1, sort_keys=True) + "\n")
    return 0


def _await_one(running: dict[int, Command], statuses: dict[str, int]) -> None:
    child, status = os.wait()
    statuses[running.pop(child).file] = os.waitstatus_to_exitcode(status)


def _become(command: Command, folder: Path) -> None:
    """Be that command, and end. What it says on standard error is kept where it fails."""
    path = folder / command.file
    path.parent.mkdir(parents=True, exist_ok=True)
    status = 70
    try:
        if not command.store:
            status = _document_texts(Path(command.arguments[0]), path)
            os._exit(status)
        for number, place in ((1, path), (2, path.with_name(path.name + ".err"))):
            os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.environ |= {"COLUMNS": str(command.columns), "TLSTAX_DATA": command.store}
        sys.argv = ["tlstax", *command.arguments]
        try:
            runpy.run_module("tlstax", run_name="__main__", alter_sys=True)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
        if not status:
            path.with_name(path.name + ".err").unlink()
        elif not path.stat().st_size:
            path.unlink()
    finally:
        os._exit(status)


def _document_texts(document: Path, path: Path) -> int:
    """Write each text of a document that this tree can make; 3 where it can make none."""
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
        options = {"width": 100, "colour": False}
        text = function(found, **{name: value for name, value in options.items() if name in hints})
        path.with_name(f"{path.name}.json").write_text(found.model_dump_json(by_alias=True, indent=1))
        path.with_name(f"{path.name}-{name.rpartition('_')[2]}.txt").write_text(text)
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
