"""Jobs for drivers against real servers, and carrying one out."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache
from typing import Any

import load_jobs
import pytest
from load_jobs import ROWS, WITHIN_S

from tlstax.clients.choice import obtain_client
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Done, DriverTerms, Job, PostgreSqlServer, Ready, Statement, UniformInt, Workload
from tlstax.specimens.private_server import PrivateServer
from tlstax.study.driver_catalogue import DRIVERS

BY_ID = Statement(sql="SELECT c FROM sbtest1 WHERE id={id}", parameters={"id": UniformInt(low=1, high=ROWS)})


@cache
def command(name: str) -> Sequence[str]:
    """What starts the driver, which is built where it is not."""
    return obtain_client(name, lambda _: None).command


def obtainable(name: str) -> str:
    """The driver; one in Go is left out where there is no Go, which Debian 12 has too old a version of."""
    if "go" in DRIVERS[name].needs and shutil.which("go") is None:
        pytest.skip("there is no Go on this machine")
    return name


def connections_of(name: str) -> int:
    """Two, or as many as the driver can keep."""
    most = DRIVERS[name].connections
    return 2 if most is None else min(2, most)


def job(name: str, on: PrivateServer, /, *statements: Statement, **changes: Any) -> Job:
    """A short job for this driver, with these statements or one, and these changes."""
    workload = Workload(statements=statements or (BY_ID,), reconnect=changes.pop("reconnect", False))
    changed = {
        "workload": workload,
        "connections": connections_of(name),
        "warmup_s": 0.05,
        "driver": DriverTerms(),
    }
    if DRIVERS[name].speaks == "postgresql":
        changed["server"] = PostgreSqlServer()
    return load_jobs.job(on, **{**changed, **changes})


def measured(name: str, asked: Job) -> tuple[Ready, Done]:
    """What the driver says of a job that it carries out."""
    with LoadClient(command(name), asked) as client:
        ready = client.wait_ready(WITHIN_S)
        client.go()
        return ready, client.wait_done(WITHIN_S)


def failed(name: str, asked: Job) -> tuple[str, str]:
    """The kind of the only, fatal error, and its message: a sentence without the password."""
    with pytest.raises(ClientFailure) as failure:
        measured(name, asked)
    errors = [error for error in failure.value.errors if error.fatal]
    assert len(errors) == 1, failure.value
    assert asked.account.password not in errors[0].message
    assert len(errors[0].message.splitlines()) == 1
    return errors[0].kind, errors[0].message
