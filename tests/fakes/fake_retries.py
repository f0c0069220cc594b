"""Trials in which a server asked for a second ClientHello, or did not: handshakes and bytes said by hand."""

from __future__ import annotations

from typing import Any

from fake_trials import Truth, fake_record
from tlstax.contract import Handshakes, PhaseWire
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.study import Case, Study


def study_of(*treatments: tuple[str, str], **factors: Any) -> Study:
    """A study of TLS 1.3 in which the first of these (fault, group) is the baseline."""
    bundles = tuple({"fault": fault, "group": group} for fault, group in treatments)
    return Study(
        name="s",
        title="t",
        question="q",
        factors={"workload": ("reconnect",), "connections": (8,), "tls": ("1.3",), **factors},
        treatments=bundles,
        baseline=bundles[0],
    )


STUDY = study_of(("none", "default"), ("none", "P-256-first"), ("groups-lifted", "default"))
DEFAULT, CONTROL, FIRST, LIFTED = cases(STUDY)


def shake(count: int = 10, **changes: Any) -> Handshakes:
    """Full handshakes of TLS 1.3 that met a retry, or what is said of them."""
    told = {
        "version": "TLSv1.3",
        "cipher": "c",
        "group": "secp256r1",
        "resumed": False,
        "hello_retry": True,
        "count": count,
    }
    return Handshakes(**{**told, **changes})


def record_of(
    case: Case, *handshakes: Handshakes, block: int = 0, wire: PhaseWire | None = None
) -> TrialRecord:
    """A trial that made these handshakes; of none it made ten that met no retry."""
    record = fake_record(Trial(block=block, position=0, case=case), Truth(1000, {}, 1, 1), duration_s=0.01)
    assert record.done is not None
    seen = handshakes or (shake(hello_retry=False),)
    changes = {
        "lifetime": record.done.lifetime.model_copy(update={"handshakes": seen}),
        "phase_wire": {"tls_handshake": wire} if wire else {},
    }
    return record.model_copy(update={"done": record.done.model_copy(update=changes)})


def retried(case: Case = DEFAULT, block: int = 0) -> TrialRecord:
    """Ten connections with a retry: 2 round trips and 350 bytes each."""
    return record_of(case, shake(), block=block, wire=wire(20, 1000, 2500))


def calm(case: Case = FIRST, block: int = 0) -> TrialRecord:
    """Ten connections without a retry: 1 round trip and 300 bytes each."""
    return record_of(case, block=block, wire=wire(10, 800, 2200))


def wire(turns: int, sent: int, received: int) -> PhaseWire:
    return PhaseWire(times=10, round_trips=turns, bytes_sent=sent, bytes_received=received)
