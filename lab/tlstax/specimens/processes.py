"""Child processes that die with their parent however it dies; ports for them, and what their logs say.

The command line in front of the program is `setpriv --pdeathsig KILL`, a gate, and `taskset`, each of
which replaces itself by the next, so the program keeps the process id of the child that was forked.

The kernel sends the parent death signal when the *thread* that forked the child ends (prctl(2),
PR_SET_PDEATHSIG): start processes from a thread that lives as long as they should, usually the main one.

The gate is a shell that waits for a line before it executes the program. Until then the parent writes down
the process id and may open performance counters on it, and a parent that dies in the meantime closes the
pipe, which ends the gate: no moment is left in which a program could run unrecorded.

Programs that refuse to run as root run as another user where the laboratory is root. That user owns nothing
(Debian policy, 9.2.2; Linux Standard Base, "User & Group Names"). What only root can enter it is allowed to
read when told to (capabilities(7), CAP_DAC_READ_SEARCH), and no more.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK
from tlstax.support.plain_words import reason

GATE = 'read -r go && exec "$@" <"$0"'
POLL_S = 0.02


@dataclass(frozen=True)
class ProcessIdentity:
    """A process that cannot be taken for a later one with the same id: see proc(5), field starttime."""

    pid: int
    start_ticks: int
    boot_id: str


def stat_of(pid: int, root: Path = Path("/")) -> list[str]:
    """The fields behind a process's name in /proc/PID/stat; empty where it is gone."""
    try:
        text = (root / f"proc/{pid}/stat").read_text("utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def identity_of(pid: int) -> ProcessIdentity | None:
    """The identity of a running process; None when there is none with this id."""
    try:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    fields = stat_of(pid)
    return ProcessIdentity(pid=pid, start_ticks=int(fields[19]), boot_id=boot_id) if fields else None


def kill_if_same(identity: ProcessIdentity, timeout_s: float = 10.0) -> bool:
    """Kill the process unless its id belongs to another one by now; wait until it is gone.

    True when a process was killed.
    """
    if not signal_if(identity.pid, lambda: identity_of(identity.pid) == identity, signal.SIGKILL):
        return False
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and _runs(identity):
        time.sleep(POLL_S)
    return True


def signal_if(pid: int, is_meant: Callable[[], bool], number: signal.Signals) -> bool:
    """Signal the process of this id if it is the one that is meant, and whether it is.

    A pidfd is taken before it is looked at, so the signal reaches that very process or none (pidfd_open(2)).
    """
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not is_meant():
            return False
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)
    return True


@dataclass(frozen=True)
class Launch:
    """A program to be started: its output is appended to `log_file`, its CPUs are `cpus` (empty: all)."""

    command: Sequence[str]
    log_file: Path
    environment: Mapping[str, str]
    cpus: tuple[int, ...] = ()
    input_file: Path = Path("/dev/null")


def start(launch: Launch, before_exec: Callable[[int], None] | None = None) -> subprocess.Popen[bytes]:
    """Start a program that dies with the calling thread.

    `before_exec` is called with the process id while the process waits to execute the program. The child
    is in a session of its own, so that an interrupt from the terminal reaches the parent alone.
    """
    with launch.log_file.open("ab") as log:
        child = subprocess.Popen(
            _gated(launch),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=dict(launch.environment),
            start_new_session=True,
        )
    try:
        if before_exec is not None:
            before_exec(child.pid)
        _open_gate(child)
    except BaseException:
        child.kill()
        child.wait()
        raise
    return child


def ran(
    command: Sequence[str | Path],
    environment: Mapping[str, str] | None = None,
    *,
    timeout_s: float = 60.0,
    typed: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a small program to its end; `typed` is its standard input, else that is ours.

    Raises OSError where it cannot be executed or does not end in time.
    """
    try:
        return subprocess.run(
            command,
            input=typed,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(errno.ETIMEDOUT, reason(error)) from error


def must_run(
    name: str | Path,
    command: Sequence[str | Path],
    environment: Mapping[str, str] | None = None,
    *,
    timeout_s: float = 60.0,
    typed: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """`ran`, for a program of this name that is needed: MachineFault in place of OSError."""
    try:
        return ran(command, environment, timeout_s=timeout_s, typed=typed)
    except OSError as error:
        raise MachineFault(f"{name} does not run ({reason(error)})") from error


def put_first(pid: int) -> None:
    """Let the process run as soon as it is woken, before all others that want its processor (sched(7)).

    It takes a right that not everybody has. Without, it waits for its turn on a busy machine.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, -20)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(1))


def mortal(command: Sequence[str]) -> list[str]:
    """The command line under which a program dies with the thread that starts it."""
    return [tool("setpriv"), "--pdeathsig", "KILL", "--", *command]


def _gated(launch: Launch) -> list[str]:
    pinning = [tool("taskset"), "-c", ",".join(map(str, launch.cpus))] if launch.cpus else []
    return mortal(["/bin/sh", "-c", GATE, str(launch.input_file), *pinning, *launch.command])


