"""Whom pg_hba.conf lets in, held against PostgreSQL.

`python tests/campaigns/who_is_let_in.py FILES SEED [SERVER]…`: on each server FILES drawn files of hosts are
put in force one after another: every kind of line, lists, files of names, roles and their members, networks
and the server's own, regular expressions and included files where there are any. After each, what is read of
it is held against connects of four roles to four databases from two addresses, over TLS and in the clear: by
what the server asks first it is seen which line decided. Then each role that is let in over TLS is told by
its own connection whether it is let in in the clear as well. A file with a mistake must be told of as
unknown. Whatever is told otherwise than it is makes the status 1.
"""

from __future__ import annotations

import random
import socket
import ssl
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from itertools import product
from pathlib import Path
from typing import Final

from tlstax.external import connection as external_connection
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.tls import ExternalTls
from tlstax.postgres import accounts, hba, server_facts, settings
from tlstax.postgres.database import PostgresDatabase
from tlstax.postgres.hba import Client, Line
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import named_server
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import open_session
from tlstax.support.errors import TlstaxError

SERVERS: Final = ("postgresql-18", "postgresql-16", "postgresql-15", "postgresql-10")
PASSWORD: Final = "Sesame, open!"
ROLES: Final = {"ann": ("staff",), "bob": ("staff", "boss"), "staff": (), "boss": ("staff",)}
"""Each with those that it is given; all may log in."""
MEMBERS: Final = {
    user: frozenset({user, *own, *(more for role in own for more in ROLES[role])})
    for user, own in ROLES.items()
}
DATABASES: Final = ("shop", "ann", "staff", "bob2")
HOSTS: Final = ("127.0.0.1", "127.0.0.2")
SSL_REQUEST: Final = struct.pack(">ii", 8, 80877103)
PROTOCOL_3: Final = 196608
ASKS: Final = {0: {"trust"}, 3: {"password"}, 5: {"md5"}, 10: {"scram-sha-256", "md5"}}
"""By what a line may prove a client of whom this is asked first; of md5 too, where SCRAM's keys are kept."""
FIRST_WITH_FILES: Final = 16
FIRST_WITH_GSS: Final = 12
WITHIN_S: Final = 10.0


@dataclass
class Tally:
    """How much was held against the servers, what was not told, and what was told otherwise."""

    connects: int = 0
    words: int = 0
    mistaken: int = 0
    unknown: int = 0
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Drawn:
    """A file of hosts, the files beside it by their names, and whether there is a mistake in it."""

    text: str
    beside: dict[str, str]
    has_mistake: bool


def drawn(rng: random.Random, major: int, place: Path) -> Drawn:
    """Any file: a few lines, some of them included."""
    beside: dict[str, str] = {}
    lines = []
    for number in range(rng.randint(1, 7)):
        line = one_line(rng, major)
        if rng.random() < 0.1:
            beside[f"names{number}"] = "\n".join(rng.sample([*DATABASES, *ROLES], 3)) + "\n"
            kind, _, rest = line.partition(" ")
            databases, _, rest = rest.partition(" ")
            users, _, rest = rest.partition(" ")
            named = f"@{place}/names{number}"
            both = (named, users) if rng.random() < 0.5 else (databases, named)
            line = " ".join((kind, *both, rest))
        if major >= FIRST_WITH_FILES and rng.random() < 0.15:
            beside[f"more{number}"] = line + "\n" + one_line(rng, major) + "\n"
            line = f"{rng.choice(('include', 'include_if_exists'))} {place}/more{number}"
        lines.append(line)
    if major >= FIRST_WITH_FILES and rng.random() < 0.1:
        lines.append(f"include_if_exists {place}/absent")
    has_mistake = rng.random() < 0.05
    if has_mistake:
        lines.insert(rng.randint(0, len(lines)), "hots all all all trust")
    return Drawn("\n".join(lines), beside, has_mistake)


