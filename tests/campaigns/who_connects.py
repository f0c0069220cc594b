"""Who could connect, held against the drivers: `python tests/campaigns/who_connects.py COUNT SEED [DRIVER]…`.

COUNT of `SERVERS`, in an order drawn from SEED, are started one after another and inspected. Then every
driver that is built here (or those that are named) is tried there, with nothing said of TLS and with TLS
required, and with every line that is printed for it. A server's own lines are carried out, and it is tried
again; what a change is said to lock out is tried at a server with that change. Whatever goes otherwise than
it was told is lost, and makes the status 1. TLSTAX_ENGINE names the engine.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from tlstax.clients.choice import obtain_client
from tlstax.contract import TlsOn, TlsRequired, TlsUnset
from tlstax.external.access import ExternalAccess, parse_url
from tlstax.mysql import accounts
from tlstax.results.inspection import Cause, InspectedServer, LockedOut, Obstacle, Step, Way, WhoConnects
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import named_server
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session, open_session
from tlstax.sql import answers
from tlstax.stats.remedies import SERVER
from tlstax.study.tls_levels import ANY_KEY
from tlstax.tools.inspection import inspect
from tlstax.tools.probes.drivers.driver_facts import OLD_CONF
from tlstax.tools.probes.drivers.logins import Trial, encrypting, try_driver
from tlstax.tools.probes.drivers.probe import listed_drivers
from tlstax.tools.probes.exchanged_certificates import ADDRESSES
from tlstax.topics.inspection.known_drivers import known_drivers

OWN = CertificateRequest(addresses=ADDRESSES)
RSA_EXCHANGE = "--ssl-cipher=AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA"
HANDSHAKE: frozenset[Cause] = frozenset({"version", "suite", "group", "signature", "key"})
SCRIPT_WITHIN_S = 60.0


def of(*options: str, conf: str = "", **certificate: str) -> ServerSettings:
    return ServerSettings(
        certificate=replace(OWN, **certificate),  # type: ignore[arg-type]
        openssl_conf=conf,
        options=options,
    )


SERVERS: Mapping[str, tuple[str, ServerSettings]] = {
    "MySQL 5.5, TLS 1.0 by yaSSL": ("mysql-5.5.34", of()),
    "MySQL 5.6, TLS 1.0 by yaSSL": ("mysql-5.6.24", of()),
    "MariaDB 10.1, TLS 1.1 by yaSSL": ("mariadb-10.1-yassl", of()),
    "MariaDB 10.5, TLS 1.0 and 1.1": (
        "mariadb-10.5",
        of("--tls-version=TLSv1.0,TLSv1.1", f"--ssl-cipher={ANY_KEY}", conf=OLD_CONF),
    ),
    "MariaDB 10.5, TLS 1.0 to 1.2": (
        "mariadb-10.5",
        of("--tls-version=TLSv1.0,TLSv1.1,TLSv1.2", f"--ssl-cipher={ANY_KEY}", conf=OLD_CONF),
    ),
    "MariaDB 10.5, RSA key exchange alone": ("mariadb-10.5", of("--tls-version=TLSv1.2", RSA_EXCHANGE)),
    "MySQL 8.0, RSA key exchange alone": ("mysql-8.0.33", of("--tls-version=TLSv1.2", RSA_EXCHANGE)),
    "MySQL 8.0, ECDHE with CBC alone": (
        "mysql-8.0.33",
        of("--tls-version=TLSv1.2", "--ssl-cipher=ECDHE-RSA-AES128-SHA:ECDHE-RSA-AES256-SHA"),
    ),
    "MySQL 8.0, DHE alone": (
        "mysql-8.0.33",
        of("--tls-version=TLSv1.2", "--ssl-cipher=DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384"),
    ),
    "MySQL 8.0, RSA 1024": ("mysql-8.0.33", of("--tls-version=TLSv1.2", conf=OLD_CONF, key="rsa-1024")),
    "MySQL 8.0": ("mysql-8.0.33", of()),
    "MySQL 9.7": ("mysql-9.7", of()),
    "MySQL 9.7, TLS 1.3 alone": ("mysql-9.7", of("--tls-version=TLSv1.3")),
    "MySQL 9.7, ML-DSA-65": ("mysql-9.7", of(key="mldsa65")),
    "MySQL 9.7, Ed25519": ("mysql-9.7", of(key="ed25519")),
    "MySQL 9.7, EC P-384": ("mysql-9.7", of(key="ec-p384")),
    "MySQL 9.7, no plaintext": ("mysql-9.7", of("--require-secure-transport=ON")),
    "MySQL 9.7, no TLS": ("mysql-9.7", of("--tls-version=")),
    "MariaDB 11.8": ("mariadb-11.8", of()),
    "MariaDB 11.8, ML-DSA-65": ("mariadb-11.8", of(key="mldsa65")),
    "MariaDB 11.8, no plaintext": ("mariadb-11.8", of("--require-secure-transport=ON")),
}

CHANGED: Mapping[str, Mapping[str, object]] = {
    "TLS 1.3 alone": {"options": ("--tls-version=TLSv1.3",)},
    "an ML-DSA certificate": {"certificate": replace(OWN, key="mldsa65")},
    "no RSA key exchange": {
        "options": (
            "--ssl-cipher=ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:"
            "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384",
        )
    },
}
"""What each change makes of a server's settings; MySQL takes suites of TLS 1.3 in that list for none."""


