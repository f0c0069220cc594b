"""How each change is made: the lines to paste, for the server, its host and programs that connect. Pure.

Sources: MySQL 9.7 reference manual, "Encrypted Connection TLS Protocols and Ciphers", "Reusing SSL Sessions"
and "Using Encrypted Connections"; MariaDB, "Secure Connections Overview"; OpenSSL, config(5) and
openssl-genpkey(1). What the lines do is shown by tests/servers/test_advised_steps.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.findings.core.programs import ProgramLines, Topic
from tlstax.findings.core.remedies import SERVER, entry_for, reload_for
from tlstax.results.advice import Change
from tlstax.results.inspection import Step

CLIENT_HOST, SHELL, PROGRAMS = "clients' openssl.cnf", "a shell", "clients"

GROUPS_FIRST = "P-256:X25519:P-384:P-521"


ELSEWHERE = "docs/advising.md has the line for each driver"


def steps_for(change: Change, version: str, programs: Sequence[ProgramLines] = ()) -> tuple[Step, ...]:
    """What to do for a change at a server that says so of its version, with these programs connected."""
    topic = _OF_PROGRAMS.get(change)
    own = () if topic is None else (_in_programs(topic, programs),)
    return (*_STEPS[change](version), *own)


def _in_programs(topic: Topic, programs: Sequence[ProgramLines]) -> Step:
    """What to say to the programs that are connected; where none is known, what holds for most."""
    lines = tuple(own.says(topic) for own in programs)
    return Step(where=PROGRAMS, lines=lines or (_MOST[topic], ELSEWHERE))


_OF_PROGRAMS: dict[Change, Topic] = {"resumption": "resumption", "group": "groups", "pool": "pool"}

_MOST: dict[Topic, str] = {
    "resumption": "most drivers keep no sessions, and need a pool instead; Go and MySQL's C library can",
    "groups": "OPENSSL_CONF=openssl.cnf in the environment of one program, instead of the whole machine's",
    "pool": "a pool in the application, or a proxy that keeps connections to the server (ProxySQL)",
}


def _certificate(version: str) -> tuple[Step, ...]:
    return (
        Step(
            where=SHELL,
            lines=(
                "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out server-key.pem",
                "openssl req -new -key server-key.pem -subj /CN=db.example "
                '-addext "subjectAltName=DNS:db.example" -out server.csr',
            ),
        ),
        Step(where="your authority", lines=("have server.csr signed, and save it as server-cert.pem",)),
        Step(
            where=SERVER,
            lines=(
                "[mysqld]",
                "ssl_key = /path/to/server-key.pem",
                "ssl_cert = /path/to/server-cert.pem",
                "ssl_ca = /path/to/authority.pem",
            ),
        ),
        reload_for(version),
    )


def _resumption(version: str) -> tuple[Step, ...]:
    return entry_for("resumption", version).steps


def _group(_: str) -> tuple[Step, ...]:
    return (
        Step(
            where=CLIENT_HOST,
            lines=(
                "openssl_conf = default_conf",
                "[default_conf]",
                "ssl_conf = ssl_section",
                "[ssl_section]",
                "system_default = defaults",
                "[defaults]",
                f"Groups = {GROUPS_FIRST}",
            ),
        ),
    )


def _nothing(_: str) -> tuple[Step, ...]:
    return ()


def _version(version: str) -> tuple[Step, ...]:
    return entry_for("versions", version).steps


def _chain(version: str) -> tuple[Step, ...]:
    """MySQL reloads a certificate only if it can verify it with ssl_ca alone."""
    lines = (
        "[mysqld]",
        "# the server's certificate, then those between it and the root, and not the root",
        "ssl_cert = /path/to/server-cert.pem",
        "# those between and the root",
        "ssl_ca = /path/to/authority.pem",
    )
    return (Step(where=SERVER, lines=lines), reload_for(version))


def _compression(_: str) -> tuple[Step, ...]:
    line = "leave compression out: useCompression=false, --compress=0, compress=False"
    return (Step(where=PROGRAMS, lines=(line,)),)


_STEPS = {
    "certificate": _certificate,
    "resumption": _resumption,
    "group": _group,
    "pool": _nothing,
    "version": _version,
    "chain": _chain,
    "compression": _compression,
}
