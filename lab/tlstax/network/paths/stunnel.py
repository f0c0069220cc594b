"""A pair of stunnels: TLS 1.3 between them, a TLS connection for each connection.

Sessions are resumed between the two, as stunnel does by default, and both log what they log by default. To
see what TLS they agree on, the near one says more until the path has carried its first connection.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from tlstax.network.paths.design import Design, Ends, Laid, Plan, Ports, Program
from tlstax.specimens.certificates import issue
from tlstax.specimens.manifest import Kept
from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK

_AGREED = re.compile(r"(?P<version>TLSv[\d.]+) ciphersuite: (?P<suite>\S+)")
_ACCEPTED = re.compile(r"Service \[database\] accepted connection")
RELOADED = "Configuration successful"
RELOADS_WITHIN_S = 5.0

COMMON = """\
foreground = yes
pid =
syslog = no
sslVersion = TLSv1.3
debug = {level}
[database]
"""
FAR_END = """\
accept = {address}:{between}
connect = {server}
cert = {certificates.certificate_file}
key = {certificates.key_file}
"""
NEAR_END = """\
client = yes
accept = {loopback}:{entry}
connect = {address}:{between}
CAfile = {certificates.ca_file}
verifyChain = yes
checkIP = {address}
"""


class Stunnel(Design):
    """`protection` is the TLS version and cipher suite that the near end logged."""

    said_by = "the log of stunnel"

    def __init__(self) -> None:
        self._near_file = Path()

    def lay(self, directory: Path, kept: Kept, ends: Ends, ports: Ports) -> Laid:
        """A certificate of its own, both configurations."""
        words = {
            "address": ends.far_address,
            "loopback": LOOPBACK,
            "between": ports.between,
            "entry": ports.entry,
            "server": ends.server_from_far,
            "certificates": issue(directory),
        }
        far_file, self._near_file = directory / "far.conf", directory / "near.conf"
        far_file.write_text((COMMON + FAR_END).format(level="notice", **words), encoding="utf-8")
        self._near_file.write_text((COMMON + NEAR_END).format(level="info", **words), encoding="utf-8")
        far, near = (
            Plan(place, kept.program, (str(file),))
            for place, file in ((ends.far, far_file), (ends.near, self._near_file))
        )
        return Laid((far, near), LOOPBACK)

    def began(self, programs: Sequence[Program]) -> None:
        """What TLS was agreed on is read from the log; from now on the near end logs its usual lines."""
        far, near = programs
        agreed = next(filter(None, map(_AGREED.search, near.new_lines())), None)
        if agreed is None:
            raise MachineFault("stunnel did not log which cipher it agreed on")
        self.protection = f"{agreed['version']}, {agreed['suite']}"
        usual = self._near_file.read_text(encoding="utf-8").replace("debug = info", "debug = notice")
        self._near_file.write_text(usual, encoding="utf-8")
        near.signal(signal.SIGHUP)
        deadline = time.monotonic() + RELOADS_WITHIN_S
        while not any(RELOADED in line for line in near.new_lines()):
            if time.monotonic() > deadline or not near.is_alive():
                raise MachineFault(f"stunnel did not read its configuration again: {near.last_line()}")
            time.sleep(0.02)
        far.new_lines()

    def connections(self, programs: Sequence[Program]) -> int | None:
        """What the near end has accepted since; both ends must have counted alike."""
        far, near = (
            sum(_ACCEPTED.search(line) is not None for line in program.new_lines()) for program in programs
        )
        return near if near == far else None
