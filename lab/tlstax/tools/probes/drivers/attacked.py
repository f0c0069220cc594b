"""What a driver did on a hostile wire: which trick, and what was given away."""

from __future__ import annotations

from typing import Literal

from tlstax.contract import Frozen
from tlstax.records.capture import Frame

TlsAsked = Literal["unset", "off", "required", "verified"]
"""What the driver was given for TLS: nothing, to leave it, that there must be some and nothing else, or that
there must be some and what to check."""

Trick = Literal[
    "offer taken away", "clear password", "old password", "key of nobody", "file", "certificate of nobody"
]
"""What the wire does: it takes the server's offer of TLS away and passes all else on; and then asks for the
password by mysql_clear_password, by mysql_old_password, or by a full caching_sha2 login with a key of its
own; or for a file (LOAD DATA LOCAL). Or it leaves the offer, shows a certificate that nobody vouches for,
and asks
for a full login over TLS."""

TRICKS: dict[Trick, str] = {
    "offer taken away": "goes on without TLS",
    "clear password": "mysql_clear_password",
    "old password": "mysql_old_password",
    "key of nobody": "full login, foreign key",
    "file": "LOCAL INFILE",
    "certificate of nobody": "full login over TLS, foreign certificate",
}

Gift = Literal["password", "hash", "file"]

Outcome = Literal["refused", "went on", "password", "hash", "file"]
"""`hash` is an old one, which takes minutes to undo; `password` is the password itself."""


class Attack(Frozen):
    """One trick on a driver that was given this for TLS; `words` are the driver's where it refused.

    `frames` are what it sent, with the password masked: the capture that shows the outcome.
    """

    tls: TlsAsked
    trick: Trick
    outcome: Outcome
    words: str = ""
    frames: tuple[Frame, ...] = ()
