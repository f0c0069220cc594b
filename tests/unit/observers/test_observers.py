"""Reading a machine of recorded files: its processors, its network, and a window around a client's work."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from tlstax.observers.process import read_memory
from tlstax.observers.processors import CpuSeries, Ticks, difference, read_ticks
from tlstax.observers.window import Side, Watch, Watched, read_wire, wire_between
from tlstax.records.window import CpuTicks

STAT = """\
cpu  1000 20 300 4000 50 6 70 8 9 0
cpu0 600 10 200 1000 30 4 40 5 9 0
cpu1 400 10 100 3000 20 2 30 3 0 0
intr 12345 0 0
ctxt 6789
"""
SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens InSegs OutSegs RetransSegs InErrs
Tcp: 1 200 120000 -1 55 7000 8000 12 0
Udp: InDatagrams
Udp: 5
"""
NETSTAT = """\
TcpExt: SyncookiesSent TCPLossProbes TCPDSACKRecvSegs
TcpExt: 0 9 6
IpExt: InNoRoutes
IpExt: 0
"""
DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets
    lo: 424242     100    0    0    0     0          0         0   424242     100
  eth0:   1000      10    0    0    0     0          0         0     2000      20
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    net = tmp_path / "proc/self/net"
    net.mkdir(parents=True)
    (tmp_path / f"proc/{os.getpid()}").symlink_to("self")
    (tmp_path / "proc/stat").write_text(STAT)
    (net / "snmp").write_text(SNMP)
    (net / "dev").write_text(DEV)
    return tmp_path


def test_ticks_of_all_processors_and_of_the_servers(machine: Path) -> None:
    found = read_ticks((1,), machine)
    assert found is not None
    assert found.machine == CpuTicks(
        user=1000, nice=20, system=300, idle=4000, iowait=50, irq=6, softirq=70, steal=8
    )
    assert found.server == CpuTicks(
        user=400, nice=10, system=100, idle=3000, iowait=20, irq=2, softirq=30, steal=3
    )
    both = read_ticks((0, 1), machine)
    assert both is not None
    assert both.server == both.machine


def test_without_processors_of_its_own_the_server_has_no_ticks(machine: Path) -> None:
    found = read_ticks((), machine)
    assert found is not None
    assert found.server is None


def test_a_kernel_that_does_not_tell(tmp_path: Path) -> None:
    assert read_ticks((0,), tmp_path) is None
    assert read_wire(root=tmp_path) is None
    series = CpuSeries((0,), tmp_path)
    series.start()
    assert series.stop() == ()


def test_ticks_that_run_backwards_are_none() -> None:
    zero = CpuTicks(**dict.fromkeys(CpuTicks.model_fields, 0))
    earlier = zero.model_copy(update={"idle": 10, "user": 5})
    assert difference(earlier, zero.model_copy(update={"user": 7})) == zero.model_copy(update={"user": 2})


def test_a_short_window_is_one_slice(machine: Path) -> None:
    series = CpuSeries((0,), machine)
    series.start()
    (machine / "proc/stat").write_text(STAT.replace("cpu  1000", "cpu  1007").replace("cpu0 600", "cpu0 607"))
    (only,) = series.stop()
    assert only.at_s == 0
    assert only.machine.user == 7
    assert only.machine.total == 7
    assert only.server is not None
    assert only.server.user == 7


def test_a_long_window_has_a_slice_for_each_second_begun(
    monkeypatch: pytest.MonkeyPatch, machine: Path
) -> None:
    looked = threading.Semaphore(0)

    def look(cpus: Collection[int], root: Path) -> Ticks | None:
        looked.release()
        return read_ticks(cpus, root)

    monkeypatch.setattr("tlstax.observers.processors.SLICE_S", 0.05)
    monkeypatch.setattr("tlstax.observers.processors.read_ticks", look)
    series = CpuSeries((0,), machine)
    series.start()
    for _ in range(3):
        assert looked.acquire(timeout=60)
    slices = series.stop()
    assert len(slices) >= 3
    assert [part.at_s for part in slices] == sorted(part.at_s for part in slices)
    ends = [part.at_s + part.took_s for part in slices[:-1]]
    assert ends == pytest.approx([part.at_s for part in slices[1:]], abs=2e-4)


def test_segments_and_bytes_are_differences(machine: Path) -> None:
    before = read_wire(root=machine)
    (machine / "proc/self/net/snmp").write_text(SNMP.replace("7000 8000 12", "7100 8200 15"))
    (machine / "proc/self/net/dev").write_text(DEV.replace("lo: 424242", "lo: 424342"))
    used = wire_between(before, read_wire(root=machine))
    assert used is not None
    assert (used.tcp_segments_received, used.tcp_segments_sent) == (100, 200)
    assert (used.tcp_segments_retransmitted, used.loopback_bytes) == (3, 100)
    assert used.tcp_segments_arrived_twice is None


