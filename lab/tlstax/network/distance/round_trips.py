"""Measures the round trip over a distance by `tlstax-tools link` in the near place; no clock is read here."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from pydantic import TypeAdapter, ValidationError

from tlstax.network.distance.link import NAME, link_command
from tlstax.plan.addresses import CLOSED_PORT, FAR_ADDRESS
from tlstax.records.way import RoundTripTime
from tlstax.specimens.processes import mortal, put_first
from tlstax.study.factors import Distance
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason

SAMPLES = 9
SAMPLES_WITH_JITTER = 49

GRACE_S = 10.0

_FOUND: TypeAdapter[RoundTripTime] = TypeAdapter(RoundTripTime)


def measure(entering: Sequence[str], distance: Distance) -> RoundTripTime:
    """The round trip time from the place that is entered so. MachineFault where the far one is silent."""
    samples = SAMPLES_WITH_JITTER if distance.jitter_ms else SAMPLES
    timeout_s = GRACE_S + 2 * distance.rtt_ms / 1000
    words = [
        "rtt",
        f"--to={FAR_ADDRESS}",
        f"--port={CLOSED_PORT}",
        f"--samples={samples}",
        f"--timeout-s={timeout_s}",
    ]
    command = mortal([*entering, *link_command(), *words])
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            put_first(child.pid)
            try:
                out, err = child.communicate(timeout=timeout_s + GRACE_S)
            finally:
                child.kill()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineFault(f"the round trip could not be measured ({reason(error)})") from error
    if child.returncode:
        said = err.decode(errors="replace").strip().removeprefix(f"{NAME}: ")
        raise MachineFault(f"the round trip could not be measured ({said or f'status {child.returncode}'})")
    try:
        return _FOUND.validate_json(out)
    except ValidationError as error:
        raise MachineFault("the round trip could not be measured (what was printed is not a time)") from error
