"""Who takes locks in each case, by hand: summed up over trials; whose a case takes more."""

from __future__ import annotations

import json

import jsonschema
import pytest

import golden
from fake_trials import fake_run
from tlstax.cli.documents import PRINTED, schema_of
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.records.window import LockCounts, LockSite
from tlstax.report.formats.terminal import printed_sections
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told, ToldOfRun
from tlstax.stats.outcomes import outcomes
from tlstax.study import Case, Study, load_study
from tlstax.study.changes import override
from tlstax.support.errors import UserMistake
from tlstax.topics.core.section import Folded, OnPage, Roomy
from tlstax.topics.core.table import Table
from tlstax.topics.core.topic import Run
from tlstax.topics.locks import ALL_OF_THEM, TOPIC, explained, explained_sections
from told_runs import blocks_of

TAX = load_study("tax").model_copy(update={"count": "locks"})
FETCH, QUERY, LOGIN = "EVP_MD_fetch", "do_command", "tlstax_planted_locks"


def site(kind: str, library: str, function: str, calls: int, **of_them: int) -> LockSite:
    others = {"contended": 0, "moved": 0, **of_them}
    return LockSite(kind=kind, library=library, function=function, calls=calls, **others)


FIRST = LockCounts(
    operations=100,
    sites=(
        site("read lock", "libcrypto.so.3", "store_get", 300, moved=30),
        site("mutex", "mysqld", "do_command", 200),
        site("wait", "mysqld", "block", 50),
        site("mutex", "libssl.so.3", "ssl_session", 1),
    ),
    lost=0,
)
SECOND = LockCounts(operations=50, sites=(site("mutex", "mysqld", "do_command", 250),), lost=0)


def of_operations(operations: int, *sites: LockSite) -> LockCounts:
    return LockCounts(operations=operations, sites=sites, lost=0)


def counted() -> StoredRun:
    """A run of which two trials of one case counted locks, in 100 and 50 operations."""
    run = fake_run(number_of_blocks=2, invalid=False)
    wanted = next(record.trial.case for record in run.trials if record.trial.case.role == "treatment")
    own = [record for record in run.trials if record.trial.case == wanted]
    locks = dict(zip((record.trial.place for record in own), (FIRST, SECOND), strict=True))
    return with_trials(
        run,
        [record.model_copy(update={"locks": locks.get(record.trial.place)}) for record in run.trials],
    )


def with_trials(run: StoredRun, trials: list[TrialRecord]) -> StoredRun:
    return run.model_copy(update={"trials": tuple(trials)})


def counted_once(locks: LockCounts) -> StoredRun:
    """A run of one trial, which counted these."""
    run = fake_run(number_of_blocks=1, invalid=False)
    return with_trials(run, [run.trials[0].model_copy(update={"locks": locks})])


def told(run: StoredRun) -> Told:
    return TOPIC.told(Run(run))


def only(run: StoredRun) -> tuple[Row, tuple[Row, ...]]:
    """The row of the one case that was counted, and those of its functions."""
    found = told(run)
    (case,) = found.of(role=ALL_OF_THEM)
    return case, found.of(role="")


def test_locks_are_summed_up_over_a_cases_trials() -> None:
    case, takers = only(counted())
    assert (case.more["trials"], case.more["watched_operations"]) == (2, 150)
    assert (case.outcome, case.value) == ("server_locks_per_op", pytest.approx((501 + 250) / 150))
    assert (case.number("least_per_op"), case.number("most_per_op")) == pytest.approx((5.0, 5.01))
    assert [(row.word("call"), row.word("library"), row.word("function"), row.value) for row in takers] == [
        ("mutex", "mysqld", "do_command", pytest.approx(450 / 150)),
        ("read lock", "libcrypto.so.3", "store_get", pytest.approx(300 / 150)),
        ("wait", "mysqld", "block", pytest.approx(50 / 150)),
        ("mutex", "libssl.so.3", "ssl_session", pytest.approx(1 / 150)),
    ]
    assert takers[1].outcome == "libcrypto.so.3: store_get: read lock"
    assert takers[1].number("moved_per_op") == pytest.approx(30 / 150)
    assert {frozenset(row.case.items()) for row in takers} == {frozenset(case.case.items())}