def test_segments_that_arrived_twice_are_counted_where_the_kernel_counts_them(machine: Path) -> None:
    (machine / "proc/self/net/netstat").write_text(NETSTAT)
    before = read_wire(root=machine)
    (machine / "proc/self/net/netstat").write_text(NETSTAT.replace("0 9 6", "0 12 8"))
    used = wire_between(before, read_wire(root=machine))
    assert used is not None
    assert used.tcp_segments_arrived_twice == 2


def test_a_machine_without_loopback_still_counts_segments(machine: Path) -> None:
    (machine / "proc/self/net/dev").unlink()
    used = wire_between(read_wire(root=machine), read_wire(root=machine))
    assert used is not None
    assert used.loopback_bytes is None
    assert wire_between(None, used) is None


def test_where_a_distance_is_its_bytes_are_counted_both_ways(machine: Path) -> None:
    before = read_wire(7, machine)
    assert before is None
    place = machine / "proc/7/net"
    place.mkdir(parents=True)
    (place / "snmp").write_text(SNMP)
    for received, sent in ((0, 0), (500, 70)):
        (place / "dev").write_text(f"{DEV}distance0: {received} 1 0 0 0 0 0 0 {sent} 1\n")
        before, now = (before or read_wire(7, machine)), read_wire(7, machine)
    used = wire_between(before, now)
    assert used is not None
    assert (used.distance_bytes, used.loopback_bytes) == (570, 0)


def test_a_watch_reads_both_sides_and_its_own_cost(machine: Path) -> None:
    asked = iter([{"Com_select": 5, "Threads_connected": 9}, {"Com_select": 8, "Threads_connected": 9}])
    here = Side(os.getpid())
    with Watch(Watched(here, here, lambda: next(asked), machine=True, server_cpus=(0,)), machine) as watch:
        watch.begin()
        assert watch.status_at_begin == {"Com_select": 5, "Threads_connected": 9}
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass
        window = watch.end()
    assert window.status_delta == {"Com_select": 3}
    assert window.server is not None
    assert window.server.cpu_total_us is not None
    assert window.server.cpu_total_us >= 20_000
    assert window.observers_cpu_us is not None
    assert window.observers_cpu_us >= 20_000
    assert window.server.rss_bytes
    assert len(window.cpus) == 1
    assert window.wire is not None


def test_none_of_the_observers_leaves_cpu_clocks_and_memory_alone() -> None:
    with Watch(Watched(Side(os.getpid()), Side(None))) as watch:
        watch.begin()
        window = watch.end()
    assert window.server is None
    assert window.client is not None
    assert window.client.cpu_total_us is not None
    assert (window.client.counters, window.cpus, window.wire, window.status_delta) == ({}, (), None, {})


@pytest.mark.parametrize("whole", [True, False])
def test_pages_and_threads_are_counted_where_that_is_asked_for(machine: Path, *, whole: bool) -> None:
    place = machine / "proc" / str(os.getpid())
    place.mkdir(parents=True, exist_ok=True)
    (place / "smaps_rollup").write_text("00-7f ---p 0 00:00 0 [rollup]\nRss: 900 kB\nPss:     120 kB\n")
    for thread in (7, 9):
        (place / f"task/{thread}").mkdir(parents=True, exist_ok=True)
    here = Side(os.getpid())
    with Watch(Watched(here, here, whole_memory=whole), machine) as watch:
        watch.begin()
        window = watch.end()
    for side in (window.server, window.client):
        assert side is not None
        assert (side.pss_bytes, side.threads) == ((120 * 1024, 2) if whole else (None, None))
        assert (side.rss_bytes == 900 * 1024) == whole, "else it is this process's own"


def test_memory_is_what_the_kernel_adds_up(tmp_path: Path) -> None:
    place = tmp_path / "proc/7"
    place.mkdir(parents=True)
    (place / "smaps_rollup").write_text(
        "00400000-7fff ---p 00000000 00:00 0 [rollup]\nRss: 900 kB\nPss:     120 kB\nPss_Anon: 90 kB\n"
    )
    for thread in (7, 9):
        (place / f"task/{thread}").mkdir(parents=True)
    assert read_memory(7, tmp_path) == (900 * 1024, 120 * 1024, 2, 90 * 1024)
    assert read_memory(2**22 + 8, tmp_path) is None


def test_a_watch_that_is_left_early_leaves_no_thread(machine: Path) -> None:
    watch = Watch(Watched(Side(None), Side(None), machine=True), machine)
    with watch:
        watch.begin()
        assert watch._series._thread.is_alive()
    assert not watch._series._thread.is_alive()
