"""When a run is given up: what was asked for is impossible, and each further trial would only repeat that."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.contract import ErrorEvent
from tlstax.records.trial import TrialRecord
from tlstax.study import Study
from tlstax.study.client_kinds.known import kind_of
from tlstax.study.labels import full_label
from tlstax.support.errors import UserMistake

SAME_MISTAKE = frozenset(
    {"access_denied", "certificate", "no_tls", "no_compression", "bad_job", "tls_library"}
)
"""Errors of a client that every further trial of the case would meet again."""

REMEDIES = {
    "no_tls": "turn TLS on at the server, or there is nothing to compare",
    "no_compression": "leave it out for this server, or choose another",
    "certificate": "fix the certificate, or choose an --ssl-mode that does not verify it",
}


def stop_on_the_users_mistake(record: TrialRecord, study: Study) -> None:
    """A mistake in what was asked for would only repeat itself; the first trial shows it.

    What a driver cannot do is no mistake: its trials are invalid and say why, and the others go on.
    """
    if record.trial.block > 0 or kind_of(record.trial.case.typed.client).is_driver:
        return
    if mistake := _mistake(record):
        raise _as_user_mistake(record, mistake, study)
    own = record.trial.case.typed.workload
    if own in study.workloads and not (record.done and record.done.operations):
        for error in record.client_errors:
            if error.kind == "server_error":
                raise UserMistake(f"workload {own}: the server refuses it: {error.message}")


def stop_where_nothing_can_be_done(block: Sequence[TrialRecord], study: Study) -> None:
    """UserMistake where not one trial of the first block could be done, each for a mistake of that kind."""
    mistakes = [_mistake(record) for record in block]
    if block and block[0].trial.block <= 0 and mistakes[0] and all(mistakes):
        raise _as_user_mistake(block[0], mistakes[0], study)


def _mistake(record: TrialRecord) -> ErrorEvent | None:
    fatal = (error for error in record.client_errors if error.fatal)
    return next((error for error in fatal if error.kind in SAME_MISTAKE), None)


def _as_user_mistake(record: TrialRecord, mistake: ErrorEvent, study: Study) -> UserMistake:
    case = full_label(record.trial.case, study)
    return UserMistake(f"{case}: {mistake.message}", remedy=REMEDIES.get(mistake.kind, ""))
