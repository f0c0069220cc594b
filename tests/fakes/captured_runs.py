"""Runs whose cases a tap has seen: made up, as the tap would have written them down."""

from __future__ import annotations

from fake_trials import fake_record, fake_run, tax_truth, whole_tax
from tlstax.contract import TcpEndpoint
from tlstax.plan.order import captures
from tlstax.records.capture import Capture, Conversation, Frame, Hello, StatementSeen, TlsSeen, Traffic
from tlstax.records.trial import StoredRun, Trial, TrialRecord
from tlstax.study import Study

TAX = whole_tax().model_copy(update={"capture": True})
ENTRY, SERVER = 40_001, 13_306
OPERATIONS = 50

HELLO = Hello(
    versions=("TLSv1.3",),
    cipher_suites=("TLS_AES_128_GCM_SHA256",),
    groups=("x25519", "secp256r1"),
    key_shares=("x25519",),
    server_name=None,
    offers_session=False,
)


def frames(version: str | None) -> tuple[Frame, ...]:
    if version is None:
        asked = b"\x09\0\0\0\3SELECT 1"
        return (
            Frame(sender="client", what="COM_QUERY", length=len(asked), hex=asked.hex()),
            Frame(sender="server", what="result set", length=5000, hex=(b"\1\0\0\1\1" * 20).hex()),
        )
    what = f"{version} Application Data"
    return tuple(
        Frame(sender=side, what=what, length=37, hex="170303002012ab") for side in ("client", "server")
    )


def capture_of(trial: Trial, connections: int) -> Capture:
    """What an honest tap sees of that trial."""
    level = str(trial.case.levels.get("tls", "off"))
    version = None if level == "off" else f"TLSv{level}"
    reconnects = trial.case.levels.get("workload") == "reconnect"
    seen = version and TlsSeen(
        hello=HELLO,
        version=version,
        cipher="TLS_AES_128_GCM_SHA256",
        group="x25519",
        hello_retry=False,
        resumed=trial.case.levels.get("resumption") == "on",
        finished=True,
    )
    conversation = Conversation(
        tls=seen or None,
        statements=() if version else (StatementSeen(command="COM_QUERY", text="SELECT 1"),),
        frames=frames(version),
        traffic=Traffic(turns=4, bytes_sent=300, bytes_received=900),
        ended_by="client",
        in_window=reconnects,
        turns_to_login=None if version else 2,
    )
    return Capture(
        entry_port=ENTRY,
        server_port=SERVER,
        connections=connections,
        encrypted=connections if version else 0,
        conversations=(conversation,),
        window=Traffic(turns=OPERATIONS * (3 if reconnects else 1), bytes_sent=500, bytes_received=5000),
        window_frames=frames(version),
        operations=OPERATIONS,
        window_connections=OPERATIONS if reconnects else 0,
    )


def captured_record(trial: Trial) -> TrialRecord:
    """The record of a captured trial that went as it should."""
    record = fake_record(trial, tax_truth(trial.case), duration_s=0.1)
    assert record.done is not None
    assert record.job is not None
    to_the_tap = record.job.model_copy(update={"endpoint": TcpEndpoint(host="127.0.0.1", port=ENTRY)})
    capture = capture_of(trial, record.done.lifetime.connections)
    return record.model_copy(update={"capture": capture, "job": to_the_tap})


def captured_run(study: Study = TAX) -> StoredRun:
    """A run with its captured trials before those of all blocks."""
    run = fake_run(study.model_copy(update={"capture": False}), number_of_blocks=3, invalid=False)
    records = tuple(captured_record(trial) for trial in captures(study))
    header = run.header.model_copy(update={"study": study})
    return run.model_copy(update={"header": header, "trials": (*records, *run.trials)})
