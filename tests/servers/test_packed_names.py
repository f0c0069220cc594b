"""A pack of a run at an external server: whoever unpacks it learns nothing of whose server it was."""

from __future__ import annotations

import gzip
import re
import shutil
from pathlib import Path

import pytest
from test_guest_run import PASSWORD, RUN, SMALL, as_owner, lent, tlstax_run

from tlstax.cli.export_command import pack_command, publish_command
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.store import Store

WORKLOAD = """
name = "xwload"
[[transactions]]
[[transactions.statements]]
sql = "SELECT c, 'xwsecret' FROM {table} WHERE id = {id}"
"""


def unpacked(file: Path) -> str:
    return gzip.decompress(file.read_bytes().split(b"\n", 1)[1]).decode()


def measured(server: PrivateServer, folder: Path) -> set[str]:
    """Runs at a server with short names, paths and a workload of somebody's own; these names."""
    as_owner(
        server,
        "CREATE DATABASE zq",
        f"CREATE USER jd@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'",
        "GRANT ALL ON zq.* TO jd@'127.0.0.1'",
    )
    ca = folder / "jdcorp" / "qv-ca.pem"
    ca.parent.mkdir()
    shutil.copy(server.ca_file, ca)
    workload = folder / "xw.toml"
    workload.write_text(WORKLOAD, encoding="utf-8")
    url = f"mysql://jd@127.0.0.1:{server.endpoint().port}/zq"
    options = (*RUN, "--ssl-ca", str(ca), "--workload", f"reconnect,{workload}", "--over-budget")
    options = (*options, "--allow-plaintext")
    done = tlstax_run(folder / "data", url, *options)
    assert done.returncode == 0, done.stderr
    return {
        r"\bjd\b",
        r"\bzq\b",
        "jdcorp",
        "qv-ca",
        "xwload",
        "xwsecret",
        re.escape(str(folder)),
        f":{server.endpoint().port}\\b",
    }


@pytest.mark.long
def test_a_pack_says_nothing_of_whose_server_it_was(
    mariadb_build: ServerBuild, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with lent(mariadb_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        names = measured(server, tmp_path)
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    with Store.open(tmp_path / "data" / "store.sqlite") as store:
        run = store.runs()[0].run
    pack_command(run, tmp_path / "full.tlstax", with_names=True)
    pack_command(run, tmp_path / "clean.tlstax", with_names=False)
    full, clean = unpacked(tmp_path / "full.tlstax"), unpacked(tmp_path / "clean.tlstax")
    names |= set(re.findall(r'"certificate_sha256":"([0-9a-f]{64})"', full))
    for name in names:
        assert re.search(name, full), f"{name} is no test, where a run does not have it"
        assert not re.search(name, clean), name
    publish_command(tmp_path / "site", [tmp_path / "clean.tlstax"])
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not [name for name in names if re.search(name, text)]
