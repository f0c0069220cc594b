"""The notebook runs as it is, in a kernel of its own: it finds the page's figures and draws the chart."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.long
def test_the_notebook_finds_the_figures_of_the_page_and_draws_them() -> None:
    notebook = nbformat.read(DOCS / "certificates.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(DOCS)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    printed = next(output.text for output in outputs if output.output_type == "stream")
    page = (DOCS / "identity.md").read_text(encoding="utf-8")
    assert len(printed.splitlines()) == 8
    for line in printed.splitlines():
        figure, interval = line[10:].split("  ")[0].split(" ", 1)
        assert f"{figure} {interval}" in page or f"**{figure}** {interval}" in page
    (chart,) = [
        content
        for output in outputs
        for kind, content in output.get("data", {}).items()
        if kind.startswith("application/vnd.vegalite")
    ]
    assert [len(values) for values in chart["datasets"].values()] == [1, 8]


def test_it_is_kept_without_what_it_printed() -> None:
    notebook = nbformat.read(DOCS / "certificates.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
