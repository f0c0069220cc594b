"""The course of a probe: every driver built, its jobs, the certificates, and the costs of all together.

Certificates, right ones and wrong ones, are served in the place of a running server's own: the files that it
was started with are exchanged and read again. That one is in force, and wrong in the way that is meant, is
shown by a verifier that is no driver: Python's own.
"""

from __future__ import annotations

import shutil
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Final, Literal, get_args

from tlstax.clients.choice import obtain_client
from tlstax.contract import Account, Frozen
from tlstax.mysql import server_tls
from tlstax.mysql.database import try_login_over_tls
from tlstax.mysql.statement_log import StatementLog, make_probe_table, statement_log
from tlstax.observers.turn import turn
from tlstax.run.bench import Needs, PrivateBench, Wanted, open_private_bench
from tlstax.run.pipeline import Watcher, run
from tlstax.run.preparing import Request
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.certificates import CertificateRequest, Certificates
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import named_server
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.store import Store
from tlstax.study.driver_catalogue import DRIVERS, Driver
from tlstax.study.level_names import NATIVE_PASSWORD
from tlstax.support.errors import Interrupted, MachineFault, TlstaxError, UserMistake
from tlstax.tools.probes.drivers.asking import Ambush, Ask, asked, attacks, connected, made_ambush
from tlstax.tools.probes.drivers.external_logins import ExternalLogins, ExternalTarget
from tlstax.tools.probes.drivers.logins import accounts_by_plugin, private_logins
from tlstax.tools.probes.drivers.probe_costs import ROWS, DriverCosts, Measurable, costs_of, costs_study
from tlstax.tools.probes.drivers.probe_reading import ONE, THREE, driver_row, encrypts
from tlstax.tools.probes.drivers.probed import (
    TABLE,
    Asked,
    Certificate,
    Gathered,
    ListedDriver,
    ListedDrivers,
    ProbeDocument,
    ProbedThere,
    Refusal,
    TlsAsked,
    Tried,
)
from tlstax.tools.probes.exchanged_certificates import ADDRESSES, ELSEWHERE, copied, issued, put_in_place
from tlstax.tools.probes.specimen import of_recipe

SHOWN: tuple[tuple[Certificate, bool], ...] = (
    ("right", True),
    ("unknown authority", False),
    ("other host", True),
)
"""The certificates that each driver is shown, and whether its runtime trusts who signed them. One that has
expired takes time to make, so all drivers are shown the same one, at the end."""

OLDER_SERVER = "mysql-8.0.33"
"""The last embedded server that has accounts with that plugin, which older drivers log in with."""

Obtain = Callable[[str, Callable[[str], None]], Sequence[str]]
"""Gives the command of the driver of this name; MachineFault or UserMistake where it is not to be had."""


@dataclass(frozen=True)
class ProbeRequest:
    """Drivers of one product, the server (None: the default one), how long costs are measured (None: not).

    `options` are given to each driver word by word, where it is otherwise as by default. With `attacks` each
    is also set on a hostile wire. Where costs are measured and another run is measuring, this one waits, or
    with `beside_others` goes on at once. `external` is a server that is not ours: it stands in the place of
    `server`, and nothing is measured or attacked there. `obtain` None takes drivers off the shelf.
    """

    names: tuple[str, ...]
    server: str | None = None
    budget_s: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    obtain: Obtain | None = None
    beside_others: bool = False
    attacks: bool = False
    external: ExternalTarget | None = None

    def obtained(
        self, usually: Obtain, watcher: Watcher, refused: Callable[[str, str], None]
    ) -> dict[str, Sequence[str]]:
        """The commands of the drivers that are available; `refused` gets the others, and why."""
        commands = {}
        for name in self.names:
            try:
                commands[name] = (self.obtain or usually)(name, watcher.step)
            except TlstaxError as error:
                watcher.warn(error.sentence())
                refused(name, error.sentence())
        return commands


class CostsRun(Frozen):
    """The run that costs were measured in: its name, why it ended, and the costs of each driver by its name.

    Without a run, `why` says why there is none.
    """

    run: str | None = None
    why: str = ""
    costs: dict[str, DriverCosts] = {}
    was_interrupted: bool = False