class Quiet:
    def step(self, _: str) -> None:
        """Nobody watches."""


@dataclass
class Tally:
    """What was tried, and what went otherwise than it was told."""

    tried: int = 0
    lines: int = 0
    unknown: int = 0
    lost: list[str] = field(default_factory=list)

    def hold(self, what: str, is_as_told: object, trial: Trial) -> None:
        self.tried += 1
        if not is_as_told:
            self.lost.append(f"{what}: {trial.words or 'connected'}")
            print(f"  LOST {self.lost[-1][:220]}", flush=True)  # noqa: T201


def inspected(server: PrivateServer, names: Sequence[str]) -> InspectedServer:
    account = server.load_account
    url = f"mysql://{account.user}@127.0.0.1:{server.endpoint().port}/{account.database}"
    access = ExternalAccess(address=parse_url(url), user=account.user, password=account.password)
    return inspect(access, 0.0, Quiet(), names)


def hold_server(name: str, server: PrivateServer, names: Sequence[str], tally: Tally) -> WhoConnects:
    """Every driver in both ways, against what is told of it."""
    told = inspected(server, names).who_connects
    if told is None:
        raise SystemExit(f"{name}: not everything was asked")
    for driver in names:
        for way, tls, when in (
            (told.by_default, TlsUnset(), "by default"),
            (told.over_tls, TlsRequired(), "with TLS required"),
        ):
            with closing(server.admin()) as admin:
                accounts.forget_logins(admin)
            trial = try_driver(command(driver), server, tls)
            hold_trial(f"{name}: {driver} {when}", driver, way, trial, tally)
    return told


def hold_trial(what: str, driver: str, way: Way, trial: Trial, tally: Tally) -> None:
    """One trial against what is told of that way."""
    cause = next((own.at for own in way.obstacles if driver in own.drivers), None)
    if driver in way.unknown:
        tally.unknown += 1
        print(f"  not told {what}: {trial.words[:100] or 'connected'}", flush=True)  # noqa: T201
    elif cause is None:
        is_encrypted = driver in way.encrypted
        tally.hold(f"{what} connects", not trial.words and trial.encrypted == is_encrypted, trial)
    elif cause in HANDSHAKE:
        is_tls = trial.encrypted or "tls_handshake" in trial.kinds
        tally.hold(f"{what} fails at the {cause}", trial.words and is_tls, trial)
    else:
        tally.hold(f"{what} fails at {cause}", trial.words, trial)


