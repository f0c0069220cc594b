"""The job as it is read from one line of JSON, checked at the door."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from typing import Any

from driver_contract.failure import bad_job
from driver_contract.fields import Fields
from driver_contract.statements import Statement, statement_of

SCHEMA = 2
UNTOLD = ("cipher_list", "ciphersuites", "groups", "resumption", "library", "weak_dh", "keylog_file")
"""Fields of TLS that no Python driver has a word for."""

VERSIONS = ("1.0", "1.1", "1.2", "1.3")


@dataclass(frozen=True)
class Tls:
    """What is to be said of TLS: mode `unset`, `required`, `off` or `on`, and for `on` how."""

    mode: str
    trusted_ca_file: str | None = None
    min_version: str | None = None
    max_version: str | None = None
    verify: str = "none"
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None

    @property
    def wanted(self) -> bool:
        """Whether a connection in the clear is none that the job asks for."""
        return self.mode in {"on", "required"}

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions to keep to, lowest first; none where the job leaves it to the driver."""
        if self.min_version is None and self.max_version is None:
            return ()
        low = VERSIONS.index(self.min_version or VERSIONS[0])
        high = VERSIONS.index(self.max_version or VERSIONS[-1])
        return VERSIONS[low : high + 1]


@dataclass(frozen=True)
class Job:
    """All that the driver is told."""

    host: str | None
    port: int
    socket_path: str | None
    user: str
    password: str
    database: str | None
    tls: Tls
    reconnect: bool
    statements: tuple[Statement, ...]
    on_connect: tuple[str, ...]
    connections: int
    cpus: tuple[int, ...]
    warmup_s: float
    duration_s: float
    operations: int | None
    timeout_s: float
    seed: int
    row_samples: int
    options: dict[str, Any]
    steady_within_s: float
    batch: int

    @property
    def changes_data(self) -> bool:
        """Whether a statement is not a SELECT: its work lasts only when it is committed."""
        return not all(statement.is_select for statement in self.statements)


def job_of(line: str) -> Job:
    """The job in this line. Raises Failure (bad_job) with what is wrong with it."""
    try:
        document = json.loads(line)
    except ValueError as error:
        raise bad_job(f"the job is not JSON ({error})") from None
    fields = Fields(document, "job")
    schema = fields.take("schema", int)
    if schema != SCHEMA:
        raise bad_job(f"the job is of version {schema} of the contract, and this client knows {SCHEMA}")
    endpoint = _endpoint(Fields(fields.take("endpoint", dict), "endpoint"))
    account = Fields(fields.take("account", dict), "account")
    user = account.take("user", str)
    password = account.take("password", str)
    database = account.maybe("database", str)
    account.end()
    driver = Fields(fields.take("driver", dict, {}), "driver")
    work = Fields(fields.take("workload", dict), "workload")
    _refuse_what_is_another_clients(fields, work)
    protocol = work.take("protocol", str, "text")
    job = Job(
        host=endpoint[0],
        port=endpoint[1],
        socket_path=endpoint[2],
        user=user,
        password=password,
        database=database,
        tls=_tls(Fields(fields.take("tls", dict), "tls"), endpoint[0]),
        reconnect=work.take("reconnect", bool, False),
        statements=tuple(statement_of(each, protocol) for each in work.take("statements", list)),
        on_connect=tuple(work.take("on_connect", list, [])),
        connections=fields.take("connections", int),
        cpus=tuple(fields.take("cpus", list, [])),
        warmup_s=fields.take("warmup_s", float, 0.1),
        duration_s=fields.take("duration_s", float),
        operations=fields.maybe("operations", int),
        timeout_s=fields.take("timeout_s", float, 10.0),
        seed=fields.take("seed", int),
        row_samples=fields.take("row_samples", int, 16),
        options={name: option_of(word) for name, word in driver.take("options", dict, {}).items()},
        steady_within_s=driver.take("steady_within_s", float, 0.0),
        batch=driver.take("batch", int, 1),
    )
    for each in (driver, work, fields):
        each.end()
    if job.batch > 1 and (job.reconnect or len(job.statements) > 1 or job.statements[0].repeat > 1):
        raise bad_job("a batch is of one statement, run once in an operation, on a kept connection")
    return job


def option_of(word: str) -> Any:
    """An option's value: what reads as JSON or as a Python literal is that, anything else is text."""
    try:
        return json.loads(word)
    except ValueError:
        pass
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word


def _refuse_what_is_another_clients(fields: Fields, work: Fields) -> None:
    """What only the engine does is a bad job here, unless it is left at what means nothing."""
    schedule = fields.take("schedule", dict, {"mode": "closed"})
    if schedule != {"mode": "closed"}:
        raise bad_job("a driver works in a closed loop only")
    work.refuse("mix", "a driver runs statements, not a mix of transactions")
    work.refuse("storm", "a driver runs statements, not a storm")
    fields.refuse("reset", "a driver does all operations in one go and puts no data back")
    for ignored in ("rounds", "threads", "source_addresses", "attributes"):
        fields.ignore(ignored)


def _endpoint(fields: Fields) -> tuple[str | None, int, str | None]:
    """Host, port and path of a Unix socket, of which one kind is None."""
    kind = fields.take("kind", str)
    if kind == "tcp":
        found: tuple[str | None, int, str | None] = fields.take("host", str), fields.take("port", int), None
    elif kind == "unix":
        found = None, 3306, fields.take("path", str)
    else:
        raise bad_job(f"endpoint.kind is neither tcp nor unix: {kind}")
    fields.end()
    return found


def _tls(fields: Fields, host: str | None) -> Tls:
    mode = fields.take("mode", str)
    if mode == "off":
        found = Tls("off")
    elif mode in {"unset", "required"}:
        found = Tls(mode, trusted_ca_file=fields.maybe("trusted_ca_file", str))
    elif mode == "on":
        for name in (
            "cipher_list",
            "ciphersuites",
            "groups",
            "resumption",
            "library",
            "weak_dh",
            "keylog_file",
        ):
            fields.refuse(name, "this driver cannot be told")
        server_name = fields.maybe("server_name", str)
        if server_name is not None and server_name != host:
            raise bad_job(
                "tls.server_name: this driver compares the certificate with the host it connects to"
            )
        found = Tls(
            "on",
            min_version=_version(fields, "min_version"),
            max_version=_version(fields, "max_version"),
            verify=fields.take("verify", str, "none"),
            ca_file=fields.maybe("ca_file", str),
            certificate_file=fields.maybe("certificate_file", str),
            key_file=fields.maybe("key_file", str),
        )
    else:
        raise bad_job(f"tls.mode is not one of unset, required, off and on: {mode}")
    fields.end()
    return found


def _version(fields: Fields, name: str) -> str | None:
    version = fields.maybe(name, str)
    if version is not None and version not in VERSIONS:
        raise bad_job(f"tls.{name} is none of {', '.join(VERSIONS)}: {version}")
    return version
