"""What a probe of PostgreSQL's drivers shows, as types, which the JSON of `drivers probe` is."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import ConfigDict, Field

from tlstax.contract import Frozen
from tlstax.records.capture import Conversation, Frame
from tlstax.tools.probes.drivers.probed import Way
from tlstax.tools.probes.postgres_drivers.words import Meaning

ServerState = Literal["right", "unknown authority", "other host", "expired", "no TLS"]
"""What the real server shows: a certificate in order, one of an authority that the driver is not given, one
for another host, one that has expired; or it has no TLS. All but the second are signed by authorities that
the driver, or its runtime, is told to trust."""

Outcome = Literal["encrypted", "in the clear", "refused"]

Trick = Literal[
    "offer taken away",
    "error",
    "bytes behind the answer",
    "clear password",
    "md5",
    "wrong proof",
    "no proof",
    "nothing asked",
    "passed on",
]
"""What the wire does. It answers that there is no TLS, and passes all else on; it answers with an error, and
passes the next connection on; it sends the end of a login right behind its yes, in the clear
(CVE-2021-23222). Or it plays the server: asks for the password itself, or hashed by MD5, logs in by SCRAM and
shows a proof of its own that is wrong, or none, or lets in whoever comes; or it passes on to the real server,
in the clear, what the driver says over TLS."""

Over = Literal["clear", "TLS"]
"""Where it plays the server: without TLS, whose offer it takes away, or by a certificate of nobody."""

OVERS: tuple[Over, ...] = get_args(Over)

Gift = Literal["nothing", "proof", "hash", "password"]
"""What it was given: a proof of SCRAM, which only guessing undoes; a hash of MD5, the same but quickly; or
the password itself."""

Login = Literal["SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"]


class Met(Frozen):
    """How the driver met the real server in this state; `conversations` are its connections, by a tap.

    `words` are its own where it refused.
    """

    server: ServerState
    outcome: Outcome
    tls_version: str | None = None
    words: str = ""
    conversations: tuple[Conversation, ...] = ()


class Attack(Frozen):
    """One trick on the driver, and what the wire saw.

    `connected` is whether the driver took itself for logged in, by what it then sent or said; `ran` whether
    it said its statement; `in_clear` whether a login in order went on without TLS. `repeats_error` is whether
    its words have those of an error that anybody may have sent. `messages` are those of both sides, in their
    order, the password masked, and `conversations` what was passed on to the real server, by a tap behind
    the wire: together the capture.
    """

    trick: Trick
    over: Over
    gave: Gift = "nothing"
    connected: bool = False
    ran: bool = False
    in_clear: bool = False
    repeats_error: bool = False
    words: str = ""
    messages: tuple[Frame, ...] = ()
    conversations: tuple[Conversation, ...] = ()


class OwnLogin(Frozen):
    """How the driver proves its account to a server that keeps to the rules, and offers all that there is."""

    over: Over
    mechanism: Login | None
    words: str = ""
    messages: tuple[Frame, ...] = ()


class WordRow(Frozen):
    """One thing that a driver is told, and what it then does.

    `written` is as its users write it. `refused_word` is why a right server was not reached by it: mostly
    that the driver has no such word. The rest is then empty. `round_trips` are those of connecting to the
    right server, TCP's included, and of a statement; `statements_on_connect` are its own, None where they
    cannot be read. `logins` is how the account is proved where TLS is and is not. `takes_any_certificate` is
    None where it begins no TLS.
    """

    meaning: Meaning
    written: str
    refused_word: str | None = None
    met: tuple[Met, ...] = ()
    round_trips_per_connect: int | None = None
    round_trips_per_statement: int | None = None
    statements_on_connect: tuple[str, ...] | None = None
    logins: tuple[OwnLogin, ...] = ()
    takes_any_certificate: bool | None = None
    attacks: tuple[Attack, ...] = ()

    def outcome(self, server: ServerState) -> Outcome | None:
        """How it met the server in that state; None where it was not tried."""
        return next((met.outcome for met in self.met if met.server == server), None)

    def attack(self, trick: Trick, over: Over) -> Attack | None:
        """That trick; None where it did not come to it."""
        return next((one for one in self.attacks if (one.trick, one.over) == (trick, over)), None)


class PostgresDriverRow(Frozen):
    """One driver of one version, by each of its words.

    Of a handshake in order: `offers_session` is whether it asks to resume one (PostgreSQL resumes none),
    `application_protocols` what it names by ALPN, `group`, `key_shares`, `hello_retry` what is agreed on.
    `statements_on_connect` are its own, read in the clear. `reads_authorities_anew` is whether a file of
    authorities that changes is in force for the next connection of a program that runs. `untried` are the
    words that an interruption left out.
    """

    name: str
    product: str
    version: str
    language: str
    options: dict[str, str] = {}
    words: tuple[WordRow, ...] = ()
    untried: tuple[Meaning, ...] = ()
    tls_version: str | None = None
    cipher: str | None = None
    group: str | None = None
    key_shares: tuple[str, ...] = ()
    hello_retry: bool | None = None
    server_name: str | None = None
    application_protocols: tuple[str, ...] = ()
    offers_session: bool | None = None
    statements_on_connect: tuple[str, ...] | None = None
    reads_authorities_anew: bool | None = None
    plain: Way = Way()
    encrypted: Way = Way()
    failed: str | None = None


class PostgresProbe(Frozen):
    """The one document that `drivers probe --json` prints of PostgreSQL's drivers.

    `run` is the stored run that costs are from, and `stopped_because` why they were measured no longer.
    `unprobed` are the drivers that an interruption left out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    status: Literal["complete", "interrupted"]
    server: str
    server_version: str
    run: str | None = None
    stopped_because: str = ""
    drivers: tuple[PostgresDriverRow, ...]
    unprobed: tuple[str, ...] = ()
