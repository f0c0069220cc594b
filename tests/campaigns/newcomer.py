"""newcomer.py [PART…]: what a new user types in the first hour, on a new data folder, and what it says.

About seventy commands: the README's recipes with small budgets, mistakes, places that cannot be written to,
an external server, a wrong password, a dead server, a narrow terminal, a pipe that is closed, Ctrl-C. Each is
printed with its status, how long it took and its last line, and judged by what can be judged: the status, no
traceback, no word of a library, no line wider than the terminal, at most forty lines of the usual report, and
a file of the kind that its name says. What is wrong is printed again at the end, and makes the status 1. The
PARTs are mistakes, measuring, reading, places and servers; without any, all are gone through in this order.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import tlstax
from tlstax.specimens import resolve, sessions
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.support.directories import cache_dir

WIDE, NARROW = 80, 40
MOST_LINES = 40
WITHIN_S = 400.0
RAW = re.compile(
    r"\[Errno|Input should|unable to parse|Traceback|validation error|codec can't|Expecting value|\(at line|"
    r"Invalid JSON|<(?:str|int|float|list)\b|\[\[|a defect in tlstax"
)
KINDS: dict[str, bytes | tuple[bytes, ...]] = {
    ".html": b"<!doctype html>",
    ".json": b"{",
    ".md": (b"## ", b"|"),
    ".svg": b"<",
    ".tlstax": b"tlstax pack 1 ",
    ".prom": b"# ",
}
WHOLE = re.compile(r"(.*\s{2,})?\S+|\s{7}.*")
"""A line that is left whole to be copied: one long word, such as a path, or a line to paste."""
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
SMALL = "--budget 20s --over-budget --rows 2000 --connections 2"
Judge = Callable[[str, Path], str]


@dataclass(frozen=True)
class Typed:
    """A command line, how it must end, and what it must say; of `file` the kind is looked at.

    `is_short` is for the usual report; `to` ends it after N seconds by Ctrl-C, `pipe` has its reader go
    after the first line.
    """

    line: str
    status: int = 0
    says: str = ""
    file: str = ""
    columns: int = WIDE
    is_short: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    interrupted_after_s: float | None = None
    pipe: bool = False


MEASURING = (
    Typed(f"run {SMALL} --budget 3m --tls off,1.3", 130, interrupted_after_s=25.0),
    Typed("run --budget 3m --tls off,1.3", 130, interrupted_after_s=1.0),
    Typed(f"run {SMALL} --tls off,1.3", is_short=True),
    Typed(f"run {SMALL} --workload reconnect --tls off,1.3 --report tls.html", file="tls.html"),
    Typed(f"run {SMALL} --tls off,1.3 --json > run.json", file="run.json"),
    Typed(f"run {SMALL} --tls off,1.3 --workload point-select", columns=NARROW),
    Typed(f"ab --a tls=1.2 --b tls=1.3 {SMALL}"),
    Typed("storm --within 1s --budget 40s", 2, "has no room"),
    Typed("library-bench --library machine --measure signature --budget 3s -o bench.md", file="bench.md"),
)
READING = (
    Typed("report last", is_short=True),
    Typed("report last", columns=NARROW),
    Typed("report last", pipe=True, status=130),
    Typed("report last -o report.html", file="report.html"),
    Typed("report last -o report.md", file="report.md"),
    Typed("report last -o report.json", file="report.json"),
    Typed("report last -o report.prom", file="report.prom"),
    Typed("report last --format md > tls.md", file="tls.md"),
    Typed("runs list"),
    Typed("runs show last", is_short=True),
    Typed("runs export last -o run.json", file="run.json"),
    Typed("runs export last -o run.csv"),
    Typed("pack last -o main.tlstax", file="main.tlstax"),
    Typed("compare main.tlstax last", 2),
    Typed("publish site main.tlstax"),
    Typed("explain last", 2, "--profile"),
    Typed("flames -o flames.svg", 2, "--profile"),
    Typed("study list"),
    Typed("study list", columns=NARROW),
    Typed("study show tax"),
    Typed("study plan tax"),
    Typed("specimens list"),
    Typed("drivers list"),
    Typed("doctor"),
    Typed("doctor", columns=NARROW),
    Typed("completion bash"),
    Typed("--version"),
    Typed("--help"),
    Typed("run --help"),
    Typed("runs delete 2026", 2),
)
MISTAKES = (
    Typed("rnu", 2, "No such command"),
    Typed("run --sevrer x", 2, "--server"),
    Typed("run --tls 1.4", 2, "1.3"),
    Typed("run --rows many", 2, "whole number"),
    Typed("run --workload reconect", 2, "reconnect"),
    Typed("run --server mysql", 2, "mysql-9.7"),
    Typed("run --server MySQL-9.7", 2, "mysql-9.7"),
    Typed("run --server localhost", 2, "mysql://"),
    Typed("run --server 127.0.0.1:3306", 2, "mysql://"),
    Typed("inspect db.example", 2, "mysql://"),
    Typed("report nothing", 2, "no run"),
    Typed("report last --format pdf", 2, "html"),
    Typed("report last -o tls.pdf", 2, ".html"),
    Typed("runs export last -o tls.xlsx", 2, ".csv"),
    Typed("open missing.tlstax", 2, "missing.tlstax"),
    Typed("study run taxs", 2, "tax"),
    Typed("study run missing.toml", 2, "missing.toml"),
    Typed("run --budget 1s", 2, "--budget"),
    Typed("predict --connects 200/s", 0, "study run components"),
    Typed("runs watch", 2, "watch last"),
)
PLACES = (
    Typed("run --budget 5m", 3, "/proc/tlstax", environment={"TLSTAX_DATA": "/proc/tlstax"}),
    Typed("doctor", 0, "/proc/tlstax", environment={"TLSTAX_DATA": "/proc/tlstax"}),
    Typed("report last -o /proc/tlstax.html", 2, "/proc/tlstax.html"),
    Typed("report last -o .", 2),
    Typed("run --budget 5m --report /proc/x.html", 2, "/proc/x.html"),
)
SERVERS = (
    Typed("inspect mysql://guest@127.0.0.1:{port}/lent"),
    Typed("inspect mysql://guest@127.0.0.1:{port}/lent", columns=NARROW),
    Typed(f"run --server mysql://guest@127.0.0.1:{{port}}/lent {SMALL} --tls off,1.3", is_short=True),
    Typed(
        "run --server mysql://guest@127.0.0.1:{port}/lent",
        2,
        "refused the user guest",
        environment={"TLSTAX_PASSWORD": "no"},
    ),
    Typed("inspect mysql://guest@127.0.0.1:1/lent", 2, "nothing listens"),
    Typed("run --server mysql://guest@127.0.0.1:1/lent", 2, "nothing listens"),
    Typed("inspect mysql://guest@nowhere.invalid/lent", 2, "is unknown"),
    Typed(f"run --server mysql://reader@127.0.0.1:{{port}}/lent {SMALL} --tls off,1.3", 0, "read nothing"),
    Typed("run --server mysql://reader@127.0.0.1:{port}/lent --workload point-select", 2, "grant it"),
    Typed("run --server mysql://guest@127.0.0.1:{port}/lent --max-connections 5", 2, "--max-connections"),
    Typed(f"run --server mysql://guest@127.0.0.1:{{port}}/lent {SMALL} --ssl-mode REQUIRED", is_short=True),
    Typed(f"run --server mysql://guest@127.0.0.1:{{port}}/lent {SMALL} --table orders", 2, "--table"),
    Typed(f"run --server mysql://guest@127.0.0.1:{{port}}/lent,mariadb-11.8 {SMALL} --tls off,1.3"),
    Typed(f"ab --a server=mysql://guest@127.0.0.1:{{port}}/lent --b server=mysql-9.7 {SMALL}"),
    Typed("storm --server mysql://guest@127.0.0.1:{port}/lent --budget 60s", says="gets at most"),
    Typed("memory --server mysql://guest@127.0.0.1:{port}/lent --rounds 2", says="gets at most"),
    Typed(f"run --server mysql://guest@127.0.0.1:{{port}}/lent --path haproxy {SMALL} --tls off,1.3"),
    Typed(f"run --trust {AUTHORITIES} {SMALL}"),
    Typed("run --trust /nowhere.pem", 2, "does not exist"),
    Typed("run --full-load", 2, "--server"),
    Typed("inspect mysql://guest@127.0.0.1:{port}/lent --client pymysql-1.2", says="pymysql 1.2"),
    Typed("inspect mysql://guest@127.0.0.1:{port}/lent --client pymisql", 2, "pymysql"),
)
PARTS = {
    "mistakes": MISTAKES,
    "measuring": MEASURING,
    "reading": READING,
    "places": PLACES,
    "servers": SERVERS,
}
PASSWORD = "Sesame, open!"


def tlstax_says(typed: Typed, folder: Path, port: int) -> tuple[int, str, str, float]:
    """Status, both streams, and how long it took."""
    line, _, redirected = typed.line.format(port=port).partition(" > ")
    began_s = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tlstax", *shlex.split(line)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(tlstax.__file__).parents[1]),
            "TLSTAX_DATA": str(folder / "data"),
            "TLSTAX_CACHE": str(cache_dir()),
            "TLSTAX_PASSWORD": PASSWORD,
            "TLSTAX_TURN": f"newcomer-{os.getpid()}",
            "COLUMNS": str(typed.columns),
            **typed.environment,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if typed.pipe and process.stdout is not None:
        process.stdout.close()
        process.stdout = None
    try:
        shown, said = process.communicate(timeout=typed.interrupted_after_s or WITHIN_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=WITHIN_S)
    if redirected:
        (folder / redirected).write_bytes(shown)
        shown = b""
    took_s = time.monotonic() - began_s
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode  # As shells say it.
    return status, (shown or b"").decode(errors="replace"), said.decode(errors="replace"), took_s


def columns_of(line: str) -> int:
    """How many columns of a terminal a line takes (UAX 11)."""
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
        for one in line
    )


def wrong_of(typed: Typed, folder: Path, status: int, shown: str, said: str) -> Iterator[str]:
    """What can be judged, and is not as it must be."""
    if status != typed.status:
        yield f"status {status} and not {typed.status}: {said.strip()[-200:]}"
    if typed.says not in " ".join((shown + said).split()):
        yield f"{typed.says!r} is not in it"
    of_users = typed.line.startswith(("completion", "study show"))
    if raw := RAW.search(said if of_users else shown + said):
        yield f"{raw[0]!r} is in it"
    for_pipes = ("completion", "study show", "runs export", "runs list", "specimens list")
    tables = not typed.line.startswith(for_pipes)
    broken = (line for line in shown.splitlines() if not WHOLE.fullmatch(line))
    widest = max(map(columns_of, broken), default=0)
    if tables and widest > typed.columns and "--json" not in typed.line:
        yield f"a line of {widest} columns, on a terminal of {typed.columns}"
    if typed.is_short and shown.count("\n") > MOST_LINES:
        yield f"{shown.count(chr(10))} lines, which are more than {MOST_LINES}"
    if status == 2 and not said.startswith("Usage: ") and said.count("tlstax: ") > 1:
        yield "more than one sentence for a mistake"
    if typed.file:
        file = folder / typed.file
        begins = file.read_bytes()[:400] if file.is_file() else b""
        if not begins.startswith(KINDS[file.suffix]):
            yield f"{typed.file} begins with {begins[:30]!r}"


@contextmanager
def external_server() -> Iterator[int]:
    """The port of a server with the schema `lent`, which `guest` may use and `reader` may read."""
    build = resolve.named_server("mysql-9.7", lambda _: None)
    with (
        sessions.open_session() as session,
        PrivateServer.start(build, session, ServerSettings(buffer_pool_bytes=64 * 1024 * 1024)) as server,
    ):
        with server.admin() as database:
            database.rows("CREATE DATABASE lent")
            for user, rights in (("guest", "ALL"), ("reader", "SELECT")):
                database.rows(f"CREATE USER {user}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
                database.rows(f"GRANT {rights} ON lent.* TO {user}@'127.0.0.1'")
        yield server.endpoint().port


def main(parts: list[str]) -> int:
    """Type all of it; the status."""
    # A shell that starts this in the background has Ctrl-C ignored, which what is started here would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    wrong: list[str] = []
    count = 0
    with tempfile.TemporaryDirectory() as place, external_server() as port:
        for part in parts or list(PARTS):
            print(f"== {part}", flush=True)  # noqa: T201
            for typed in PARTS[part]:
                status, shown, said, took_s = tlstax_says(typed, Path(place), port)
                found = list(wrong_of(typed, Path(place), status, shown, said))
                count += 1
                last = (said or shown).strip().splitlines()[-1:] or [""]
                lines = shown.count("\n")
                print(f"{status:3} {took_s:6.1f} s {lines:4} lines  {typed.line}", flush=True)  # noqa: T201
                print(f"      {last[0][:200]}", flush=True)  # noqa: T201
                wrong += [f"{typed.line} ({typed.columns} columns): {one}" for one in found]
    for one in wrong:
        print(f"WRONG  {one}")  # noqa: T201
    print(f"{count} commands, {len(wrong)} faults")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
