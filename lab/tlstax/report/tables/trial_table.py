"""The table `trials`: a row a trial, with its case, the verdict on it, what was negotiated, every outcome."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tlstax.contract import TlsView
from tlstax.findings.core.proof import told_by
from tlstax.report.tables.case_columns import (
    BLOCK,
    LABEL,
    POSITION,
    ROLE,
    RUN,
    case_columns,
    case_values,
    label_of,
)
from tlstax.results.exported_run import ExportedRun, ExportedTrial
from tlstax.study.outcomes import OUTCOMES
from tlstax.topics.core.columns import Column, Table

TRIALS = Table(
    name="trials",
    one_row="a trial: a case, run once in a block",
    key=("run", "block", "position"),
    columns=(
        RUN,
        BLOCK,
        POSITION,
        ROLE,
        LABEL,
        Column("verdict", "TEXT", "valid, invalid or unknown; only valid trials count"),
        Column("reasons", "TEXT", "why it is not valid, joined by “; ”"),
        Column("notes", "TEXT", "caveats of a valid one, joined by “; ”"),
        Column("failure", "TEXT", "why it did not come to its end"),
        Column("profiled", "INTEGER", "1 where it was sampled with perf: then it does not count"),
        Column("captured", "INTEGER", "1 where it went through a tap: then it does not count"),
        Column("machine", "TEXT", "the machine that it ran on; empty where the run has one"),
        Column("started_at", "TEXT", "when it began, ISO 8601"),
        Column("took_s", "REAL", "how long it took with all that belongs to it", "s"),
        *case_columns("case"),
        Column("server_version", "TEXT", "the version that the server said"),
        Column("client_version", "TEXT", "the load client and its version"),
        Column("client_tls_version", "TEXT", "what the client's TLS library said of itself"),
        Column("tls_version", "TEXT", "the version that was negotiated; empty: plaintext, or not known"),
        Column("tls_cipher", "TEXT", "the cipher suite that was negotiated"),
        Column("tls_group", "TEXT", "the key exchange group that was negotiated"),
        Column("window_connections", "INTEGER", "connections opened while it was measured"),
        Column("window_handshakes", "INTEGER", "TLS handshakes made while it was measured"),
        Column("window_resumed", "INTEGER", "those of them that resumed a session"),
        Column("errors", "INTEGER", "errors that the client met"),
        *(Column(one.name, "REAL", one.words, one.unit) for one in OUTCOMES.values()),
    ),
)


def trial_rows(run: ExportedRun) -> Iterator[dict[str, object]]:
    """A row for each trial, in the run's order."""
    for trial in run.trials:
        yield {
            **trial_place(run, trial),
            "reasons": "; ".join(trial.reasons) or None,
            "notes": "; ".join(trial.notes) or None,
            "failure": trial.failure or None,
            "profiled": trial.profiled,
            "captured": trial.captured,
            "started_at": trial.started_at,
            "took_s": trial.took_s,
            **case_values("case", trial.case),
            **_proved(trial),
            **trial.outcomes,
        }


def trial_place(run: ExportedRun, trial: ExportedTrial) -> dict[str, object]:
    """Which trial it is, and whether it counts."""
    return {
        "run": run.run,
        "block": trial.block,
        "position": trial.position,
        "role": trial.role,
        "label": label_of(trial.case, trial.role, run.study),
        "verdict": trial.verdict,
        "machine": trial.machine or None,
    }


def _proved(trial: ExportedTrial) -> dict[str, object]:
    client, window = trial.proof.client, trial.proof.window
    views = [view for seen in (client.negotiated if client else ()) if (view := told_by(seen))]
    handshakes = window.handshakes if window is not None else ()
    return {
        "server_version": client and client.server_version,
        "client_version": client and f"{client.client} {client.client_version}",
        "client_tls_version": client and client.tls_library and client.tls_library.version,
        "tls_version": _joined(view.version for view in views),
        "tls_cipher": _joined(view.cipher for view in views),
        "tls_group": _joined(_groups(views)),
        "window_connections": window and window.connections,
        "window_handshakes": window and sum(one.count for one in handshakes),
        "window_resumed": window and sum(one.count for one in handshakes if one.resumed),
        "errors": sum(one.count for one in trial.errors),
    }


def _groups(views: Iterable[TlsView]) -> Iterator[str]:
    return (view.group for view in views if view.group)


def _joined(words: Iterable[str]) -> str | None:
    """Each once; None where there is none."""
    return ", ".join(dict.fromkeys(words)) or None
