"""lying_engine.py LIE ENGINE: the load engine, whose job or whose word is altered by a lie on its way.

For tests in which a claim of a client's is false: what the server has seen must find it out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

Document = dict[str, Any]


def _as_it_is(_: Document) -> None:
    """The truth."""


def _one_more_connection(said: Document) -> None:
    if said["event"] == "done":
        said["lifetime"]["connections"] += 1


def _one_fewer_connection(said: Document) -> None:
    if said["event"] == "done":
        said["lifetime"]["connections"] -= 1


def _twice_the_work(said: Document) -> None:
    if said["event"] == "done":
        said["operations"] *= 2
        for counts in (said["window"], said["lifetime"]):
            counts["connections"] += said["window"]["connections"]


def _another_name(job: Document) -> None:
    job["attributes"]["application_name"] = "somebody else"


def _in_the_clear(job: Document) -> None:
    job["tls"] = {"mode": "off"}


def _of_tls(said: Document) -> None:
    """Says what it would have negotiated."""
    if said["event"] == "ready":
        view = {"version": "TLSv1.3", "cipher": "TLS_AES_256_GCM_SHA384", "resumed": None}
        for seen in said["negotiated"]:
            seen |= {"client": view, "server": view}


def _older_tls(job: Document) -> None:
    job["tls"] |= {"min_version": "1.2", "max_version": "1.2"}


def _of_newer_tls(said: Document) -> None:
    _of_tls(said)
    for counts in (said.get("window"), said.get("lifetime")) if said["event"] == "done" else ():
        for handshakes in counts["handshakes"]:
            handshakes |= {"version": "TLSv1.3", "cipher": "TLS_AES_256_GCM_SHA384"}


def _by_request(job: Document) -> None:
    job["server"]["ssl_negotiation"] = "request"


def _without_binding(job: Document) -> None:
    job["server"]["require_auth"] = ["scram-sha-256"]


def _fewer_rows(said: Document) -> None:
    """Shows other rows than it had."""
    if said["event"] == "done":
        for sample in said["row_samples"]:
            sample["rows"] = [["what is not there"]]


Alteration = Callable[[Document], None]

LIES: dict[str, tuple[Alteration, Alteration]] = {
    "none": (_as_it_is, _as_it_is),
    "a connection more": (_as_it_is, _one_more_connection),
    "a connection less": (_as_it_is, _one_fewer_connection),
    "twice the work": (_as_it_is, _twice_the_work),
    "another name": (_another_name, _as_it_is),
    "in the clear": (_in_the_clear, _of_tls),
    "older TLS": (_older_tls, _of_newer_tls),
    "asks for TLS": (_by_request, _as_it_is),
    "without binding": (_without_binding, _as_it_is),
    "other rows": (_as_it_is, _fewer_rows),
}
"""What becomes of the job, and of each event, by what the lie is called."""


def main(lie: str, engine: str) -> int:
    """Stand between the laboratory and the engine; the engine's exit status."""
    of_job, of_events = LIES[lie]
    with subprocess.Popen([engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        said = running.stdin

        def pass_on() -> None:
            said.write(_altered(sys.stdin.buffer.readline(), of_job))
            said.flush()
            for line in iter(sys.stdin.buffer.readline, b""):
                said.write(line)
                said.flush()
            said.close()

        threading.Thread(target=pass_on, daemon=True).start()
        for line in running.stdout:
            sys.stdout.buffer.write(_altered(line, of_events))
            sys.stdout.buffer.flush()
    return running.returncode


def _altered(line: bytes, alter: Alteration) -> bytes:
    document = json.loads(line)
    alter(document)
    return json.dumps(document).encode() + b"\n"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
