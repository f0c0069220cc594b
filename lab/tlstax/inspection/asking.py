"""One handshake and login at a time: whether the server agrees to what alone is offered."""

from __future__ import annotations

from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Account, Endpoint, Job, Ready, Statement, TlsOn, TlsView, Workload
from tlstax.inspection.questions import Question
from tlstax.mysql.session import ASKS_NOTHING
from tlstax.results.inspection import Asked
from tlstax.support.errors import MachineFault

WITHIN_S = 20.0
"""For a handshake, a login and two answers, at any distance."""

CANNOT_ASK = frozenset({"bad_job", "tls_library"})
"""The client's own library does not know what was to be offered."""


def ask(question: Question, endpoint: Endpoint, account: Account) -> Asked:
    """Connect once (twice, for resumption) as the question says, log in, and hang up in order.

    Every agreement ends in a whole login, so that the server counts no aborted one: after a number of those
    in a row it may refuse the host (max_connect_errors). Raises MachineFault where it fails for another
    reason than TLS.
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
    if question.topic == "resumption" and not (view and view.resumed):
        return named.model_copy(update={"why_not": "the second connection was not resumed"})
    return named.model_copy(update={"agreed": view})


def _refused(named: Asked, failure: ClientFailure) -> Asked:
    if failure.tls_was_refused():
        return named.model_copy(update={"why_not": failure.errors[-1].message})
    if any(error.kind in CANNOT_ASK for error in failure.errors):
        return named.model_copy(update={"why_not": failure.errors[-1].message, "could_ask": False})
    raise MachineFault(f"{named.name} could not be tried: {failure}") from failure


def _seen(ready: Ready) -> TlsView | None:
    """What the client saw on its last connection."""
    views = [negotiated.client for negotiated in ready.negotiated]
    resumed = [view for view in views if view is not None and view.resumed]
    return (resumed or views or [None])[0]


def least_job(tls: TlsOn, endpoint: Endpoint, account: Account, connects: int | None = None) -> Job:
    """The least that there is to do: the client connects, asks what was negotiated, and says one thing.

    With `connects` it says so many, one after another, each on a connection of its own.
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
    )
