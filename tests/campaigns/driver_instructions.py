"""driver_instructions.py [DRIVER...]: the instructions of drivers' adapters beside the programs before them.

Valgrind's callgrind counts the instructions of user space exactly, whatever else the machine does. Of each
driver and case a short and a long stretch of work are counted, by its adapter (ordered as the host does,
without the host) and by the program that spoke the contract itself (both_ways.py). The difference of the two
stretches is the cost of operations alone: what starts, warms up and reports falls out.

What is printed of an operation is told apart. `own` is our program's part: its loop, and before the adapters
drawing, making statements and histograms. `driver` is all else. In C callgrind sees who calls the driver's
functions, and what of it is the C library's allocator: that depends on what else the process has freed. Of
PyMySQL the same program is counted with a stub in the driver's place that answers at once; both without
Python's search for garbage, which comes by chance and costs as much as ten operations.
Needs valgrind. (PYTHONPATH=lab)
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from both_ways import PAIRS, drivers_before, job_of

if TYPE_CHECKING:
    from tlstax.contract import Job

CALLGRIND = (
    *("valgrind", "--quiet", "--tool=callgrind", "--trace-children=yes", "--compress-strings=no"),
    "--compress-pos=no",
)
STRETCHES_S = (2.0, 2.0, 10.0)
"""How long is worked: until all is warm, then the short and the long stretch."""

STOCK = 50_000
"""Operations that an adapter is handed beforehand: more than it comes to."""

ALLOCATOR = re.compile(
    r"(_int_)?(malloc|free|realloc|calloc)|unlink_chunk|malloc_consolidate|sysmalloc|systrim"
)
"""Its functions in glibc, by how their names begin."""

WITHIN_COUNTED_S = 600.0
"""What is counted is fifty times as slow."""

CASES = tuple(
    (workload, protocol, tls)
    for workload, protocol in (("point-select", "text"), ("point-select", "prepared"), ("reconnect", "text"))
    for tls in ("off", "1.3")
)

STUB = """
VERSION_STRING = "stub"
class OperationalError(Exception): pass
class MySQLError(Exception): pass
class Error(MySQLError): pass
ANSWERS = {"SELECT V": (("9.7.4",),), "SELECT @": ((1,),), "SHOW SES": ()}
class Cursor:
    description = ((),)
    rows = (("row",),)
    def execute(self, sql, values=None): self.rows = ANSWERS.get(sql[:8], Cursor.rows)
    def fetchall(self): return self.rows
class Connection:
    _sock = None
    def cursor(self): return Cursor()
    def close(self): pass
def connect(**settings): return Connection()
"""
"""What answers in PyMySQL's place."""


@dataclass(frozen=True)
class Cost:
    """Instructions of an operation: all, those of the driver where its calls can be seen, the allocator's."""

    total: float
    driver: float | None = None
    allocator: float = 0.0


class Counted:
    """A program under callgrind, which writes a file each time that it is asked for the counts."""

    def __init__(self, folder: Path, pid: int) -> None:
        self._folder, self._pid, self._files = folder, pid, 0

    def counts(self) -> tuple[int, int, int]:
        """Instructions since the last time, those within calls of the driver, the allocator's."""
        subprocess.run(["vgdb", f"--pid={self._pid}", "dump"], check=True, capture_output=True)
        self._files += 1
        file = self._folder / f"out.{self._pid}.{self._files}"
        while not (totals := re.findall(r"^totals: (\d+)", text := _read(file), re.MULTILINE)):
            time.sleep(0.05)
        return int(totals[0]), _within_driver(text), _allocator(text)


