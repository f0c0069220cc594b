"""The notebook runs as it is, in a kernel of its own: it finds the page's figures and draws the chart."""

from __future__ import annotations

import re
from pathlib import Path

import nbclient
import nbformat
import pytest

NUMBER = re.compile(r"\d\.\d\d")
ROW = re.compile(
    r"^\| (?:RSA [34]\d+|EC P-\d+|Ed25519|ML-DSA-\d+) \| (\d\.\d+) \[(\d\.\d+), (\d\.\d+)\]", re.MULTILINE
)
"""A row of the page's first table: a key and what it costs the server, with the interval."""

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.long
def test_the_notebook_finds_the_figures_of_the_page_and_draws_them() -> None:
    notebook = nbformat.read(DOCS / "certificates.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(DOCS)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    printed = next(output.text for output in outputs if output.output_type == "stream")
    found = [tuple(map(float, NUMBER.findall(line[10:])[:3])) for line in printed.splitlines()]
    page = (DOCS / "identity.md").read_text(encoding="utf-8")
    published = [tuple(map(float, row)) for row in ROW.findall(page.replace("**", ""))]
    assert len(found) == 8
    for here, there in zip(found, published, strict=True):
        assert here == pytest.approx(there, abs=0.011), "two digits behind the point, of rounded rows"
    (chart,) = [
        output.data["image/svg+xml"] for output in outputs if "image/svg+xml" in output.get("data", {})
    ]
    assert chart.count('aria-roledescription="point"') == 8
    assert "RSA 2048" in chart


def test_it_is_kept_without_what_it_printed() -> None:
    notebook = nbformat.read(DOCS / "certificates.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
