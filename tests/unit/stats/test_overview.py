"""The report of a study with hundreds of groups: what is on the page, and that it stays one page."""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from io import StringIO
from itertools import pairwise

from fake_openssl_study import small_openssl_run
from fake_trials import Truth, fake_run, whole_tax
from report_runs import exact_run, page_of, with_document
from tlstax.report.formats.render import render
from tlstax.report.overview import apart, contrast_tables
from tlstax.report.page.evidence import processes
from tlstax.results.document import RunDocument
from tlstax.stats.outcomes import is_large
from tlstax.study import Case, Study, load_study, override
from tlstax.study.changes import without_plaintext
from tlstax.topics.answer.document import document

MODES = 8


@cache
def text_of(format_: str) -> str:
    return render(*with_document(small_openssl_run), format_)


def test_the_page_has_an_overview_and_no_section_a_group() -> None:
    page = page_of(small_openssl_run)
    assert '<section class="group">' not in page
    assert len(page) < 3_000_000
    assert page.count('<article class="statement">') == 3
    for words in ("held in part", "did not hold", "inconclusive", "Kravtchuk, Oracle, 2026"):
        assert words in page


def test_the_published_statement_stands_beside_the_verdict() -> None:
    (article,) = re.findall(
        r'<article class="statement">\s*<h3>“OpenSSL 3.5.*?</article>', page_of(small_openssl_run), re.DOTALL
    )
    assert "Kravtchuk, Oracle, 2026" in article
    assert "Here: held in part" in article
    assert re.search(r"\+(9|10|11)\.\d", article)


def test_a_heat_map_prints_its_ratios_and_mutes_what_cannot_be_told() -> None:
    page = page_of(small_openssl_run)
    title = page.index("Operations a second: library by case")
    table = page[page.index('<table class="heat">', title) : page.index("</table>", title)]
    assert table.count('scope="rowgroup"') == MODES
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', table)
    planted = [cells for name, cells in rows if name == "3.5.5"][5]
    figures = re.findall(r'<td class="(\w*)"[^>]*>([\d.]+)</td>', planted)
    assert len(figures) == 4
    assert all(shade.startswith("b") and 1.05 < float(figure) < 1.15 for shade, figure in figures)
    others = [cells for name, cells in rows if name in {"3.3", "3.4", "3.6"}]
    muted = sum(cells.count(f'class="{word}"') for cells in others for word in ("alike", "inconclusive"))
    assert muted > 0.9 * 4 * len(others)


def test_every_server_has_its_ladders_with_named_lines() -> None:
    page = page_of(small_openssl_run)
    start = page.index("Operations a second, step by step")
    ladders = page[start : page.index("library by case")]
    for server in ("mysql-9.7", "mysql-8.0.33", "mariadb-11.8", "mariadb-10.5", "mariadb-11.4-wolfssl"):
        assert f"<h3>{server}</h3>" in ladders
    assert ladders.count('role="img"') >= 6 * MODES
    assert "3.5.5, 64 connections:" in ladders


def test_the_evidence_names_the_library_under_each_process() -> None:
    page = page_of(small_openssl_run)
    rows = re.findall(
        r'<tr><th scope="row">(mysql-9.7 over openssl-3.0, twin)</th>(.*?)</tr>', page, re.DOTALL
    )
    assert len(rows) == 1
    _, cells = rows[0]
    assert "mysql-9.7 with openssl-3.0 (OpenSSL 3.0)" in cells
    assert "9.7 with OpenSSL 3.0" in cells
    wanted = {"server": "mysql-9.7", "tls_library": "openssl-3.0", "instance": 2}
    trials = sum(wanted.items() <= r.trial.case.levels.items() for r in small_openssl_run().trials)
    assert cells.count(f"{trials} of {trials}") == 2
    assert "libssl.so" in cells
    assert len(re.findall("sha256 [0-9a-f]{64}", cells)) == 2


def test_a_library_that_is_not_the_one_meant_shows_as_such() -> None:
    run = small_openssl_run()
    wrong = []
    for record in run.trials:
        server = record.server
        assert server is not None
        if record.trial.case.levels["tls_library"] == "openssl-3.4":
            libraries = tuple(m.model_copy(update={"sha256": "00" * 32}) for m in server.mapped_tls_libraries)
            server = server.model_copy(update={"mapped_tls_libraries": libraries})
        wrong.append(record.model_copy(update={"server": server}))
    _, found = with_document(small_openssl_run)
    *_, table = processes(run.model_copy(update={"trials": tuple(wrong)}), found)
    as_meant = 1 + table.heads.index("As meant")
    seen = {row[0]: row[as_meant] for row in table.rows}
    assert seen["mysql-9.7 over openssl-3.4"].startswith("0 of ")
    assert not seen["mysql-9.7 over openssl-3.3"].startswith("0 of ")


