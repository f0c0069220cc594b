"""A server that wants the password, a file of ours, or our patience: it gets a sentence and nothing else."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from guest_visit import PASSWORD, access_to, impatient
from guests import OURS, RECORDINGS, THEIRS, outcome
from hostile_scripts import PEM, SALT, WANTS_ALL, scripts
from recorded_guest import load, offering
from scripted_server import Act, Script, faithful, packet

from tlstax.external import connection as external_connection
from tlstax.external.tls import VERIFYING, ExternalTls, SslMode
from tlstax.specimens import certificates
from tlstax.support.errors import TlstaxError

SSL_REQUEST_BYTES = 36


def asking(*verdicts: Act) -> Script:
    """A server that says this to whoever has logged in."""
    return lambda place, packets: verdicts if place.what == "login" else packets


def switch(plugin: bytes) -> bytes:
    return packet(b"\xfe" + plugin + b"\0" + SALT, 2)


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_server_that_keeps_to_the_record_is_visited_to_the_end(recording: str) -> None:
    ended = outcome(faithful, recording, answers_all=True)
    assert (ended.status, ended.said, ended.lost) == (0, "", "")


@pytest.mark.parametrize(
    ("verdicts", "status", "words"),
    [
        (
            [switch(b"mysql_clear_password")],
            OURS,
            "in clear text (mysql_clear_password) over a connection with",
        ),
        ([switch(b"caching_sha2_password"), packet(WANTS_ALL, 4)], THEIRS, "wants the whole password of ann"),
        ([switch(b"sha256_password"), packet(PEM, 4)], THEIRS, "wants the whole password of ann"),
        ([switch(b"dialog"), packet(b"\x02Password: ", 4)], THEIRS, "a method that tlstax does not support"),
        ([switch(b"mysql_old_password")], THEIRS, "a method that tlstax does not support"),
        ([switch(b"client_ed25519")], THEIRS, "a method that tlstax does not support"),
    ],
)
def test_the_password_is_not_sent_without_tls(verdicts: Sequence[Act], status: int, words: str) -> None:
    """Somebody in between takes TLS out of the greeting and asks for the password in another way."""
    for recording in RECORDINGS:
        ended = outcome(asking(*verdicts, "silence"), recording, answers_all=True)
        assert words in ended.said
        assert (ended.status, ended.lost) == (status, "")
        assert ended.said.count(";") == 1, "there is no remedy"


def test_the_first_proof_may_be_of_every_method_that_the_greeting_names() -> None:
    names = [name for name, _, _ in scripts() if name.startswith("it greets with")]
    assert len(names) > 20
    for name, script, _ in scripts():
        if name in names:
            assert outcome(script, RECORDINGS[0]).lost == ""


def logged_in_over_tls(directory: Path, mode: SslMode, plugin: bytes) -> tuple[str, bytes]:
    """What is said of a server that wants this over TLS, and what it was sent there."""
    made = certificates.issue(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate_file, made.key_file)
    sent = bytearray()

    def serve() -> None:
        channel, _ = listener.accept()
        channel.sendall(offering(load(RECORDINGS[0])[0].opening[0], tls=True))
        channel.recv(SSL_REQUEST_BYTES, socket.MSG_WAITALL)
        with suppress(OSError), context.wrap_socket(channel, server_side=True) as encrypted:
            encrypted.recv(4096)
            encrypted.sendall(packet(b"\xfe" + plugin + b"\0" + SALT, 3))
            while data := encrypted.recv(4096):
                sent.extend(data)
                if PASSWORD.encode() in sent:
                    encrypted.sendall(packet(b"\0\0\0\2\0\0\0", 5))

    with socket.create_server(("127.0.0.1", 0)) as listener, impatient(3, 3):
        thread = threading.Thread(target=serve)
        thread.start()
        tls = ExternalTls(mode, str(made.ca_file) if mode in VERIFYING else None)
        said = ""
        try:
            external_connection.connect(replace(access_to(listener.getsockname()[1]), tls=tls), None)
        except TlstaxError as error:
            said = error.sentence()
        thread.join()
    return said, bytes(sent)


@pytest.mark.parametrize("mode", ["PREFERRED", "REQUIRED"])
def test_clear_text_is_not_sent_to_who_was_not_verified(tmp_path: Path, mode: SslMode) -> None:
    said, sent = logged_in_over_tls(tmp_path, mode, b"mysql_clear_password")
    assert "whose certificate was not verified" in said
    assert "--ssl-mode=VERIFY_IDENTITY" in said
    assert sent == b""


@pytest.mark.parametrize(
    ("mode", "plugin"), [("VERIFY_IDENTITY", b"mysql_clear_password"), ("REQUIRED", b"sha256_password")]
)
def test_over_tls_the_password_is_sent_as_the_protocol_has_it(
    tmp_path: Path, mode: SslMode, plugin: bytes
) -> None:
    _, sent = logged_in_over_tls(tmp_path, mode, plugin)
    assert PASSWORD.encode() + b"\0" in sent


def test_a_file_of_ours_is_not_sent() -> None:
    for stage in ("comments", "a workload's own", "status", "leaving"):
        (script,) = [one for name, one, _ in scripts() if name == f"at the {stage} it wants a file and waits"]
        ended = outcome(script, RECORDINGS[1])
        assert ended.lost == ""
        assert "LOAD DATA LOCAL INFILE" in ended.said or stage == "status"


def test_a_number_that_is_none_is_no_defect() -> None:
    found = [one for name, one, _ in scripts() if name.endswith(("has superscripts", "has a huge number"))]
    assert len(found) > 40
    assert [ended.lost for script in found if (ended := outcome(script, RECORDINGS[0])).lost] == []
