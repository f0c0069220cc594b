"""How drivers log in to an external server, which loses nothing by it: one connection at a time.

Nothing is made, changed or emptied there. Between driver and server stands a relay of this machine, which
hangs up before a driver could be asked for a password without TLS, or could give one to a server that the
user wants verified and the driver does not verify. After each login that fails comes one that succeeds, since
servers block a host after some in a row (MySQL's manual, "Blocked hosts").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Self

from tlstax.contract import Account, ErrorKind, TcpEndpoint, Tls, TlsOff, TlsOn, TlsRequired, TlsUnset
from tlstax.external import conditions, failures
from tlstax.external import connection as external_connection
from tlstax.external.access import ExternalAccess
from tlstax.external.tls import DEMANDING, VERIFYING
from tlstax.mysql import accounts, server_facts, server_tls, session
from tlstax.plan.addresses import is_loopback
from tlstax.plan.elsewhere import Promise, Room
from tlstax.sql.database import Database, SqlError
from tlstax.study.level_names import CACHING_SHA2, NATIVE_PASSWORD
from tlstax.support.errors import UserMistake
from tlstax.support.text import counted
from tlstax.tools.probes.drivers.logins import (
    Trial,
    carried_out,
    least_job,
    login_of,
    try_login,
)
from tlstax.tools.probes.drivers.probe_reading import WORDS
from tlstax.tools.probes.drivers.probed import Asked, Cache, Gathered, ProbedThere, Refusal, TlsAsked
from tlstax.tools.probes.drivers.relays import Lets

AT_ONCE = Promise(kept=1, closes=True, own=0)
"""One at a time: the next is opened when the last one has been closed, which the server may count still."""

NO_REFUSAL: frozenset[ErrorKind] = frozenset({"access_denied", "bad_job", "limits", "timeout"})
"""Why a login fails over TLS that would fare no better without the relay."""

FEW_ERRORS = 8
"""A driver that meets the server without the relay may try several times by itself: not where so few broken
connects in a row block this host."""

NO_FLUSH = (
    "Logins with a cold cache were not seen: to empty it takes FLUSH PRIVILEGES, which is not said at an "
    "external server."
)


@dataclass(frozen=True)
class ExternalTarget:
    """The server, and whether drivers may log in without TLS where the user demands it otherwise."""

    access: ExternalAccess
    allow_plaintext: bool = False

    @property
    def account(self) -> Account:
        """The user's own."""
        access = self.access
        return Account(user=access.user, password=access.password, database=access.address.schema)

    @property
    def clear_is_ruled_out(self) -> bool:
        """Whether the user wants nobody to log in without TLS."""
        return self.access.tls.mode in DEMANDING and not self.allow_plaintext

    @property
    def unverified_is_ruled_out(self) -> bool:
        """Whether the user wants the server verified, and it is on a network."""
        return self.access.tls.mode in VERIFYING and not is_loopback(self.access.address.host)

    @property
    def hides_its_name(self) -> bool:
        """Whether drivers are to verify the host, whose name they know only without a relay before it."""
        return self.access.tls.verify == "identity"

    def endpoint(self) -> TcpEndpoint:
        """Where it listens. UserMistake for a Unix socket."""
        endpoint = self.access.address.endpoint
        if isinstance(endpoint, TcpEndpoint):
            return endpoint
        raise UserMistake(
            "a driver may do otherwise over a Unix socket than over a network, and nobody can look on there",
            remedy="name the server by its host and port",
        )


@dataclass(frozen=True)
class FirstLogin:
    """What tlstax's own first login showed; `no_plaintext` says who rules out logins without TLS."""

    version: str
    plugin: str
    cache: Cache | None
    most_connect_errors: int | None
    no_plaintext: str


