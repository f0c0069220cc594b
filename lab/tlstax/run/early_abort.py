"""When a run is given up, since further trials would only repeat what is known; and why one answered nothing.

What a run is to answer are its comparisons: one needs a valid trial of a case and of its baseline in a block.
Whose fault it is that there is none decides the exit status: the user's where an account or a setting of the
server's demands it, the machine's or the server's otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tlstax.checks.rows_changed import RAN_DRY
from tlstax.checks.server_errors import ServerError, meaning_of
from tlstax.checks.treatment import CONFLICTS, MOST_ERRORS
from tlstax.contract import ErrorCount, ErrorEvent
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.stats.estimates import Comparison, compare
from tlstax.stats.stopping import HOPELESS_BLOCKS
from tlstax.study import Study
from tlstax.study.client_kinds import kind_of
from tlstax.study.labels import full_label
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake
from tlstax.support.text import counted, was

SAME_MISTAKE = frozenset(
    {"access_denied", "certificate", "no_tls", "no_compression", "bad_job", "tls_library"}
)
"""Errors of a client that every further trial of the case would meet again."""

REMEDIES = {
    "access_denied": "use an account that logs in by a method that the client has",
    "no_tls": "turn TLS on at the server, or there is nothing to compare",
    "no_compression": "leave it out for this server, or choose another",
    "certificate": "fix the certificate, or choose an --ssl-mode that does not verify it",
    RAN_DRY: "ask for more rows (--rows), or for fewer operations",
    "tls_handshake": "ask for what the server has, or change its TLS settings",
}
THE_USERS = SAME_MISTAKE | {"tls_handshake"}
"""Errors of a client that come from what was asked for, or from how server and account are set up."""


def stop_on_the_users_mistake(record: TrialRecord, study: Study) -> None:
    """A mistake in what was asked for would only repeat itself; the first trial shows it.

    What a driver cannot do is no mistake: its trials are invalid and say why, and the others go on.
    """
    if record.trial.block > 0 or kind_of(record.trial.case.levels.client).is_driver:
        return
    mistake = _fatal(record)
    if mistake is not None and mistake.kind in SAME_MISTAKE:
        raise _as_user_mistake(record, mistake, study)
    own = record.trial.case.levels.workload
    if own in study.workloads and not (record.done and record.done.operations):
        for error in record.client_errors:
            if error.kind == "server_error":
                raise UserMistake(f"workload {own}: the server refuses it: {error.message}")


def stop_where_nothing_can_be_done(records: Sequence[TrialRecord], study: Study) -> bool:
    """Whether a comparison has a valid pair among all trials so far. Raises where none is to be expected.

    That is so once all cases were tried, or no trial was valid, where all failures have one cause, which
    lasts until an account or a setting is changed; and after some blocks whatever the causes are.
    """
    measured = [record for record in records if record.trial.is_measured]
    compared = _treated(measured, study)
    if any(comparison.pairs for comparison in compared):
        return True
    failed = [record for record in measured or records if record.verdict.value != "valid"]
    all_were_tried = bool(measured) and all(comparison.tried_blocks for comparison in compared)
    if failed and (all_were_tried or len(failed) == len(measured or records)):
        causes = [_Cause.of(record) for record in failed]
        lasts = len({cause.kind for cause in causes}) == 1 and causes[0].is_the_users
        tried_blocks = max((comparison.tried_blocks for comparison in compared), default=0)
        if lasts or tried_blocks >= HOPELESS_BLOCKS:
            raise _fault(measured or records, study)
    return False


def unanswered(stored: StoredRun) -> TlstaxError | None:
    """Why a run answered nothing; None where a comparison has a valid pair of trials, or none failed."""
    measured, study = stored.measured, stored.header.study
    if any(comparison.pairs for comparison in _treated(measured, study)):
        return None
    return _fault(measured, study) if any(record.verdict.value != "valid" for record in measured) else None


def _treated(measured: Iterable[TrialRecord], study: Study) -> list[Comparison]:
    """What a run is to answer: all cases that are no controls; of a study that has no such cases, all."""
    compared = compare(study, measured)
    return [one for one in compared if one.case.role == "treatment"] or list(compared)


@dataclass(frozen=True)
class _Cause:
    """Why a trial is not valid: alike are those of one `kind`, a client's error and its number, or a reason.

    What is the user's lasts: every further trial of the case would meet it.
    """

    kind: tuple[str, int | None]
    reason: str
    known: ServerError | None = None
    is_the_users: bool = False

    @classmethod
    def of(cls, record: TrialRecord) -> _Cause:
        """What the client met, and where it met nothing the first thing that a check found."""
        reason = record.verdict.reasons[0] if record.verdict.reasons else "its evidence is missing"
        met = _fatal(record) or _met_most(record)
        if met is None:
            kind = RAN_DRY if reason.endswith(RAN_DRY) else re.sub(r"\d+", "#", reason)
            return cls((kind, None), reason, is_the_users=kind == RAN_DRY)
        kind, code = met.kind, met.code
        known = meaning_of(code) if kind in {"server_error", "access_denied"} else None
        is_the_users = known.fault is UserMistake if known is not None else kind in THE_USERS
        return cls((kind, code), reason, known, is_the_users)


def _fault(records: Sequence[TrialRecord], study: Study) -> TlstaxError:
    """The commonest cause, in a sentence."""
    failed = [record for record in records if record.verdict.value != "valid"]
    causes = [_Cause.of(record) for record in failed]
    kind, alike = Counter(cause.kind for cause in causes).most_common(1)[0]
    place = next(place for place, cause in enumerate(causes) if cause.kind == kind)
    cause, record = causes[place], failed[place]
    fault = UserMistake if cause.is_the_users else MachineFault
    others = "" if alike == len(failed) else f", {alike:,} of them"
    return fault(
        f"nothing could be compared: {len(failed):,} of {counted(len(records), 'trial', ',')} "
        f"{was(len(failed))} not valid{others} "
        f"because of this ({full_label(record.trial.case, study)}): {cause.reason}",
        remedy=_remedy(cause, record),
    )


def _remedy(cause: _Cause, record: TrialRecord) -> str:
    if cause.known is None:
        return REMEDIES.get(cause.kind[0], "")
    user = record.job.account.user if record.job is not None else ""
    names = {"user": user, "where": "the server", "schema": "", "variable": "", "said": "", "plain": ""}
    return (cause.known.in_trials or cause.known.remedy).format_map(names)


def _fatal(record: TrialRecord) -> ErrorEvent | None:
    return next((error for error in record.client_errors if error.fatal), None)


def _met_most(record: TrialRecord) -> ErrorCount | None:
    """What most operations failed with, where so many did that the trial is not valid."""
    done = record.done
    if done is None:
        return None
    met = [error for error in done.errors if error.code not in CONFLICTS]
    failed = sum(error.count for error in met)
    if not failed or failed <= MOST_ERRORS * (failed + done.operations):
        return None
    return max(met, key=lambda error: error.count)


def _as_user_mistake(record: TrialRecord, mistake: ErrorEvent, study: Study) -> UserMistake:
    case = full_label(record.trial.case, study)
    return UserMistake(f"{case}: {mistake.message}", remedy=_remedy(_Cause.of(record), record))
