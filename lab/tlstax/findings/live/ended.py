"""What was known of a run block after block, once it has ended: computed anew from its trials."""

from __future__ import annotations

from itertools import accumulate

from tlstax.findings.core.stopping import Taken, decide
from tlstax.findings.live.account import MOST_POINTS, Account
from tlstax.records.trial import StoredRun
from tlstax.results.live import LiveRun
from tlstax.support.grouping import grouped


def ended(stored: StoredRun, at: str) -> LiveRun:
    """The run at its end, as whoever followed it would see it. `at` is when this is put together.

    Of a run of very many blocks not every one is looked at. Raises MachineFault where a histogram cannot be
    decoded.
    """
    study = stored.header.study
    account = Account(stored.header, stored.trials)
    by_block = list(grouped(stored.measured, lambda record: record.trial.block).values())
    taken: Taken = {}
    each = -(-len(by_block) // MOST_POINTS) or 1
    for number, records in enumerate(accumulate(by_block), 1):
        if number % each == 0 or number == len(by_block):
            spent_s = sum(record.took_s for record in records)
            account.decided(decide(study, records, spent_s, taken).progress)
    found = account.between("", at, share=None, left_s=None)
    return found.model_copy(update={"status": stored.status, "stopped_because": stored.stopped_because})
