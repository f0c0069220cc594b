"""The doctor: it always answers, says what a finding means, and prints the documented JSON."""

from __future__ import annotations

import errno
import json
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from tlstax.observers import countable, counters, machine
from tlstax.observers.profiler import Sampling
from tlstax.support import directories
from tlstax.support.errors import MachineFault, TlstaxError
from tlstax.tools.doctor import network, programs, resources
from tlstax.tools.doctor.check import Check, Seen, guarded, to_json, to_text

CHECK_OK = Check(name="disk", status="ok", found="80 GB free", meaning="Servers fit.")
CHECK_BAD = Check(
    name="profiler", status="missing", found="no perf", meaning="Nothing to say.", remedy="get it"
)


def test_a_check_that_fails_is_told_as_such() -> None:
    def fails() -> Seen:
        raise ZeroDivisionError("by nought")

    def fails_with_advice() -> Seen:
        raise MachineFault("no apt here", remedy="install it")

    assert guarded("sums", fails).status == "limited"
    assert "by nought" in guarded("sums", fails).found
    check = guarded("apt", fails_with_advice)
    assert (check.found, check.remedy) == ("no apt here", "install it")


def test_json_is_the_documented_form() -> None:
    document = json.loads(to_json([CHECK_OK, CHECK_BAD]))
    assert document["schema"] == 1
    assert document["checks"][1] == {
        "name": "profiler",
        "status": "missing",
        "found": "no perf",
        "meaning": "Nothing to say.",
        "remedy": "get it",
    }
    assert set(document) == {"schema", "checks"}


def test_text_explains_only_what_is_not_well() -> None:
    text = to_text([CHECK_OK, CHECK_BAD])
    assert "Servers fit." not in text
    assert "Nothing to say." in text
    assert "What would help: get it." in text
    assert text.endswith("1 ok, 0 limited, 1 missing\n")


def test_text_leaves_a_path_whole() -> None:
    path = "/a/folder-with/" + "x" * 60
    assert path in to_text([CHECK_OK.model_copy(update={"found": f"80 GB free for {path}"})], width=50)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_text_keeps_to_the_width(width: int) -> None:
    long = CHECK_BAD.model_copy(update={"name": "loopback addresses", "meaning": "word " * 60})
    assert max(len(line) for line in to_text([CHECK_OK, long], width).splitlines()) <= width


@pytest.mark.parametrize(
    ("cpus", "status", "words"),
    [({0}, "limited", "take time from each other"), ({0, 1, 2, 3}, "ok", "CPUs of their own")],
)
def test_cpus(monkeypatch: pytest.MonkeyPatch, cpus: set[int], status: str, words: str) -> None:
    monkeypatch.setattr(machine, "available_cpus", lambda: cpus)
    monkeypatch.setattr(
        machine, "physical_cores", lambda available, _root=None: [(cpu,) for cpu in sorted(available)]
    )
    monkeypatch.setattr(resources.machine, "cpu_limit", lambda: None)
    check = resources.cpus()
    assert check.status == status
    assert words in check.meaning
    monkeypatch.setattr(resources.machine, "cpu_limit", lambda: 0.5)
    assert "0.5 CPUs" in resources.cpus().found


@pytest.mark.parametrize(
    ("number", "found"),
    [
        (3, "3 available; the server on 0-1, the client on 2"),
        (4, "4 available; the server on 0-2, the client on 3, until the pilot of a run has balanced them"),
    ],
)
def test_where_a_pilot_balances_the_cpus_doctor_says_so(
    monkeypatch: pytest.MonkeyPatch, number: int, found: str
) -> None:
    monkeypatch.setattr(machine, "available_cpus", lambda: set(range(number)))
    monkeypatch.setattr(
        machine, "physical_cores", lambda available, _root=None: [(cpu,) for cpu in sorted(available)]
    )
    monkeypatch.setattr(resources.machine, "cpu_limit", lambda: None)
    assert resources.cpus().found == found


@pytest.mark.parametrize(
    ("governors", "turbo", "status"),
    [
        ({"performance"}, False, "ok"),
        ({"performance"}, None, "ok"),
        ({"performance"}, True, "limited"),
        ({"powersave"}, False, "limited"),
        (set(), None, "limited"),
    ],
)
def test_frequency(
    monkeypatch: pytest.MonkeyPatch, governors: set[str], turbo: bool | None, status: str
) -> None:
    monkeypatch.setattr(machine, "governors", lambda: governors)
    monkeypatch.setattr(machine, "turbo", lambda: turbo)
    assert resources.frequency().status == status


@pytest.mark.parametrize(("stolen", "status"), [(0.0, "ok"), (0.2, "limited")])
def test_a_guest_whose_time_is_stolen_is_told(
    monkeypatch: pytest.MonkeyPatch, stolen: float, status: str
) -> None:
    monkeypatch.setattr(machine, "virtualization", lambda: "kvm")
    monkeypatch.setattr(machine, "stolen_share", lambda: stolen)
    check = resources.virtualization()
    assert check.status == status
    assert "kvm" in check.found


