"""What crossed the wire of each case: encrypted or not, in how many round trips, what can be read."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.plan.order import captures as planned
from tlstax.plan.order import cases
from tlstax.records.capture import Capture, Conversation, Frame
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.captures import Captures, CaseCrossed, NotCaptured, Reading
from tlstax.study import Levels
from tlstax.study.case_levels import CaseLevels
from tlstax.study.labels import full_label, group_label, label
from tlstax.study.level_names import UNIX_SOCKET
from tlstax.support.text import counted

MOST_FRAMES = 8
"""The most frames of a kind that are shown; the export has all that were kept."""

MOST_STATEMENTS = 20
"""The same for statements."""


def captures(stored: StoredRun) -> Captures | None:
    """What taps saw, in the study's order; None for a run that was not to be captured."""
    study = stored.header.study
    if not study.capture:
        return None
    seen = {record.trial.case.key(): record for record in stored.captured}
    could = {trial.case.key() for trial in planned(study)}
    wanted = [case for case in cases(study) if case.role != "control"]
    return Captures(
        cases=tuple(_case(seen[case.key()], stored) for case in wanted if case.key() in seen),
        without=tuple(
            NotCaptured(label=full_label(case, study), why=_why_not(case.levels))
            for case in wanted
            if case.key() not in could
        ),
        asked_for=stored.header.changes.capture,
    )


def _why_not(levels: Levels) -> str:
    case = CaseLevels.of(levels)
    if case.can_be_captured:
        return "in a study with distances all servers stand at their far end, where no tap is"
    if case.path == UNIX_SOCKET:
        return "a Unix socket has no place for a tap"
    if case.distance.is_any:
        return "no tap is put into a distance"
    return f"{case.path} is between client and server, where a tap would be"


def _case(record: TrialRecord, stored: StoredRun) -> CaseCrossed:
    """What is shown of one captured trial, whatever its verdict."""
    case, study, capture = record.trial.case, stored.header.study, record.capture
    crossed = CaseCrossed(
        case=dict(case.levels),
        role=case.role,
        label=label(case, study),
        group=group_label(case.levels, study),
        verdict=record.verdict.value,
        reason=next(iter(record.verdict.reasons), ""),
    )
    return crossed if capture is None else crossed.model_copy(update=_seen(capture))


def _seen(capture: Capture) -> dict[str, object]:
    shown = _shown(capture)
    # Sessions that are resumed in the window were made before it.
    of_window = [conversation for conversation in capture.conversations if conversation.in_window]
    handshakes_seen = [
        conversation.tls
        for conversation in of_window or capture.conversations
        if conversation.tls is not None
    ]
    handshakes = [seen for seen in handshakes_seen if seen.version]
    after_login = shown.frames[:MOST_FRAMES] if shown else ()
    in_window = () if shown and shown.in_window else capture.window_frames[:MOST_FRAMES]
    reading = _reading((*after_login, *in_window), capture)
    return {
        "connections": capture.connections,
        "encrypted": capture.encrypted,
        "versions": _distinct([seen.version for seen in handshakes]),
        "ciphers": _distinct([seen.cipher for seen in handshakes]),
        "groups": _distinct([seen.group for seen in handshakes]),
        "handshakes": len(handshakes),
        "hello_retries": sum(seen.hello_retry for seen in handshakes),
        "resumed": sum(seen.resumed for seen in handshakes),
        "offered": handshakes_seen[0].hello if handshakes_seen else None,
        **_per_operation(capture),
        "round_trips_of_login": _of_login(shown),
        "statements": shown.statements[:MOST_STATEMENTS] if shown else (),
        "after_login": after_login,
        "in_window": in_window,
        "reading": reading,
        "says": _says(reading, capture, (*after_login, *in_window)),
    }


def _shown(capture: Capture) -> Conversation | None:
    """The connection that is shown: the first of the measured work, or else the first of all."""
    came_to = [conversation for conversation in capture.conversations if conversation.frames]
    of_window = [conversation for conversation in came_to if conversation.in_window]
    return next(iter((*of_window, *came_to, *capture.conversations)), None)


def _per_operation(capture: Capture) -> dict[str, object]:
    """Turns and TCP connects of the window are round trips; each operation has its part of them."""
    window, operations = capture.window, capture.operations
    if window is None or not operations:
        return {}
    return {
        "operations": operations,
        "round_trips_per_operation": (window.turns + capture.window_connections) / operations,
        "bytes_sent_per_operation": window.bytes_sent / operations,
        "bytes_received_per_operation": window.bytes_received / operations,
    }


def _of_login(shown: Conversation | None) -> int | None:
    """Round trips from connecting to the OK: the turns until then, and TCP's own."""
    return None if shown is None or shown.turns_to_login is None else shown.turns_to_login + 1


def _reading(frames: Sequence[Frame], capture: Capture) -> Reading:
    if not frames:
        return "none"
    if capture.encrypted:
        return "encrypted"
    return "compressed" if frames[0].what == "compressed packet" else "clear"


def _says(reading: Reading, capture: Capture, frames: Sequence[Frame]) -> str:
    """What can be read of it, in a sentence."""
    if 0 < capture.encrypted < capture.connections:
        some = counted(capture.encrypted, "connection")
        return f"only {some} of {capture.connections} were encrypted where they crossed the wire"
    if reading == "encrypted":
        return f"these are {frames[0].what} records: nothing can be read"
    if reading == "compressed":
        return "these bytes are compressed and not encrypted: whoever inflates them can read all of it"
    if reading == "clear":
        return "these bytes are MySQL's protocol in the clear: statements and rows can be read"
    return "nothing crossed the wire after the login"


def _distinct(values: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
