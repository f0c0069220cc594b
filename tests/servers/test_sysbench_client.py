"""sysbench behind the contract against real servers: it does what it says, and nothing is left behind."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import load_jobs
import psutil
import pytest
from load_jobs import ROWS, WITHIN_S

from tlstax.clients import sysbench
from tlstax.clients.choice import ClientProgram
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.clients.sysbench import obtain_client
from tlstax.contract import Account, Done, Job, Ready, TcpEndpoint, TlsOff, TlsOn, TlsVersion
from tlstax.mysql.status import read_status
from tlstax.observers.machine import describe_machine
from tlstax.plan.jobs import job_for
from tlstax.records.trial import Trial
from tlstax.run.bench import Bench, Equipment
from tlstax.run.trial import run_trial
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.facts import changed_counters
from tlstax.sql.table_rows import TableContent
from tlstax.study import Case, workloads
from tlstax.study.client_kinds import KINDS
from tlstax.study.factors import CaseLevels
from tlstax.study.job_parts import JobTerms, Verification
from tlstax.study.level_names import ENGINE
from tlstax.support import directories
from tlstax.support.errors import MachineFault

READS = ("point-select", "reconnect")
"""The workloads whose connections are all that they are about; the others have tests of their own."""


@pytest.fixture
def filled(mainly_mysql: PrivateServer) -> PrivateServer:
    mainly_mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    return mainly_mysql


def job(server: PrivateServer, name: str = "point-select", **changes: object) -> Job:
    """A job as the engine's tests have it; sysbench takes no notice of its source addresses."""
    return load_jobs.job(server, name, **{"duration_s": 0.35, **changes})


def tls(server: PrivateServer, version: TlsVersion = "1.3", **changes: object) -> TlsOn:
    asked = TlsOn(min_version=version, max_version=version, verify="ca", ca_file=server.ca_file)
    return asked.model_copy(update=changes)


def measured(job: Job) -> tuple[Ready, Done]:
    with LoadClient(obtain_client(str)[1], job) as client:
        ready = client.wait_ready(WITHIN_S)
        client.go()
        return ready, client.wait_done(WITHIN_S)


def failed(job: Job) -> ClientFailure:
    with pytest.raises(ClientFailure) as failure:
        measured(job)
    return failure.value


def kind_of(failure: ClientFailure) -> tuple[str, str]:
    assert len(failure.errors) == 1, failure
    return failure.errors[0].kind, failure.errors[0].fault


def own_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The scripts of a copy of this machine's sysbench, which is the first on the PATH from now on."""
    real = sysbench.present()
    if real.root is not None:
        pytest.fail("this test needs this machine's own sysbench: apt-get install sysbench", pytrace=False)
    scripts = tmp_path / sysbench.STOCK_SCRIPTS
    shutil.copytree(real.executable.parent.parent / sysbench.STOCK_SCRIPTS, scripts)
    (tmp_path / "bin").mkdir()
    shutil.copy(real.executable, tmp_path / "bin" / "sysbench")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    return scripts


@pytest.fixture
def sessions(cache: Path) -> Path:
    """Where the client's directories are, with nobody else's among them."""
    assert cache == directories.cache_dir()
    return directories.sessions_dir()


