"""Ctrl-C and its like, once, twice and three times, while somebody else's server is being left."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from guest_house import WITHIN_S, House, environment, opened_external, wait_until

from tlstax.sql.database import SqlError

EXAMPLE = str(Path(__file__).parents[2] / "docs" / "orders.toml")


def running(data: Path, house: House, *arguments: str) -> subprocess.Popen[str]:
    options = ("--rows", "300", "--budget", "10m", "--precision", "0.1%", "--connections", "2", *arguments)
    command = ("run", "--server", house.url, "--workload", EXAMPLE, *options)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "tlstax", *command],
        env={**environment(), "TLSTAX_DATA": str(data)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def held_up(house: House) -> Iterator[None]:
    """Nobody can drop the workload's table in this block, because eve reads it."""
    with house.as_eve() as database:
        wait_until(lambda: "shop_orders" in house.things())
        database.rows("BEGIN")
        deadline = time.monotonic() + WITHIN_S
        while time.monotonic() < deadline:
            with suppress(SqlError):  # It is just being emptied.
                database.rows("SELECT COUNT(*) FROM shop_orders")
                break
        yield


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_second_signal_lets_it_leave_and_says_so(
    house: House, tmp_path: Path, number: signal.Signals
) -> None:
    with running(tmp_path, house, "--tls", "1.3") as process:
        with held_up(house):
            process.send_signal(number)
            time.sleep(2)
            process.send_signal(number)
            time.sleep(1)
            assert process.poll() is None, "it ended although it had not left"
        out, err = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 130, err
    assert "tlstax: still dropping what it made at 127.0.0.1" in err
    assert "Traceback" not in out + err
    assert house.things() == set()


def test_a_third_signal_ends_it_and_what_remains_is_named_and_cleared_by_the_next_run(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    with running(tmp_path, house, "--tls", "1.3") as process, held_up(house):
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(2)
        _, err = process.communicate(timeout=WITHIN_S)
        assert process.returncode == 130, err
        for name in ("shop_orders", "tlstax_made", "tlstax_sbtest1"):
            assert f"lent.{name}" in err
        assert "remain at 127.0.0.1" in err
        house.cut_connections()
    with opened_external(house.access) as (_, said, warned):
        said("CREATE TABLE shop_orders (id INT)")
    assert warned == []
    assert house.things() == set()
