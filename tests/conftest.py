"""For all tests: no run waits for another, no store but their own is read, and the longest files begin."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tlstax.observers import turn

os.environ[turn.VARIABLE] = f"tests-{os.getpid()}"

# A shell ignores the first for what it starts in the background, nohup the second, and that is inherited.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


TESTS = Path(__file__).parent
LONGEST = (
    "servers/test_advised_programs.py",
    "servers/test_postgres_run.py",
    "servers/test_guest_run.py",
    "servers/test_external_postgres.py",
    "servers/test_remedies_postgres.py",
    "servers/test_profiling.py",
    "servers/test_external_drivers.py",
    "servers/test_inspect_postgres.py",
    "servers/test_shared_load.py",
    "servers/test_guest_bounds.py",
    "servers/test_run.py",
    "servers/test_inspect.py",
    "servers/test_several_servers.py",
    "servers/test_promised_connections.py",
    "servers/test_plaintext_logins.py",
    "servers/test_faults.py",
    "servers/test_postgres_burn.py",
    "servers/test_own_workload.py",
    "servers/test_sitting.py",
    "servers/test_trust_file.py",
    "servers/test_ab.py",
    "servers/test_advise.py",
    "servers/test_storm.py",
    "servers/test_drivers_probe.py",
    "unit/report/test_recorded_runs.py",
    "unit/topics/test_statements.py",
    "unit/stats/test_overview.py",
)
"""Files that take longest, most of them with few tests: a process that began one last would end alone."""


WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))


class Turned(pytest.Dir):
    """A folder that each process collects from another place on."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        inside = list(super().collect())
        first = len(inside) * WORKER // WORKERS
        yield from inside[first:] + inside[:first]


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Dir:
    """In a new clone a process finds what another has compiled by then, and does not compile the same."""
    folder: pytest.Dir = Turned.from_parent(parent, path=path)
    return folder


@pytest.hookimpl(tryfirst=True, specname="pytest_collection_modifyitems")
def pytest_collection_turned_back(items: list[pytest.Item]) -> None:
    """All processes have the same order, also where pytest sets those of a fixture's level together."""
    items.sort(key=lambda item: item.path)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first, then those with most tests."""
    tests = Counter(item.path for item in items)
    longest = {TESTS / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (longest.get(item.path, len(LONGEST)), -tests[item.path]))


@pytest.fixture(autouse=True, scope="session")
def own_store(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The store of whoever runs the tests is neither read nor written: it may be that of another tlstax."""
    os.environ["TLSTAX_DATA"] = str(tmp_path_factory.mktemp("data"))
