"""Ports that closed connections keep, read from a machine of recorded files."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_trials import fake_record, tax_truth
from tlstax.contract import Job, TcpEndpoint
from tlstax.contract.job import Endpoint, UnixEndpoint
from tlstax.observers.ports import read_ports
from tlstax.plan.order import cases
from tlstax.records.trial import Trial
from tlstax.records.window import PortUse
from tlstax.study import load_study

SOCKSTAT = "sockets: used 90\nTCP: inuse 5 orphan 0 tw 14116 alloc 7 mem 1\nUDP: inuse 1 mem 0\n"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    settings, net = tmp_path / "proc/sys/net/ipv4", tmp_path / "proc/self/net"
    settings.mkdir(parents=True)
    net.mkdir(parents=True)
    (settings / "tcp_tw_reuse").write_text("2\n")
    (settings / "ip_local_port_range").write_text("32768\t60999\n")
    (net / "sockstat").write_text(SOCKSTAT)
    return tmp_path


def job(endpoint: Endpoint, *addresses: str) -> Job:
    case = cases(load_study("tax"))[0]
    known = fake_record(Trial(block=0, position=0, case=case), tax_truth(case), duration_s=0.01).job
    assert known is not None
    return known.model_copy(update={"endpoint": endpoint, "source_addresses": addresses})


FAR = TcpEndpoint(host="10.0.0.9", port=3306)
NAMED = TcpEndpoint(host="db.example", port=3306)
NEAR = TcpEndpoint(host="127.0.0.1", port=3306)
LOCAL = TcpEndpoint(host="localhost", port=3306)
UNIX = UnixEndpoint(path="/run/mysqld.sock")
ONE, THREE = PortUse(waiting=14_116, there_are=28_232), PortUse(waiting=14_116, there_are=84_696)


@pytest.mark.parametrize(
    ("wanted", "reuse", "found"),
    [
        (job(FAR), "2", ONE),
        (job(NAMED), "2", ONE),
        (job(FAR, "10.0.0.1", "10.0.0.2", "10.0.0.3"), "2", THREE),
        (job(FAR), "1", None),
        (job(NEAR), "2", None),
        (job(LOCAL), "2", None),
        (job(NEAR), "0", ONE),
        (job(UNIX), "0", None),
    ],
)
def test_ports_matter_where_the_kernel_does_not_use_them_again(
    machine: Path, wanted: Job, reuse: str, found: PortUse | None
) -> None:
    (machine / "proc/sys/net/ipv4/tcp_tw_reuse").write_text(f"{reuse}\n")
    assert read_ports(wanted, machine) == found


@pytest.mark.parametrize("text", ["", "TCP: inuse 5\n", "UDP: tw 3\n"])
def test_a_kernel_that_does_not_report_them_is_believed_to_have_enough(machine: Path, text: str) -> None:
    (machine / "proc/self/net/sockstat").write_text(text)
    assert read_ports(job(FAR), machine) is None


def test_nor_does_a_machine_without_those_files(tmp_path: Path) -> None:
    assert read_ports(job(FAR), tmp_path) is None
