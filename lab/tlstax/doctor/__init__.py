"""What this machine can and cannot measure, and what would help: checks of it, each with its consequence."""

from tlstax.doctor.check import Check, Diagnosis
from tlstax.doctor.diagnosis import diagnose
from tlstax.doctor.rendering import to_json, to_text

__all__ = ["Check", "Diagnosis", "diagnose", "to_json", "to_text"]
