"""A report says in how many trials another run measured on the same processors."""

from __future__ import annotations

from fake_trials import fake_run
from tlstax.topics.answer.document import document


def test_a_report_says_in_how_many_trials_another_run_measured() -> None:
    run = fake_run(invalid=False)
    alone = document(run).caveats
    assert not any("another run" in text for text in alone)
    trials = tuple(
        record.model_copy(update={"beside_another": place < 12}) for place, record in enumerate(run.trials)
    )
    (caveat,) = set(document(run.model_copy(update={"trials": trials})).caveats) - set(alone)
    assert caveat.startswith("another run was measuring on the same processors at the same time")
    assert caveat.endswith(f"(12 of {len(run.trials)} trials)")
