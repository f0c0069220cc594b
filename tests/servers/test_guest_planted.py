"""A cost that is planted in an external server's TLS is found by a run at the default settings."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_guest_run import SMALL, lent, tlstax_run, url_of

from tlstax.records.trial import Specimen
from tlstax.specimens.server_build import Fault, ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session

BURNED_US = 20.0
SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int SSL_write(void *connection, const void *bytes, int count) {
    static int (*own)(void *, const void *, int);
    if (!own) own = (int (*)(void *, const void *, int))dlsym(RTLD_NEXT, "SSL_write");
    for (long long began = now_ns(); now_ns() - began < %d; ) {}
    return own(connection, bytes, count);
}
"""


def planted(folder: Path) -> Fault:
    """A library that burns CPU time in each SSL_write of whom it is loaded into."""
    source, library = folder / "burn.c", folder / "libtlstax-fault-burnt.so"
    source.write_text(SOURCE % int(BURNED_US * 1000), encoding="ascii")
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, capture_output=True
    )
    specimen = Specimen(name="burnt", kind="fault", version="1", origin="made here", why="asked for")
    return Fault(specimen, library, "SSL_write")


def cost_of_tls(build: ServerBuild, session: Session, fault: Fault | None, data: Path) -> dict[str, Any]:
    """What the run finds of the server's CPU time a point select over TLS 1.3."""
    settings = ServerSettings(buffer_pool_bytes=SMALL, fault=fault)
    asked = ("--workload", "point-select", "--tls", "1.3", "--budget", "20s", "--json")
    with lent(build, session, settings) as server:
        done = tlstax_run(data, url_of(server), *asked)
    assert done.returncode == 0, done.stderr
    (finding,) = (
        each
        for each in json.loads(done.stdout)["findings"]
        if each["outcome"] == "server_cpu_us_per_op" and each["role"] == "treatment"
    )
    return dict(finding)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees whose a socket is")
def test_a_cost_in_each_answer_over_tls_is_found_within_its_interval(
    mysql_build: ServerBuild, session: Session, tmp_path: Path
) -> None:
    sound = cost_of_tls(mysql_build, session, None, tmp_path / "sound")
    dear = cost_of_tls(mysql_build, session, planted(tmp_path), tmp_path / "dear")
    planted_share = BURNED_US / dear["baseline_value"]
    assert dear["judgement"] == "higher"
    assert dear["ratio"]["low"] - sound["ratio"]["high"] < planted_share, (sound, dear)
    assert planted_share < dear["ratio"]["high"] - sound["ratio"]["low"], (sound, dear)
    assert dear["ratio"]["low"] > sound["ratio"]["high"], "it is told from none"