def test_the_terminal_says_it_in_a_few_screens_of_80_columns() -> None:
    text = text_of("terminal")
    lines = text.split("\n")
    assert len(lines) < 190
    assert max(map(len, lines)) <= 80
    assert "Operations a second of mysql-9.7 against openssl-3.0" in text
    assert re.search(r"TLS 1\.3 .*\+(9|10|11)\.\d ±", text)
    assert "…" not in text.split("Every case:")[0].replace("Every case", "")
    assert "tlstax runs export" in text


def test_markdown_is_as_short() -> None:
    assert len(text_of("md").split("\n")) < 160


def test_everything_else_stays_in_csv_and_json() -> None:
    rows = list(csv.DictReader(StringIO(text_of("csv"))))
    roles = {row["role"] for row in rows}
    of_statements = {"statement", "statement case", "statement in plaintext"}
    assert roles == {"baseline", "control", "treatment", "contrast", "pooled", *of_statements}
    contrast = next(row for row in rows if row["role"] == "contrast")
    assert contrast["baseline_tls_library"] != contrast["case_tls_library"]
    found = json.loads(text_of("json"))
    assert found["schema"] == 3
    assert {row["role"] for row in found["topics"]["contrasts"]["rows"]} == {"contrast", "pooled"}
    statement, case, *_ = found["topics"]["statements"]["rows"]
    assert (statement["role"], case["role"]) == ("statement", "statement case")
    assert case["more"]["across_servers"] is True


def test_small_studies_keep_their_sections() -> None:
    assert not is_large(load_study("tax"))
    assert is_large(load_study("openssl-versions"))


def test_names_at_the_end_of_lines_do_not_cover_each_other() -> None:
    heights = apart([5.0, 5.1, 5.2, 9.9], 1.0, 10.0)
    assert all(b - a >= 1.0 - 1e-9 for a, b in pairwise(heights))
    assert heights[-1] <= 10.0


def test_a_floor_from_other_cases_is_told_as_such() -> None:
    run = exact_run()
    study = run.header.study
    study = study.model_copy(update={"factors": {**study.factors, "connections": (8, 16)}})
    trials = fake_run(study, number_of_blocks=3, invalid=False).trials
    controls_at_8 = tuple(
        r for r in trials if r.trial.case.role != "control" or r.trial.case.levels["connections"] == 8
    )
    header = run.header.model_copy(update={"study": study})
    stored = run.model_copy(update={"header": header, "trials": controls_at_8})
    text = render(stored, document(stored), "md")
    assert text.count("from the control of the nearest cases that ran one") == 2
    assert text.count("the control, may stray") == 2


def test_one_number_of_connections_is_not_called_pooled() -> None:
    study = without_plaintext(whole_tax())
    assert study is not None
    (grid,) = contrast_tables(document(fake_run(study, number_of_blocks=3, invalid=False)))
    assert grid.reading == "With 8 connections, 3 blocks, and 95 % intervals."


def connecting(study: Study) -> RunDocument:
    """A run in which connections under TLS take twice as long."""

    def truth(case: Case) -> Truth:
        slower = 1 if case.levels["tls"] == "off" else 2
        return Truth(1000 / slower, {"connect": 400.0 * slower}, 100.0 * slower, 50.0)

    return document(fake_run(study, number_of_blocks=3, invalid=False, truth=truth))


def test_a_contrast_of_tls_has_its_modes_as_columns_and_a_line_for_every_other_level() -> None:
    """Each distance has a line of its own, and no line stands for the level that is the column's."""
    study = override(load_study("postgres-direct"), "rtt_ms", ["0", "45"])
    (grid,) = contrast_tables(connecting(study))
    assert grid.title.endswith("of postgresql-18 against TLS 1.3")
    assert grid.heads == ("plaintext", "TLS 1.3 direct")
    ((_, lines),) = grid.parts.items()
    assert [name for name, _ in lines] == ["on the same machine", "45 ms away"]
    assert all(cell.figure for _, cells in lines for cell in cells)


def test_one_line_alone_is_called_by_its_server() -> None:
    study = override(load_study("postgres-direct"), "rtt_ms", ["0"])
    (grid,) = contrast_tables(connecting(study))
    assert [name for lines in grid.parts.values() for name, _ in lines] == ["postgresql-18"]


def test_accounts_of_one_tls_mode_are_lines_of_their_own() -> None:
    by_account, by_tls = contrast_tables(connecting(load_study("postgres-connect")))
    assert [name for lines in by_account.parts.values() for name, _ in lines] == ["plaintext", "TLS 1.3"]
    assert by_tls.heads == ("TLS 1.3",)
    assert [name for lines in by_tls.parts.values() for name, _ in lines] == [
        "by trust",
        "by md5",
        "by scram-sha-256",
        "auth default",
    ]
