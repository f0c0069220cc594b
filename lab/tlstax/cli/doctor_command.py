"""`tlstax doctor`: what this machine can and cannot measure."""

from __future__ import annotations

import sys

from tlstax.cli.measuring import terminal_width
from tlstax.doctor.diagnosis import diagnose
from tlstax.doctor.rendering import to_json, to_text


def doctor_command(*, as_json: bool) -> int:
    """Print the diagnosis."""
    checks = diagnose()
    text = to_json(checks) if as_json else to_text(checks, terminal_width())
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    return 0
