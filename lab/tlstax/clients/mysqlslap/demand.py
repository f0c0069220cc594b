"""From a job to mysqlslap's options and its files of statements, and what mysqlslap cannot do."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from tlstax.clients.adapter import Refusal, refuse, tls_lacking
from tlstax.contract import (
    Digits,
    Job,
    Offset,
    OneOf,
    Parameter,
    Sequence,
    Statement,
    TlsOn,
    Transaction,
    UnixEndpoint,
    Workload,
)
from tlstax.study.workloads import draws_once, sequences_of

VERSIONS = {"1.2": "TLSv1.2", "1.3": "TLSv1.3"}
"""Levels of the contract that --tls-version takes, in its words."""

_MODES = {"none": "REQUIRED", "ca": "VERIFY_CA", "identity": "VERIFY_IDENTITY"}


def check(job: Job) -> None:
    """Refusal, in one sentence, where the job asks for what mysqlslap cannot do."""
    refuse([*_limits(job), *(_tls_limits(job.tls) if isinstance(job.tls, TlsOn) else ())])


def _limits(job: Job) -> list[tuple[bool, str]]:
    workload = job.workload
    once = draws_once(workload)
    return [
        (job.schedule.mode != "closed", "mysqlslap cannot be given a rate, and the job wants one"),
        (workload.storm, "mysqlslap opens no storm of connections, and the job wants one"),
        (
            "prepared" in workload.protocols,
            "mysqlslap sends statements only as text, and the job wants them prepared",
        ),
        (
            workload.reconnect,
            "mysqlslap cannot prove each of the connections that it would make for one operation each",
        ),
        (
            once and job.connections > 1,
            "mysqlslap gives all its connections the same statements, and the job wants each value used once",
        ),
        (
            once and job.rounds > 1 and not job.reset and not only_adds(workload),
            "mysqlslap sends the same statements in every round, and nothing puts the data back before each",
        ),
        (job.account.database is None, "mysqlslap needs a schema to work in, and the job names none"),
    ]


def _tls_limits(tls: TlsOn) -> list[tuple[bool, str]]:
    return [
        *tls_lacking("mysqlslap", tls),
        (not _versions(tls), "mysqlslap speaks only TLS 1.2 and 1.3, and the job wants another version"),
        (
            tls.verify != "none" and tls.ca_file is None,
            "mysqlslap needs an authority to verify with, and the job names none (tls.ca_file)",
        ),
    ]


def _versions(tls: TlsOn) -> list[str]:
    lowest, highest = tls.min_version or "1.0", tls.max_version or "1.3"
    return [name for version, name in VERSIONS.items() if lowest <= version <= highest]


def arguments(job: Job, *, queries: int, rounds: int) -> list[str]:
    """The options that follow from the job, as people type them; the password is elsewhere.

    `queries` is how many each of the job's connections says in a round.
    """
    return [
        *where(job),
        f"--create-schema={job.account.database}",
        "--no-drop",
        f"--concurrency={job.connections}",
        f"--iterations={rounds}",
        f"--number-of-queries={queries * job.connections}",
        *(tls_options(job.tls) if isinstance(job.tls, TlsOn) else ["--ssl-mode=DISABLED"]),
    ]


def where(job: Job) -> list[str]:
    """Where its server is. Without --protocol, `localhost` would mean a socket."""
    endpoint = job.endpoint
    if isinstance(endpoint, UnixEndpoint):
        return ["--protocol=socket", f"--socket={endpoint.path}"]
    return ["--protocol=tcp", f"--host={endpoint.host}", f"--port={endpoint.port}"]


def tls_options(tls: TlsOn) -> list[str]:
    """How it encrypts, in the words of MySQL's clients."""
    versions = _versions(tls) if tls.min_version or tls.max_version else []
    settings = {
        "ssl-ca": tls.ca_file,
        "ssl-cert": tls.certificate_file,
        "ssl-key": tls.key_file,
        "ssl-cipher": tls.cipher_list,
        "tls-ciphersuites": tls.ciphersuites,
        "tls-version": ",".join(versions) or None,
    }
    options = [f"--{name}={value}" for name, value in settings.items() if value is not None]
    return [f"--ssl-mode={_MODES[tls.verify]}", *options]


def option_file(job: Job) -> str:
    """The account as an option file; Refusal where its syntax cannot express the password.

    In quotes, a backslash before a quote or a backslash leaves it as it is (reference manual, "Using Option
    Files").
    """
    account = job.account
    if re.search(r"[\0\r\n]", account.password + account.user):
        raise Refusal("mysqlslap accepts no password of several lines")
    quoted = (re.sub(r"([\\\"'])", r"\\\1", text) for text in (account.user, account.password))
    return '[client]\nuser="{}"\npassword="{}"\n'.format(*quoted)


def reset_statements(job: Job) -> tuple[str, ...]:
    """What the main connection runs before each round; it has chosen no schema until then."""
    if job.rounds == 1 or not job.reset:
        return ()
    if any("\n" in text for text in job.reset):
        raise Refusal("mysqlslap takes the end of a line for the end of a statement")
    return (f"USE `{job.account.database}`", *job.reset)