@dataclass
class _SoFar:
    """What is known so far; kept when Ctrl-C ends the rest."""

    gathered: dict[str, Gathered] = field(default_factory=dict)
    costs: CostsRun = field(default_factory=CostsRun)
    server: str = ""
    server_version: str = ""
    external: ProbedThere | None = None


def probe(request: ProbeRequest, store: Callable[[], Store], watcher: Watcher) -> ProbeDocument:
    """Probe all drivers of the request, one after another, then measure their costs together.

    A driver that cannot be built or cannot log in says so in its row, and the others go on. Ctrl-C keeps what
    was found until then, and so does an external server that is gone in the middle. MachineFault where the
    server is not available or its log cannot be used, UserMistake where an external one lets nobody in.
    """
    so_far = _SoFar()
    status: Literal["complete", "interrupted", "failed"] = "complete"
    try:
        if request.external is not None:
            status = _probe_there(request, request.external, so_far, watcher)
        else:
            _probe_here(request, so_far, store, watcher)
    except Interrupted:
        status = "interrupted"
    finally:
        watcher.close()
    costs = so_far.costs
    rows = [
        driver_row(DRIVERS[name], gathered, costs.costs.get(name))
        for name, gathered in so_far.gathered.items()
    ]
    return ProbeDocument(
        status="interrupted" if costs.was_interrupted else status,
        server=so_far.server,
        server_version=so_far.server_version,
        external=so_far.external,
        run=costs.run,
        stopped_because=costs.why,
        drivers=tuple(sorted(rows, key=lambda row: (row.language, list(DRIVERS).index(row.name)))),
    )


def _probe_here(request: ProbeRequest, so_far: _SoFar, store: Callable[[], Store], watcher: Watcher) -> None:
    """All drivers at a private server, and what they cost there."""
    if commands := _commands(request, so_far, watcher):
        so_far.costs = costs_after(
            request, lambda: _gather(request, commands, so_far, watcher), store, watcher
        )


def _commands(request: ProbeRequest, so_far: _SoFar, watcher: Watcher) -> dict[str, Sequence[str]]:
    """Those of the drivers that are available; the others have their row now."""

    def refused(name: str, why: str) -> None:
        so_far.gathered[name] = Gathered(name=name, server=request.server or "", failed=why)

    return request.obtained(lambda name, say: obtain_client(name, say).command, watcher, refused)


def costs_after(
    request: ProbeRequest,
    gather: Callable[[], Sequence[Measurable]],
    store: Callable[[], Store],
    watcher: Watcher,
) -> CostsRun:
    """Gather what drivers do and then, with a budget, measure what those cost that this gives back.

    The costs are a run like any other; where they cannot be measured, it is warned of.
    """
    if request.budget_s is None:
        gather()
        return CostsRun()
    with turn(watcher.warn, beside_others=request.beside_others) as mine:
        measurable = gather()
        if not measurable:
            return CostsRun()
        study = costs_study(measurable, request.server, request.options, request.budget_s)
        with store() as opened:
            try:
                stored = run(Request(study, turn=mine), opened, watcher)
            except TlstaxError as fault:
                watcher.warn(f"costs were not measured: {fault.sentence()}")
                return CostsRun(why=fault.message)
    return CostsRun(
        run=stored.header.run,
        why=stored.stopped_because,
        costs=costs_of(stored),
        was_interrupted=stored.status == "interrupted",
    )


def _probe_there(
    request: ProbeRequest, target: ExternalTarget, so_far: _SoFar, watcher: Watcher
) -> Literal["complete", "failed"]:
    """All drivers at an external server, which is asked before a driver is built."""
    there = ExternalLogins.arrive(target, len(request.names), watcher.step)
    so_far.server, so_far.server_version = str(target.access.address), there.version
    try:
        for name, command in _commands(request, so_far, watcher).items():
            watcher.step(f"{name} logs in to {so_far.server}")
            so_far.gathered[name] = there.gathered(name, command, request.options)
    except TlstaxError as fault:
        so_far.costs = CostsRun(why=fault.sentence())
        return "failed"
    finally:
        so_far.external = there.there()
    return "complete"