def _read(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


def _within_driver(text: str) -> int:
    """The inclusive cost of calls of mysql_…() by the program "driver" (callgrind's format)."""
    total, own, callee = 0, "", ""
    lines = iter(text.splitlines())
    for line in lines:
        key, _, value = line.partition("=")
        if key == "ob":
            own = value
        elif key == "cfn":
            callee = value
        elif key == "calls":
            cost = int(next(lines).split()[-1])
            if own.endswith("/driver") and callee.startswith("mysql_"):
                total += cost
    return total


def _allocator(text: str) -> int:
    """What the functions of the C library's allocator cost by themselves (callgrind's format)."""
    total, function, is_call = 0, "", False
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key == "fn":
            function = value
        elif key == "calls":
            is_call = True
        elif line[:1].isdigit():
            total += 0 if is_call or not ALLOCATOR.match(function) else int(line.split()[-1])
            is_call = False
    return total


@contextmanager
def adapter(command: Sequence[str], job: Job, folder: Path) -> Iterator[tuple[Callable[..., Any], int]]:
    """An adapter started with the job's terms: what orders it and gives its answer, and its process."""
    orders, answers = os.pipe(), os.pipe()
    wrapped = [*CALLGRIND, f"--callgrind-out-file={folder}/out.%p", *command]
    with subprocess.Popen(
        wrapped, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(orders[0], answers[1])
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        os.close(orders[0])
        os.close(answers[1])
        terms = {**_terms(job), "channels": [[orders[0], answers[1]]]}
        process.stdin.write(json.dumps(terms).encode() + b"\n")
        process.stdin.flush()
        said = json.loads(process.stdout.readline())
        assert "takes" in said, said
        with os.fdopen(orders[1], "wb") as out, os.fdopen(answers[0], "rb") as back:
            yield lambda order, body=b"": _answer(out, back, order, body), process.pid
        process.stdin.close()


def _answer(out: IO[bytes], back: IO[bytes], order: str, body: bytes) -> dict[str, Any]:
    out.write(f"{order}\n".encode() + body)
    out.flush()
    answer: dict[str, Any] = json.loads(back.readline())
    assert "failure" not in answer, answer
    back.read(answer.get("bytes", 0))
    return answer


def _terms(job: Job) -> dict[str, Any]:
    """What the host tells an adapter of the job (drivers/ADAPTERS.md)."""
    whole = job.model_dump(mode="json")
    (statement,) = whole["workload"]["statements"]
    prepared = (statement["protocol"] or whole["workload"]["protocol"]) == "prepared"
    fields = (
        "min_version",
        "max_version",
        "verify",
        "ca_file",
        "server_name",
        "certificate_file",
        "key_file",
    )
    tls = {name: whole["tls"].get(name) for name in ("mode", "trusted_ca_file", *fields)}
    return {
        "name": "pymysql-1.1",
        "endpoint": whole["endpoint"],
        "account": {name: whole["account"][name] for name in ("user", "password", "database")},
        "tls": tls | {"versions": [tls["min_version"]] if tls["min_version"] else []},
        "options": {},
        "on_connect": [],
        "reconnect": whole["workload"]["reconnect"],
        "calls": [
            {"pieces": statement["sql"].split("{id}"), "types": "i", "prepared": prepared, "reads": True}
        ],
        "batch": 1,
    }


def _stock(job: Job) -> bytes:
    """Operations as the host hands them over: ids, or the statements with them."""
    statement = job.workload.statements[0]
    prepared = (statement.protocol or job.workload.protocol) == "prepared"
    drawn = random.Random(1)  # noqa: S311 (no secret)
    ids = [str(drawn.randint(1, 10_000)) for _ in range(STOCK)]
    texts = ids if prepared else [statement.sql.replace("{id}", each) for each in ids]
    return "\x1e".join(texts).encode()


def of_adapter(command: Sequence[str], job: Job) -> Cost:
    """An operation by the adapter: its orders to work, and nothing between them."""
    with tempfile.TemporaryDirectory() as name, adapter(command, job, Path(name)) as (order, pid):
        counted, seen = Counted(Path(name), pid), []
        order("open")
        if job.workload.reconnect:
            order("close")
        body = _stock(job)
        order(f"operations {STOCK} {len(body)}", body)
        for length_s in STRETCHES_S:
            counted.counts()
            done = order(f"work {time.monotonic_ns() + int(length_s * 1e9)}")
            seen.append((done["operations"], *counted.counts()))
            order("report")
    return _cost(*seen[1:])


def of_program_before(command: Sequence[str], job: Job) -> Cost:
    """An operation by the program that speaks the contract: from `go` to the end of a slice."""
    from tlstax.clients.process import LoadClient  # noqa: PLC0415 - the catalogue reads a variable at import

    with tempfile.TemporaryDirectory() as folder:
        wrapped = [*CALLGRIND, f"--callgrind-out-file={folder}/out.%p", *command]
        with LoadClient(wrapped, job) as client:
            counted, seen = Counted(Path(folder), client.wait_ready(WITHIN_COUNTED_S).pid), []
            for length_s in STRETCHES_S:
                counted.counts()
                done = client.slice(length_s, WITHIN_COUNTED_S)
                seen.append((done.operations, *counted.counts()))
    return _cost(*seen[1:])


def _cost(short: Sequence[int], long: Sequence[int]) -> Cost:
    operations, total, driver, allocator = (after - before for before, after in zip(short, long, strict=True))
    return Cost(total / operations, driver / operations or None, allocator / operations)


def _without_search(command: Sequence[str], folder: Path) -> list[str]:
    """The same program of Python, which searches for no garbage."""
    tree = folder / "tree"
    shutil.copytree(Path(command[-1]).parent, tree, symlinks=True)
    main_file = tree / "program" / "__main__.py"
    first = "from __future__ import annotations\n"
    main_file.write_text(main_file.read_text().replace(first, f"{first}import gc; gc.disable()\n", 1))
    return [*command[:-1], str(tree / "run")]


def _with_stub(command: Sequence[str]) -> None:
    """Put the stub in PyMySQL's place."""
    tree = Path(command[-1]).parent
    shutil.rmtree(tree / "site" / "pymysql")
    constants = tree / "site" / "pymysql" / "constants"
    constants.mkdir(parents=True)
    (constants.parent / "__init__.py").write_text(STUB)
    (constants / "__init__.py").write_text("")
    (constants.parent / "err.py").write_text("from pymysql import *\n")
    for module in ("ER", "CR"):
        (constants / f"{module}.py").write_text("HANDSHAKE_ERROR = 1043\ndef __getattr__(name): return 0\n")


def main(names: Sequence[str]) -> int:
    """Print the two costs of each case, and how they are to each other."""
    from tlstax.clients.choice import obtain_client  # noqa: PLC0415
    from tlstax.run.bench import Needs, open_private_bench  # noqa: PLC0415

    needs = Needs(rows=10_000, connections=1, seed=1, duration_s=60.0)
    with open_private_bench(needs, lambda _: None) as bench:
        for name in names:
            today, before = (
                [obtain_client(each, lambda _: None).command[-1]] for each in (name, PAIRS[name][0])
            )
            for workload, protocol, tls in CASES:
                levels = {"tls": tls, "workload": workload, "protocol": protocol, "connections": "1"}
                job = _soon_ready(job_of(bench, name, levels, 300))
                if name.startswith("pymysql"):
                    costs = _of_python(
                        today, before, job, _soon_ready(job_of(bench, name, {**levels, "tls": "off"}, 300))
                    )
                else:
                    costs = of_adapter(today, job), of_program_before(before, job)
                _tell(f"{name} {workload} {tls} {protocol}", *costs)
    return 0


def _soon_ready(job: Job) -> Job:
    """The job with hardly a warm-up: what is counted does not get faster."""
    assert job.driver is not None
    return job.model_copy(update={"driver": job.driver.model_copy(update={"steady_within_s": 0.5})})


def _of_python(today: Sequence[str], before: Sequence[str], job: Job, in_clear: Job) -> tuple[Cost, Cost]:
    """Both costs of a driver in Python: with the driver, and with the stub, which knows no TLS."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        commands = _without_search(today, Path(folder)), _without_search(before, Path(other))
        whole = of_adapter(commands[0], job), of_program_before(commands[1], job)
        for command in commands:
            _with_stub(command)
        own = of_adapter(commands[0], in_clear), of_program_before(commands[1], in_clear)
    first, second = (Cost(a.total, a.total - b.total) for a, b in zip(whole, own, strict=True))
    return first, second


def _tell(case: str, today: Cost, before: Cost) -> None:
    assert today.driver is not None
    assert before.driver is not None
    own, own_before = today.total - today.driver, before.total - before.driver
    sys.stdout.write(
        f"{case}: {today.total:,.0f} beside {before.total:,.0f} instructions an operation "
        f"({today.total / before.total:.4f}); own {own:,.0f} beside {own_before:,.0f}; "
        f"driver {today.driver:,.0f} beside {before.driver:,.0f} ({today.driver / before.driver:.4f})"
    )
    if today.allocator:
        rest, rest_before = today.driver - today.allocator, before.driver - before.allocator
        sys.stdout.write(
            f", without its allocator {rest:,.0f} beside {rest_before:,.0f} ({rest / rest_before:.4f})"
        )
    sys.stdout.write("\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if "TLSTAX_DRIVERS" not in os.environ:
        with tempfile.TemporaryDirectory(prefix="tlstax-before") as place:
            drivers_before(Path(place))
            again = subprocess.run(
                [sys.executable, *sys.argv], env={**os.environ, "TLSTAX_DRIVERS": place}, check=False
            )
        sys.exit(again.returncode)
    sys.exit(main(sys.argv[1:] or ["libmariadb-3.3", "pymysql-1.1"]))
