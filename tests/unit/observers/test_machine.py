"""The machine's description and the sharing of its CPUs, on machines made of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlstax.observers import machine
from tlstax.observers.machine import cpu_limit, describe_machine, memory_limit, physical_cores, split_cpus
from tlstax.plan.cpu_shares import share_cores

NOWHERE = Path("/nonexistent")


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def with_siblings(root: Path, *cores: str) -> Path:
    """A machine whose cores have these threads, each as the kernel lists them ("0,4", "0-1")."""
    for core in cores:
        for cpu in machine._parse_list(core):
            path = f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
            write(root, {path: core + "\n"})
    return root


@pytest.mark.parametrize(
    ("available", "server", "client"),
    [
        ({0}, (), ()),
        ({0, 1}, (0,), (1,)),
        ({4, 9}, (4,), (9,)),
        ({0, 1, 2}, (0, 1), (2,)),
        (set(range(4)), (0, 1, 2), (3,)),
        (set(range(8)), (0, 1, 2, 3, 4, 5), (6, 7)),
        (set(range(16)), tuple(range(12)), (12, 13, 14, 15)),
    ],
)
def test_cores_of_one_thread_are_split_three_to_one(
    available: set[int], server: tuple[int, ...], client: tuple[int, ...]
) -> None:
    assert split_cpus(available, NOWHERE) == (server, client)


@pytest.mark.parametrize(
    ("cores", "available", "server", "client"),
    [
        (("0-1",), {0, 1}, (0,), (1,)),
        (("0,2", "1,3"), {0, 1, 2, 3}, (0, 2), (1, 3)),
        (("0,4", "1,5", "2,6", "3,7"), set(range(8)), (0, 1, 2, 4, 5, 6), (3, 7)),
        (("0,4", "1,5", "2,6", "3,7"), {0, 1, 5, 3}, (0, 1, 5), (3,)),
        (("0,2", "1,3"), {0, 1, 3}, (1, 3), (0,)),
    ],
)
def test_siblings_stay_on_one_side_where_they_can(
    tmp_path: Path,
    cores: tuple[str, ...],
    available: set[int],
    server: tuple[int, ...],
    client: tuple[int, ...],
) -> None:
    root = with_siblings(tmp_path, *cores)
    assert split_cpus(available, root) == (server, client)


@given(st.sets(st.integers(0, 200), min_size=2))
def test_every_cpu_is_on_one_side_and_neither_is_empty(available: set[int]) -> None:
    server, client = split_cpus(available, NOWHERE)
    assert server
    assert client
    assert sorted((*server, *client)) == sorted(available)
    assert len(client) == max(1, len(available) // 4)


def test_shared_core_is_noticed(tmp_path: Path) -> None:
    one_core, two_cores = with_siblings(tmp_path / "a", "0-1"), with_siblings(tmp_path / "b", "0", "1")
    assert share_cores(split_cpus({0, 1}, one_core), physical_cores({0, 1}, one_core))
    assert not share_cores(split_cpus({0, 1}, two_cores), physical_cores({0, 1}, two_cores))
    assert physical_cores({0, 1}, one_core) == [(0, 1)]


CPUINFO = "processor\t: 0\nmodel name\t: Example 9000\nflags\t\t: fpu tsc aes\n"
QUIET = {
    "proc/cpuinfo": CPUINFO,
    "proc/meminfo": "MemTotal:       16000000 kB\nMemFree: 1 kB\n",
    "proc/stat": "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n",
    "proc/sys/kernel/osrelease": "6.1.0-example\n",
    "etc/os-release": 'NAME="Example"\nPRETTY_NAME="Example OS 1"\n',
}
FREQUENCY = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"


def test_a_quiet_machine_of_our_own_has_no_notes(tmp_path: Path) -> None:
    root = write(
        tmp_path, {**QUIET, FREQUENCY: "performance\n", "sys/devices/system/cpu/cpufreq/boost": "0\n"}
    )
    described = describe_machine({0, 1, 2, 3}, root)
    assert described.cpu_model == "Example 9000"
    assert described.cores == 4
    assert described.memory_bytes == 16_000_000 * 1024
    assert described.kernel == "6.1.0-example"
    assert described.distribution == "Example OS 1"
    assert described.virtualization is None
    assert (described.server_cpus, described.client_cpus) == ((0, 1, 2), (3,))
    assert described.notes == ()


@pytest.mark.parametrize(
    ("cpus", "files", "note"),
    [
        ({0}, {}, "one CPU"),
        ({0, 1}, {"sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0-1\n"}, "one physical core"),
        ({0, 1}, {FREQUENCY: "powersave\n"}, "governor powersave"),
        ({0, 1}, {"sys/devices/system/cpu/cpufreq/boost": "1\n"}, "turbo"),
        ({0, 1}, {"sys/devices/system/cpu/intel_pstate/no_turbo": "0\n"}, "turbo"),
        ({0, 1}, {"proc/stat": "cpu  100 0 100 700 0 0 0 100 0 0\n"}, "10.0%"),
        (
            {0, 1},
            {"proc/self/cgroup": "0::/box\n", "sys/fs/cgroup/box/cpu.max": "150000 100000\n"},
            "1.5 of 2 CPUs",
        ),
    ],
)
def test_what_bears_on_the_numbers_is_noted(
    tmp_path: Path, cpus: set[int], files: dict[str, str], note: str
) -> None:
    notes = describe_machine(cpus, write(tmp_path, {**QUIET, **files})).notes
    assert len(notes) == 1
    assert note in notes[0]


def test_a_nice_value_is_noted(tmp_path: Path) -> None:
    own = {f"proc/{os.getpid()}/stat": f"1 (a) b) R {'7 ' * 15}15 1 0\n"}
    notes = describe_machine({0, 1}, write(tmp_path, {**QUIET, **own})).notes
    assert len(notes) == 1
    assert "at nice 15" in notes[0]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"proc/cpuinfo": CPUINFO.replace("aes", "aes hypervisor")}, "a virtual machine"),
        ({"run/.containerenv": ""}, "a container"),
        (
            {"proc/cpuinfo": CPUINFO.replace("aes", "hypervisor"), ".dockerenv": ""},
            "a container on a virtual machine",
        ),
    ],
)
def test_virtualization_is_seen_without_systemd(
    tmp_path: Path, files: dict[str, str], expected: str | None
) -> None:
    assert machine.virtualization(write(tmp_path, {**QUIET, **files})) == expected


def test_a_machine_that_tells_nothing_is_still_described(tmp_path: Path) -> None:
    described = describe_machine({0, 1}, tmp_path)
    assert described.cpu_model
    assert described.distribution == "unknown"
    assert described.memory_bytes == 0


def test_the_tightest_group_of_the_hierarchy_counts(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/outer/inner\n",
        "sys/fs/cgroup/outer/cpu.max": "50000 100000\n",
        "sys/fs/cgroup/outer/inner/cpu.max": "max 100000\n",
        "sys/fs/cgroup/outer/memory.max": "max\n",
        "sys/fs/cgroup/outer/inner/memory.max": "1048576\n",
    }
    root = write(tmp_path, files)
    assert cpu_limit(root) == pytest.approx(0.5)
    assert memory_limit(root) == 1048576


def test_groups_of_version_1_and_a_path_that_is_the_hosts(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    }
    root = write(tmp_path, files)
    assert cpu_limit(root) == pytest.approx(2.0)
    assert memory_limit(root) is None
    assert cpu_limit(write(tmp_path, {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n"})) is None
