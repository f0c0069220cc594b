"""The whole of an advice, readable in one function: inspect → measure like it → measure there → rank."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tlstax.external.access import ExternalAccess
from tlstax.plan.admission import Leeway
from tlstax.plan.advice_studies import (
    Changes,
    changes_like_it,
    changes_there,
    stand_in_for,
    study_like_it,
    study_there,
)
from tlstax.records.trial import StoredRun
from tlstax.results.inspection import InspectedServer
from tlstax.results.interval import Interval
from tlstax.run.external import ExternalRequest
from tlstax.run.pipeline import Watcher, run
from tlstax.run.preparing import Request
from tlstax.stats.contrasts import PROCESSES
from tlstax.stats.series import series_of
from tlstax.stats.wording import always_hello_retry, no_valid_trial
from tlstax.store import Store
from tlstax.study.factors import within
from tlstax.study.level_names import DEFAULT_CERTIFICATE, SCRAM_ITERATIONS
from tlstax.study.mixes import P256, Mix
from tlstax.support.errors import Interrupted, MachineFault, TlstaxError
from tlstax.support.text import counted, duration
from tlstax.tools.inspection import inspect
from tlstax.topics.advice.advise import (
    Advice,
    Advised,
    Evidence,
    Now,
    Saving,
    SeenUse,
    advised,
    now_of,
    use_of,
)
from tlstax.topics.advice.measured import SERVER_CPU, TIME, Measured, measured
from tlstax.topics.prediction import other_machines
from tlstax.topics.prediction.model import Calibrated, Origin, mixes_of
from tlstax.topics.prediction.other_machines import scaled, shipped_parts, unscaled
from tlstax.topics.prediction.parts import parts_of

MOST_AT_ONCE = 8
"""Connections that the server gets at once from measuring: one that is made anew with those that wind up, one
that is kept, and three of tlstax's own."""


HASHED_TIMES = 3
"""How often a password is hashed to see how long that takes."""


@dataclass(frozen=True)
class AdviceRequest:
    """How a server is to be measured, and what is known of its use; None where that is to be seen.

    `there_s` is how long to measure at the server itself, `like_it_s` on a private one; 0 leaves it out. It
    is at work for us for `share` of that time, with one connection.
    """

    watch_s: float
    there_s: float
    like_it_s: float
    share: float = 0.1
    connects_per_s: float | None = None
    statements: int | None = None
    answer_bytes: int | None = None


def advise(access: ExternalAccess, request: AdviceRequest, store: Store, watcher: Watcher) -> Advice:
    """Inspect the server, measure what could be changed, and rank it; Ctrl-C keeps what is known.

    UserMistake or MachineFault where the account cannot log in. What cannot be measured is named.
    """
    found = inspect(access, request.watch_s, watcher).model_copy(update={"who_connects": None})
    if found.status == "failed" and not found.asked:
        raise MachineFault(f"nothing can be advised: {found.stopped_because}")
    use = use_of(found, request.connects_per_s, request.statements, request.answer_bytes)
    now = now_of(found)
    measuring = _Measuring(access, request, store, watcher, is_interrupted=found.status == "interrupted")
    if now is None:
        return measuring.advice(found, use, ())
    changes = changes_there(
        now.tls,
        now.other_version,
        answer_bytes=use.answer_bytes,
        resumes=now.resumes is True,
        retried=now.hello_retry and (not now.group_option or P256 in now.groups),
        direct=now.direct and not access.tls.direct,
    )
    nearest = stand_in_for(found.word.version)
    like_it = measuring.like_it(now, changes, nearest, resumes=not found.word.is_postgresql)
    at_it, cpu_there = measuring.there(changes)
    # PostgreSQL's protocol has no compression to be left out.
    parts = None if found.word.is_postgresql else measuring.parts_like(nearest)
    uncompressed = without_compression(parts, now, use) if parts is not None else None
    hashing_us = spared_by_hashing_less(found.word.scram_iterations)
    evidence = Evidence(like_it, at_it, cpu_there, measuring.stand_in, uncompressed, hashing_us)
    return measuring.advice(found, use, advised(found, now, use, evidence))


def without_compression(parts: Calibrated, now: Now, use: SeenUse) -> Saving | None:
    """What leaving compression out saves, of connections compressed by zlib; None where no part tells of it.

    Which algorithm its clients use, no server says; zlib is what nearly all have.
    """
    mix = Mix(
        tls="1.2" if now.tls == "1.2" else "1.3",
        certificate=now.certificate or DEFAULT_CERTIFICATE,
        group="default" if now.hello_retry else P256,
        compression="zlib",
        statements=use.statements,
        answer_bytes=use.answer_bytes,
    )
    before, after = parts_of(mix), parts_of(mix.but(compression="off"))
    if not parts.knows(before):
        return None
    fit = parts.busy[SERVER_CPU]
    return Saving(
        server_cpu_us=fit.saving(before, after),
        server_share=fit.saved_share(before, after),
        measured_on=parts.origin.server,
        is_computed=True,
    )


SLOWEST = 0.5
"""What the fastest driver takes of a login's hashing, beside OpenSSL: those in Go and Rust take about as
long as it, libpq and those in other languages several times as long."""


def spared_by_hashing_less(iterations: int | None) -> Interval | None:
    """CPU time of a client that hashes the password 4,096 times in place of this; None where that is no less.

    By the least of a few times of OpenSSL's own PBKDF2 (RFC 5802, 2.2: Hi) on this machine.
    """
    if iterations is None or iterations <= SCRAM_ITERATIONS:
        return None
    spared_us = hashing_us(iterations) - hashing_us(SCRAM_ITERATIONS)
    return Interval(point=spared_us, low=spared_us * SLOWEST, high=None, confidence=0.95, blocks=HASHED_TIMES)


