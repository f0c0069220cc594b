"""sysbench behind the contract: one job from standard input, events to standard output.

`obtain_client` has its command. The measured work is all sysbench's; this program starts it, waits with it,
and reads its CPU clock from outside while it stands still before and after the window.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys

from tlstax.clients.adapter import (
    Failed,
    Laboratory,
    LaboratoryGone,
    cpu_used,
    failure,
    has_ended,
    job_of,
    only_slice,
    served,
    take_limits,
)
from tlstax.clients.sysbench import SCRIPTS, VERSION, SysbenchProgram, demand, messages, present
from tlstax.clients.sysbench.child import Launch, Sysbench
from tlstax.clients.sysbench.demand import Chosen, arguments, demand_of, password_line, version_is_asked_for
from tlstax.clients.sysbench.messages import Reported
from tlstax.contract import Job, TcpEndpoint, Tls, TlsOff, TlsOn
from tlstax.observers.process import mapped_tls_libraries
from tlstax.specimens.sessions import Session, open_session


def main() -> int:
    """Serve one job; the exit status is 0 after `done`."""
    return served(_serve)


def _serve(laboratory: Laboratory) -> None:
    job = job_of(laboratory)
    wanted = demand_of(job)
    found = present()
    take_limits(job.cpus, "sysbench")
    with open_session() as session, _start(job, wanted, found, session, laboratory) as sysbench:
        reported = sysbench.reported
        within_s = job.timeout_s + job.warmup_s
        sysbench.listen(lambda: len(reported.ready) == job.connections, within_s, "get ready")
        _check_encryption(job.tls, reported)
        before = sysbench.settled_cpu()
        paths = _library_paths(sysbench.pid) if isinstance(job.tls, TlsOn) else None
        laboratory.say(messages.ready_event(reported, pid=sysbench.pid, version=VERSION, library_paths=paths))
        sysbench.wait_for_go()
        sysbench.open_window()
        within_s = job.timeout_s + job.duration_s
        sysbench.listen(lambda: reported.over == job.connections, within_s, "finish")
        used = cpu_used(before, sysbench.settled_cpu(), "sysbench")
        sysbench.close_window()
        sysbench.listen(lambda: len(reported.finished) == job.connections, job.timeout_s, "report")
        # Whoever has the result may kill us at once: by then nothing may be left on the disk.
        session.close()
        done = messages.done_event(reported, cpu=used, reconnects=job.workload.reconnect)
        laboratory.say(only_slice(done))
        sysbench.listen(lambda: has_ended(laboratory), None, "")
        laboratory.say(done)
        # The laboratory reads its clocks now: hanging up must not be in them.
        with contextlib.suppress(LaboratoryGone):
            sysbench.listen(lambda: False, None, "")
        sysbench.release()


def _start(
    job: Job, wanted: Chosen, found: SysbenchProgram, session: Session, laboratory: Laboratory
) -> Sysbench:
    """Start sysbench in a directory of its own, where it looks for the files of TLS."""
    directory = session.new_directory()
    environment = {**found.environment(wanted.script.stock), "OPENSSL_CONF": os.devnull}
    if isinstance(job.tls, TlsOn):
        try:
            demand.lay_out(directory, job.tls)
        except OSError as error:
            text = f"{error.filename} cannot be read ({error.strerror})"
            raise Failed(failure("certificate", "job", text)) from None
        environment["OPENSSL_CONF"] = str(directory / demand.OPENSSL_CONF)
    address = _numeric(job.endpoint) if isinstance(job.endpoint, TcpEndpoint) else None
    launch = Launch(
        program=found,
        script=SCRIPTS / f"{wanted.script.ours}.lua",
        arguments=arguments(job, wanted, address=address),
        options=password_line(job.account.password),
        directory=directory,
        environment=environment,
    )
    return Sysbench(launch, laboratory)


def _numeric(endpoint: TcpEndpoint) -> str:
    """The host's address, IPv4 first; libmariadb would take `localhost` for a Unix socket."""
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except OSError as error:
        text = f"{endpoint.host} cannot be resolved ({error.strerror})"
        raise Failed(failure("resolve", "network", text)) from None
    by_family = sorted(found, key=lambda entry: entry[0] != socket.AF_INET)
    return str(by_family[0][4][0])


def _check_encryption(tls: Tls, reported: Reported) -> None:
    """What was negotiated is what the job asked for; Failed otherwise."""
    for proof in reported.proofs.values():
        client, server = proof.negotiated()
        if isinstance(tls, TlsOff):
            if client is not None or server is not None:
                raise Failed(
                    failure("internal", "client", "sysbench's client library encrypts without being asked to")
                )
        elif client is None or server is None:
            text = "TLS was asked for, and sysbench's connection is not encrypted"
            raise Failed(failure("no_tls", "server", text))
        elif isinstance(tls, TlsOn) and not version_is_asked_for(tls, client.version):
            text = f"sysbench negotiated {client.version}, which the job does not ask for"
            raise Failed(failure("tls_library", "client", text))


def _library_paths(pid: int) -> tuple[str, str] | None:
    """Paths of the libssl and the libcrypto that are mapped into sysbench."""
    mapped = [library.path for library in mapped_tls_libraries(pid)]
    libssl = next((path for path in mapped if "/libssl" in path), None)
    libcrypto = next((path for path in mapped if "/libcrypto" in path), None)
    return (libssl, libcrypto) if libssl and libcrypto else None


if __name__ == "__main__":
    sys.exit(main())
