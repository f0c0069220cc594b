"""PostgreSQL's protocol in the clear: how TLS is asked for, how a client logs in, what is asked and answered.

Numbers and names are those of PostgreSQL's documentation, "Frontend/Backend Protocol: Message Formats".
"""

from __future__ import annotations

import re

from tlstax.network.tap.units import (
    LONGEST_TEXT,
    MESSAGES,
    ONE_BYTE,
    STARTUP,
    Cursor,
    Framing,
    Malformed,
    Said,
    Stage,
    Unit,
)
from tlstax.records.capture import Sender, Spoken, StatementSeen

CANCEL_REQUEST, SSL_REQUEST, GSS_REQUEST = 80877102, 80877103, 80877104
_MAJOR_VERSIONS = {2, 3}
"""Of the protocol, in the upper half of a StartupMessage's first number."""

_YES = b"S"
_ONE_BYTE = {_YES: "yes (S)", b"N": "no (N)", b"E": "error (E)"}
"""A server's answer to a client that asks for encryption; the last one begins an error of old servers."""

OF_CLIENT = {
    b"B": "Bind",
    b"C": "Close",
    b"D": "Describe",
    b"E": "Execute",
    b"F": "FunctionCall",
    b"H": "Flush",
    b"P": "Parse",
    b"Q": "Query",
    b"S": "Sync",
    b"X": "Terminate",
    b"c": "CopyDone",
    b"d": "CopyData",
    b"f": "CopyFail",
}
_OF_SERVER = {
    b"1": "ParseComplete",
    b"2": "BindComplete",
    b"3": "CloseComplete",
    b"A": "NotificationResponse",
    b"C": "CommandComplete",
    b"D": "DataRow",
    b"G": "CopyInResponse",
    b"H": "CopyOutResponse",
    b"I": "EmptyQueryResponse",
    b"K": "BackendKeyData",
    b"N": "NoticeResponse",
    b"S": "ParameterStatus",
    b"T": "RowDescription",
    b"V": "FunctionCallResponse",
    b"W": "CopyBothResponse",
    b"Z": "ReadyForQuery",
    b"c": "CopyDone",
    b"d": "CopyData",
    b"n": "NoData",
    b"s": "PortalSuspended",
    b"t": "ParameterDescription",
    b"v": "NegotiateProtocolVersion",
}
AUTHENTICATION = {
    0: "AuthenticationOk",
    2: "AuthenticationKerberosV5",
    3: "AuthenticationCleartextPassword",
    5: "AuthenticationMD5Password",
    7: "AuthenticationGSS",
    8: "AuthenticationGSSContinue",
    9: "AuthenticationSSPI",
    10: "AuthenticationSASL",
    11: "AuthenticationSASLContinue",
    12: "AuthenticationSASLFinal",
}
_ANSWERS = {
    7: "GSSResponse",
    8: "GSSResponse",
    9: "GSSResponse",
    10: "SASLInitialResponse",
    11: "SASLResponse",
}
"""What a client's proof is called, by what the server asked for; else it is a PasswordMessage."""

_ASKED_FOR_PROOF, _PROOF, _KEY, _FAILED, _READY = b"R", b"p", b"K", b"E", b"Z"
_SECRET = {_ASKED_FOR_PROOF, _PROOF, _KEY}
"""Messages with a password, a proof of one, or the key by which anyone may cancel what a client asked."""

_PARTS = {b"B", b"D", b"H", b"S", b"c", b"d", b"f"}
"""What belongs to a command and is none."""

_WAITS = {b"F", b"H", b"Q", b"S", b"c", b"f"}
"""After these a client waits for an answer; the rest of a command it sends without ("Extended Query")."""

_TERMINATE = b"X"
_UNASKED = {b"A", b"N", b"S"}
"""What a server may say at any time ("Asynchronous Operations"): it answers nothing."""

_SQLSTATE = re.compile(rb"(?:^|\0)C([0-9A-Z]{5})\0")
"""The field of an error that has its code ("Error and Notice Message Fields")."""