def one_line(rng: random.Random, major: int) -> str:
    """One line for connections over TCP, or over the socket."""
    kinds = ["host", "hostssl", "hostnossl", "local"]
    if major >= FIRST_WITH_GSS:
        kinds += ["hostgssenc", "hostnogssenc"]
    kind = rng.choices(kinds, [4, 3, 3, 1, 1, 1][: len(kinds)])[0]
    words = ["all", "all", *DATABASES, "sameuser", "samerole", "replication", '"shop"']
    databases = ",".join(rng.sample(words, rng.randint(1, 3)))
    names = ["all", "all", *ROLES, "+staff", "+boss", "+ann", '"bob"', "nobody"]
    users = ",".join(rng.sample(names, rng.randint(1, 3)))
    if major >= FIRST_WITH_FILES and rng.random() < 0.2:
        databases = rng.choice((r"/^s[a-z]+p$", r'"/b{1,2}"', r"/^bob[[:digit:]]$"))
    if major >= FIRST_WITH_FILES and rng.random() < 0.2:
        users = rng.choice((r"/^(ann|bob)$", r'"/[[:alpha:]]{4,}"', r"/^.o"))
    where = rng.choice(
        (
            *("all", "all", "127.0.0.1/32", "127.0.0.2/32", "127.0.0.0/8", "127.0.0.1 255.255.255.254"),
            *("0.0.0.0/0", "::/0", "::1/128", "10.0.0.0/8", "samehost", "samenet", "db.invalid"),
        )
    )
    methods = ["scram-sha-256", "md5", "password", "trust", "reject"]
    method = rng.choice([*methods, "cert"] if kind == "hostssl" else methods)
    if kind == "hostgssenc":
        method = "reject"
    return " ".join((kind, databases, users, *(() if kind == "local" else (where,)), method))


def first_asked(port: int, client: Client) -> set[str]:
    """The methods by which a line may have decided, by what the server says first."""
    with socket.socket() as plain:
        plain.settimeout(WITHIN_S)
        plain.bind((str(client.address), 0))
        plain.connect((HOSTS[0], port))
        if not client.encrypted:
            return asked_over(plain, client)
        plain.sendall(SSL_REQUEST)
        if plain.recv(1) != b"S":
            raise SystemExit("the server offers no TLS")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(plain) as channel:
            return asked_over(channel, client)


def asked_over(channel: socket.socket, client: Client) -> set[str]:
    pairs = f"user\0{client.user}\0database\0{client.database}\0\0".encode()
    channel.sendall(struct.pack(">ii", 8 + len(pairs), PROTOCOL_3) + pairs)
    with channel.makefile("rb") as answers:
        kind = answers.read(1)
        (length,) = struct.unpack(">i", answers.read(4))
        body = answers.read(length - 4)
    if kind == b"R":
        return ASKS[struct.unpack(">i", body[:4])[0]]
    if b"pg_hba.conf" in body:
        return {hba.REJECT}
    return {"cert"} if b"client certificate" in body else {f"an error: {body!r}"}


@dataclass(frozen=True)
class Place:
    """A server, its administrator, and where its file of hosts is."""

    name: str
    server: PrivateServer
    admin: PostgresDatabase
    file: Path
    kept: str
    major: int

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.server.endpoint().port

    def put(self, own: Drawn, number: int) -> None:
        """Have the file in force: its first line is a mark by which that is seen, unless it has a mistake."""
        for name, text in own.beside.items():
            (self.file.parent / name).write_text(text, encoding="utf-8")
        mark = f"mark{number}"
        lines = (self.kept, f"host {mark} {mark} all trust", own.text, "")
        self.file.write_text("\n".join(lines), encoding="utf-8")
        self.admin.apart.rows("SELECT pg_reload_conf()")
        end = time.monotonic() + WITHIN_S
        marked = Client(mark, mark, ip_address(HOSTS[0]), encrypted=False)
        while not own.has_mistake and first_asked(self.port, marked) == {hba.REJECT}:
            if time.monotonic() > end:
                raise SystemExit(f"{self.name} does not take this file:\n{own.text}")
            time.sleep(0.01)


def held(place: Place, own: Drawn, tally: Tally) -> None:
    """What is told of a file that is in force, against what the server does."""
    lines = hba.read(place.admin)
    if own.has_mistake:
        tally.mistaken += 1
        if lines is not None:
            lost(tally, place, own, "a mistake was not seen")
        return
    if lines is None:
        lost(tally, place, own, "nothing is known")
        return
    real = dict(connects(place, lines, own, tally))
    admitted = {client for client, methods in real.items() if hba.REJECT not in methods}
    reached = list(hba.reached(lines))
    for encrypted, kinds in ((False, {"host", "hostnossl"}), (True, {"host", "hostssl"})):
        if any(own.encrypted == encrypted for own in admitted) and not any(
            kind in kinds for kind, _ in reached
        ):
            lost(tally, place, own, f"nobody was told to be let in, encrypted: {encrypted}")
    for client in admitted:
        in_clear = real[replace(client, encrypted=False)] if client.encrypted else set()
        over_tls = real[client]
        if client.encrypted and str(client.address) == HOSTS[0] and over_tls <= {"scram-sha-256", "md5"}:
            told = word_of(place, client)
            tally.words += 1
            if told is None:
                tally.unknown += 1
            elif told != (hba.REJECT not in in_clear):
                lost(tally, place, own, f"{client}: told {told} of plaintext, which is {in_clear}")


