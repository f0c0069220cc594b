"""How a server compresses its packets, where a client asks for it."""

from __future__ import annotations

from tlstax.mysql import answers
from tlstax.mysql.database import Database
from tlstax.study.level_names import COMPRESSIONS

ALGORITHMS, HAS_ZLIB = "protocol_compression_algorithms", "have_compress"
"""What MySQL allows since 8.0.18, "uncompressed" among it (MySQL reference manual, Connection Compression
Control); and whether any other server has zlib."""


def read(database: Database) -> tuple[str, ...]:
    """The levels of `compression` that the server agrees on, "off" first."""
    asked = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ('{ALGORITHMS}', '{HAS_ZLIB}')"
    said = {str(name): str(value) for name, value in answers.rows(database, asked, columns=2)}
    zlib_alone = "zlib" if said.get(HAS_ZLIB) == "YES" else ""
    allowed = {"off", *said.get(ALGORITHMS, zlib_alone).split(",")}
    return tuple(level for level in COMPRESSIONS if level in allowed)