def hashing_us(iterations: int) -> float:
    """CPU time that SCRAM's hashing of a password takes."""
    took = []
    for _ in range(HASHED_TIMES):
        began = time.thread_time()
        hashlib.pbkdf2_hmac("sha256", b"a password", b"sixteen bytes of", iterations)
        took.append(time.thread_time() - began)
    return 1e6 * min(took)


@dataclass
class _Measuring:
    """What is measured, and what is known of it so far: the runs, and what could not be measured and why."""

    access: ExternalAccess
    request: AdviceRequest
    store: Store
    watcher: Watcher
    is_interrupted: bool
    runs: list[StoredRun] = field(default_factory=list)
    not_measured: list[str] = field(default_factory=list)
    stand_in: str = ""

    def like_it(self, now: Now, there: Changes, stand_in: str | None, *, resumes: bool) -> Measured | None:
        """The server's CPU time on a private server like it; None where that cannot be."""
        what = "the server's CPU time"
        if stand_in is None or not now.certificate:
            like = f"can have a key of {now.key}" if stand_in else "is like it"
            self.not_measured.append(f"{what}: no private server {like}")
            return None
        groups = now.group_option if now.hello_retry else ""
        changes = changes_like_it(there, now.certificate, resumes=resumes, groups=groups)
        budget_s = self.request.like_it_s
        stored = self._run(lambda: Request(study_like_it(changes, stand_in, budget_s)), budget_s, what)
        if stored is None:
            return None
        self.stand_in = stand_in
        found = measured(series_of(stored), changes, SERVER_CPU, luck=PROCESSES)
        self._note_nothing(found, stored, what)
        as_now = (record for record in stored.measured if within(record.trial.case.levels, changes.now))
        if now.hello_retry and found is not None and not always_hello_retry(as_now):
            self.not_measured.append(f"P-256 first: {stand_in} asks for no second ClientHello")
            return found.without("group").without("groups")
        return found

    def parts_like(self, stand_in: str | None) -> Calibrated | None:
        """The parts of connections to a server like it, as they come with tlstax and scaled to it."""
        if stand_in is None:
            return None
        parts = shipped_parts(other_machines.stand_in(stand_in)).calibrated()
        here = [stored for stored in self.runs if not stored.header.guest]
        mixes = mixes_of(here[0]) if here else ()
        return scaled(parts, mixes, Origin.of(here[0].header)) if mixes else unscaled(parts)

    def there(self, changes: Changes) -> tuple[Measured | None, Measured | None]:
        """How long connections take at the server itself, and its CPU time; None where that cannot be."""
        what, budget_s = "times at the server itself", self.request.there_s
        stored = self._run(
            lambda: Request(
                study_there(changes, budget_s),
                ExternalRequest({None: self.access}, Leeway(MOST_AT_ONCE)),
                share=self.request.share,
            ),
            budget_s,
            what,
        )
        if stored is None:
            return None, None
        run = series_of(stored)
        found = measured(run, changes, TIME)
        self._note_nothing(found, stored, what)
        return found, measured(run, changes, SERVER_CPU)

    def _run(self, request: Callable[[], Request], budget_s: float, what: str) -> StoredRun | None:
        """One of the two runs, unless it is left out; where there is none, it is noted why."""
        if self.is_interrupted or budget_s <= 0:
            self.not_measured.append(f"{what}: {'interrupted' if self.is_interrupted else 'left out'}")
            return None
        try:
            stored = run(request(), self.store, self.watcher)
        except Interrupted:
            self.is_interrupted = True
            self.not_measured.append(f"{what}: interrupted")
            return None
        except TlstaxError as error:
            self.not_measured.append(f"{what}: {error.message}")
            return None
        self.runs.append(stored)
        self.is_interrupted = stored.status == "interrupted"
        return stored

    def _note_nothing(self, found: Measured | None, stored: StoredRun, what: str) -> None:
        """Note why a run says nothing of the connection as it is now, where it does not."""
        if found is None:
            why = no_valid_trial(stored.trials, stored.stopped_because)
            self.not_measured.append(f"{what}: {'interrupted' if self.is_interrupted else why}")

    def advice(
        self,
        found: InspectedServer,
        use: SeenUse,
        changes: tuple[Advised, ...],
    ) -> Advice:
        """The document, with what measuring took of the server."""
        there = [stored for stored in self.runs if stored.header.guest]
        return Advice(
            inspected=found,
            use=use,
            changes=changes,
            stand_in=self.stand_in,
            runs=tuple(stored.header.run for stored in self.runs),
            connections_there=found.connections + sum(map(connections_made, there)),
            spent_there=spent_words(there),
            not_measured=tuple(self.not_measured),
            status="interrupted" if self.is_interrupted else found.status,
        )


def connections_made(stored: StoredRun) -> int:
    """How many connections the trials of a run made: each operation's own, or those that were kept."""
    return sum(
        record.done.operations
        if record.trial.case.levels.reconnects
        else record.trial.case.levels.connections
        for record in stored.trials
        if record.done is not None
    )


def spent_words(runs: Sequence[StoredRun]) -> str:
    """How many connections the runs made, and for how long they were at work; empty where none was made."""
    made = sum(connections_made(stored) for stored in runs)
    spent_s = sum(record.done.elapsed_s for stored in runs for record in stored.trials if record.done)
    if not made:
        return ""
    times = f"{duration(spent_s)} of work for one processor at the most"
    return f"{counted(f'{made:,}', 'connection')} were made there, two at once at the most: {times}"