def connects(
    place: Place, lines: Sequence[Line], own: Drawn, tally: Tally
) -> Iterator[tuple[Client, set[str]]]:
    """Every client, and by what the server lets it in; what is told otherwise is lost."""
    for user, database, host, encrypted in product(ROLES, DATABASES, HOSTS, (False, True)):
        client = Client(user, database, ip_address(host), encrypted, MEMBERS[user], host == HOSTS[0])
        told = hba.method_for(lines, hba.fitted(place.admin, lines, client))
        real = first_asked(place.port, client)
        tally.connects += 1
        if told is None:
            tally.unknown += 1
        elif told not in real:
            lost(tally, place, own, f"{client}: told {told}, and it is {real}")
        yield client, real


def word_of(place: Place, client: Client) -> bool | None:
    """What the account's own connection over TLS tells of plaintext."""
    address = ExternalAddress(
        HOSTS[0], place.port, client.user, product="postgresql", database=client.database
    )
    access = ExternalAccess(address, client.user, PASSWORD, ExternalTls("REQUIRED"))
    try:
        with closing(external_connection.connect(access, access.address.schema)) as database:
            return server_facts.lets_in_clear(database)
    except TlstaxError as error:
        raise SystemExit(f"{client} did not get in: {error.sentence()}") from error


def lost(tally: Tally, place: Place, own: Drawn, words: str) -> None:
    files = "".join(f"\n  {name}:\n{text}" for name, text in own.beside.items())
    tally.lost.append(f"{place.name}: {words}")
    print(f"LOST {place.name}: {words}\n{own.text}{files}", flush=True)  # noqa: T201


def hold_server(name: str, files: int, rng: random.Random, tally: Tally) -> None:
    """N files on one server."""
    build = named_server(name, lambda _: None)
    with (
        open_session() as session,
        PrivateServer.start(
            build, session, ServerSettings(certificate=CertificateRequest(clients=True))
        ) as server,
        server.admin() as admin,
    ):
        assert isinstance(admin, PostgresDatabase)
        secret = accounts.scram_secret(PASSWORD)
        for role in ROLES:
            admin.apart.rows(f"CREATE ROLE {role} LOGIN PASSWORD '{secret}'")
        for role, given in ROLES.items():
            for own in given:
                admin.apart.rows(f"GRANT {own} TO {role}")
        # What template1 has every database has that is made afterwards.
        with closing(PostgresDatabase(admin._log_in, "template1")) as template:
            for statement in (
                "GRANT SELECT ON pg_hba_file_rules TO PUBLIC",
                "GRANT EXECUTE ON FUNCTION pg_hba_file_rules() TO PUBLIC",
            ):
                template.rows(statement)
        for database in DATABASES:
            admin.apart.rows(f"CREATE DATABASE {database}")
        ((file,),) = admin.apart.rows("SHOW hba_file")
        path = Path(str(file))
        kept = "\n".join(own for own in path.read_text().splitlines() if own.startswith("local all"))
        major = settings.version_number(admin) // 10000
        place = Place(name, server, admin, path, kept, major)
        for number in range(files):
            own = drawn(rng, major, path.parent)
            place.put(own, number)
            held(place, own, tally)
    print(f"{name}: {tally.connects} connects, {tally.words} words", flush=True)  # noqa: T201


def main(files: int, seed: int, names: Sequence[str]) -> int:
    """All servers, or those that are named; the status."""
    rng = random.Random(seed)  # noqa: S311 - to be repeatable
    tally = Tally()
    for name in names or SERVERS:
        hold_server(name, files, rng, tally)
    print(  # noqa: T201
        f"{tally.connects} connects and {tally.words} words of accounts (seed {seed}): "
        f"{len(tally.lost)} lost, {tally.unknown} not told; {tally.mistaken} files with a mistake"
    )
    return 1 if tally.lost else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
