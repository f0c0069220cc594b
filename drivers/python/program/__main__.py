"""The adapter of Python's drivers: a thread for each connection, as ordered (drivers/ADAPTERS.md)."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from worker import Worker, failure

MODULES = {
    "pymysql": "pymysql_driver",
    "mysql-connector-python": "connector_python",
    "mysqlclient": "mysqlclient_driver",
    "psycopg": "psycopg_driver",
    "psycopg2-binary": "psycopg2_driver",
    "asyncpg": "asyncpg_driver",
    "pg8000": "pg8000_driver",
}
"""By the driver's name without its version."""


def say(line: dict[str, Any]) -> None:
    """The one line on standard output."""
    sys.stdout.write(f"{json.dumps(line)}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve all channels until standard input ends."""
    terms = json.loads(sys.stdin.readline())
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "site"))
    driver = importlib.import_module(MODULES[terms["name"].rpartition("-")[0]])
    try:
        settings = driver.settings(terms)
    except Exception as error:
        say(failure(error))
        return
    say({"takes": driver.TAKES})
    for channel in terms["channels"]:
        worker = getattr(driver, "Connection", Worker)(driver, terms, settings)
        threading.Thread(target=worker.serve, args=(channel,), daemon=True).start()
    sys.stdin.read()
    # A thread that waits in a driver would keep the interpreter.
    os._exit(0)


main()