def hold_lines(name: str, server: PrivateServer, told: WhoConnects, tally: Tally) -> None:
    """Every line that is printed for a driver, pasted."""
    for obstacle in {(own.at, own.drivers): own for own in obstacles(told)}.values():
        for driver in obstacle.drivers:
            steps = [own for own in obstacle.client if driver in re_names(own)]
            if steps:
                trial = pasted(driver, server, obstacle, steps)
                tally.lines += 1
                is_mended = not trial.words and (trial.seen is None or trial.encrypted)
                tally.hold(f"{name}: {driver} with {steps[-1].lines[-1]!r}", is_mended, trial)


def obstacles(told: WhoConnects) -> Iterator[Obstacle]:
    yield from told.by_default.obstacles
    yield from told.over_tls.obstacles


ENVIRONMENT, CONNECTION, PROGRAM = "the client's environment", "the client's options", "the client's program"
"""Where lines are to be put that are no file of their own (topics/inspection/driver_lines.toml)."""


def re_names(step: Step) -> set[str]:
    """The drivers that a step is for, by its words."""
    names, _, _ = step.where.rpartition(": ")
    return {name for part in names.split(", ") for name in part.split(" and ")}


def pasted(driver: str, server: PrivateServer, obstacle: Obstacle, steps: Sequence[Step]) -> Trial:
    """The driver with what is printed for it: files, its environment, its options, its program."""
    with tempfile.TemporaryDirectory() as folder:
        environment: list[str] = []
        options: dict[str, str] = {}
        tls: TlsOn | None = None
        for step in steps:
            where = step.where.rpartition(": ")[2]
            if where == ENVIRONMENT:
                environment += [line.replace("/path/to/", f"{folder}/") for line in step.lines]
            elif where == CONNECTION:
                options |= dict(line.split("=", 1) for line in step.lines)
            elif where != PROGRAM:
                (Path(folder) / where).write_text("\n".join(step.lines) + "\n", encoding="utf-8")
            elif step.lines[-1].startswith("pymysql"):
                return python_script(server, step)
            elif step.lines[0].startswith("MinVersion: tls.VersionTLS10"):
                tls = TlsOn(min_version="1.0")
            elif obstacle.at in {"plaintext", "certificate", "login"}:
                return verifying(driver, server)
        words = [*(["env", *environment] if environment else []), *command(driver)]
        return (
            try_driver(words, server, tls, None, options) if tls else encrypting(words, server, None, options)
        )


def verifying(driver: str, server: PrivateServer) -> Trial:
    """The driver told what to verify, as the line of `advise` has it: the host, else the authority."""
    for verify in ("identity", "ca"):
        tls = TlsOn.model_validate({"verify": verify, "ca_file": server.ca_file})
        trial = try_driver(command(driver), server, tls)
        if "bad_job" not in trial.kinds:
            break
    return trial


def python_script(server: PrivateServer, step: Step) -> Trial:
    """The lines of a Python program, with an address in place of the dots."""
    account, endpoint = server.load_account, server.endpoint()
    whom = (
        f"host='{endpoint.host}', port={endpoint.port}, user='{account.user}', password='{account.password}'"
    )
    lines = [line.replace("ca.pem", server.ca_file).replace("…", whom) for line in step.lines]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(("import ssl, pymysql", *lines))],
        capture_output=True,
        text=True,
        timeout=SCRIPT_WITHIN_S,
        check=False,
    )
    return Trial(done.stderr[-200:] if done.returncode else "", (), None)


def mended_settings(server: PrivateServer, settings: ServerSettings, steps: Sequence[Step]) -> ServerSettings:
    """The settings with what is to be pasted into my.cnf; what an administrator says is carried out."""
    for step in steps:
        lines = [line for line in step.lines if "=" in line]
        if step.where == SERVER:
            options = tuple(f"--{line.replace(' ', '')}" for line in lines)
            settings = replace(settings, options=(*settings.options, *options))
        elif any("SET PERSIST" in line for line in lines):
            with closing(server.admin()) as admin:
                for line in step.lines:
                    answers.carry_out(admin, line.rstrip(";"))
    return settings


