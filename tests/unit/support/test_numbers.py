"""Numbers in texts from outside: another machine, the kernel, programs, users; any text may stand there."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tlstax.cli.study_command import changed
from tlstax.clients.mysqlslap import child as mysqlslap
from tlstax.clients.sysbench import messages as sysbench
from tlstax.mysql.connection_log import _schema
from tlstax.observers import machine, ports, processors, window
from tlstax.observers.far_process import SshHost, _use_of, parsed
from tlstax.observers.process import read_threads
from tlstax.plan.advice_studies import stand_in_for
from tlstax.records.trial import Changes
from tlstax.study import load_study
from tlstax.study.configuration import _plain
from tlstax.study.factor import _number
from tlstax.support.errors import TlstaxError
from tlstax.support.text import integer, natural

LAB = Path(__file__).parents[3] / "lab" / "tlstax"
HOSTILE = (
    *("²", "٣", "1²", "9" * 5000, "-" + "9" * 5000, "", "-", " 1", "1 "),
    *("1_0", "+1", "0x1", "1e3", "\n1", "1\n"),
)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_no_number_is_none(text: str) -> None:
    assert integer(text) is None
    assert natural(text) is None


def test_what_is_one_is() -> None:
    largest = 2**64 - 1
    assert [integer(text) for text in ("0", "-5", str(largest), "007")] == [0, -5, largest, 7]
    assert (natural("-5"), natural("5")) == (None, 5)


def use(number: str) -> object:
    return _use_of(
        f"clock={number} user={number} system=1 faults=1 t.{number}=1 cycles={number}/1/1", SshHost("h")
    )


def kernel(root: Path, number: str) -> None:
    """What is read of a kernel's files that somebody else fills, such as those of a container."""
    for name, text in {
        "proc/stat": f"cpu {number} 1 1 1 1 1 1 1\n",
        "proc/meminfo": f"MemTotal: {number} kB\n",
        "proc/7/stat": "7 (x) S" + " 1" * 40,
        "proc/7/io": f"rchar: {number}\n",
        "proc/7/task/7/status": f"voluntary_ctxt_switches: {number}\n",
        "cpu.max": f"{number} {number}\n",
        "memory.max": f"{number}\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    machine.stolen_share(root)
    processors.usage(root)
    machine._memory_bytes(root)
    machine._parse_list(f"{number},{number}-{number},0-{number}")
    read_threads(7, root)
    machine._quota(root)
    machine._memory(root)
    ports._waiting(f"TCP: inuse 1 tw {number} mem 1")
    window._counts(f"Tcp: a b\nTcp: {number} 1\n", "Tcp")
    window._devices(f"lo: {number} 1 1 1 1 1 1 1 {number} 1")
    processors._ticks([[number] * 8])


READERS: dict[str, Callable[[Path, str], object]] = {
    "another machine": lambda _, number: use(number),
    "the address of one": lambda _, number: parsed(f"ssh://h:{number}"),
    "the kernel": kernel,
    "--connections": lambda _, number: changed(
        load_study("memory"), Changes(set=(f"connections={number},100",))
    ),
    "a level": lambda _, number: _number(number, decimals=True),
    "a server's variable": lambda _, number: _plain(f"{number}k"),
    "a server's version": lambda _, number: (
        _schema(f"{number}.{number}"),
        stand_in_for(f"{number}.1.{number}"),
    ),
    "sysbench": lambda _, number: sysbench.failure_in(f"FATAL: error {number}: words"),
    "mysqlslap": lambda _, number: (
        mysqlslap.failure_in(f"mysqlslap: Error when connecting to server: {number} words"),
        mysqlslap.report_in(f"Number of clients running queries: {number}"),
    ),
}


@pytest.mark.parametrize("number", ["²", "٣", "9" * 5000, "-1", ""])
@pytest.mark.parametrize("reader", READERS)
def test_no_reader_fails_but_with_a_sentence(reader: str, number: str, tmp_path: Path) -> None:
    with suppress(TlstaxError):
        READERS[reader](tmp_path, number)


def test_no_other_way_asks_whether_a_text_is_a_number() -> None:
    """isdigit() and its like take texts of which int() makes nothing, or something else."""
    asks = re.compile(r"\.is(?:digit|decimal|numeric)\(")
    lines = (
        f"{path.relative_to(LAB)}: {line.strip()}"
        for path in LAB.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if asks.search(line)
    )
    assert [line for line in lines if not line.startswith("stats/wording.py")] == []
