"""What was negotiated, asked of each connection before measuring: the driver's word and the server's."""

from __future__ import annotations

import ctypes
from collections import Counter
from pathlib import Path
from typing import Any

from driver_contract.driver import Driver, Settings, TlsView
from driver_contract.session import Session

View = tuple[tuple[str, Any], ...] | None
EMPTY = ("group", "hello_retry", "certificate_key", "certificate_sha256")


class Proof:
    """What connections said, counted."""

    def __init__(self, driver: Driver, settings: Settings) -> None:
        self._driver, self._tells = driver, driver.client_tells(settings)
        self._counts: Counter[tuple[View, View]] = Counter()
        self.server_version = ""
        self.autocommit = True

    def ask(self, session: Session) -> bool:
        """Ask this connection; whether the server says that it is encrypted."""
        self.server_version = _text((session.say("SELECT VERSION()") or [("",)])[0][0])
        self.autocommit = int((session.say("SELECT @@session.autocommit") or [(1,)])[0][0]) == 1
        said = {_text(row[0]): _text(row[1]) for row in session.say("SHOW SESSION STATUS LIKE 'Ssl%'") or []}
        server = self._server_view(said)
        own = self._driver.client_view(session.connection) if self._tells else None
        self._counts[_client_view(own), server] += 1
        return server is not None

    def told(self) -> list[dict[str, Any]]:
        """The contract's `negotiated`."""
        return [
            {
                "connections": count,
                "client": None if client is None else dict(client),
                "server": None if server is None else dict(server),
                "client_tells": self._tells,
            }
            for (client, server), count in self._counts.items()
        ]

    def _server_view(self, said: dict[str, str]) -> View:
        version, cipher = said.get("Ssl_version", ""), said.get("Ssl_cipher", "")
        if not cipher:
            return None
        # MariaDB's Ssl_sessions_reused stays 0 whatever happens.
        tells = "MariaDB" not in self.server_version
        resumed = int(said.get("Ssl_sessions_reused") or 0) > 0 if tells else None
        return _view(version, cipher, resumed)


def _client_view(own: TlsView | None) -> View:
    return None if own is None else _view(own.version, own.cipher, own.resumed)


def _view(version: str, cipher: str, resumed: bool | None) -> View:
    said = (("version", version), ("cipher", cipher), ("resumed", resumed))
    return (*said, *((name, None) for name in EMPTY))


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes | bytearray) else str(value)


def tls_library(beside: Path) -> dict[str, str] | None:
    """The OpenSSL that is mapped, the driver's own (below `beside`) before Python's; None if not just one."""
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
    own = {path for path in mapped if path.startswith(f"{beside}/")}
    for paths in (own, mapped - own):
        found = [sorted(path for path in paths if Path(path).name.startswith(name)) for name in NAMES]
        if all(len(each) == 1 for each in found):
            return {
                "version": _openssl_version(found[1][0]),
                "libssl_path": found[0][0],
                "libcrypto_path": found[1][0],
            }
    return None


NAMES = ("libssl", "libcrypto")


def _openssl_version(libcrypto_path: str) -> str:
    """What the library that is mapped says of itself (OpenSSL_version(3))."""
    tell = ctypes.CDLL(libcrypto_path).OpenSSL_version
    tell.restype = ctypes.c_char_p
    return str(tell(0).decode())
