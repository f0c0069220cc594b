"""A report of a run on PostgreSQL has its words, and none of MySQL's."""

from __future__ import annotations

import re

import golden
from postgresql_trials import postgresql_run
from report_runs import with_document
from tlstax.report.formats.markdown import markdown
from tlstax.report.formats.terminal import terminal
from tlstax.report.page.html import html

OF_MYSQL = re.compile(r"(?i:mysql|mariadb|innodb)|Ssl_|Com_|require_secure|my\.cnf")


def test_what_a_terminal_shows_of_a_run_on_postgresql() -> None:
    golden.compare("postgresql", terminal(*with_document(postgresql_run)))


def test_no_format_says_mysqls_things() -> None:
    stored, found = with_document(postgresql_run)
    assert all(record.verdict.value == "valid" for record in stored.trials)
    for text in (terminal(stored, found), markdown(stored, found), html(stored, found)):
        assert sorted(set(OF_MYSQL.findall(text))) == []
