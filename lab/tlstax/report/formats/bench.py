"""A bench in any format: its sections for a terminal and in Markdown, its rows as CSV, all of it as JSON."""

from __future__ import annotations

from typing import Any

from tlstax.report.formats.markdown import of_sections
from tlstax.report.formats.render import FORMATS as RUN_FORMATS
from tlstax.report.formats.render import json_document
from tlstax.report.formats.terminal import printed_sections
from tlstax.report.run_tables import bench_table
from tlstax.results.bench import BenchDocument
from tlstax.topics.core.topic import TopicOf

BenchTopic = TopicOf[Any, BenchDocument]
"""A topic of what is measured without being a run."""

FORMATS = ("terminal", "md", "csv", "json")
BY_SUFFIX = {suffix: name for name in FORMATS for suffix in RUN_FORMATS[name].suffixes}


def bench_report(
    topic: BenchTopic, document: BenchDocument, form: str, *, width: int = 80, colour: bool = False
) -> str:
    """The document in one of FORMATS; `width` (from 40 on) and `colour` are for the terminal."""
    if form == "json":
        return json_document(document)
    if form == "csv":
        return bench_table(document, topic.columns)
    sections = topic.sections(document.told, document)
    if form == "md":
        return "\n\n".join(part for part in of_sections(sections) if part) + "\n"
    return printed_sections(sections, width=width, colour=colour)
