"""driver_instructions.py [DRIVER...]: the instructions of drivers' adapters beside the programs before them.

Valgrind's callgrind counts the instructions of user space exactly, whatever else the machine does. Of each
driver and case a short and a long stretch of work are counted, by its adapter (ordered as the host does,
without the host) and by the program that spoke the contract itself (both_ways.py). The difference of the two
stretches is the cost of operations alone: what starts, warms up and reports falls out.

What is printed of an operation is told apart. `own` is our program's part: its loop, and before the adapters
drawing, making statements and histograms. `driver` is all else. In C callgrind sees who calls the driver's
functions, and what of it is the C library's allocator: that depends on what else the process has freed. Of
PyMySQL and Connector/J the same program is counted with a stub in the driver's place that answers at once.

Of each process the thread that works is counted: what is done each second beside it would be charged to an
operation fifty times over, and more on a busy machine.

Python does without its search for garbage, which comes by chance and costs as much as ten operations, and
hashes texts alike in both programs. Java interprets all its bytecode and collects no garbage: what its
compiler makes of a program depends on when it looked. What is counted is then nearly the number of bytecodes,
and what is allocated is exact (the use of a heap from which threads set nothing aside).
Needs valgrind; for Java a JDK. (PYTHONPATH=lab)
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from both_ways import PAIRS, drivers_before, job_of

if TYPE_CHECKING:
    from tlstax.contract import Job

CALLGRIND = (
    *("valgrind", "--quiet", "--tool=callgrind", "--trace-children=yes", "--compress-strings=no"),
    *("--compress-pos=no", "--separate-threads=yes"),
)
WARM, STRETCHES = 200, (100, 500)
"""Operations until all is warm, and those of the short and the long stretch: by their number, since a busy
machine does few in a second, and Python's first hundred cost more."""

ALLOCATOR = re.compile(
    r"(_int_)?(malloc|free|realloc|calloc)|unlink_chunk|malloc_consolidate|sysmalloc|systrim"
)
"""Its functions in glibc, by how their names begin."""

SLICE_S = 2.0
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

STUB_OF_JAVA = """
package stub;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.*;

public final class Stub implements Driver, InvocationHandler {
    private static final Object OPEN = made(Connection.class);
    private static final Object SAID = made(PreparedStatement.class);
    private static final Object ROWS = made(ResultSet.class);
    private static final Object COLUMNS = made(ResultSetMetaData.class);
    private static final Object ABOUT = made(DatabaseMetaData.class);
    private static boolean hasRow;

    private static Object made(Class<?>... types) {
        return Proxy.newProxyInstance(Stub.class.getClassLoader(), types, new Stub());
    }

    static {
        try {
            DriverManager.registerDriver(new Stub());
        } catch (SQLException refused) {
            throw new AssertionError(refused);
        }
    }

    public Object invoke(Object self, Method method, Object[] given) {
        switch (method.getName()) {
            case "createStatement": case "prepareStatement": return SAID;
            case "executeQuery": hasRow = true; return ROWS;
            case "getMetaData": return self == ROWS ? COLUMNS : ABOUT;
            case "next": boolean had = hasRow; hasRow = false; return had;
            case "getColumnCount": return 1;
            case "getString": case "getDriverVersion": return "9.7.0";
            default: return method.getReturnType() == boolean.class ? (Object) false : null;
        }
    }

    public Connection connect(String url, java.util.Properties with) { return (Connection) OPEN; }
    public boolean acceptsURL(String url) { return true; }
    public DriverPropertyInfo[] getPropertyInfo(String url, java.util.Properties with) {
        return new DriverPropertyInfo[] {new DriverPropertyInfo("sslMode", "")};
    }
    public int getMajorVersion() { return 9; }
    public int getMinorVersion() { return 7; }
    public boolean jdbcCompliant() { return false; }
    public java.util.logging.Logger getParentLogger() { return null; }
}
"""
"""What answers in Connector/J's place: each call of JDBC's passes through one method."""

JAVA_OPTIONS = (
    *("-XX:CompileCommand=quiet", "-XX:CompileCommand=compileonly,none::none"),
    *("-XX:+UnlockExperimentalVMOptions", "-XX:+UseEpsilonGC", "-XX:-UseTLAB", "-Xlog:disable"),
)
"""Nothing is compiled (-Xint has no clock of compiling, which both programs read), collected or set aside."""


@dataclass(frozen=True)
class Cost:
    """Instructions of an operation: all, those of the driver where its calls can be seen, the allocator's.

    `heap_bytes` is what Java allocates for it, of which `own_bytes` without the driver; 0 elsewhere.
    """

    total: float
    driver: float | None = None
    allocator: float = 0.0
    heap_bytes: float = 0.0
    own_bytes: float = 0.0

    def without(self, own: Cost) -> Cost:
        """This with the driver's part of it: all that the same program does not cost without the driver."""
        return replace(self, driver=self.total - own.total, own_bytes=own.heap_bytes)