def test_as_busy_functions_are_in_the_order_of_their_names() -> None:
    order = [("mutex", "a", "x"), ("wait", "a", "x"), ("mutex", "a", "y"), ("mutex", "b", "x")]
    _, takers = only(counted_once(of_operations(10, *(site(*names, 5) for names in reversed(order)))))
    assert [(row.word("call"), row.word("library"), row.word("function")) for row in takers] == order


def test_only_valid_trials_that_counted_are_taken() -> None:
    run = counted()
    spoiled = [
        record.model_copy(update={"verdict": record.verdict.model_copy(update={"value": "invalid"})})
        for record in run.trials
    ]
    assert told(with_trials(run, spoiled)).rows == ()
    assert told(fake_run(number_of_blocks=1)).rows == ()


def with_locks(locks: LockCounts | None) -> TrialRecord:
    return fake_run(number_of_blocks=1, invalid=False).trials[0].model_copy(update={"locks": locks})


def test_a_trials_outcomes_are_locks_for_each_operation() -> None:
    found = outcomes(with_locks(FIRST))
    assert found["server_locks_per_op"] == pytest.approx(5.01)
    assert found["server_libssl_locks_per_op"] == pytest.approx(0.01)
    assert found["server_libcrypto_locks_per_op"] == pytest.approx(3.0)
    assert found["server_locks_moved_per_op"] == pytest.approx(0.3)
    assert found["server_lock_waits_per_op"] == pytest.approx(0.5)
    assert "server_libssl_locks_per_op" not in outcomes(with_locks(SECOND))
    assert not any("lock" in name for name in outcomes(with_locks(None)))


def shown(run: StoredRun, *, roomy: bool) -> list[object]:
    (section,) = TOPIC.sections(told(run), RunDocument.model_construct())
    return list(blocks_of(section, roomy=roomy))


def test_what_a_run_shows_that_counted() -> None:
    golden.check("locks", counted(), TOPIC)


def test_a_case_without_takers_has_none_to_show() -> None:
    _, _, table = shown(counted_once(of_operations(1000, site("mutex", "mysqld", "", 4))), roomy=True)
    assert isinstance(table, Table)
    assert table.rows == []


def test_the_page_has_them_folded() -> None:
    (section,) = TOPIC.sections(told(counted()), RunDocument.model_construct())
    roomy = section.blocks[-1]
    assert isinstance(roomy, Roomy)
    (on_page,) = roomy.blocks
    assert isinstance(on_page, OnPage)
    assert all(isinstance(block, Folded) for block in on_page.make())


def test_what_counting_costs_is_told_where_the_case_was_measured_too() -> None:
    run = counted()
    assert only(run)[0].number("counting_times_slower") is None
    own = next(record for record in run.trials if record.locks is not None)
    beside = own.model_copy(update={"locks": None, "trial": own.trial.model_copy(update={"block": 7})})
    case, _ = only(with_trials(run, [*run.trials, beside]))
    assert case.number("counting_times_slower") == pytest.approx(1, abs=0.1)


def test_locks_that_were_waited_for_are_told_for_each_operation() -> None:
    case, takers = only(counted_once(of_operations(100, site("mutex", "mysqld", "x", 300, contended=25))))
    assert takers[0].number("contended_per_op") == pytest.approx(0.25)
    assert (case.more["trials"], case.more["watched_operations"]) == (1, 100)


def test_a_case_that_did_nothing_took_nothing() -> None:
    case, takers = only(counted_once(of_operations(0)))
    assert (case.value, takers) == (0.0, ())
    assert {name: case.more[name] for name in ("trials", "least_per_op", "most_per_op")} == {
        "trials": 0,
        "least_per_op": 0.0,
        "most_per_op": 0.0,
    }


def counted_everywhere(study: Study) -> StoredRun:
    """A run of which all trials were counted, in the order in which they ran."""
    run = fake_run(study, number_of_blocks=1, invalid=False)
    return with_trials(run, [record.model_copy(update={"locks": FIRST}) for record in run.trials])


