"""Parquet holds what JSON holds: written by what the launcher installs, read again by the same DuckDB."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from kept_runs import keep
from tlstax.store import Store
from turned_runs import in_turns_and_watched

ROOT = Path(__file__).resolve().parents[2]

READ = """
import duckdb, json, sys
found = duckdb.sql(f"SELECT * FROM read_parquet('{sys.argv[1]}')")
print(json.dumps([found.columns, [str(one) for one in found.types], found.fetchall()]))
"""


@pytest.mark.long
@pytest.mark.parametrize("rows", ["trials", "slices", "findings"])
def test_parquet_has_every_value_of_the_json(tmp_path: Path, rows: str) -> None:
    with Store.open(tmp_path / "store.sqlite") as store:
        run = in_turns_and_watched()
        keep(store, run)
        store.finish(run.header.run, "complete", "")
    file = tmp_path / "rows.parquet"
    environment = {**os.environ, "TLSTAX_DATA": str(tmp_path)}

    def said(*words: str | Path) -> str:
        return subprocess.run(
            words, env=environment, cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout

    export = (ROOT / "tlstax", "runs", "export", "last", "--rows", rows)
    assert said(*export, "--format", "parquet", "-o", file).startswith(f"{file}: run {run.header.run}, ")
    find = 'source setup/places.sh && find_places "$PWD" setup/requirements-parquet.txt'
    script = f'{find} && printf %s "$environment"'
    python = Path(said("bash", "-euc", script)) / "bin" / "python"
    names, types, values = json.loads(said(python, "-c", READ, file))
    expected = json.loads(said(*export, "--format", "json"))
    assert [dict(zip(names, own, strict=True)) for own in values] == expected
    assert set(types) <= {"VARCHAR", "BIGINT", "DOUBLE"}
