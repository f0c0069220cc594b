"""Compression in the contract: what a client is told of it, what both sides say of it, and its bytes."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt

from tlstax.contract.frozen import Frozen

Compression = Literal["off", "zlib", "zstd"]
"""How MySQL's packets are compressed after the login, or a base backup, within TLS where there is TLS."""


class CompressionAgreed(Frozen):
    """What both sides say of compression on one connection.

    `client` is what it agreed on at login. `server` is its answer, on that very connection, to SHOW SESSION
    STATUS LIKE 'Compression%': "on" where it does not name the algorithm, as servers do not that know zlib
    alone; None where it has no such variables.
    """

    client: Compression
    server: Literal["off", "on", "zlib", "zstd"] | None


class CompressedBytes(Frozen):
    """Bytes of MySQL's packets before compression (`plain`), and of the compressed packets that they became.

    The packed ones have the headers of compressed packets, of seven bytes, and are counted before TLS.
    """

    plain_sent: NonNegativeInt
    packed_sent: NonNegativeInt
    plain_received: NonNegativeInt
    packed_received: NonNegativeInt