class Counted:
    """A program under callgrind, which writes a file each time that it is asked for the counts."""

    def __init__(self, folder: Path, pid: int) -> None:
        self._folder, self._pid, self._files = folder, pid, 0
        self._heap_bytes = 0

    def begin(self) -> None:
        """Count from now on."""
        self._heap_bytes = self._heap_used()
        self._counts()

    def counts(self) -> tuple[int, int, int, int]:
        """Since it began: instructions, those within calls of the driver, the allocator's, bytes of heap."""
        return *self._counts(), self._heap_used() - self._heap_bytes

    def _heap_used(self) -> int:
        """What Java has allocated: its heap is never freed."""
        if "JAVA_TOOL_OPTIONS" not in os.environ:
            return 0
        command = ["jcmd", str(self._pid), "GC.heap_info"]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        ((begin, top),) = re.findall(r"^ space .*\[(0x\w+), (0x\w+),", told, re.MULTILINE)
        return int(top, 16) - int(begin, 16)

    def _counts(self) -> tuple[int, int, int]:
        """Of the thread that worked, which did most."""
        subprocess.run(["vgdb", f"--pid={self._pid}", "dump"], check=True, capture_output=True)
        self._files += 1
        while not (threads := self._threads()):
            time.sleep(0.05)
        instructions, text = max(threads)
        return instructions, _within_driver(text), _allocator(text)

    def _threads(self) -> list[tuple[int, str]]:
        """What each thread did, in all and by functions; none while it is being written."""
        texts = [_read(file) for file in self._folder.glob(f"out.{self._pid}.{self._files}-*")]
        totals = [re.findall(r"^totals: (\d+)", text, re.MULTILINE) for text in texts]
        return (
            [(int(total[0]), text) for total, text in zip(totals, texts, strict=True)] if all(totals) else []
        )


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
def adapter(
    command: Sequence[str], name: str, job: Job, folder: Path
) -> Iterator[tuple[Callable[..., Any], int]]:
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
        terms = {**_terms(name, job), "channels": [[orders[0], answers[1]]]}
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


def _terms(driver: str, job: Job) -> dict[str, Any]:
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
        "name": driver,
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


def _stock(job: Job, operations: int) -> bytes:
    """Operations as the host hands them over: ids, or the statements with them."""
    statement = job.workload.statements[0]
    prepared = (statement.protocol or job.workload.protocol) == "prepared"
    drawn = random.Random(1)  # noqa: S311 (no secret)
    ids = [str(drawn.randint(1, 10_000)) for _ in range(operations)]
    texts = ids if prepared else [statement.sql.replace("{id}", each) for each in ids]
    return "\x1e".join(texts).encode()


def of_adapter(command: Sequence[str], driver: str, job: Job) -> Cost:
    """An operation by the adapter: its orders to work, and nothing between them."""
    with tempfile.TemporaryDirectory() as name, adapter(command, driver, job, Path(name)) as (order, pid):
        counted, seen = Counted(Path(name), pid), []
        order("open")
        if job.workload.reconnect:
            order("close")
        for operations in (WARM, *STRETCHES):
            body = _stock(job, operations)
            order(f"operations {operations} {len(body)}", body)
            counted.begin()
            done = order(f"work {time.monotonic_ns() + int(WITHIN_COUNTED_S * 1e9)}")
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
            rate_per_s, warmed = 0.0, 0
            while warmed < WARM:
                rate_per_s = client.slice(SLICE_S, WITHIN_COUNTED_S).operations / SLICE_S
                warmed += int(rate_per_s * SLICE_S)
            for operations in STRETCHES:
                counted.begin()
                done = client.slice(operations / max(rate_per_s, 1 / SLICE_S), WITHIN_COUNTED_S)
                seen.append((done.operations, *counted.counts()))
    return _cost(*seen)


def _cost(short: Sequence[int], long: Sequence[int]) -> Cost:
    operations, *more = (after - before for before, after in zip(short, long, strict=True))
    total, driver, allocator, heap_bytes = (each / operations for each in more)
    return Cost(total, driver or None, allocator, heap_bytes)


def _copied(command: Sequence[str], folder: Path) -> list[str]:
    """The same program in a place where it can be changed."""
    tree = folder / "tree"
    shutil.copytree(Path(command[-1]).parent, tree, symlinks=True)
    return [*command[:-1], str(tree / "run")]