@pytest.mark.parametrize(("niceness", "status"), [(-5, "ok"), (0, "ok"), (15, "limited")])
def test_who_lets_others_go_first_is_told(
    monkeypatch: pytest.MonkeyPatch, niceness: int, status: str
) -> None:
    monkeypatch.setattr(machine, "niceness", lambda: niceness)
    check = resources.priority()
    assert (check.status, check.found) == (status, f"nice {niceness}")


@pytest.mark.parametrize(("source", "status"), [("tsc\n", "ok"), ("hpet\n", "limited")])
def test_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, status: str) -> None:
    (tmp_path / "current").write_text(source)
    monkeypatch.setattr(resources, "CLOCK_SOURCE", tmp_path / "current")
    assert resources.clock().status == status
    monkeypatch.setattr(resources, "CLOCK_SOURCE", tmp_path / "not there")
    assert resources.clock().found == "unknown"


@pytest.mark.parametrize(("ports", "status"), [("32768\t60999\n", "ok"), ("60000\t60999\n", "limited")])
def test_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ports: str, status: str) -> None:
    (tmp_path / "ip_local_port_range").write_text(ports)
    (tmp_path / "tcp_tw_reuse").write_text("2\n")
    monkeypatch.setattr(network, "IPV4", tmp_path)
    assert network.ports().status == status


@pytest.mark.parametrize(
    ("hard", "status"), [(1024, "limited"), (4096, "ok"), (resource.RLIM_INFINITY, "ok")]
)
def test_file_descriptors(monkeypatch: pytest.MonkeyPatch, hard: int, status: str) -> None:
    monkeypatch.setattr(resources.resource, "getrlimit", lambda _: (1024, hard))
    assert resources.file_descriptors().status == status


def test_a_cache_that_may_not_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "not" / "there"))
    (tmp_path / "not" / "there").mkdir(parents=True)
    monkeypatch.setattr(directories.os, "access", lambda *_: False)
    check = resources.disk()
    assert check.status == "missing"
    assert str(tmp_path) in check.found


@pytest.mark.parametrize(
    ("hardware", "software", "status", "found", "remedy"),
    [
        (0, 0, "ok", "instructions, cycles", ""),
        (errno.ENOENT, 0, "limited", "offers no hardware counters", "bare metal"),
        (errno.EACCES, errno.EACCES, "missing", "refuses", "perf_event_paranoid"),
        (errno.ENOSYS, errno.ENOSYS, "missing", "no perf events", "bare metal"),
    ],
)
def test_what_can_be_counted(  # noqa: PLR0913, PLR0917 (what fails, and what is said of it)
    monkeypatch: pytest.MonkeyPatch, hardware: int, software: int, status: str, found: str, remedy: str
) -> None:
    usable = countable.usable_events(
        lambda event: hardware if event in counters.HARDWARE_EVENTS else software, lambda _: 0.0
    )
    monkeypatch.setattr(countable, "usable_events", lambda: usable)
    check = resources.counting()
    assert check.status == status
    assert found in check.found
    assert remedy in check.remedy


def test_an_engine_that_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TLSTAX_ENGINE", raising=False)
    assert programs.engine().status == "missing"


@pytest.mark.parametrize(
    ("sampling", "named", "status", "words"),
    [
        (Sampling("cycles", kernel=True, processors=True), True, "ok", "by cycles, of user space and kernel"),
        (Sampling("cpu-clock", kernel=True, processors=True), False, "limited", "kptr_restrict"),
        (Sampling("cpu-clock", kernel=True, processors=False), True, "limited", "process by process"),
        (Sampling("cpu-clock", kernel=False, processors=False), True, "limited", "user space only"),
    ],
)
def test_what_can_be_sampled(sampling: Sampling, named: bool, status: str, words: str) -> None:
    check = resources.check_of(sampling, named=named)
    assert (check.status, bool(check.remedy)) == (status, status != "ok")
    assert words in check.found


@pytest.mark.parametrize(
    ("text", "named"),
    [("ffffffff81000000 T _text\n", True), ("0000000000000000 T _text\n" * 3, False), ("", False)],
)
def test_whether_the_kernel_shows_its_names(text: str, named: bool, tmp_path: Path) -> None:
    (tmp_path / "kallsyms").write_text(text)
    assert resources.kernel_is_named(tmp_path / "kallsyms") is named
    assert not resources.kernel_is_named(tmp_path / "not there")


@pytest.mark.parametrize("place", ["new/one", "file/below", "/proc/tlstax", "/dev/null/tlstax", "a:b", "old"])
@pytest.mark.parametrize(
    ("variable", "check"), [("TLSTAX_CACHE", resources.disk), ("TLSTAX_DATA", resources.runs)]
)
def test_it_agrees_with_a_run_about_each_place(
    variable: str, check: Callable[[], Seen], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And leaves nothing there."""
    (tmp_path / "file").touch()
    (tmp_path / "old").mkdir()
    monkeypatch.setenv(variable, str(tmp_path / place))
    found = check()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "old"]
    why = ""
    try:
        place_of_run = directories.cache_dir() if check is resources.disk else directories.data_dir()
        directories.ensure_directory(place_of_run / "sessions")
    except TlstaxError as fault:
        why = fault.message
    assert (found.status == "missing") == bool(why)
    if why:
        assert why.partition("(")[2] == found.found.partition("(")[2]
        assert "full" not in found.found + found.remedy
