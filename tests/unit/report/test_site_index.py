"""The index of a site: what is known of which server on which machine."""

from __future__ import annotations

from report_runs import exact_run, guest, many_levels, with_document
from tlstax.records.trial import StoredRun
from tlstax.report.page.site import PackedFile, SiteRun, site_index, site_run


def run(stored: StoredRun, name: str, *, cores: int | None = None, started: str | None = None) -> SiteRun:
    header = stored.header
    machine = header.machine if cores is None else header.machine.model_copy(update={"cores": cores})
    update = {"run": name, "machine": machine, "started_at": started or header.started_at}
    renamed = stored.model_copy(update={"header": header.model_copy(update=update)})
    _, document = with_document(exact_run)
    return site_run(renamed, document, PackedFile("0" * 64, 1))


def test_machines_are_told_apart_by_what_they_are() -> None:
    index = site_index([run(exact_run(), "a"), run(exact_run(), "b"), run(exact_run(), "c", cores=64)])
    assert [name for name, _ in index.machines] == ["machine 1", "machine 2"]
    (subject,) = index.subjects
    known = {name: subject.on(name) for name, _ in index.machines}
    assert sorted(known.values()) == ["12 figures of 2 runs", "6 figures of 1 run"]
    assert subject.on("machine 3") == ""


def test_the_newest_comes_first_and_like_cases_stand_together() -> None:
    runs = [run(exact_run(), "old"), run(exact_run(), "new", started="2027-01-01T00:00:00+00:00")]
    index = site_index(runs)
    assert [own.name for own, _ in index.runs] == ["new", "old"]
    cases = [figure.case for figure, _, _ in index.subjects[0].rows]
    assert cases[0::2] == cases[1::2]
    assert [own.name for _, _, own in index.subjects[0].rows[:2]] == ["new", "old"]


def test_a_server_is_what_it_said_of_itself() -> None:
    (own,) = {figure.subject for figure in run(exact_run(), "a").figures}
    (other,) = {figure.subject for figure in run(guest(), "b").figures}
    assert own.startswith("mysql-9.7 (")
    assert other.startswith("external server (")


def test_a_figure_has_its_interval_and_the_deciding_outcome_its_name() -> None:
    figure = run(exact_run(), "a").figures[0]
    assert figure.deciding.startswith("Operations a second ")
    assert "[" in figure.deciding
    assert "[" in figure.server_cpu


def test_cases_without_a_finding_have_no_figure() -> None:
    stored, _ = with_document(many_levels)
    assert run(stored, "a").figures == ()
