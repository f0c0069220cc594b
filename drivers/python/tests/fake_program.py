"""The program with a driver that answers by itself, as a process for tests of the conversation."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from driver_contract.driver import Settings, TlsView
from driver_contract.job import Job
from driver_contract.serving import served

ANSWERS = {
    "SELECT VERSION()": (("1.0-fake",),),
    "SELECT @@session.autocommit": ((1,),),
    "SHOW SESSION STATUS LIKE 'Ssl%'": (),
}


class FakeCursor:
    """Answers at once; `refused` is an error of the server's, `silent` is answered by nobody."""

    description = (("c",),)

    def __init__(self) -> None:
        self._rows: tuple[tuple[Any, ...], ...] = ()

    def execute(self, sql: str) -> None:
        if "refused" in sql:
            raise OSError(1146, "no such table")
        if "silent" in sql:
            time.sleep(3600)
        self._rows = ANSWERS.get(sql, (("1",),))

    def fetchall(self) -> tuple[tuple[Any, ...], ...]:
        return self._rows


class FakeConnection:
    def cursor(self) -> FakeCursor:
        return FakeCursor()

    def close(self) -> None:
        return


class FakeDriver:
    title = "Fake"
    percent = "%"

    def version(self) -> str:
        return "1.0"

    def settings(self, job: Job) -> Settings:
        return {"host": job.host}

    def connect(self, settings: Settings) -> FakeConnection:
        assert settings["host"]
        return FakeConnection()

    def prepared_cursor(self, connection: FakeConnection) -> FakeCursor:
        return connection.cursor()

    def client_tells(self, settings: Settings) -> bool:
        return not settings

    def client_view(self, connection: FakeConnection) -> TlsView | None:
        raise NotImplementedError


if __name__ == "__main__":
    status = served("fake-1.0", FakeDriver(), Path(__file__).parent)
    sys.stdout.flush()
    os._exit(status)
