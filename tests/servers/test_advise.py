"""`tlstax advise`: what is planted in a server is found and measured, and the server is left as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from ready_command import ready_run
from test_guest_run import PASSWORD, SMALL, as_owner, lent, url_of

from tlstax.observers.process import CpuClock
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.topics.advice.advise import Advice

WITHIN_S = 180.0
SHORT = ("--watch", "1ms", "--budget", "8s", "--there", "5s", "--share", "50%")


def words(url: str, *arguments: str) -> tuple[str, ...]:
    return ("advise", url, *SHORT, *arguments)


def command(url: str, *arguments: str) -> tuple[list[str], dict[str, str]]:
    program = [sys.executable, "-P", "-m", "tlstax", *words(url, *arguments)]
    return program, {**os.environ, "TLSTAX_PASSWORD": PASSWORD}


def advised(data: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TLSTAX_PASSWORD": PASSWORD, "TLSTAX_DATA": str(data)}
    return ready_run(words(url, *arguments), environment, WITHIN_S)


def things(server: PrivateServer) -> tuple[tuple[object, ...], ...]:
    return as_owner(server, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'lent'")


@pytest.mark.long
def test_a_long_key_is_found_measured_and_nothing_is_left(
    mysql_build: ServerBuild, session: Session, tmp_path: Path
) -> None:
    request = CertificateRequest(key="rsa-4096", valid_for=timedelta(days=400))
    settings = ServerSettings(buffer_pool_bytes=SMALL, certificate=request)
    with lent(mysql_build, session, settings) as server:
        page = tmp_path / "advice.html"
        # Eight seconds are two blocks, whose intervals may hold no change however much one saves; beside
        # other tests those of six may.
        done = advised(tmp_path, url_of(server), "--budget", "60s", "--json", "--report", str(page))
        left = things(server)
    assert done.returncode == 0, done.stderr
    assert left == ()
    found = Advice.model_validate(json.loads(done.stdout))
    assert [own.change for own in found.advised] == ["certificate", "group"]
    assert len(found.runs) == 2
    key, group = (own.saving for own in found.advised)
    # So short a run beside other tests has an interval of any width; the saving itself is half of all.
    assert key.server_share is not None, key
    assert key.server_share.point > 0.1, "signing with RSA 4096 takes many times as long as with P-256"
    assert group.round_trips == 1
    # Five seconds there are one block, or none where the machine stands still: then it says so.
    assert group.time_us is not None or group.inconclusive or found.not_measured
    assert all("server itself: no valid trial" in words for words in found.not_measured)
    assert PASSWORD not in done.stdout + done.stderr + page.read_text()
    assert "127.0.0.1" not in page.read_text()
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.long
def test_it_is_at_work_there_for_no_more_than_its_share(
    mysql_build: ServerBuild, session: Session, tmp_path: Path
) -> None:
    settings = ServerSettings(buffer_pool_bytes=SMALL, cpus=(0,))
    with lent(mysql_build, session, settings) as server:
        little = busy_share(server, tmp_path, "10%")
        much = busy_share(server, tmp_path, "80%")
    # The server uses some by itself, which is not ours.
    assert little < 0.2
    assert much > 2 * little


def busy_share(server: PrivateServer, data: Path, share: str) -> float:
    """How much of a processor the server uses while it is measured there."""
    program, environment = command(url_of(server), "--budget", "off", "--there", "20s", "--share", share)
    clock = CpuClock(server.pid)
    with subprocess.Popen(
        program,
        env={**environment, "TLSTAX_DATA": str(data)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        # By then what is measured has begun.
        said = next(line for line in child.stderr if "trial 1 of" in line)
        assert said
        time.sleep(3)
        before_us, then = clock.read_us(), time.monotonic()
        time.sleep(6)
        used_us, took_s = clock.read_us() - before_us, time.monotonic() - then
        child.stderr.read()
    assert child.returncode == 0
    return used_us / 1e6 / took_s


def test_ctrl_c_ends_it_in_order_and_leaves_nothing(
    mysql_build: ServerBuild, session: Session, tmp_path: Path
) -> None:
    with lent(mysql_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        program, environment = command(url_of(server), "--budget", "off", "--there", "60s")
        with subprocess.Popen(
            program,
            env={**environment, "TLSTAX_DATA": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            until = time.monotonic() + WITHIN_S
            while not things(server):
                assert time.monotonic() < until
                assert child.poll() is None
                time.sleep(0.02)
            child.send_signal(signal.SIGINT)
            said, complained = child.communicate(timeout=WITHIN_S)
        assert things(server) == ()
    assert child.returncode == 130
    assert "Traceback" not in complained
    assert "P-256 first" in said, "what was seen is printed"