@dataclass(frozen=True)
class Place:
    """One of `SERVERS`, to be started as often as is needed."""

    name: str
    build: str
    settings: ServerSettings
    session: Session

    def start(self, settings: ServerSettings | None = None) -> PrivateServer:
        build = named_server(self.build, lambda _: None)
        return PrivateServer.start(build, self.session, settings or self.settings)


def hold_server_lines(place: Place, told: WhoConnects, tally: Tally) -> None:
    """A server's own lines: with them what they are for fails no longer, and what is told then is so."""
    mended: tuple[Cause, ...] = ("version", "suite")
    lines = {own.at: own.server for own in obstacles(told) if own.at in mended and own.server}
    for cause, steps in lines.items():
        kept = {driver for own in obstacles(told) if own.at == cause for driver in own.drivers}
        name = f"{place.name}, mended"
        with place.start() as server:
            changed = mended_settings(server, place.settings, steps)
            after = hold_server(name, server, sorted(kept), tally) if changed == place.settings else None
        if after is None:
            with place.start(changed) as server:
                after = hold_server(name, server, sorted(kept), tally)
        tally.lines += 1
        still = {driver for own in obstacles(after) if own.at == cause for driver in own.drivers}
        words = f"still not: {sorted(still)}"
        tally.hold(f"{name}: {steps[0].lines[-1]!r} mends {cause}", kept - still, Trial(words, (), None))


def hold_change(place: Place, change: LockedOut, can: Sequence[str], tally: Tally) -> None:
    """What is locked out by a change, at a server that has it."""
    changed = dict(CHANGED[change.change])
    options = changed.get("options")
    if isinstance(options, tuple):
        changed["options"] = (*place.settings.options, *options)
    with place.start(replace(place.settings, **changed)) as server:  # type: ignore[arg-type]
        for driver in can:
            if driver in change.unknown:
                tally.unknown += 1
                continue
            trial = encrypting(command(driver), server)
            is_out = driver in change.drivers
            what = f"{place.name}, {change.change}: {driver} {'fails' if is_out else 'connects'}"
            tally.hold(what, bool(trial.words) == is_out, trial)


def command(driver: str) -> Sequence[str]:
    return obtain_client(driver, lambda _: None).command


def main(count: int, seed: int, chosen: Sequence[str]) -> int:
    ready = {own.name for own in listed_drivers().drivers if own.status == "ready"}
    known = [driver.name for driver in known_drivers().drivers]
    names = [name for name in known if name in (chosen or ready)]
    order = list(SERVERS)
    random.Random(seed).shuffle(order)  # noqa: S311 - to be repeatable
    tally = Tally()
    print(f"{len(names)} of {len(known)} drivers: {', '.join(names)}", flush=True)  # noqa: T201
    with open_session() as session:
        for name in order[:count]:
            place = Place(name, *SERVERS[name], session)
            before = (tally.tried, tally.lines, len(tally.lost))
            print(f"{name} ({place.build})", flush=True)  # noqa: T201
            with place.start() as server:
                told = hold_server(name, server, names, tally)
                hold_lines(name, server, told, tally)
            hold_server_lines(place, told, tally)
            kinds = HANDSHAKE | {"login"}
            failing = {driver for own in told.over_tls.obstacles if own.at in kinds for driver in own.drivers}
            can = [name for name in names if name not in failing | set(told.over_tls.unknown)]
            for change in told.changes:
                hold_change(place, change, can, tally)
            now = f"{tally.tried - before[0]} tried, {tally.lines - before[1]} lines pasted"
            print(f"  {now}, {len(tally.lost) - before[2]} lost", flush=True)  # noqa: T201
    held = f"{tally.tried} tried at {min(count, len(order))} servers, {tally.lines} lines pasted"
    print(f"{held}, {tally.unknown} not told, {len(tally.lost)} lost")  # noqa: T201
    for lost in tally.lost:
        print(f"lost: {lost[:300]}")  # noqa: T201
    return 1 if tally.lost else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