def _gather(
    request: ProbeRequest, commands: Mapping[str, Sequence[str]], so_far: _SoFar, watcher: Watcher
) -> list[Measurable]:
    """All that they do; those that could connect, whose costs can be measured."""
    build = named_server(request.server, watcher.step) if request.server is not None else None
    needs = Needs(rows=ROWS, connections=1, seed=1, duration_s=1.0)
    wanted = Wanted(build=build, addresses=ADDRESSES)
    with ExitStack() as stack:
        bench = stack.enter_context(open_private_bench(needs, watcher.step, wanted))
        so_far.server, so_far.server_version = bench.server.specimen.name, bench.server.version
        make_probe_table(bench.admin, TABLE)
        log = stack.enter_context(statement_log(bench.admin))
        served = stack.enter_context(served_certificates(bench.server, bench.admin))
        ambush = made_ambush(bench, Path(bench.server.ca_file).parent)
        accounts = dict(accounts_by_plugin(bench.server))
        probing = {
            name: _Probing(Ask(name, "unset", options=request.options), command, bench, log, served)
            for name, command in commands.items()
        }
        began = time.monotonic()
        for place, (name, driver) in enumerate(probing.items()):
            watcher.step(progress_words(name, place, len(commands), time.monotonic() - began))
            so_far.gathered[name] = driver.gathered(accounts)
            if request.attacks:
                so_far.gathered[name] = driver.attacked(so_far.gathered[name], ambush)
        _show_expired(probing, so_far, served, watcher)
    return [
        Measurable(name=name, auth=gathered.auth, encrypts=gathered.job("verified", ONE) is not None)
        for name, gathered in so_far.gathered.items()
        if gathered.failed is None and gathered.job("off", ONE) is not None
    ]


def _show_expired(
    probing: Mapping[str, _Probing], so_far: _SoFar, served: ServedCertificates, watcher: Watcher
) -> None:
    """The one certificate that all drivers are shown together."""
    shown = {name: gathered for name, gathered in so_far.gathered.items() if gathered.tried}
    if not shown:
        return
    watcher.step("showing them a certificate that has expired")
    try:
        served.serve("expired")
    except MachineFault as fault:
        for name, gathered in shown.items():
            so_far.gathered[name] = gathered.model_copy(update={"why_not_tried": fault.message})
        return
    for name, gathered in shown.items():
        so_far.gathered[name] = probing[name].shown(gathered, "expired", trusted=True)


