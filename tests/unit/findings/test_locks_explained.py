"""Whose locks a case takes more than its baseline, by hand: from counts of two cases of a run."""

from __future__ import annotations

import pytest

from fake_trials import fake_run
from tlstax.findings.locks.explained import locks_explained
from tlstax.plan.order import cases
from tlstax.records.locks import LockCounts, LockSite
from tlstax.records.trial import StoredRun
from tlstax.report.locks.explained import lock_text
from tlstax.study import Case, load_study
from tlstax.support.errors import UserMistake

TAX = load_study("tax").model_copy(update={"count": "locks"})
FETCH, QUERY, LOGIN = "EVP_MD_fetch", "do_command", "tlstax_planted_locks"


def locks(**calls: int) -> LockCounts:
    sites = (
        LockSite(
            kind="read lock" if name == FETCH else "mutex",
            library="libcrypto.so.3" if name == FETCH else "mysqld",
            function=name,
            calls=times,
            contended=0,
            moved=0,
        )
        for name, times in calls.items()
    )
    return LockCounts(operations=100, sites=tuple(sites), lost=0)


def counted(of: dict[tuple[str, str], LockCounts]) -> StoredRun:
    """A run whose counted trials have these locks, by workload and TLS; the others were not counted."""
    run = fake_run(TAX, number_of_blocks=3, invalid=False)
    trials = []
    for record in run.trials:
        levels = record.trial.case.levels
        known = of.get((str(levels["workload"]), str(levels["tls"])))
        if not record.trial.counted:
            trials.append(record)
        elif known is not None and levels["resumption"] == "off":
            trials.append(record.model_copy(update={"locks": known}))
    return run.model_copy(update={"trials": tuple(trials)})


RUN = counted(
    {
        ("point-select", "off"): locks(do_command=1500),
        ("point-select", "1.3"): locks(do_command=1500),
        ("reconnect", "off"): locks(do_command=7300, tlstax_planted_locks=700),
        ("reconnect", "1.3"): locks(do_command=7200, tlstax_planted_locks=700, EVP_MD_fetch=3500),
    }
)


def case_of(workload: str, tls: str) -> Case:
    wanted = {"workload": workload, "tls": tls, "resumption": "off"}
    return next(case for case in cases(TAX) if wanted.items() <= case.levels.items())


def test_the_case_with_the_most_more_is_explained_and_by_whom() -> None:
    found = locks_explained(RUN)
    assert found.labels == ("reconnecting, TLS 1.3", "reconnecting, plaintext")
    assert (found.per_op, found.baseline_per_op) == (114.0, 80.0)
    assert [(one.function, one.per_op, one.baseline_per_op) for one in found.changes] == [
        (FETCH, 35.0, 0.0),
        (QUERY, 72.0, 73.0),
    ]
    assert found.sentence == (
        "reconnecting, TLS 1.3 takes 114.0 locks for each operation, reconnecting, plaintext 80.0: 34.0 "
        "more, +35.0 in EVP_MD_fetch of libcrypto.so.3"
    )


def test_a_case_and_what_it_is_compared_with_can_be_chosen() -> None:
    alike = locks_explained(RUN, case_of("point-select", "1.3"))
    assert alike.changes == ()
    assert alike.sentence.endswith("plaintext 15.0: no more and no fewer")
    login = locks_explained(RUN, case_of("reconnect", "off"), case_of("point-select", "off"))
    assert (LOGIN, 7.0, 0.0) in [(one.function, one.per_op, one.baseline_per_op) for one in login.changes]
    fewer = locks_explained(RUN, case_of("point-select", "off"), case_of("reconnect", "off"))
    assert "65.0 fewer, −58.0 in do_command of mysqld" in fewer.sentence


def test_what_was_not_counted_is_not_explained() -> None:
    with pytest.raises(UserMistake, match="no locks were counted"):
        locks_explained(fake_run(TAX, number_of_blocks=1))
    with pytest.raises(UserMistake, match="the locks of that case were not counted"):
        locks_explained(RUN, case_of("reconnect", "1.2"))


def test_the_text_names_who_takes_them() -> None:
    text = lock_text(locks_explained(RUN), width=80)
    assert max(map(len, text.split("\n"))) <= 80
    assert "libcrypto.so.3: EVP_MD_fetch" in text
    assert "No function takes more or fewer" in lock_text(
        locks_explained(RUN, case_of("point-select", "1.3"))
    )