class PostgresMessages:
    """A `Clear`. A frame is all that a client sends until it waits, or all of an answer."""

    spoken: Spoken = "postgresql"
    frame_names = 8

    def __init__(self) -> None:
        self.stage: Stage = "opening"
        self._asked: int | None = None
        self._proof = "PasswordMessage"

    def framing(self, sender: Sender, /) -> Framing:
        """A client's first packets have no type; to a request for encryption one byte is the answer."""
        if sender == "client":
            return STARTUP if self.stage == "opening" else MESSAGES
        return MESSAGES if self._asked is None else ONE_BYTE

    def follow(self, sender: Sender, unit: Unit) -> Said:
        """One more message, in its order."""
        if sender == "server":
            return self._of_server(unit) if self._asked is None else self._one_byte(unit.header)
        return self._first_words(unit) if self.stage == "opening" else self._of_client(unit)

    def _first_words(self, packet: Unit) -> Said:
        """A request for encryption or to cancel, or whom the client wants to log in."""
        code = Cursor(packet.body).number(4)
        if code in {SSL_REQUEST, GSS_REQUEST}:
            self._asked = code
            return Said("SSLRequest" if code == SSL_REQUEST else "GSSENCRequest")
        if code == CANCEL_REQUEST:
            return Said("CancelRequest")
        if code >> 16 not in _MAJOR_VERSIONS:
            raise Malformed
        self.stage = "login"
        return Said("StartupMessage")

    def _one_byte(self, answer: bytes) -> Said:
        asked, self._asked = self._asked, None
        if answer == _YES and asked == SSL_REQUEST:
            self.stage = "tls"
        elif answer == _YES or answer not in _ONE_BYTE:
            # Encryption by GSSAPI (G) cannot be followed; anything else is no answer.
            raise Malformed
        return Said(_ONE_BYTE[answer])

    def _of_client(self, message: Unit) -> Said:
        kind = message.header[:1]
        if kind == _PROOF:
            return Said(self._proof, shown_bytes=MESSAGES.header_bytes)
        name = OF_CLIENT.get(kind, _unknown(kind))
        waits = kind in _WAITS
        return Said(
            name,
            None if kind in _PARTS else StatementSeen(command=name, text=_text(kind, message.body)),
            speaks=True if waits else None,
            ends_frame=waits or kind == _TERMINATE,
        )

    def _of_server(self, message: Unit) -> Said:
        kind = message.header[:1]
        shown_bytes = MESSAGES.header_bytes if kind in _SECRET else None
        if kind == _ASKED_FOR_PROOF:
            return Said(self._authentication(message.body), shown_bytes=shown_bytes)
        if kind == _READY and self.stage == "login":
            self.stage = "commands"
        name = _failed(message.body) if kind == _FAILED else _OF_SERVER.get(kind, _unknown(kind))
        return Said(name, speaks=None if kind in _UNASKED else True, shown_bytes=shown_bytes)

    def _authentication(self, body: bytes) -> str:
        asked = Cursor(body).number(4)
        self._proof = _ANSWERS.get(asked, "PasswordMessage")
        return AUTHENTICATION.get(asked, f"Authentication {asked}")


def _unknown(kind: bytes) -> str:
    return f"message 0x{kind.hex()}"


def _failed(body: bytes) -> str:
    """An error by its SQLSTATE: "ErrorResponse 42P01"."""
    found = _SQLSTATE.search(body)
    return "ErrorResponse" if found is None else f"ErrorResponse {found[1].decode('ascii')}"


def _text(kind: bytes, body: bytes) -> str:
    """The text of a statement, empty where a message has none; of Parse it stands behind a name."""
    if kind == b"P":
        body = body.partition(b"\0")[2]
    elif kind != b"Q":
        return ""
    return body.partition(b"\0")[0][:LONGEST_TEXT].decode("utf-8", "replace")
