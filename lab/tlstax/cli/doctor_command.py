"""`tlstax doctor`: what this machine can and cannot measure."""

from __future__ import annotations

from tlstax.cli.streams import show, show_json, terminal_width
from tlstax.doctor.diagnosis import diagnose
from tlstax.doctor.rendering import to_json, to_text


def doctor_command(*, as_json: bool) -> int:
    """Print the diagnosis."""
    checks = diagnose()
    if as_json:
        show_json(to_json(checks))
    else:
        show(to_text(checks, terminal_width()))
    return 0