class _Probing:
    """One driver on one server."""

    def __init__(
        self,
        ask: Ask,
        command: Sequence[str],
        bench: PrivateBench,
        log: StatementLog,
        served: ServedCertificates,
    ) -> None:
        self._ask, self._command, self._bench = ask, command, bench
        self._log, self._served = log, served
        self._native: Refusal | None = None

    def gathered(self, accounts: Mapping[str, Account]) -> Gathered:
        """All that can be learned of the driver, with how it logs in to each plugin's account."""
        known = Gathered(
            name=self._ask.driver, options=dict(self._ask.options), server=self._bench.server.specimen.name
        )
        return _as_far_as_it_goes(
            known, self._jobs, self._certificates, lambda known: self._logged_in(known, accounts)
        )

    def attacked(self, known: Gathered, ambush: Ambush) -> Gathered:
        """What is known, and what the driver does on a hostile wire."""

        def ambushed(known: Gathered) -> Gathered:
            ask = replace(self._ask, verify=known.verified or "identity")
            return known.model_copy(update={"attacks": tuple(attacks(ask, self._command, ambush))})

        return _as_far_as_it_goes(known, ambushed)

    def _logged_in(self, known: Gathered, accounts: Mapping[str, Account]) -> Gathered:
        server, options = self._bench.server, self._ask.options
        found = (
            private_logins(self._command, server, account, plugin, options).logins()
            for plugin, account in accounts.items()
        )
        return known.model_copy(update={"logins": tuple(chain.from_iterable(found))})

    def _jobs(self, known: Gathered) -> Gathered:
        done = self._first()
        if self._ask.account is not None:
            known = known.model_copy(update={"auth": NATIVE_PASSWORD})
        done = (*done, *self._pair("required"))
        verified: Literal["identity", "ca", "none"] | None = None
        verifying: tuple[Asked, ...] = ()
        for verify in ("identity", "ca", "none"):
            verifying = self._pair("verified", verify)
            if verifying[0].refusal is None:
                verified = verify
                break
        known = known.model_copy(update={"asked": (*done, *verifying), "verified": verified})
        if any(known.job(tls, ONE) for tls in get_args(TlsAsked)):
            return known
        refusal = known.refused("unset")
        words = refusal.words if refusal else "it could not connect"
        if self._native is not None and self._native != refusal:
            words += f"; by an account with {NATIVE_PASSWORD}: {self._native.words}"
        if refusal is not None and refusal.kind == "access_denied" and known.server != OLDER_SERVER:
            words += f"; it may with --server {OLDER_SERVER}"
        return known.model_copy(update={"failed": words, "failed_as": refusal.kind if refusal else None})

    def _first(self) -> tuple[Asked, ...]:
        """As it is by default, and in the clear; by an older kind of account where only that is taken."""
        done = (*self._pair("unset"), *self._pair("off"))
        if not all(job.refusal is not None for job in done):
            return done
        try:
            account = self._bench.server.account_by(NATIVE_PASSWORD)
        except UserMistake:
            return done
        usual, self._ask = self._ask, replace(self._ask, account=account)
        again = (*self._pair("unset"), *self._pair("off"))
        if all(job.refusal is not None for job in again):
            self._ask, self._native = usual, again[0].refusal
            return done
        return again

    def _pair(
        self, tls: TlsAsked, verify: Literal["identity", "ca", "none"] = "identity"
    ) -> tuple[Asked, ...]:
        """The two jobs of a kind; the second one only where the first was done."""
        ask = replace(self._ask, tls=tls, statements=ONE, verify=verify)
        first = asked(ask, self._command, self._bench, self._log)
        if first.refusal is not None:
            return (first,)
        return first, asked(replace(ask, statements=THREE), self._command, self._bench, self._log)

    def _certificates(self, known: Gathered) -> Gathered:
        """What the driver makes of each certificate, as it is by default and where TLS is required."""
        for certificate, trusted in SHOWN:
            try:
                self._served.serve("right" if certificate == "unknown authority" else certificate)
            except MachineFault as fault:
                return known.model_copy(update={"why_not_tried": fault.message})
            known = self.shown(known, certificate, trusted=trusted)
        self._served.serve("right")
        return known

    def shown(self, known: Gathered, certificate: Certificate, *, trusted: bool) -> Gathered:
        """What is known, and what the driver makes of the certificate that the server shows now.

        It is shown wherever the driver encrypts with nothing said of what to check.
        """
        left: tuple[TlsAsked, ...] = ("unset", "required")
        where = [tls for tls in left if (job := known.job(tls, ONE)) is not None and encrypts(job)]
        tried = [self._tried(certificate, tls, trusted=trusted) for tls in where]
        return known.model_copy(update={"tried": (*known.tried, *tried)})

    def _tried(self, certificate: Certificate, tls: TlsAsked, *, trusted: bool) -> Tried:
        ask = replace(self._ask, tls=tls, operations=1, trusted=trusted)
        done = connected(ask, self._command, self._bench)
        views = [connection.server for connection in done.ready.negotiated] if done.ready is not None else []
        return Tried(
            certificate=certificate,
            tls=tls,
            accepted=done.refusal is None,
            encrypted=all(view is not None for view in views) if views else None,
            words=done.refusal.words if done.refusal else "",
        )


def in_words(fault: Exception) -> str:
    """Why a driver could not be probed to the end."""
    return fault.message if isinstance(fault, MachineFault) else f"it broke off ({fault})"


def _as_far_as_it_goes(known: Gathered, *steps: Callable[[Gathered], Gathered]) -> Gathered:
    """What is known after these steps; what fails ends them in `failed`, in a sentence."""
    for step in steps:
        if known.failed is not None:
            break
        try:
            known = step(known)
        except (MachineFault, SqlError, OSError) as fault:
            known = known.model_copy(update={"failed": in_words(fault)})
    return known


def progress_words(name: str, place: int, of: int, took_s: float) -> str:
    """Which driver is probed, and how long the others may take, by those that came before."""
    left = ""
    if place:
        left_s = took_s / place * (of - place)
        left = f", about {left_s / 60:.0f} min left" if left_s >= 120 else f", about {left_s:.0f} s left"
    return f"probing {name} ({place + 1} of {of}{left})"