def test_cases_are_in_the_plans_order_whatever_was_run_first() -> None:
    planned = [dict(case.levels) for case in cases(TAX) if case.role != "control"]
    run = counted_everywhere(TAX)
    found = told(run).of(role=ALL_OF_THEM)
    assert [row.case for row in found] == planned
    assert all("counted" not in row.label for row in found)
    other_way = with_trials(run, list(reversed(run.trials)))
    assert [row.case for row in told(other_way).of(role=ALL_OF_THEM)] == planned


def test_counting_in_place_of_what_a_study_plants_changes_nothing_in_the_order() -> None:
    study = override(TAX, "fault", ["none", "rand-per-byte"])
    planned = [case for case in cases(study) if case.role != "control" and case.levels["fault"] == "none"]
    (first, *_) = fake_run(study, number_of_blocks=1, invalid=False).trials
    run = fake_run(study, number_of_blocks=1, invalid=False)
    counted = [case.model_copy(update={"levels": case.levels | {"fault": "count-locks"}}) for case in planned]
    trials = [
        first.model_copy(
            update={"trial": first.trial.model_copy(update={"case": case, "position": at}), "locks": FIRST}
        )
        for at, case in enumerate(counted)
    ]
    assert [row.case for row in told(with_trials(run, trials[::-1])).of(role=ALL_OF_THEM)] == [
        dict(case.levels) for case in counted
    ]


def test_a_case_that_its_study_would_leave_out_today_comes_last() -> None:
    run = counted_everywhere(TAX)
    (first, *others) = run.trials
    case = first.trial.case
    gone = case.model_copy(update={"levels": case.levels | {"tls": "1.1"}})
    stored = first.model_copy(update={"trial": first.trial.model_copy(update={"case": gone})})
    *_, last = told(with_trials(run, [stored, *others])).of(role=ALL_OF_THEM)
    assert last.case == TAX.known(gone.levels)


def test_a_study_that_varies_what_is_planted_keeps_it_in_its_cases() -> None:
    study = override(load_study("tax"), "fault", ["none", "count-locks"])
    found = told(counted_everywhere(study)).of(role=ALL_OF_THEM)
    assert {row.case["fault"] for row in found} == {"none", "count-locks"}
    assert len(found) == len([case for case in cases(study) if case.role != "control"])


def named(**calls: int) -> LockCounts:
    return of_operations(
        100,
        *(
            site("read lock", "libcrypto.so.3", name, times)
            if name == FETCH
            else site("mutex", "mysqld", name, times)
            for name, times in calls.items()
        ),
    )


def counted_cases(of: dict[tuple[str, str], LockCounts]) -> Run:
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
    return Run(with_trials(run, trials))


RUN = counted_cases(
    {
        ("point-select", "off"): named(do_command=1500),
        ("point-select", "1.3"): named(do_command=1500),
        ("reconnect", "off"): named(do_command=7300, tlstax_planted_locks=700),
        ("reconnect", "1.3"): named(do_command=7200, tlstax_planted_locks=700, EVP_MD_fetch=3500),
    }
)


def case_of(workload: str, tls: str) -> Case:
    wanted = {"workload": workload, "tls": tls, "resumption": "off"}
    return next(case for case in cases(TAX) if wanted.items() <= case.levels.items())


def changes(found: Told) -> list[tuple[str, float | None, float | None]]:
    return [(row.word("function"), row.value, row.baseline_value) for row in found.rows[1:]]


def test_the_case_with_the_most_more_is_explained_and_by_whom() -> None:
    found = explained(RUN)
    assert found.title.startswith("reconnecting, TLS 1.3 against reconnecting, plaintext, run ")
    assert (found.rows[0].value, found.rows[0].baseline_value) == (114.0, 80.0)
    assert changes(found) == [(FETCH, 35.0, 0.0), (QUERY, 72.0, 73.0)]
    for row in found.rows:
        assert (row.case["tls"], row.baseline["tls"]) == ("1.3", "off")
    assert found.sentences == (
        "reconnecting, TLS 1.3 takes 114.0 locks for each operation, reconnecting, plaintext 80.0: 34.0 "
        "more, +35.0 in EVP_MD_fetch of libcrypto.so.3",
    )


