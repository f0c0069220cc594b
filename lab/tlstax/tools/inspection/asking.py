"""One handshake and login at a time: what the server agrees to, and what such a connect costs."""

from __future__ import annotations

from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Account, Done, Endpoint, Job, Ready, Statement, TlsOn, TlsView, Workload
from tlstax.mysql.session import ASKS_NOTHING
from tlstax.results.inspection import Asked, ConnectPhase
from tlstax.stats import histograms
from tlstax.study.tls_levels import group_name
from tlstax.support.errors import MachineFault
from tlstax.tools.inspection.questions import Question

WITHIN_S = 20.0
"""For a handshake, a login and two answers, at any distance."""

CONNECTS = 8
"""Enough for a median; a server that is far away is asked for no more."""

PROVED = 1
"""The engine makes one more before it begins, to see what is negotiated."""

PHASES = ("tcp_connect", "greeting", "tls_handshake", "authentication")
"""In the order in which a connection meets them."""

CANNOT_ASK = frozenset({"bad_job", "tls_library"})
"""The client's own library does not know what was to be offered."""


UNREACHED = frozenset({"resolve", "connect", "access_denied", "limits", "internal"})
"""What no other question would fare better with."""


def ask(question: Question, endpoint: Endpoint, account: Account) -> Asked:
    """Connect once (twice, for resumption) as the question says, log in, and hang up in order.

    Every agreement ends in a whole login, so that the server counts no aborted one: after a number of those
    in a row it may refuse the host (max_connect_errors). Each question stands for itself: what becomes of it
    is its answer. Raises MachineFault where the others would fail as well.
    """
    named = Asked(topic=question.topic, name=question.name)
    try:
        with LoadClient(engine_command(), least_job(question.tls, endpoint, account)) as client:
            ready = client.wait_ready(WITHIN_S)
            # A client that is done says goodbye, one that is only hung up on does not (Aborted_clients).
            client.go()
            client.wait_done(WITHIN_S)
    except ClientFailure as failure:
        return _refused(named, failure)
    view = _seen(ready)
    why_not = _why_not(question, view)
    return named.model_copy(update={"why_not": why_not} if why_not else {"agreed": view})


def _why_not(question: Question, view: TlsView | None) -> str:
    """Why an agreement is none to what was asked for; empty where it is."""
    if question.topic == "resumption" and not (view and view.resumed):
        return "the second connection was not resumed"
    used = group_name(view.group) if view else ""
    if question.topic == "group" and used != question.name:
        return f"the server agreed with {used or 'no group at all'}"
    return ""


def _refused(named: Asked, failure: ClientFailure) -> Asked:
    kinds = {error.kind for error in failure.errors}
    if not failure.errors or (kinds & UNREACHED and not failure.tls_was_refused()):
        raise MachineFault(f"{named.name} could not be tried: {failure}") from failure
    could_ask = not kinds & CANNOT_ASK or failure.tls_was_refused()
    return named.model_copy(update={"why_not": failure.errors[-1].message, "could_ask": could_ask})


def _seen(ready: Ready) -> TlsView | None:
    """What the client saw on its last connection."""
    views = [negotiated.client for negotiated in ready.negotiated]
    resumed = [view for view in views if view is not None and view.resumed]
    return (resumed or views or [None])[0]


def least_job(tls: TlsOn, endpoint: Endpoint, account: Account, connects: int | None = None) -> Job:
    """The least that there is to do: the client connects, asks what was negotiated, and says one thing.

    With `connects` it says so many, each on a connection of its own, which the server has closed before the
    next is opened.
    """
    return Job(
        endpoint=endpoint,
        account=account,
        tls=tls,
        workload=Workload(reconnect=connects is not None, statements=(Statement(sql=ASKS_NOTHING),)),
        connections=1,
        warmup_s=0.0,
        duration_s=WITHIN_S,
        operations=connects or 1,
        seed=1,
        row_samples=0,
        lingering=0,
    )


def connect_cost(tls: TlsOn, endpoint: Endpoint, account: Account) -> tuple[ConnectPhase, ...]:
    """Make `CONNECTS` connects, one after another. Raises MachineFault where that fails."""
    job = least_job(tls, endpoint, account, CONNECTS)
    try:
        with LoadClient(engine_command(), job) as client:
            client.wait_ready(WITHIN_S)
            client.go()
            return _cost(client.wait_done(2 * WITHIN_S))
    except ClientFailure as failure:
        raise MachineFault(f"what a connect costs could not be measured: {failure}") from failure


def _cost(done: Done) -> tuple[ConnectPhase, ...]:
    """All phases together, and each by itself."""
    if "connect" not in done.phase_wire or "connect" not in done.histograms_ns:
        raise MachineFault("what a connect costs could not be measured: none of the connects succeeded")
    names = ("connect", *(name for name in PHASES if name in done.phase_wire))
    return tuple(_phase(done, name) for name in names)


def _phase(done: Done, name: str) -> ConnectPhase:
    wire = done.phase_wire[name]
    (median_us,) = histograms.decode(done.histograms_ns[name]).percentiles_us((50.0,))
    return ConnectPhase(
        name=name,
        connects=wire.times,
        round_trips=wire.round_trips / wire.times,
        sent_bytes=wire.bytes_sent / wire.times,
        received_bytes=wire.bytes_received / wire.times,
        median_us=median_us,
    )
