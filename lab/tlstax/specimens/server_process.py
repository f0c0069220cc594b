"""The process of a private server: how its product is set up, its birth, its pauses and its end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from tlstax.specimens import initial_data, loading, processes, server_settings, sessions
from tlstax.specimens.certificates import Certificates, issue
from tlstax.specimens.initial_data import InitialData
from tlstax.specimens.process_tree import ProcessTree, Warden
from tlstax.specimens.processes import free_ports, log_bytes, log_reason, log_tail
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import Errand, ServerSettings, Site
from tlstax.specimens.sessions import Session
from tlstax.specimens.shared_pages import BURN_VARIABLE, LOCKS_VARIABLE, BurnPage, LockPage
from tlstax.sql.credentials import Credentials
from tlstax.study import cpu_features
from tlstax.support import directories, here
from tlstax.support.errors import MachineFault


class ServerSetup(Protocol):
    """The files, programs and options of one server at its site.

    The process calls `prepare`, carries out the `errands` (or copies what is kept of them), and starts the
    server: the first time with `first_options` too.
    """

    def prepare(self) -> None:
        """Make what has to be there before any of its programs runs. MachineFault where that cannot be."""
        ...

    def account_statements(self, credentials: Credentials) -> list[str]:
        """SQL that makes the accounts, one statement each, for the site's `accounts_file`."""
        ...

    def errands(self) -> Iterator[Errand]:
        """The programs that make its data, and end; each is asked for when the one before has succeeded.

        None of them takes a login, or opens a socket that others reach.
        """
        ...

    def kept_data(self) -> InitialData | None:
        """Where what the errands make is kept for all servers that are set up alike; None where it is not."""
        ...

    def first_options(self) -> list[str]:
        """Options of the first start alone."""
        ...

    def options(self, port: int) -> list[str]:
        """Options of every start, for a server that listens on this port."""
        ...

    def command(self, command: Sequence[str]) -> list[str]:
        """The command by which one of its programs runs as the user that the product demands."""
        ...

    def socket_path(self, port: int) -> Path:
        """The Unix socket that it listens on."""
        ...


def setup_of(site: Site) -> ServerSetup:
    """How the server of this site is set up; its product's room is imported for its servers alone."""
    if site.build.flavour == "postgresql":
        from tlstax.specimens import postgres_setup  # noqa: PLC0415

        return postgres_setup.PostgreSql(site)
    from tlstax.specimens import mysql_setup  # noqa: PLC0415

    return mysql_setup.setup_of(site)


PORT_ATTEMPTS = 5
POLL_S = 0.05
DATA_BYTES = 500_000_000
"""System tables, redo log and a table of a few 100,000 rows; less makes servers fail with obscure words."""
IN_USE = "already in use"


