"""The cases that a study leaves out because load clients, or servers' accounts, cannot do them, and why."""

from __future__ import annotations

from tlstax.contract import OpenLoop
from tlstax.study.client_kinds.kind import ClientKind, Wanted
from tlstax.study.client_kinds.known import kind_of
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import AUTH_PLUGINS, EACH, ENGINE, LEFT_TO_THE_DRIVER, STORM
from tlstax.study.workloads.bulk import Rows


def why_not(wanted: Wanted) -> str:
    """Why the case cannot be measured with its client; empty where it can.

    What only shows when a job is read is the client's to refuse.
    """
    kind = kind_of(wanted.case.client)
    words = what_it_lacks(wanted) or _why_no_driver(kind, wanted.case) or _why_no_turns(kind, wanted.case)
    words = words or _why_not_compressed(wanted.case) or _why_no_context(wanted.case)
    if words or wanted.case.workload == STORM:
        return words or _why_no_storm(kind, wanted)
    return kind.why_not(wanted)


def what_it_lacks(wanted: Wanted) -> str:
    """What the server lacks that the case is about, accounts or a compression; empty where it may have it."""
    case, server = wanted.case, wanted.server
    if server is None:
        return ""
    if case.auth in AUTH_PLUGINS and case.auth not in server.account_plugins:
        return f"{case.server} has no accounts with {case.auth}"
    if case.compression not in server.compressions:
        return f"{case.server} does not compress by {case.compression}"
    return ""


def _why_no_driver(kind: ClientKind, case: CaseLevels) -> str:
    """Why only a driver can be measured in the case; empty where others can, or where it is one."""
    if kind.is_driver:
        return ""
    if case.tls in LEFT_TO_THE_DRIVER:
        return f"{kind.name} is not a driver: it must be told how to encrypt, and tls = {case.tls} does not"
    for option in case.options:
        return f"{kind.name} is not a driver and has no option {option}"
    return f"{kind.name} is not a driver and sends no batches" if case.batch > 1 else ""


def _why_no_turns(kind: ClientKind, case: CaseLevels) -> str:
    """Why the client cannot take turns in slices of the length that the case names; empty where it can."""
    if not case.slice_ms or kind.takes_turns:
        return ""
    return f"{kind.name} cannot stop in the middle of a run, to take turns with others"


def _why_no_context(case: CaseLevels) -> str:
    """Why the client cannot make the TLS contexts that the case names; empty where it can."""
    if case.tls_context != EACH:
        return ""
    if case.client != ENGINE:
        return f"{case.client} makes its TLS contexts as it is built to"
    return "a session is resumed in the context that it was made in" if case.resumes else ""


def _why_not_compressed(case: CaseLevels) -> str:
    """Why the case's workload would be compressed as no real data are; empty where it would not."""
    rows = Rows.named(case.workload)
    if rows is None or not rows.connects or not case.is_compressed:
        return ""
    return f"{case.workload} repeats one value, of which compression would leave nothing"


def _why_no_storm(kind: ClientKind, wanted: Wanted) -> str:
    if not kind.makes_storms:
        return f"{kind.name} cannot make a storm: it opens its connections once, or one after another"
    if isinstance(wanted.schedule, OpenLoop):
        return "a storm cannot be given a rate: it opens its connections as fast as it can"
    if wanted.case.slice_ms:
        return "a storm takes turns round by round, and has no slices of a length (slice_ms)"
    if wanted.case.queries is not None:
        return "a storm runs no queries: it has a number of rounds and of connections"
    return ""
