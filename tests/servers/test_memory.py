"""What a connection costs real servers in memory: more than nothing, and more under TLS."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from command_line import Home, all_gone, wait_until
from test_guest_addresses import haproxy
from test_guest_run import SMALL, as_owner, lent, sentence, tlstax_run, url_of
from test_promised_connections import most_used
from test_sitting import Watching

from processes import family
from tlstax.cli.study_command import changed
from tlstax.records.trial import Changes
from tlstax.results.document import RunDocument
from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.store import Store
from tlstax.study import load_study
from tlstax.tools.probes.external_memory import ExternalMemory
from tlstax.topics import memory
from tlstax.topics.core.topic import Run
from tlstax.topics.memory import CLIENT_RSS, COST, RSS, SERVED, THREADS
from typed import sentence_for

MEMORY = ("study", "run", "memory", "--set")


def slopes(document: RunDocument, side: str = "server") -> dict[str, float]:
    """What each further connection takes of memory there, in bytes, by kind."""
    rows = document.topics["memory"].of(f"{side}_rss_per_connection", role=COST)
    return {row.label: row.known.point for row in rows}


@pytest.mark.long
@pytest.mark.parametrize("product", ["mariadb_build", "mysql_build"])
def test_each_further_connection_costs_memory_and_tls_more(
    request: pytest.FixtureRequest, tmp_path: Path, product: str
) -> None:
    build: ServerBuild = request.getfixturevalue(product)
    home, name = Home(tmp_path / "data"), build.specimen.name
    done = home.run(
        *MEMORY, f"server={name}", "--set", "connections=20,200", "--blocks", "1", "--beside-others", "--json"
    )
    assert done.returncode == 0, done.stderr
    document = RunDocument.model_validate(json.loads(done.stdout))
    assert (document.status, document.stopped_because) == ("complete", "1 block had been asked for")
    assert document.trials.valid == 7, "three kinds, two numbers of connections, and a control"
    plain, *encrypted = slopes(document).values()
    assert set(slopes(document)) == {"plaintext", "TLS 1.3", "TLS 1.2"}
    # A thread's stack and buffers are tens of KiB; a TLS connection of OpenSSL is some tens more.
    assert plain > 10_000
    assert all(each > plain + 5_000 for each in encrypted)
    client_plain, *client_encrypted = slopes(document, "client").values()
    assert all(each > client_plain + 5_000 for each in client_encrypted)
    threads = document.topics["memory"].of("server_threads_per_connection", role=COST)
    assert all(row.value == pytest.approx(1, abs=0.1) for row in threads)
    with home.store() as store:
        trials = store.load("last").measured
    processes = [record.claim.pid for record in trials if record.claim is not None]
    assert len(set(processes)) == len(trials), "nobody has used the memory of a trial's process before"
    shown = home.run("report", "last")
    assert "What each further connection costs, from 20 and 200 kept connections" in " ".join(
        shown.stdout.split()
    )


@pytest.mark.long
def test_ctrl_c_keeps_the_blocks_that_are_complete_and_leaves_nothing(
    tmp_path: Path, mysql_build: ServerBuild, mariadb_build: ServerBuild
) -> None:
    names = f"{mysql_build.specimen.name},{mariadb_build.specimen.name}"
    asked = (*MEMORY, f"server={names}", "--set", "connections=2,4", "--blocks", "1000", "--beside-others")
    home = Home(tmp_path / "data")
    with home.start(*asked, "--json") as process:
        children: list[psutil.Process] = []

        def a_block_is_complete() -> bool:
            children[:] = family(process.pid)
            return home.trials() > 2 * 7

        wait_until(a_block_is_complete)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    document = RunDocument.model_validate(json.loads(out))
    assert document.status == "interrupted"
    subjects = {row.word("group_words").partition(" ")[0] for row in document.topics["memory"].rows}
    assert subjects == set(names.split(","))
    wait_until(lambda: all_gone(children))


@pytest.mark.long
def test_connections_are_held_at_a_rate_on_every_server(
    tmp_path: Path, mysql_build: ServerBuild, mariadb_build: ServerBuild
) -> None:
    names = (mariadb_build.specimen.name, mysql_build.specimen.name)
    chosen = (f"server={','.join(names)}", "connections=20,200")
    study = changed(load_study("hold"), Changes(set=chosen, rate="300", arrivals="uniform", blocks=1))
    short = study.model_copy(update={"budget_s": 1.0})
    with Store.open(tmp_path / "store.sqlite") as store:
        stored = run(Request(study=short, seed=1, beside_others=True), store, Watching())
    assert [record.verdict.reasons for record in stored.trials if record.verdict.value != "valid"] == []
    told = memory.TOPIC.told(Run(stored))
    for name, pooled in zip(names, (True, False), strict=True):
        own = [row for row in told.rows if row.word("group_words").startswith(name)]
        plain, encrypted = (row.value or 0.0 for row in own if row.role == COST and row.outcome == CLIENT_RSS)
        assert plain < encrypted
        held = [row for row in own if row.role == SERVED]
        for kind in ("plaintext", "TLS 1.3"):
            served = {row.outcome: row.value or 0.0 for row in held if row.label == kind}
            assert served["operations_due"] == served["operations_done"] + served["operations_never_begun"]
            assert served["operations_done"] > 50
            assert served["latency_p50_us"] > 0
            assert served["start_delay_p50_us"] >= 0
            assert (served["server_threads"] > 200) is not pooled


@pytest.fixture(scope="module", params=["mariadb_build", pytest.param("mysql_build", marks=pytest.mark.long)])
def house(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    with lent(
        request.getfixturevalue(request.param), session, ServerSettings(buffer_pool_bytes=SMALL)
    ) as server:
        yield server


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root is shown whose process a server is")
def test_an_external_server_of_this_machine_grows_by_what_it_was_promised(
    house: PrivateServer, tmp_path: Path
) -> None:
    arguments = ("--max-connections", "60", "--blocks", "2", "--json")
    done = tlstax_run(tmp_path, f"server={url_of(house)}", *arguments, command=MEMORY)
    assert done.returncode == 0, done.stderr
    document = ExternalMemory.model_validate_json(done.stdout)
    assert (document.status, document.promised, document.used_before) == ("complete", 57, None)
    cost = {row.label: row.known.point for row in document.told.of(RSS, role=COST)}
    assert set(cost) == {"plaintext", "TLS 1.3", "TLS 1.2"}
    assert sum(cost.values()) > 30_000
    threads = document.told.of(THREADS, role=COST)
    assert all(row.value == pytest.approx(1, abs=0.2) for row in threads)
    assert max(own.connections for own in document.held) == 54
    assert most_used(house) <= 57
    assert as_owner(house, "SHOW TABLES FROM lent") == ()
    again = tlstax_run(tmp_path, f"server={url_of(house)}", *arguments[:4], command=MEMORY)
    assert "The server has had" in again.stdout, "what is used again is said"


def test_the_memory_of_a_server_whose_host_is_named_is_read_over_ssh(
    house: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLSTAX_SSH", "sh -c 'for last; do :; done; exec sh -c \"$last\"' ssh")
    arguments = ("--max-connections", "40", "--blocks", "1", "--server-host", "ssh://db.example", "--json")
    done = tlstax_run(tmp_path, f"server={url_of(house)}", *arguments, command=MEMORY)
    assert done.returncode == 0, done.stderr
    document = ExternalMemory.model_validate_json(done.stdout)
    assert all(own.pss_bytes is None and own.rss_bytes > 1 << 20 for own in document.held)
    assert len(document.told.of(THREADS, role=COST)) == 3


def test_where_memory_cannot_be_read_what_helps_is_said_and_nothing_opened(
    house: PrivateServer, tmp_path: Path
) -> None:
    with haproxy(tmp_path, house) as port:
        url = f"mysql://ann@127.0.0.1:{port}/lent"
        said = sentence(tlstax_run(tmp_path, f"server={url}", command=MEMORY), 2)
    assert "cannot be read: the connection ends at haproxy" in said
    assert "name the server's own address" in said


def test_what_is_unknown_is_one_sentence_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for asked, words in (
        ("server=mysql-9.7,mysql-nine", "no server named 'mysql-nine'"),
        ("tls_library=openssl-9", "no TLS library named 'openssl-9'"),
    ):
        assert words in sentence_for(monkeypatch, capsys, *MEMORY, asked)
