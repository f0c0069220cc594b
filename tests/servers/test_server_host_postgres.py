"""`--server-host` of a PostgreSQL, which works in many processes: its CPU time through the real ssh."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from lent_postgres import PASSWORD, Lent, as_owner, hosts_are, lent
from second_host import PORT, sshd_at
from test_guest_run import last_run

from tlstax.network.distance.opening import Span, open_span
from tlstax.network.paths.opening import obtain_path
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.stats.outcomes import outcome

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="an sshd of its own needs root"),
]

WITHIN_S = 250.0
RUN = ("--workload", "reconnect", "--tls", "off,1.3", "--connections", "2", "--rows", "500", "--budget", "6s")


@dataclass(frozen=True)
class Far:
    """A server on the second machine, and the command that is ssh to its host."""

    house: Lent
    span: Span
    ssh: str

    def run(self, data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        url = self.house.url().replace("127.0.0.1", self.span.far_address)
        host = f"ssh://root@{self.span.far_address}:{PORT}"
        program = [*self.span.enter_near(), sys.executable, "-P", "-m", "tlstax", "run", "--server", url]
        return subprocess.run(
            [*program, "--server-host", host, *arguments],
            env={
                **os.environ,
                "TLSTAX_DATA": str(data),
                "TLSTAX_PASSWORD": PASSWORD,
                "TLSTAX_SSH": self.ssh,
            },
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )


@pytest.fixture(scope="module")
def far(
    session: Session, postgresql_build: ServerBuild, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Far]:
    kept = obtain_path("ssh-aes128-gcm", lambda _: None)
    with open_span(session, lambda _: None) as span:
        settings = ServerSettings(entering=span.enter_far())
        with lent(postgresql_build, session, settings) as server:
            hosts_are(server, "host all all all scram-sha-256")
            as_owner(server, "CREATE DATABASE scratch OWNER app")
            with sshd_at(span, Path(str(kept.path)), tmp_path_factory.mktemp("sshd")) as ssh:
                yield Far(Lent(server, "scratch"), span, ssh)


def test_all_its_processes_are_read_there_and_tls_costs_them_more(far: Far, tmp_path: Path) -> None:
    done = far.run(tmp_path, *RUN, "--allow-plaintext")
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert "it starts others: the CPU time of all is read" in done.stderr
    measured = last_run(tmp_path).measured
    assert {record.verdict.value for record in measured} == {"valid"}
    costs = {
        record.trial.case.levels.tls: outcome(record, "server_cpu_us_per_op") or 0.0 for record in measured
    }
    assert costs["1.3"] > costs["off"] > 0