class ServerProcess:
    """One server in one directory of the session; `launch` brings it up, `stop` removes all of it."""

    def __init__(self, build: ServerBuild, session: Session, settings: ServerSettings) -> None:
        library = settings.tls_library
        self._build = loading.over(build, library) if library else build
        if settings.fault is not None:
            loading.check_planted(self._build, library, settings.fault)
        self._session = session
        self._settings = settings
        self._tree, self._takes = settings.tree, False
        if settings.tree is None and build.forks:
            self._tree, self._takes = ProcessTree(), True
        self._child: subprocess.Popen[bytes] | None = None
        self._warden: Warden | None = None
        self.port = 0
        self.directory = session.new_directory()
        has_page = settings.fault is not None and settings.fault.has_page
        self.burn_page = BurnPage(self.directory / "burn") if has_page else None
        counts_locks = settings.fault is not None and settings.fault.counts_locks
        self.lock_page = LockPage(self.directory / "locks") if counts_locks else None
        self.certificates: Certificates = issue(self.directory, settings.certificate)
        self._site = Site(self._build, settings, self.directory, self.certificates)
        self._setup = setup_of(self._site)

    @property
    def socket_path(self) -> Path:
        """The Unix socket that it listens on."""
        return self._setup.socket_path(self.port)

    @property
    def data_directory(self) -> Path:
        """Where its tables are."""
        return self._site.data_directory

    @property
    def log_file(self) -> Path:
        """Its error log, with whatever else it wrote."""
        return self._site.log_file

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self._child.pid if self._child and self._child.poll() is None else None

    def launch(self, credentials: Credentials, answers: Callable[[], bool]) -> None:
        """Make its data, start the server, and wait until `answers` is true.

        MachineFault with the decisive line of the error log when it ends or stays silent for longer than
        `start_timeout_s`.
        """
        if not self._settings.entering:
            here.check_loopback()
        directories.check_room(self.directory, DATA_BYTES, f"the data of {self._build.specimen.name}")
        self._write_files(credentials)
        kept = self._setup.kept_data()
        if kept is None or not self._comes_up_on(kept, answers):
            for errand in self._setup.errands():
                self._carry_out(errand)
            if kept is not None:
                kept.keep(self.data_directory)
            self._bring_up(answers, self._setup.first_options())
        self._site.accounts_file.unlink()

    def relaunch(self, answers: Callable[[], bool]) -> None:
        """Start a server that died again on the data it left, on another port. Faults as of `launch`."""
        self._bury()
        self._bring_up(answers, [])

    def _comes_up_on(self, kept: InitialData, answers: Callable[[], bool]) -> bool:
        """Start it on a copy of kept data: True. False, and it has no data, where there are none that serve.

        A server that ends by itself on a copy gets new data, which will tell whether that was the reason.
        """
        if not kept.copy_to(self.data_directory):
            return False
        try:
            self._bring_up(answers, self._setup.first_options())
        except MachineFault:
            if self.pid is not None:
                raise
            self._bury()
            initial_data.empty(self.data_directory)
            kept.forget()
            return False
        return True

    def _bring_up(self, answers: Callable[[], bool], options: list[str]) -> None:
        if self._tree is not None and self._warden is None:
            self._warden = Warden(self.data_directory)
        for _ in range(PORT_ATTEMPTS):
            offset = log_bytes(self.log_file)
            (self.port,) = free_ports(1, self._settings.address)
            self._child = self._spawn([*self._setup.options(self.port), *options], self.log_file)
            if self._wait_until(answers):
                return
            if IN_USE not in log_tail(self.log_file, 30) or self.pid is not None:
                break
        raise self._start_fault(offset)

    def pause(self) -> None:
        """Stop it (SIGSTOP); it keeps its memory and connections. MachineFault where a process goes on."""
        if self._tree is not None:
            self._tree.pause()
        elif self._child is not None:
            self._child.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        if self._tree is not None:
            self._tree.resume()
        elif self._child is not None:
            self._child.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Kill it and remove its directory. May be called twice.

        A clean shutdown would write back data that are thrown away; a study of seventeen servers took 40 s
        for that. SIGKILL ends a paused process too.
        """
        self._bury()
        warden, self._warden = self._warden, None
        if warden is not None:
            warden.dismiss()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _bury(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            self._end(child)
        sessions.remove_shared_memory(self.directory)

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        if self._tree is not None:
            self._tree.end()
        child.kill()
        child.wait()
        self._session.forget(child.pid)

    def _write_files(self, credentials: Credentials) -> None:
        """The account statements are secret: their file has mode 0600 and is removed after the start."""
        (self.directory / "openssl.cnf").write_text(self._settings.openssl_conf, encoding="utf-8")
        statements = "".join(f"{line};\n" for line in self._setup.account_statements(credentials))
        self._site.accounts_file.touch(0o600)
        self._site.accounts_file.write_text(statements, encoding="utf-8")
        self._setup.prepare()

    def _carry_out(self, errand: Errand) -> None:
        """Run it to its end, in a log of its own that is removed when it succeeds."""
        log = self._site.initial_log
        child = self._spawn(errand.arguments, log, errand.statements, errand.program)
        try:
            status = child.wait(timeout=self._settings.start_timeout_s)
        except subprocess.TimeoutExpired as error:
            raise self._fault("did not initialise its data in time", log) from error
        finally:
            self._end(child)
        if status != 0:
            raise self._fault("could not initialise its data", log)
        log.unlink(missing_ok=True)

    def _spawn(
        self,
        arguments: list[str],
        log: Path,
        input_file: Path = Path("/dev/null"),
        program: Path | None = None,
    ) -> subprocess.Popen[bytes]:
        library, fault = self._settings.tls_library, self._settings.fault
        preload = fault.library if fault else None
        environment = {
            "PATH": os.defpath,
            "HOME": str(self.directory),
            "LC_ALL": "C",
            "OPENSSL_CONF": str(self.directory / "openssl.cnf"),
            **({BURN_VARIABLE: str(self.burn_page.path)} if self.burn_page else {}),
            **({LOCKS_VARIABLE: str(self.lock_page.path)} if self.lock_page else {}),
            **cpu_features.environment(self._settings.cpu_features),
            **self._build.environment(library, preload),
        }
        command = self._setup.command(
            self._build.command(arguments, program=program, tls_library=library, preload=preload)
        )
        launch = processes.Launch(
            [*self._settings.entering, *command], log, environment, self._settings.cpus, input_file
        )
        return processes.start(launch, self._before_exec)

    def _before_exec(self, pid: int) -> None:
        self._session.record(pid)
        server_settings.allow_open_files(pid)
        if self._takes and self._tree is not None:
            self._tree.take(pid)
        if self._settings.before_exec is not None:
            self._settings.before_exec(pid)

    def _wait_until(self, answers: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + self._settings.start_timeout_s
        while time.monotonic() < deadline:
            if self.pid is None:
                return False
            if self.socket_path.exists() and answers():
                return True
            time.sleep(POLL_S)
        return False

    def _start_fault(self, offset: int) -> MachineFault:
        if self.pid is not None:
            return self._fault(f"did not answer within {self._settings.start_timeout_s:.0f} s", self.log_file)
        return self._fault("did not start", self.log_file, offset)

    def _fault(self, what: str, log: Path, offset: int = 0) -> MachineFault:
        specimen = self._build.specimen
        return MachineFault(f"{specimen.name} {specimen.version} {what}: {log_reason(log, offset)}")