class OfPython:
    """A program of Python: without the search for garbage, and with a stub in PyMySQL's place."""

    environment = {"PYTHONHASHSEED": "0"}

    @staticmethod
    def prepare(tree: Path) -> None:
        """Search for no garbage."""
        main_file = tree / "program" / "__main__.py"
        first = "from __future__ import annotations\n"
        main_file.write_text(main_file.read_text().replace(first, f"{first}import gc; gc.disable()\n", 1))

    @staticmethod
    def put_stub(tree: Path) -> None:
        """Put the stub in PyMySQL's place."""
        shutil.rmtree(tree / "site" / "pymysql")
        constants = tree / "site" / "pymysql" / "constants"
        constants.mkdir(parents=True)
        (constants.parent / "__init__.py").write_text(STUB)
        (constants / "__init__.py").write_text("")
        (constants.parent / "err.py").write_text("from pymysql import *\n")
        for module in ("ER", "CR"):
            (constants / f"{module}.py").write_text(
                "HANDSHAKE_ERROR = 1043\ndef __getattr__(name): return 0\n"
            )


class OfJava:
    """A program of Java: with room for all that it ever allocates, and with a stub in Connector/J's place."""

    environment = {"JAVA_TOOL_OPTIONS": " ".join(JAVA_OPTIONS)}

    @staticmethod
    def prepare(tree: Path) -> None:
        """Give it room."""
        run = tree / "run"
        text = run.read_text()
        assert "-Xmx512m" in text
        run.write_text(text.replace("-Xmx512m", "-Xmx4g"))

    @staticmethod
    def put_stub(tree: Path) -> None:
        """Put the stub in the driver's place, as a service of JDBC's."""
        (driver,) = (tree / "jars").glob("mysql-connector-j-*.jar")
        driver.unlink()
        source = tree / "Stub.java"
        source.write_text(STUB_OF_JAVA)
        subprocess.run(["javac", "-d", tree / "classes", source], check=True)
        services = tree / "classes" / "META-INF" / "services"
        services.mkdir(parents=True)
        (services / "java.sql.Driver").write_text("stub.Stub\n")


STUBBED: dict[str, type[OfPython | OfJava]] = {"pymysql-1.1": OfPython, "connector-j-9.7": OfJava}
"""Of which drivers the own part is seen by a stub, and how."""


def main(names: Sequence[str]) -> int:
    """Print the two costs of each case, and how they are to each other."""
    from tlstax.clients.choice import obtain_client  # noqa: PLC0415
    from tlstax.run.bench import Needs, Wanted, open_private_bench  # noqa: PLC0415

    needs = Needs(rows=10_000, connections=1, seed=1, duration_s=60.0)
    # Who logs in under callgrind takes longer than the ten seconds that a server waits.
    wanted = Wanted(options=(f"--connect-timeout={WITHIN_COUNTED_S:.0f}",))
    with open_private_bench(needs, lambda _: None, wanted) as bench:
        for name in names:
            today, before = (
                [obtain_client(each, lambda _: None).command[-1]] for each in (name, PAIRS[name][0])
            )
            for workload, protocol, tls in CASES:
                levels = {"tls": tls, "workload": workload, "protocol": protocol, "connections": "1"}
                job = _soon_ready(job_of(bench, name, levels, 300))
                if name in STUBBED:
                    in_clear = _soon_ready(job_of(bench, name, {**levels, "tls": "off"}, 300))
                    costs = _with_stubs(name, today, before, job, in_clear)
                else:
                    costs = of_adapter(today, name, job), of_program_before(before, job)
                _tell(f"{name} {workload} {tls} {protocol}", *costs)
    return 0


def _soon_ready(job: Job) -> Job:
    """The job with hardly a warm-up: what is counted does not get faster."""
    assert job.driver is not None
    return job.model_copy(update={"driver": job.driver.model_copy(update={"steady_within_s": 0.5})})


def _with_stubs(
    name: str, today: Sequence[str], before: Sequence[str], job: Job, in_clear: Job
) -> tuple[Cost, Cost]:
    """Both costs of a driver: counted with the driver, and with the stub, which knows no TLS."""
    language = STUBBED[name]
    os.environ |= language.environment
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        commands = _copied(today, Path(folder)), _copied(before, Path(other))
        for command in commands:
            language.prepare(Path(command[-1]).parent)
        whole = of_adapter(commands[0], name, job), of_program_before(commands[1], job)
        for command in commands:
            language.put_stub(Path(command[-1]).parent)
        own = of_adapter(commands[0], name, in_clear), of_program_before(commands[1], in_clear)
    for variable in language.environment:
        del os.environ[variable]
    return whole[0].without(own[0]), whole[1].without(own[1])


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
    if today.heap_bytes:
        driver, driver_before = (each.heap_bytes - each.own_bytes for each in (today, before))
        sys.stdout.write(
            f"; allocated {today.heap_bytes:,.0f} beside {before.heap_bytes:,.0f} bytes, own "
            f"{today.own_bytes:,.0f} beside {before.own_bytes:,.0f}, driver {driver:,.0f} beside "
            f"{driver_before:,.0f} ({driver / driver_before:.4f})"
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
    sys.exit(main(sys.argv[1:] or ["libmariadb-3.3", "pymysql-1.1", "connector-j-9.7"]))