class ExternalLogins:
    """Drivers at one external server; `arrive` makes it."""

    def __init__(self, target: ExternalTarget, first: FirstLogin) -> None:
        self._target, self._endpoint, self._first = target, target.endpoint(), first
        self._connections = 1

    @classmethod
    def arrive(cls, target: ExternalTarget, drivers: int, say: Callable[[str], None]) -> Self:
        """Log in as the user does, and see that this many drivers may try.

        UserMistake or MachineFault where nobody is let in, where drivers would have to give the password
        itself, or where trying would get the account or this host refused.
        """
        access = target.access
        target.endpoint()
        with closing(external_connection.connect(access, access.address.schema)) as database:
            try:
                there = cls(target, _first_login(target, database))
                most = 1 + drivers * there._most_of_each()
                _check_limits(database, access, most)
            except SqlError as error:
                raise failures.of_refusal(access, error) from error
        say(
            f"{access.address} gets {counted(most, 'connection')} at most, one after the other: no more than "
            f"{AT_ONCE.total} at once with those that it has not wound up yet"
        )
        return there

    @property
    def version(self) -> str:
        """What the server says of its version."""
        return self._first.version

    def gathered(self, name: str, command: Sequence[str], options: Mapping[str, str]) -> Gathered:
        """What can be seen of a driver there. TlstaxError where nobody is let in any more."""
        trials: dict[TlsAsked, Trial] = {}
        for told, tls, lets in self._ways():
            trials[told] = self._tried(command, told, tls, lets, options)
        cache: Cache | None = "warm" if self._first.plugin == CACHING_SHA2 else None
        known = Gathered(
            name=name,
            server=str(self._target.access.address),
            options=dict(options),
            asked=tuple(_asked(told, trial) for told, trial in trials.items()),
            remarks=tuple(
                f"{WORDS[told]} it met the server without tlstax's relay, whose address no certificate of "
                "the server's names"
                for told, trial in trials.items()
                if trial.capture is None and not trial.words
            ),
            logins=tuple(login_of(self._first.plugin, told, cache, trial) for told, trial in trials.items()),
        )
        if all(trial.words and not trial.ended for trial in trials.values()):
            first = next(iter(trials.values()))
            kind = first.kinds[-1] if first.kinds else None
            return known.model_copy(update={"failed": first.words, "failed_as": kind})
        return known

    def there(self) -> ProbedThere:
        """What there is to say of the server and of what was not seen."""
        first = self._first
        return ProbedThere(
            plugin=first.plugin,
            cache_when_found=first.cache,
            connections=self._connections,
            not_seen=tuple(self._not_seen(first)),
        )

    def _not_seen(self, first: FirstLogin) -> Iterator[str]:
        if first.cache == "cold":
            yield (
                "The cache was cold when tlstax came, and its own login over TLS, by the whole password, has "
                f"filled it. {NO_FLUSH}"
            )
        elif first.cache == "warm":
            yield NO_FLUSH
        if first.no_plaintext:
            yield f"Nobody was told to log in without TLS: {first.no_plaintext}."
        if self._target.unverified_is_ruled_out:
            yield (
                f"{self._target.access.tls.mode_by} demands that the server is verified: where a driver does "
                "not, tlstax hung up before its login, and what it offers is all that was seen."
            )
        if self._target.hides_its_name and not self._meets_it_directly():
            yield (
                "Nobody was told to verify the host: that takes a connection without the relay, and here the "
                f"server blocks a host after {first.most_connect_errors} connects broken off in a row "
                "(max_connect_errors)."
            )

    def _ways(self) -> Iterator[tuple[TlsAsked, Tls, Lets]]:
        """What drivers are told of TLS, and what the relay lets happen then."""
        target, tls = self._target, self._target.access.tls
        trusting = not target.unverified_is_ruled_out
        guarded = Lets(in_clear=False, over_tls=trusting, proof_alone=True)
        yield "unset", TlsUnset(), replace(guarded, in_clear=not target.clear_is_ruled_out)
        if not self._first.no_plaintext:
            yield "off", TlsOff(), replace(guarded, in_clear=True)
        yield "required", TlsRequired(), guarded
        if tls.mode in VERIFYING and (not target.hides_its_name or self._meets_it_directly()):
            verifying = TlsOn(
                verify=tls.verify,
                ca_file=tls.ca_file,
                certificate_file=tls.certificate_file,
                key_file=tls.key_file,
            )
            yield "verified", verifying, replace(guarded, over_tls=True)

    def _tried(
        self, command: Sequence[str], told: TlsAsked, tls: Tls, lets: Lets, options: Mapping[str, str]
    ) -> Trial:
        """One connection; a driver that refuses the relay over TLS meets the server itself after it."""
        job = least_job(self._endpoint, self._target.account, tls, options)
        if told == "verified" and self._target.hides_its_name:
            return self._watched_over(lambda: carried_out(command, job))
        trial = self._watched_over(
            lambda: try_login(command, self._endpoint, self._target.account, tls, options, lets)
        )
        if _refuses_the_server(trial) and self._meets_it_directly():
            return self._watched_over(lambda: carried_out(command, job))
        return trial

    def _watched_over(self, log_in: Callable[[], Trial]) -> Trial:
        """One connection; where it is broken off, one of tlstax's own comes after it."""
        self._connections += 1
        trial = log_in()
        if trial.words:
            self._log_in().close()
        return trial

    def _log_in(self) -> Database:
        self._connections += 1
        return external_connection.connect(self._target.access, self._target.access.address.schema)

    def _most_of_each(self) -> int:
        """Each way, over TLS once more without the relay, and as many logins of tlstax's own."""
        return sum(2 if told == "off" else 4 for told, _, _ in self._ways())

    def _meets_it_directly(self) -> bool:
        limit = self._first.most_connect_errors
        return limit is None or limit > FEW_ERRORS


