"""What this machine can and cannot measure, and what would help: checks of it, each with its consequence."""

from tlstax.tools.doctor.check import Check, Diagnosis
from tlstax.tools.doctor.diagnosis import diagnose
from tlstax.tools.doctor.rendering import to_json, to_text

__all__ = ["Check", "Diagnosis", "diagnose", "to_json", "to_text"]
