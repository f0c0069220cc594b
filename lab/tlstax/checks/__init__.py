"""The verdict on a trial, and what it rests on."""

from tlstax.checks.treatment import MOST_ERRORS, NOT_STARTED, SLOW_LOGINS, cache_hits
from tlstax.checks.verdict import judge, judged

__all__ = ["MOST_ERRORS", "NOT_STARTED", "SLOW_LOGINS", "cache_hits", "judge", "judged"]
