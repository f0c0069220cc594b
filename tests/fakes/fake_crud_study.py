"""A fake run of the study of CRUD with and without TLS: a planted cost, and a method that tests nothing.

In every part but (a) TLS makes SELECT slower by a tenth and its %system three points higher, and changes
nothing else. In part (a) the connections are encrypted whatever the option says, and the trials that claim to
be without TLS are invalid.
"""

from __future__ import annotations

from functools import cache

from fake_trials import Truth, fake_run, kept, untrue
from observed_windows import seconds, ticks, window
from tlstax.records.trial import ConnectionsSeen, StoredRun, TrialRecord
from tlstax.results.document import RunDocument
from tlstax.study import Case, Study, load_study
from tlstax.topics.answer.document import document

STUDY = load_study("crud-tls")
QUERIES, ROUNDS = 10_000, 5
REASON = "plaintext was asked for, but the server saw TLS on all 5 connections that did the work"
SPEEDS = {"people-insert": 320.0, "people-select": 160.0, "people-update": 180.0, "people-delete": 165.0}
SYSTEM = {"people-insert": 6, "people-select": 14, "people-update": 2, "people-delete": 8}
"""Operations a second and %system of each kind of statement without TLS."""


def is_encrypted(case: Case) -> bool:
    """Whether the connections speak TLS, which in part (a) they always do."""
    return case.levels["tls"] != "off" or is_published_method(case)


def is_published_method(case: Case) -> bool:
    return (case.levels["client"], case.levels["tls_switch"]) == ("mysqlslap-8.0.33", "client")


def crud_run(  # noqa: PLR0913 (each is a choice of its own, with a default)
    study: Study = STUDY,
    *,
    blocks: int = 4,
    noise: float = 0.002,
    slower: float = 1.1,
    queries: int = QUERIES,
    seconds_watched: int = 12,
) -> StoredRun:
    """A run in which TLS makes a SELECT take `slower` times as long, and more kernel time with it."""

    def truth(case: Case) -> Truth:
        workload = str(case.levels["workload"])
        slowed = slower if workload == "people-select" and is_encrypted(case) else 1.0
        return kept(SPEEDS[workload] / slowed, 900.0, 60.0, record_bytes=22 if is_encrypted(case) else 0)

    def changed(record: TrialRecord) -> TrialRecord:
        case = record.trial.case
        select = case.levels["workload"] == "people-select" and is_encrypted(case)
        system = SYSTEM[str(case.levels["workload"])] + (3 if select and slower != 1.0 else 0)
        return _shown(record, system, queries, seconds_watched)

    run = fake_run(study, number_of_blocks=blocks, noise=noise, truth=truth, invalid=False)
    return run.model_copy(update={"trials": tuple(changed(record) for record in run.trials)})


@cache
def crud_document(slower: float = 1.1) -> RunDocument:
    """What such a run shows, worked out once for all tests."""
    return document(crud_run(slower=slower))


def _shown(record: TrialRecord, system: int, queries: int, seconds_watched: int) -> TrialRecord:
    assert record.done is not None
    assert record.job is not None
    assert record.server is not None
    rate = record.done.operations / record.done.elapsed_s
    operations = queries * ROUNDS
    job = record.job.model_copy(update={"operations": operations, "rounds": ROUNDS})
    done = record.done.model_copy(update={"operations": operations, "elapsed_s": operations / rate})
    jitter = record.trial.block % 2
    each = ticks(user=40 - jitter, system=system + jitter, idle=60 - system)
    update: dict[str, object] = {"job": job, "done": done}
    update["window"] = window(*seconds(*[each] * seconds_watched))
    case = record.trial.case
    if str(case.levels["client"]).startswith("mysqlslap"):
        version = "TLSv1.3" if is_encrypted(case) else None
        cipher = "TLS_AES_256_GCM_SHA384" if version else None
        seen = (ConnectionsSeen(connections=ROUNDS, version=version, cipher=cipher),)
        update["server"] = record.server.model_copy(update={"connections": seen})
    found = record.model_copy(update=update)
    return untrue(found, REASON) if is_published_method(case) and case.levels["tls"] == "off" else found