SHORT_LIVES_S = (3, 15)
"""A server takes no certificate that has expired already, so it is given one that soon will. On a machine
that is so busy that it has expired before, the next one lives longer."""

VERIFIED = 0
SHOWS: Final[Mapping[Certificate, frozenset[int]]] = {
    "right": frozenset({VERIFIED}),
    "other host": frozenset({62, 64}),
    "expired": frozenset({10}),
}
"""What OpenSSL's verifier says of each (X509_verify_cert_error_string(3)): a host name or an address that
does not match, a certificate that has expired."""


class ServedCertificates:
    """The certificates that a server can be made to show; make one with `served_certificates`."""

    def __init__(self, server: PrivateServer, admin: Database) -> None:
        self._server, self._admin = server, admin
        self._own = server.certificates
        self._directory = self._own.ca_file.parent / "certificates"
        self._right = copied(self._own, self._directory / "right")
        self._elsewhere = issued(self._directory / "other-host", ELSEWHERE)

    def serve(self, certificate: Certificate) -> None:
        """Show this one from now on; its authority is in the server's own file for it.

        MachineFault where the server does not read it, or where what it then shows is not what is meant.
        """
        if certificate == "expired":
            self._serve_expired()
        else:
            self._serve(self._elsewhere if certificate == "other host" else self._right)
        shown = self._shown()
        if shown not in SHOWS[certificate]:
            raise MachineFault(
                f"{self._server.specimen.name} was given a certificate for: {certificate}; shown was another "
                f"(verifying it gives {shown})"
            )

    def _serve(self, certificates: Certificates) -> None:
        put_in_place(certificates, self._own)
        self._reload()

    def _serve_expired(self) -> None:
        """One that expires as soon as it is in force; returns when it has."""
        for life_s in SHORT_LIVES_S:
            ends = time.monotonic() + life_s
            request = CertificateRequest(addresses=ADDRESSES, valid_for=timedelta(seconds=life_s))
            short = issued(self._directory / f"{life_s}-s", request)
            try:
                self._serve(short)
            except MachineFault:
                if life_s == SHORT_LIVES_S[-1]:
                    raise
                continue
            time.sleep(max(0.0, ends + 1 - time.monotonic()))
            return

    def _reload(self) -> None:
        statement = server_tls.certificate_reload(self._server.version)
        try:
            answers.carry_out(self._admin, statement)
        except (SqlError, OSError) as error:
            raise MachineFault(
                f"{self._server.specimen.name} cannot be given another certificate while it runs "
                f"({statement}: {error.args[-1]})"
            ) from error

    def _shown(self) -> int:
        """What a strict verifier says of the certificate: 0, or OpenSSL's number of what is wrong."""
        context = ssl.create_default_context(cafile=self._own.ca_file)
        try:
            try_login_over_tls(self._server.endpoint(), self._server.load_account, context)
        except SqlError as error:
            cause = error.cause
            if isinstance(cause, ssl.SSLCertVerificationError):
                return cause.verify_code
            raise MachineFault(
                f"the certificate of {self._server.specimen.name} cannot be read back ({error.args[-1]})"
            ) from error
        return VERIFIED


@contextmanager
def served_certificates(server: PrivateServer, admin: Database) -> Iterator[ServedCertificates]:
    """Certificates to be shown; at the end the server shows its own again. Raises MachineFault."""
    served = ServedCertificates(server, admin)
    try:
        yield served
    finally:
        # The server goes with its certificates; what went wrong before is what is reported.
        with suppress(MachineFault):
            served.serve("right")


def listed_drivers() -> ListedDrivers:
    """All drivers, by language and name; what is built, and what building the others lacks here."""
    found = [_listed(name, driver) for name, driver in DRIVERS.items()]
    return ListedDrivers(drivers=tuple(sorted(found, key=lambda one: one.language)))


def _listed(name: str, driver: Driver) -> ListedDriver:
    status = _status(name)
    needs = () if status == "ready" else driver.needs
    return ListedDriver(
        name=name,
        product=driver.product,
        version=driver.version,
        language=driver.language,
        status=status,
        needs=driver.needs,
        missing=tuple(program for program in needs if shutil.which(program) is None),
    )


def _status(name: str) -> Literal["ready", "absent", "broken"]:
    recipe = RECIPES.get(name)
    return of_recipe(recipe).status if recipe is not None else "absent"