def left_in(sessions: Path) -> list[Path]:
    return [path for path in sessions.iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    "encrypted", [pytest.param(False, marks=pytest.mark.long), True], ids=["plaintext", "tls"]
)
@pytest.mark.parametrize(
    ("workload", "protocol"), [("point-select", "prepared"), ("point-select", "text"), ("reconnect", "text")]
)
def test_the_server_counted_what_sysbench_says(
    filled: PrivateServer, workload: str, protocol: str, encrypted: bool
) -> None:
    asked = job(filled, workload, tls=tls(filled) if encrypted else TlsOff())
    asked = asked.model_copy(update={"workload": asked.workload.model_copy(update={"protocol": protocol})})
    with filled.admin() as admin:
        before = read_status(admin)
        with LoadClient(obtain_client(str)[1], asked) as client:
            ready = client.wait_ready(WITHIN_S)
            at_ready = read_status(admin)
            client.go()
            done = client.wait_done(WITHIN_S)
            at_done = read_status(admin)
        window, lifetime = changed_counters(at_ready, at_done), changed_counters(before, at_done)
    assert done.operations > 0
    assert done.errors == ()
    counter = "Com_stmt_execute" if protocol == "prepared" else "Com_select"
    assert window[counter] == done.operations
    assert window.get("Connections", 0) == done.window.connections
    assert done.window.connections == (done.operations if workload == "reconnect" else 0)
    assert lifetime["Connections"] == done.lifetime.connections
    for counts, delta in ((done.window, window), (done.lifetime, lifetime)):
        handshakes = sum(seen.count for seen in counts.handshakes)
        assert handshakes == (counts.connections if encrypted else 0)
        assert delta.get("Ssl_finished_accepts", 0) == handshakes
    assert lifetime.get("Ssl_session_cache_hits", 0) == 0
    assert [seen.connections for seen in ready.negotiated] == [4]
    assert done.elapsed_s >= asked.duration_s
    assert 0 < done.cpu.total_us <= done.elapsed_s * 1e6 * (os.cpu_count() or 1)
    assert done.cpu.user_us + done.cpu.system_us == pytest.approx(done.cpu.total_us)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_both_sides_agree_on_what_was_negotiated(filled: PrivateServer, version: TlsVersion) -> None:
    with LoadClient(obtain_client(str)[1], job(filled, tls=tls(filled, version))) as client:
        ready = client.wait_ready(WITHIN_S)
        maps = Path(f"/proc/{ready.pid}/maps").read_text(encoding="utf-8")
        assert Path(f"/proc/{ready.pid}/comm").read_text(encoding="utf-8").strip() != "python"
    (seen,) = ready.negotiated
    assert seen.client is not None
    assert seen.server is not None
    assert seen.client.version == seen.server.version == f"TLSv{version}"
    assert seen.client.cipher == seen.server.cipher
    assert ready.tls_library is not None
    assert ready.tls_library.version.startswith("OpenSSL ")
    assert ready.tls_library.libssl_path in maps
    assert ready.tls_library.libcrypto_path in maps
    assert (ready.client, ready.server_version) == ("sysbench", filled.version)


def test_plaintext_is_plaintext(filled: PrivateServer) -> None:
    ready, done = measured(job(filled))
    assert [(seen.client, seen.server) for seen in ready.negotiated] == [(None, None)]
    assert ready.tls_library is None
    assert done.lifetime.handshakes == ()


@pytest.mark.parametrize("workload", READS)
def test_a_trial_of_it_is_valid(filled: PrivateServer, workload: str) -> None:
    terms = JobTerms(
        endpoint=filled.endpoint(),
        account=filled.load_account,
        tables=dict(filled.tables),
        rows=ROWS,
        verification=Verification(verify="identity", ca_file=filled.ca_file),
        client_cpus=(),
        duration_s=0.35,
        seed=1,
    )
    levels = {"tls": "1.3", "workload": workload, "connections": 2, "resumption": "off"}
    trial = Trial(block=0, position=0, case=Case(levels=levels, role="treatment"))
    sysbench = ClientProgram(obtain_client(str)[0], obtain_client(str)[1])
    with filled.admin() as admin:
        bench = Bench(
            server=filled,
            terms=terms,
            machine=describe_machine(),
            admin=admin,
            equipment=Equipment(clients={ENGINE: sysbench}),
        )
        record = run_trial(trial, job_for(CaseLevels.of(levels), terms, sequence=0), bench)
    assert record.verdict.reasons == ()
    assert record.verdict.value == "valid"
    assert record.row_mismatches == ()
    assert record.client_mapped_tls_libraries


def test_rows_are_the_servers(filled: PrivateServer) -> None:
    _, done = measured(job(filled, row_samples=5))
    assert len(done.row_samples) == 5
    with filled.admin() as database:
        for sample in done.row_samples:
            assert tuple(database.rows(sample.sql)) == sample.rows