def test_a_case_and_what_it_is_compared_with_can_be_chosen() -> None:
    alike = explained(RUN, case_of("point-select", "1.3"))
    assert changes(alike) == []
    assert alike.sentences[0].endswith("plaintext 15.0: no more and no fewer")
    login = explained(RUN, case_of("reconnect", "off"), case_of("point-select", "off"))
    assert (LOGIN, 7.0, 0.0) in changes(login)
    fewer = explained(RUN, case_of("point-select", "off"), case_of("reconnect", "off"))
    assert "65.0 fewer, −58.0 in do_command of mysqld" in fewer.sentences[0]


SCRAM = of_operations(100, site("read lock", "libcrypto.so.3", FETCH, 822_200))


def of_clients() -> Run:
    """The same run, whose clients counted their own locks as well."""

    def of_client(record: TrialRecord) -> TrialRecord:
        own = SCRAM if record.trial.case.levels["workload"] == "reconnect" else of_operations(100)
        return record.model_copy(update={"client_locks": own}) if record.locks is not None else record

    return Run(with_trials(RUN.stored, list(map(of_client, RUN.stored.trials))))


def test_a_clients_own_locks_have_rows_and_a_section_of_their_own() -> None:
    run = of_clients()
    found = TOPIC.told(run)
    of_client = [row for row in found.rows if row.word("side") == "client"]
    assert [row for row in found.rows if row.word("side") != "client"] == list(TOPIC.told(RUN).rows)
    assert {row.value for row in of_client if row.outcome == "client_locks_per_op"} == {0.0, 8222.0}
    assert {row.word("function") for row in of_client if row.role == ""} == {FETCH}
    server, client = TOPIC.sections(found, RunDocument.model_construct())
    assert (server.title, client.title) == (TOPIC.title, "Locks that the load client takes")


def test_both_sides_are_explained_where_both_counted() -> None:
    kept, own = case_of("point-select", "off"), case_of("reconnect", "off")
    found = explained(of_clients(), own, kept)
    assert found.sentences[1] == (
        "the load client: reconnecting, plaintext takes 8222.0 locks for each operation, kept connections, "
        "plaintext 0.0: 8222.0 more, +8222.0 in EVP_MD_fetch of libcrypto.so.3"
    )
    server, client = explained_sections(found)
    text = printed_sections([client], width=80)
    assert text.startswith("The load client: reconnecting, plaintext takes 8222.0 locks")
    assert "libcrypto.so.3: EVP_MD_fetch" in text
    assert LOGIN in printed_sections([server], width=80)


def test_cases_without_another_baseline_are_beside_the_first() -> None:
    """As where libraries alone differ: which of them takes more is what is asked."""
    plain = {("point-select", "off"): named(do_command=1500), ("reconnect", "off"): named(do_command=7300)}
    found = explained(counted_cases(plain))
    assert found.title.startswith("reconnecting, plaintext against kept connections, plaintext")
    assert changes(found) == [(QUERY, 73.0, 15.0)]


def test_what_was_not_counted_is_not_explained() -> None:
    with pytest.raises(UserMistake, match="no locks were counted"):
        explained(Run(fake_run(TAX, number_of_blocks=1)))
    with pytest.raises(UserMistake, match="the locks of that case were not counted"):
        explained(RUN, case_of("reconnect", "1.2"))


def test_the_text_names_who_takes_them() -> None:
    text = printed_sections(list(explained_sections(explained(RUN))), width=80)
    assert max(map(len, text.split("\n"))) <= 80
    assert text.startswith("Reconnecting, TLS 1.3 takes 114.0 locks")
    assert "libcrypto.so.3: EVP_MD_fetch" in text
    (alike,) = explained_sections(explained(RUN, case_of("point-select", "1.3")))
    assert "No function takes more or fewer" in printed_sections([alike])


def test_the_document_is_what_its_schema_says() -> None:
    (schema,) = (schema_of(printed) for printed in PRINTED if printed.name == "explain-locks")
    document = json.loads(ToldOfRun(run="r", told=explained(RUN)).model_dump_json(by_alias=True))
    jsonschema.validate(document, schema)
    assert next(iter(document)) == "schema"
    assert document["told"]["rows"][1]["more"]["function"] == FETCH
