"""A load machine's side: it listens for a laboratory, and has load clients do what that orders."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import socket
import ssl
import threading
import time
from collections.abc import Generator, Iterable
from ipaddress import ip_interface
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from pydantic import ValidationError

from tlstax.clients.engine import engine_command, engine_specimen
from tlstax.clients.fleet_messages import (
    ORDERS,
    AskClock,
    Broke,
    Clock,
    Finish,
    Finished,
    Go,
    Greet,
    Mark,
    Readied,
    Sliced,
    Start,
    Welcome,
)
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Frozen, Job
from tlstax.plan.jobs import SOURCE_ADDRESSES
from tlstax.records.trial import Machine
from tlstax.specimens.certificates import CertificateRequest, issue
from tlstax.specimens.sessions import Session
from tlstax.support.errors import MachineFault

GREETING_S = 10.0
"""How long somebody who has connected may take to say who they are."""

LONGEST_GREETING_BYTES = 4096


class Outpost:
    """Listens on an address until it is closed; only who knows the token is let in.

    Each connection is served by a thread of its own, whose load client ends with it. OSError where it cannot
    listen there.
    """

    def __init__(self, address: str, token: str, machine: Machine, session: Session) -> None:
        self._token, self._session = token, session
        self._welcome = Welcome(
            machine=machine, engine=engine_specimen(), source_addresses=addresses_beside(address)
        )
        self._context, self.fingerprint = _own_certificate(session.new_directory())
        self._socket = socket.create_server((address, 0), backlog=64)
        self.port = int(self._socket.getsockname()[1])

    def serve(self) -> None:
        """Let whoever comes connect, for as long as this process lives."""
        while True:
            channel, _ = self._socket.accept()
            threading.Thread(target=self._serve, args=(channel,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        # Who is not greeted, or goes in the middle of something, gets no answer.
        with contextlib.suppress(OSError, ValueError), plain:
            plain.settimeout(GREETING_S)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._context.wrap_socket(plain, server_side=True) as channel:
                lines = channel.makefile("rwb")
                if not self._is_known(lines.readline(LONGEST_GREETING_BYTES)):
                    return
                channel.settimeout(None)
                lines.write(self._welcome.as_line())
                lines.flush()
                with contextlib.closing(_replies(lines, self._session.path)) as replies:
                    for reply in replies:
                        lines.write(reply.as_line())
                        lines.flush()

    def _is_known(self, line: bytes) -> bool:
        try:
            greet = Greet.model_validate_json(line)
        except ValidationError:
            return False
        return hmac.compare_digest(greet.token.encode(), self._token.encode())


def _replies(orders: Iterable[bytes], scratch: Path) -> Generator[Frozen]:
    """What is answered to each order. A client that fails has the last word. ValueError for a wrong order."""
    with contextlib.ExitStack() as stack:
        client: LoadClient | None = None
        try:
            for text in orders:
                order = ORDERS.validate_json(text)
                if isinstance(order, AskClock):
                    yield Clock(at_s=time.monotonic())
                elif isinstance(order, Mark):
                    yield Clock(at_s=_wait_until(order.at_s))
                elif isinstance(order, Start):
                    folder = stack.enter_context(TemporaryDirectory(dir=scratch))
                    job = _with_files(order, Path(folder))
                    client = stack.enter_context(LoadClient(engine_command(), job))
                    ready = client.wait_ready(order.within_s)
                    yield Readied(ready=ready, libraries=client.mapped_tls_libraries())
                elif client is None:
                    raise ValueError("a client is to work that was not started")
                elif isinstance(order, Go):
                    began_s = _wait_until(order.at_s)
                    yield Sliced(slice=client.slice(order.length_s, order.within_s), began_s=began_s)
                elif isinstance(order, Finish):
                    done = client.finish(order.within_s)
                    yield Finished(done=done, errors=client.errors, log=client.log(), ports=client.ports())
        except ClientFailure as failure:
            log = client.log() if client is not None else ""
            yield Broke(message=str(failure), errors=failure.errors, log=log)
        except MachineFault as fault:
            yield Broke(message=fault.message)


def _with_files(order: Start, folder: Path) -> Job:
    """The job, whose files for TLS lie in this folder, which only this user can enter."""
    places = {}
    for field, content in order.tls_files.items():
        place = folder / f"{field}.pem"
        place.touch(mode=0o600)
        place.write_text(content, "ascii")
        places[field] = str(place)
    return order.job.model_copy(update={"tls": order.job.tls.model_copy(update=places)})


def _wait_until(at_s: float) -> float:
    """Return at this time by this machine's clock, or at once where it is over; the time it is."""
    left_s = at_s - time.monotonic()
    if left_s > 0:
        time.sleep(left_s)
    return time.monotonic()


def addresses_beside(address: str) -> tuple[str, ...]:
    """The addresses of this machine in the network of that one, which is among them; of loopback, eight.

    A closed connection keeps its port for a minute (TIME_WAIT), and an address has some 28,000 of them: a
    client that reconnects all the time needs several.
    """
    if address.startswith("127."):
        return SOURCE_ADDRESSES
    found = (
        ip_interface(f"{one.address}/{one.netmask}")
        for of_device in psutil.net_if_addrs().values()
        for one in of_device
        if one.family == socket.AF_INET and one.netmask
    )
    known = list(found)
    network = next((one.network for one in known if str(one.ip) == address), None)
    return tuple(str(one.ip) for one in known if one.network == network)


def _own_certificate(folder: Path) -> tuple[ssl.SSLContext, str]:
    """A certificate made for this process alone, in this folder, and its SHA-256."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    files = issue(folder, CertificateRequest(key="ec-p256"))
    context.load_cert_chain(files.certificate_file, files.key_file)
    pem = files.certificate_file.read_text("ascii")
    return context, hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