def _open_gate(child: subprocess.Popen[bytes]) -> None:
    gate = child.stdin
    if gate is None:
        return
    with contextlib.suppress(BrokenPipeError), gate:
        gate.write(b"go\n")


def _runs(identity: ProcessIdentity) -> bool:
    if identity_of(identity.pid) != identity:
        return False
    return stat_of(identity.pid)[:1] not in ([], ["Z"])


def tool(name: str) -> str:
    """The path of a program of util-linux. MachineFault where it is not installed."""
    path = shutil.which(name)
    if path is None:
        raise MachineFault(f"the program {name} is not on the PATH", remedy="install util-linux")
    return path


NO_LOCALHOST = "127.0.0.2"
"""On loopback too, as all of 127.0.0.0/8 is (RFC 6890), but not the address that some drivers take for this
very machine, on which they check less."""


def free_ports(count: int, address: str = LOOPBACK) -> list[int]:
    """N ports of an address that were free a moment ago; the caller tries others when one no longer is.

    MachineFault where this machine does not have the address.
    """
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            try:
                probe.bind((address, 0))
            except OSError as error:
                raise MachineFault(f"no port of {address} can be had ({error.strerror})") from error
        return [int(probe.getsockname()[1]) for probe in probes]


TAIL_BYTES = 64 * 1024

_ERROR = re.compile(r"\[ERROR\]|error while loading|: (error|fatal):|(FATAL|PANIC|ERROR):  ", re.IGNORECASE)
_HOLLOW = re.compile(
    r"Aborting|Data Dictionary initialization failed|designated data directory|For more help"
    r"|the database system is starting up"
)
"""Error lines that only follow from an earlier one, or tell a client to wait."""

_DECORATION = re.compile(
    r"^\S+[ T]+\S*Z? +\d+ (?=\[)|\[(ERROR|Server|InnoDB|MY-\d+)\] ?"
    r"|^(backend> )*(\S+ \S+ \S+ \[\d+\] )?(FATAL|PANIC|ERROR):  "
)
"""Time stamp, thread or process, and labels that the products put in front of a message."""


def log_tail(path: Path, lines: int) -> str:
    """The last lines of a log; empty when there is none."""
    return "\n".join(_log_text(path).splitlines()[-lines:])


def log_reason(path: Path, offset: int = 0) -> str:
    """The last line after `offset` bytes that reports an error in its own right, without decoration."""
    lines = [line.strip() for line in _log_text(path, offset).splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.search(line)]
    meaningful = [line for line in errors if not _HOLLOW.search(line)] or errors or lines
    return _DECORATION.sub("", meaningful[-1])[:300] if meaningful else "no message in its error log"


def log_bytes(path: Path) -> int:
    """How long the log is by now, in bytes."""
    return path.stat().st_size if path.exists() else 0


def log_lines(path: Path, offset: int) -> Iterator[str]:
    """The lines of the log after `offset` bytes, one by one; none when there is no log."""
    with contextlib.suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        file.seek(offset)
        yield from file


def _log_text(path: Path, offset: int = 0) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(offset, log_bytes(path) - TAIL_BYTES))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return ""


USER = "nobody"

CAPABILITIES = {"dac_read_search": 2, "dac_override": 1}
"""What lets another user read what root owns, the narrower one first, by its number in <linux/capability.h>.
Containers often keep the second alone."""


def unprivileged_user(program: str) -> pwd.struct_passwd | None:
    """Whom `program` runs as; None where the laboratory is an ordinary user itself. MachineFault."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(USER)
    except KeyError as error:
        raise MachineFault(
            f"{program} refuses to run as root, and this machine has no user {USER}",
            remedy=f"add the user {USER}, or run tlstax as an ordinary user",
        ) from error


def entering(who: pwd.struct_passwd | None) -> list[str]:
    """What goes before the command line of a program that runs as this user; nothing for None.

    It dies with the laboratory all the same: another user's process would go on, so that it is told again
    (prctl(2), PR_SET_PDEATHSIG). With the secure bit, access(2) heeds what the user is allowed
    (capabilities(7)): initdb asks it.
    """
    if who is None:
        return []
    kept = _kept_capability()
    return [
        tool("setpriv"),
        f"--reuid={who.pw_uid}",
        f"--regid={who.pw_gid}",
        "--clear-groups",
        "--securebits=+no_setuid_fixup",
        f"--inh-caps=-all{kept}",
        f"--ambient-caps=-all{kept}",
        f"--bounding-set=-all{kept}",
        "--pdeathsig=KILL",
        "--",
    ]


def _kept_capability() -> str:
    """What is kept, as setpriv(1) takes it behind what is given up; empty where there is none."""
    status = Path("/proc/self/status").read_text("ascii", errors="replace")
    bounding = next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd:"))
    allowed = int(bounding, 16)
    return next((f",+{name}" for name, number in CAPABILITIES.items() if allowed & 1 << number), "")


def give_away(directory: Path, who: pwd.struct_passwd | None) -> None:
    """Let this user own a directory with all that is in it; nothing for None."""
    if who is not None:
        for path in (directory, *directory.rglob("*")):
            os.chown(path, who.pw_uid, who.pw_gid, follow_symlinks=False)
