"""mysqlslap, as it comes with a server: its version is that server's, and what it can do depends on it."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.study.client_kinds.kind import ClientKind, Limit, Wanted
from tlstax.study.client_kinds.limits import of_other_makers
from tlstax.study.level_names import CACHING_SHA2, NATIVE_PASSWORD
from tlstax.study.workloads import Rows, by_numbers

PREFIX = "mysqlslap-"
"""How the names of its levels begin; the version of its server follows."""

WORKERS_IGNORE_SSL_MODE = frozenset({"8.0.33"})
"""Versions whose working connections were seen to ignore --ssl-mode: over TCP they encrypt where the server
can, over a Unix socket they do not. It only explains; the verdict is the server's word alone."""


def _kind(version: str, *, knows_native_passwords: bool) -> ClientKind:
    name = f"{PREFIX}{version}"

    def limits(wanted: Wanted) -> Iterable[Limit]:
        yield from of_other_makers(wanted)
        yield from _of_any_version(wanted)
        if not knows_native_passwords:
            yield (
                _logs_in_natively(wanted),
                f"does not know mysql_native_password, by which clients log in to {wanted.case.server or ''}",
            )
        yield from _of_its_work(wanted)

    return ClientKind(
        name,
        f"mysqlslap {version}",
        limits,
        asks=False,
        connects_in_window=True,
        works_in_rounds=True,
        verifies=lambda reported: False if reported in WORKERS_IGNORE_SSL_MODE else None,
    )


def _of_any_version(wanted: Wanted) -> Iterable[Limit]:
    yield wanted.case.tls in {"1.0", "1.1"}, "speaks only TLS 1.2 and 1.3"
    yield (
        # It tries TLS unasked, and gets in to such a server by no option.
        wanted.server is not None and not wanted.server.has_modern_tls,
        f"speaks only TLS 1.2 and 1.3, and {wanted.case.server} has neither",
    )


def _logs_in_natively(wanted: Wanted) -> bool:
    only_natively = wanted.server is not None and CACHING_SHA2 not in wanted.server.account_plugins
    return only_natively or wanted.case.auth == NATIVE_PASSWORD


def _of_its_work(wanted: Wanted) -> Iterable[Limit]:
    own = wanted.workload.own
    reconnects = wanted.case.reconnects or (own is not None and own.reconnect)
    yield reconnects, "cannot prove each of the connections that it would make for one query"
    sized = by_numbers(wanted.case.workload)
    yield (
        isinstance(sized, Rows) and sized.is_made_of_values,
        "would set the values of such long rows anew, over and over",
    )
    yield wanted.workload.is_prepared, "sends statements only as text (protocol = text)"
    yield (
        wanted.case.connections > 1 and wanted.workload.counts,
        "gives all its connections the same statements, and each id is to be used once",
    )


KINDS: tuple[ClientKind, ...] = (
    _kind("8.0.33", knows_native_passwords=True),
    _kind("9.7", knows_native_passwords=False),
)
