"""A run without what says whose machine or server it was: hosts, accounts, schemas, directories. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tlstax.contract import TcpEndpoint
from tlstax.records.trial import RunHeader, StoredRun, TrialRecord
from tlstax.support.text import SHORTEST_NAME, whole_names

HOST, USER, SCHEMA, DIRECTORY = "server.invalid", "user", "schema", "/left-out"
"""What stands in their places; no host has a name that ends so (RFC 6761, 6.4)."""

LOGS = {"client_log": "", "server_log": "", "client_errors": ()}
"""What programs wrote by themselves, where any name may stand."""


def without_names(stored: StoredRun, directories: Mapping[str, str]) -> StoredRun:
    """The same run; `directories` of this machine are replaced by what they are mapped to.

    Names of an external server and of machines are replaced wherever they stand. Private servers have none:
    they listen on loopback, with accounts of the laboratory's own.
    """
    words = {name: word for name, word in _names(stored) if len(name) >= SHORTEST_NAME}
    if not words and not directories:
        return stored.model_copy(update={"trials": tuple(_without_logs(own) for own in stored.trials)})
    pattern = _pattern(words, directories)
    replaced = words | dict(directories)

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {without(key): without(own) for key, own in value.items()}
        if isinstance(value, list):
            return [without(own) for own in value]
        return pattern.sub(lambda found: replaced[found[0]], value) if isinstance(value, str) else value

    return StoredRun(
        header=RunHeader.model_validate(without(json.loads(stored.header.model_dump_json()))),
        status=stored.status,
        stopped_because=without(stored.stopped_because),
        resumed_at=stored.resumed_at,
        trials=tuple(
            TrialRecord.model_validate(without(json.loads(_without_logs(own).model_dump_json())))
            for own in stored.trials
        ),
    )


def _without_logs(record: TrialRecord) -> TrialRecord:
    return record.model_copy(update=LOGS)


def _pattern(words: Mapping[str, str], directories: Mapping[str, str]) -> re.Pattern[str]:
    """Names as whole words, directories at the beginnings of paths; the longest first."""
    paths = "|".join(map(re.escape, sorted(directories, key=len, reverse=True)))
    parts = [whole_names(words)] if words else []
    parts += [rf"(?:{paths})(?=/|$)"] if paths else []
    return re.compile("|".join(parts))


def _names(stored: StoredRun) -> Iterator[tuple[str, str]]:
    header = stored.header
    machines = dict.fromkeys((*header.machines, *(header.load.machines if header.load else ())))
    for place, name in enumerate(machines, 1):
        yield name, f"machine-{place}"
    if header.load is not None:
        yield header.load.server_address, HOST
    if not header.guest:
        return
    for job in (own.job for own in stored.trials if own.job is not None):
        if isinstance(job.endpoint, TcpEndpoint):
            yield job.endpoint.host, HOST
        yield job.account.user, USER
        if job.account.database:
            yield job.account.database, SCHEMA
    for specimen in header.specimens:
        if specimen.kind == "server":
            yield specimen.name, HOST