def _first_login(target: ExternalTarget, database: Database) -> FirstLogin:
    access = target.access
    plugin = getattr(database, "account_plugin", "") or NATIVE_PASSWORD
    if plugin not in {CACHING_SHA2, NATIVE_PASSWORD}:
        raise UserMistake(
            f"{access.user} at {access.address} logs in by {plugin}, which takes the password itself",
            remedy=f"probe drivers with an account by {CACHING_SHA2} or {NATIVE_PASSWORD}",
        )
    if not server_tls.offers_tls(database):
        no_plaintext = ""
    else:
        refusal = conditions.no_plaintext(database, access)
        no_plaintext = refusal.message if refusal is not None else ""
    if target.clear_is_ruled_out:
        no_plaintext = f"{access.tls.mode_by} demands TLS (--allow-plaintext tries it too)"
    cache: Cache | None = None
    if plugin == CACHING_SHA2:
        cache = "cold" if getattr(database, "password_was_sent", False) else "warm"
    return FirstLogin(
        server_facts.version(database),
        plugin,
        cache,
        conditions.check_connect_errors(database, access, 1, "a driver that refuses the server"),
        no_plaintext,
    )


def _check_limits(database: Database, access: ExternalAccess, most: int) -> None:
    """UserMistake where the account or the server has no room for as many, one at a time."""
    limits = server_facts.connection_limits(database)
    own = session.of_account(database) if limits.max_user_connections else frozenset[int]()
    room = Room(
        max_connections=limits.max_connections,
        in_use=max(0, limits.in_use - 1),
        of_account=limits.max_user_connections or None,
        by_account=max(0, len(own) - 1),
    )
    if room.free < AT_ONCE.total:
        limit = "the account's MAX_USER_CONNECTIONS" if room.is_the_accounts else "max_connections"
        raise UserMistake(
            f"{access.address} has {counted(room.free, 'connection')} free ({room.words()}), and a probe "
            f"may take {AT_ONCE.total}: one, and those that the server has not wound up yet",
            remedy=f"raise {limit}, or wait until fewer are in use",
        )
    for name, limit_an_hour in accounts.terms(database).hourly:
        # Besides its login a connection says a handful of statements.
        needed = most if name == "MAX_CONNECTIONS_PER_HOUR" else most * 10
        if name != "MAX_UPDATES_PER_HOUR" and limit_an_hour < needed:
            raise UserMistake(
                f"the account {access.user} at {access.address} is limited to {limit_an_hour:,} an hour "
                f"({name}), and a probe of these drivers may take {needed:,}",
                remedy="name fewer drivers, or use an account without such a limit",
            )


def _refuses_the_server(trial: Trial) -> bool:
    """Whether it broke off over TLS by itself, as a driver does that verifies who answers, and where."""
    begun = trial.wire is not None and bool(trial.wire.over_tls) and not trial.ended
    return begun and bool(trial.words) and not NO_REFUSAL.intersection(trial.kinds)


def _asked(told: TlsAsked, trial: Trial) -> Asked:
    """The connection as a job of a probe's, of one statement."""
    kind = trial.kinds[-1] if trial.kinds else None
    return Asked(
        tls=told,
        statements=1,
        operations=1,
        ready=trial.ready,
        capture=trial.capture,
        refusal=Refusal(kind=kind, words=trial.ended or trial.words) if trial.words else None,
        ended=bool(trial.ended),
    )