def test_the_table_may_have_any_name(filled: PrivateServer) -> None:
    with filled.admin() as database:
        database.rows("CREATE TABLE elsewhere AS SELECT id, c FROM sbtest1")
        try:
            _, done = measured(job(filled, workload=workloads.built_in("point-select", "elsewhere", ROWS)))
        finally:
            database.rows("DROP TABLE elsewhere")
    assert done.operations > 0
    assert all("elsewhere" in sample.sql for sample in done.row_samples)


def test_the_unix_socket_works_too(filled: PrivateServer) -> None:
    _, done = measured(job(filled, "reconnect", endpoint=filled.unix_endpoint()))
    assert done.operations > 0


def test_what_comes_before_the_window_costs_nothing_in_it(filled: PrivateServer) -> None:
    _, done = measured(job(filled, connections=2, warmup_s=2.0, duration_s=0.05))
    assert done.cpu.total_us <= done.elapsed_s * 1e6 * (os.cpu_count() or 1)


def test_a_planted_cost_is_seen(
    filled: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sysbench whose own event works a little more is found by its place on the PATH."""
    _, plain = measured(job(filled, connections=1))
    script = own_copy(tmp_path, monkeypatch) / sysbench.FIRST_STOCK_SCRIPT
    burning = "function event()\n   local x = 0\n   for i = 1, 50000 do x = x + math.sin(i) end\n"
    text = script.read_text(encoding="utf-8")
    assert "function event()\n" in text
    script.write_text(text.replace("function event()\n", burning), encoding="utf-8")
    _, planted = measured(job(filled, connections=1))
    assert planted.operations > 0
    plain_us = plain.cpu.total_us / plain.operations
    assert planted.cpu.total_us / planted.operations > 3 * plain_us


def test_a_thread_without_lists_of_statements_makes_its_own(
    filled: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen once on a busy machine; here sysbench's own loop that makes them is taken out."""
    stock = own_copy(tmp_path, monkeypatch)
    script = stock / "oltp_common.lua"
    making = "      stmt[t] = {}\n      param[t] = {}\n"
    text = script.read_text(encoding="utf-8")
    assert text.count(making) == 1
    script.write_text(text.replace(making, ""), encoding="utf-8")
    _, done = measured(job(filled))
    assert done.operations > 0
    assert done.errors == ()


def test_the_processors_are_those_of_the_job(filled: PrivateServer) -> None:
    (chosen, *_) = os.sched_getaffinity(0)
    with LoadClient(obtain_client(str)[1], job(filled, cpus=(chosen,))) as client:
        assert os.sched_getaffinity(client.wait_ready(WITHIN_S).pid) == {chosen}
    assert kind_of(failed(job(filled, cpus=(4000,)))) == ("limits", "client")


@pytest.mark.parametrize("encrypted", [False, True], ids=["plaintext", "tls"])
def test_the_password_is_on_no_command_line_and_in_no_file(
    filled: PrivateServer, sessions: Path, encrypted: bool
) -> None:
    asked = job(filled, tls=tls(filled) if encrypted else TlsOff())
    secret = asked.account.password.encode()
    with LoadClient(obtain_client(str)[1], asked) as client:
        client.wait_ready(WITHIN_S)
        (directory,) = left_in(sessions)
        for process in Path("/proc").glob("[0-9]*"):
            for name in ("cmdline", "environ"):
                try:
                    assert secret not in (process / name).read_bytes(), f"{process}/{name}"
                except OSError:
                    continue
        for file in directory.rglob("*"):
            assert not file.is_file() or secret not in file.read_bytes()
        client.go()
        client.wait_done(WITHIN_S)
        # Whoever has the result may kill the client: its directory is gone by then.
        assert left_in(sessions) == []
        assert secret.decode() not in client.log()


def test_all_work_is_one_slice_and_its_connections_stay(filled: PrivateServer) -> None:
    with filled.admin() as admin, LoadClient(obtain_client(str)[1], job(filled)) as client:
        ready = client.wait_ready(WITHIN_S)
        connected = read_status(admin)["Threads_connected"]
        piece = client.slice(0.001, WITHIN_S)
        assert piece.elapsed_s > 0.3
        assert read_status(admin)["Threads_connected"] == connected
        used = psutil.Process(ready.pid).cpu_times()
        done = client.finish(WITHIN_S)
        assert (piece.operations, piece.elapsed_s) == (done.operations, done.elapsed_s)
        assert (piece.cpu_us, piece.counts) == (done.cpu.total_us, done.window)
        assert read_status(admin)["Threads_connected"] == connected
        assert psutil.Process(ready.pid).cpu_times()[:2] == used[:2]


def test_a_second_slice_is_a_bad_job(filled: PrivateServer) -> None:
    with LoadClient(obtain_client(str)[1], job(filled)) as client:
        client.wait_ready(WITHIN_S)
        client.slice(0.35, WITHIN_S)
        with pytest.raises(ClientFailure, match="does all its work in one slice") as failure:
            client.slice(0.35, WITHIN_S)
    assert kind_of(failure.value) == ("bad_job", "job")


def test_a_wrong_password_is_access_denied(filled: PrivateServer) -> None:
    account = Account(user=filled.load_account.user, password="not it", database="tlstax")
    failure = failed(job(filled, account=account))
    assert kind_of(failure) == ("access_denied", "server")
    assert failure.errors[0].code == 1045
    assert "not it" not in str(failure)


def test_an_unknown_table_is_the_servers_answer(filled: PrivateServer) -> None:
    for workload in READS:
        failure = failed(job(filled, workload=workloads.built_in(workload, "no_such_table", ROWS)))
        assert kind_of(failure) == ("server_error", "server")
        assert "no_such_table" in str(failure)


def test_a_certificate_of_another_authority_is_refused_by_client_libraries_that_look(
    filled: PrivateServer, mysql: PrivateServer, mariadb: PrivateServer
) -> None:
    other = mariadb if filled is mysql else mysql
    asked = job(filled, tls=tls(filled, ca_file=other.ca_file))
    ready, _ = measured(job(filled, tls=tls(filled)))
    if KINDS["sysbench"].verifies(ready.client_version):
        assert kind_of(failed(asked)) == ("certificate", "server")
        return
    # From Connector/C 3.4 on some take any certificate, and each trial says so (`checks.verification`).
    with suppress(ClientFailure):
        assert measured(asked)[0].negotiated


def test_a_missing_authority_is_the_jobs_mistake(filled: PrivateServer) -> None:
    failure = failed(job(filled, tls=tls(filled, ca_file="/nowhere/ca.pem")))
    assert kind_of(failure) == ("certificate", "job")
    assert "/nowhere/ca.pem" in str(failure)


def test_what_sysbench_cannot_do_is_a_bad_job(filled: PrivateServer) -> None:
    assert kind_of(failed(job(filled, tls=tls(filled, resumption=True)))) == ("bad_job", "job")


def test_what_is_not_a_job_is_refused() -> None:
    for text in ("go 1\n", "{}\n", ""):
        done = subprocess.run(
            obtain_client(str)[1], input=text, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )
        event = json.loads(done.stdout)
        assert (done.returncode, event["kind"], event["fault"]) == (1, "bad_job", "job")
        assert done.stderr == ""


def test_a_closed_port_is_the_networks(filled: PrivateServer) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    failure = failed(job(filled, endpoint=TcpEndpoint(host="127.0.0.1", port=port)))
    assert kind_of(failure) == ("connect", "network")


def test_a_silent_port_is_given_up(filled: PrivateServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = TcpEndpoint(host="localhost", port=silent.getsockname()[1])
        failure = failed(job(filled, endpoint=endpoint, timeout_s=0.5))
    assert kind_of(failure)[0] == "timeout"


@pytest.mark.parametrize("workload", ["point-select", pytest.param("reconnect", marks=pytest.mark.long)])
def test_a_server_that_dies_in_the_window_ends_the_job(
    mysql_build: ServerBuild, session: Session, workload: str
) -> None:
    small = ServerSettings(buffer_pool_bytes=64 * 1024 * 1024)
    with PrivateServer.start(mysql_build, session, small) as server:
        server.prepare_table(TableContent(rows=ROWS, seed=1))
        with LoadClient(obtain_client(str)[1], job(server, workload, duration_s=60.0)) as client:
            client.wait_ready(WITHIN_S)
            client.go()
            time.sleep(0.3)
            os.kill(server.pid or 0, signal.SIGKILL)
            with pytest.raises(ClientFailure) as failure:
                client.wait_done(WITHIN_S)
    assert kind_of(failure.value)[0] in {"server_closed", "connect"}


def test_a_server_that_stalls_is_given_up(filled: PrivateServer) -> None:
    with LoadClient(obtain_client(str)[1], job(filled, timeout_s=3.0)) as client:
        client.wait_ready(WITHIN_S)
        filled.pause()
        try:
            client.go()
            with pytest.raises(ClientFailure) as failure:
                client.wait_done(WITHIN_S)
        finally:
            filled.resume()
    assert kind_of(failure.value)[0] == "timeout"


def test_a_killed_sysbench_is_a_failure_that_says_so(filled: PrivateServer) -> None:
    with LoadClient(obtain_client(str)[1], job(filled, duration_s=60.0)) as client:
        ready = client.wait_ready(WITHIN_S)
        client.go()
        os.kill(ready.pid, signal.SIGKILL)
        with pytest.raises(ClientFailure, match="killed by signal 9"):
            client.wait_done(WITHIN_S)


def test_a_killed_adapter_takes_sysbench_along(filled: PrivateServer) -> None:
    with LoadClient(obtain_client(str)[1], job(filled, duration_s=60.0)) as client:
        handle = os.pidfd_open(client.wait_ready(WITHIN_S).pid)
        client.go()
        os.kill(client.pid, signal.SIGKILL)
        with pytest.raises(ClientFailure, match="killed by signal 9"):
            client.wait_done(WITHIN_S)
        assert select.select([handle], [], [], WITHIN_S)[0]
        os.close(handle)


@pytest.mark.parametrize("gone", [False, True], ids=["before go", "in the window"])
def test_whoever_leaves_a_trial_leaves_nothing(filled: PrivateServer, sessions: Path, gone: bool) -> None:
    with LoadClient(obtain_client(str)[1], job(filled, duration_s=60.0, tls=tls(filled))) as client:
        ready = client.wait_ready(WITHIN_S)
        if gone:
            client.go()
    assert not psutil.pid_exists(ready.pid)
    assert left_in(sessions) == []


def test_many_connections_get_ready_at_once(filled: PrivateServer) -> None:
    ready, done = measured(job(filled, connections=200, tls=tls(filled)))
    assert sum(seen.connections for seen in ready.negotiated) == 200
    assert done.lifetime.connections == 200


def test_the_specimen_says_what_it_is() -> None:
    specimen = obtain_client(str)[0]
    assert (specimen.name, specimen.kind, specimen.version) == ("sysbench-1.0.20", "client", "1.0.20")
    assert re.fullmatch("[0-9a-f]{64}", specimen.sha256)
    assert Path(specimen.path).is_file()


@pytest.mark.long
def test_debians_is_fetched(mysql: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way on a machine without sysbench: packages, their libraries and plugins alone, a window."""
    mysql.prepare_table(TableContent(rows=ROWS, seed=1))
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    for directory in map(Path, os.environ["PATH"].split(os.pathsep)):
        for tool in directory.glob("*"):
            link = bin_directory / tool.name
            if tool.name != "sysbench" and not link.is_symlink():
                link.symlink_to(tool)
    monkeypatch.setenv("PATH", str(bin_directory))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path))
    with pytest.raises(MachineFault, match="has not been fetched"):
        sysbench.present()
    specimen = obtain_client(str)[0]
    assert specimen.origin == "Debian trixie"
    assert specimen.packages["sysbench"].startswith("1.0.20")
    with LoadClient(obtain_client(str)[1], job(mysql, tls=tls(mysql))) as client:
        ready = client.wait_ready(WITHIN_S)
        maps = Path(f"/proc/{ready.pid}/maps").read_text(encoding="utf-8")
        client.go()
        assert client.wait_done(WITHIN_S).operations > 0
    mapped = {line.split(maxsplit=5)[5] for line in maps.splitlines() if ".so" in line}
    assert {path for path in mapped if not path.startswith(str(tmp_path))} == set()