DELIMITER = "\n"
"""What ends a statement of a query file (mysqlslap's --delimiter, where none is given)."""

_PLACE = re.compile(r"\{\{|\{(\w+)\}")

Values = Mapping[str, int | str]


class UsedUp(Exception):
    """A sequence has no further value."""


class Written:
    """Draws operations one after another; all sequences go on where the last operation left them."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self._workload = workload
        self._transactions = workload.transactions
        self._weights = [transaction.weight for transaction in self._transactions]
        self._random = Random(seed)  # noqa: S311 (statements, not secrets)
        self._next: dict[int, int] = {}

    def operation(self) -> list[str]:
        """The statements of one operation. UsedUp when a sequence has ended."""
        (transaction,) = self._random.choices(self._transactions, self._weights)
        return list(self._statements(transaction))

    def operations(self, most: int) -> list[list[str]]:
        """That many operations, or fewer where a sequence ends."""
        drawn: list[list[str]] = []
        try:
            while len(drawn) < most:
                drawn.append(self.operation())
        except UsedUp:
            pass
        return drawn

    def left(self) -> float:
        """How many values the sequence that ends first still has; infinite without one."""
        left = (one.last - self._next.get(id(one), one.first) + 1 for one in sequences_of(self._workload))
        return min(left, default=math.inf)

    def _statements(self, transaction: Transaction) -> Iterator[str]:
        shared = self._drawn(transaction.parameters, {})
        if transaction.bracketed:
            yield "BEGIN"
        for statement in transaction.statements:
            for _ in range(statement.repeat):
                yield self._text(statement, shared)
        if transaction.bracketed:
            yield "COMMIT"

    def _text(self, statement: Statement, shared: Values) -> str:
        values = {**shared, **self._drawn(statement.parameters, shared)}
        text = _PLACE.sub(lambda place: _put(values, place[1]), statement.sql)
        if DELIMITER in text:
            raise Refusal("mysqlslap takes the end of a line for the end of a statement")
        return text

    def _drawn(self, parameters: Mapping[str, Parameter], known: Values) -> dict[str, int | str]:
        values = {
            name: self._value(parameter)
            for name, parameter in parameters.items()
            if not isinstance(parameter, Offset)
        }
        for name, parameter in parameters.items():
            if isinstance(parameter, Offset):
                values[name] = int({**known, **values}[parameter.of]) + parameter.by
        return values

    def _value(self, parameter: Parameter) -> int | str:
        match parameter:
            case Sequence():
                value = self._next.get(id(parameter), parameter.first)
                if value > parameter.last:
                    raise UsedUp
                self._next[id(parameter)] = value + 1
                return value
            case Digits():
                return re.sub("#", lambda _: str(self._random.randrange(10)), parameter.template)
            case OneOf():
                return self._random.choice(parameter.values)
            case Offset():
                raise AssertionError("an offset is worked out from the value that it is of")
            case _:
                return self._random.randint(parameter.low, parameter.high)


def only_reads(workload: Workload) -> bool:
    """Whether every statement is a SELECT, so that running one more often changes nothing."""
    return _all_are("SELECT", workload)


def only_adds(workload: Workload) -> bool:
    """Whether every statement is an INSERT: run again, it adds again, or the server refuses the key."""
    return _all_are("INSERT", workload)


def _all_are(verb: str, workload: Workload) -> bool:
    return all(one.sql.lstrip().upper().startswith(verb) for one in workload.all_statements)


def _put(values: Values, name: str | None) -> str:
    """What stands in the place of `{name}`, or of `{{`."""
    if name is None:
        return "{"
    if name not in values:
        raise Refusal(f"a statement of the job has a place for no parameter {name!r}")
    return _literal(values[name])


def _literal(value: int | str) -> str:
    """The value as MySQL reads it in a statement (reference manual, "String Literals")."""
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


MOST_LINES = 200_000
"""A longer file would only cost memory; a connection that comes to its end begins again."""


@dataclass(frozen=True)
class QueryFile:
    """What every connection sends, how many `queries` of it, and how many `operations` those are.

    A connection that has come to the file's end begins it again, with the statements of `on_connect`.
    """

    statements: tuple[str, ...]
    queries: int
    operations: int


def query_file(written: Written, operations: int, on_connect: tuple[str, ...]) -> QueryFile:
    """The file with about as many operations as wanted, fewer where a sequence ends before.

    Refusal where none is left, or where a statement has more than one line.
    """
    if any(DELIMITER in text for text in on_connect):
        raise Refusal("mysqlslap takes the end of a line for the end of a statement")
    lines = list(on_connect)
    drawn = 0
    while drawn < operations and len(lines) < MOST_LINES:
        more = written.operations(1)
        if not more:
            break
        lines += more[0]
        drawn += 1
    if not drawn:
        raise Refusal("every value of the workload's sequence was used up before the window")
    times = max(1, operations // drawn) if len(lines) >= MOST_LINES else 1
    return QueryFile(statements=tuple(lines), queries=times * len(lines), operations=times * drawn)
