"""Checks of the network: ports, loopback addresses, and what a study of distance needs."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

from tlstax.checks.network import longest_ms
from tlstax.network.distance.opening import open_span
from tlstax.observers.machine import available_cpus, split_cpus
from tlstax.observers.ports import port_settings
from tlstax.specimens.sessions import open_session
from tlstax.study.factors import Distance
from tlstax.support import here
from tlstax.support.errors import MachineFault
from tlstax.tools.doctor.check import Seen, missing

IPV4 = Path("/proc/sys/net/ipv4")
TUN = Path("/dev/net/tun")
TRIED_MS = 10.0
PORTS_WANTED = 20_000
SOURCE_ADDRESSES = 8
"""Reconnecting clients take turns with this many loopback addresses, each with ports of its own."""


def ports() -> Seen:
    """Whether there are ports enough for opening and closing connections without end.

    A closed connection keeps its port for a minute (TIME_WAIT in tcp(7)), unless tcp_tw_reuse lets
    the kernel take it again after a second (1: always, 2: on loopback).
    """
    settings = port_settings(IPV4)
    found = f"{settings.low} to {settings.high}, tcp_tw_reuse {settings.reuse}"
    if settings.there_are >= PORTS_WANTED:
        return Seen("ok", found, "Enough for clients that connect anew for every operation.")
    per_second = settings.there_are * SOURCE_ADDRESSES / 60
    return Seen(
        "limited",
        found,
        f"More than about {per_second:.0f} new connections a second run out of ports after a minute.",
        'as root, `sysctl net.ipv4.ip_local_port_range="32768 60999"`',
    )


def loopback_addresses() -> Seen:
    """Whether all of 127.0.0.0/8 is this machine itself (RFC 5735)."""
    try:
        here.check_loopback()
    except MachineFault as fault:
        return missing(fault, "No private server can be measured, and no page be shown.")
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.9", 0))
        except OSError as error:
            return Seen(
                "limited",
                f"127.0.0.9 cannot be used ({error.strerror})",
                "Reconnecting clients have the ports of one address only and may run out of them.",
                "the loopback device up with its usual address, 127.0.0.1/8",
            )
    return Seen("ok", "all of 127.0.0.0/8", "Reconnecting clients can use the ports of several addresses.")


def namespaces() -> Seen:
    """Whether a network of its own can be made for a study of distance; tried."""
    if _runs([*_unshare(), "true"]):
        how = "as root" if os.geteuid() == 0 else "without root rights"
        return Seen("ok", how, "A study can have a network of its own.")
    return Seen(
        "limited",
        "may not be made",
        "Studies of distance and tunnels cannot have a network of their own.",
        "root rights, or user namespaces (sysctl user.max_user_namespaces, a less strict container)",
    )


def delay() -> Seen:
    """Whether the kernel can delay packets (tc-netem(8)); tried in a network namespace of its own."""
    script = "ip link set lo up && tc qdisc add dev lo root netem delay 1ms"
    if _runs([*_unshare(), "sh", "-c", script]):
        return Seen("ok", "netem works", "Distance can be imitated by the kernel.")
    lacking = [program for program in ("tc", "ip") if shutil.which(program, path=_with_sbin()) is None]
    return Seen(
        "limited",
        f"{' and '.join(lacking)} not found" if lacking else "netem is not available",
        "Distance must be imitated outside the kernel, which costs CPU time of its own.",
        "apt-get install iproute2" if lacking else "a kernel with the module sch_netem",
    )


def distance() -> Seen:
    """Whether a distance can be put between client and server, by what, and how exactly; one is made."""
    tried = Distance(rtt_ms=TRIED_MS)
    cpus = split_cpus(available_cpus()).client_cpus
    try:
        with open_session() as session, open_span(session, lambda _: None, cpus=cpus) as span:
            span.set(tried)
            measured, made_by = span.measure(), span.made_by
    except MachineFault as fault:
        return Seen("limited", fault.message, "Studies with a distance (rtt_ms) cannot run.", fault.remedy)
    found = f"made by {made_by}; {TRIED_MS:g} ms were {measured.median_ms:.2f} ms"
    if measured.median_ms <= longest_ms(tried):
        late_us = (measured.median_ms - TRIED_MS) * 1000
        apart = "Client and server can be put apart"
        return Seen("ok", found, f"{apart}; a round trip takes {late_us:.0f} µs more than is asked.")
    return Seen(
        "limited",
        found,
        "Most trials with a distance would be invalid: packets are handed over too late.",
        "end what else runs on this machine",
    )


def tunnel_device() -> Seen:
    """Whether a tunnel can be opened."""
    if os.access(TUN, os.R_OK | os.W_OK):
        return Seen("ok", str(TUN), "Tunnels can be studied.")
    found = f"{TUN} may not be opened" if TUN.exists() else f"there is no {TUN}"
    return Seen(
        "limited",
        found,
        "Studies of tunnels that need a network device cannot run.",
        "the kernel module tun, and the device handed into the container",
    )


def _unshare() -> list[str]:
    """A command prefix that runs in a new network namespace (unshare(1)), which ends with it."""
    return ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]


def _runs(command: list[str]) -> bool:
    environment = {**os.environ, "PATH": _with_sbin()}
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=10, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _with_sbin() -> str:
    """The search path of programs with the administrator's folders, which users may not have in theirs."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
