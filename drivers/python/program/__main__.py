"""A Python driver behind tlstax's contract: `run NAME` serves one job on standard input."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

ADAPTERS = {
    "pymysql": "driver_contract.adapters.pymysql_driver",
    "mysql-connector-python": "driver_contract.adapters.connector_python",
    "mysqlclient": "driver_contract.adapters.mysqlclient_driver",
}
"""By the driver's name without its version."""


def main() -> None:
    """Choose the adapter by the driver's name, and serve; nothing may keep the process when it is done."""
    name = sys.argv[1]
    site = Path(__file__).resolve().parent.parent / "site"
    sys.path.insert(0, str(site))
    from driver_contract.serving import served  # noqa: PLC0415 - what it needs lies in `site`

    adapter = importlib.import_module(ADAPTERS[name.rpartition("-")[0]])
    status = served(name, adapter.DRIVER, site)
    sys.stdout.flush()
    sys.stderr.flush()
    # A thread that waits in a driver would keep the interpreter.
    os._exit(status)


main()
