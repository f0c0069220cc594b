"""Which servers can be put over which TLS libraries, as the loader's answers tell; no loader is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlstax.records.trial import Specimen
from tlstax.specimens import loading
from tlstax.specimens.loading import Loaded
from tlstax.specimens.server_build import ServerBuild, TlsLibrary
from tlstax.support.errors import MachineFault, UserMistake

LIBC = "/root/libc.so.6"
LIBRARY = TlsLibrary(
    Specimen(name="openssl-3.6", kind="tls_library", version="3.6.3", origin="a test"),
    Path("/kept/lib/libssl.so.3"),
    Path("/kept/lib/libcrypto.so.3"),
    (Path("/kept/support"),),
)
FOUND = {"libssl.so.3": "/kept/lib/libssl.so.3", "libcrypto.so.3": "/kept/lib/libcrypto.so.3"}


def server(tmp_path: Path, **changes: Path) -> ServerBuild:
    """A server of a Debian root, in which only the loader is there."""
    loader = tmp_path / "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    loader.parent.mkdir(parents=True)
    loader.touch()
    specimen = Specimen(name="mariadb-11.8", kind="server", version="11.8.6-MariaDB", origin="a test")
    return ServerBuild(specimen, "mariadb", tmp_path / "usr/sbin/mariadbd", **{"root": tmp_path, **changes})


def answers(monkeypatch: pytest.MonkeyPatch, own: Loaded, machine: Loaded | None = None) -> None:
    """What the server's own loader says, and what the machine's; None where the machine has none."""

    def ask(build: ServerBuild, _library: TlsLibrary) -> Loaded:
        return machine if build.machine_loader and machine else own

    monkeypatch.setattr(loading, "ask", ask)
    monkeypatch.setattr(loading, "_machine_has_loader", lambda: machine is not None)


def test_a_library_that_is_found_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    build = server(tmp_path)
    answers(monkeypatch, Loaded(FOUND, ()), Loaded(FOUND, ()))
    assert loading.over(build, LIBRARY) == build


def test_the_machines_loader_helps_where_the_roots_c_library_is_too_old(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    too_old = Loaded(FOUND, ((LIBC, "GLIBC_2.34"), (LIBC, "GLIBC_2.38")))
    answers(monkeypatch, too_old, Loaded(FOUND, ()))
    assert loading.over(server(tmp_path), LIBRARY).machine_loader


@pytest.mark.parametrize("machine_has_one", [True, False])
def test_a_c_library_that_is_nowhere_new_enough_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, machine_has_one: bool
) -> None:
    too_old = Loaded(FOUND, ((LIBC, "GLIBC_2.38"),))
    answers(monkeypatch, too_old, too_old if machine_has_one else None)
    with pytest.raises(
        UserMistake, match=r"needs GLIBC_2\.38: neither this server's C library nor this mach"
    ):
        loading.over(server(tmp_path), LIBRARY)


def test_a_tls_library_that_is_too_old_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers(monkeypatch, Loaded(FOUND, ((FOUND["libssl.so.3"], "OPENSSL_3.2.0"),)))
    with pytest.raises(UserMistake, match=r"mariadb-11\.8 needs OPENSSL_3\.2\.0 of its TLS library"):
        loading.over(server(tmp_path), LIBRARY)


def test_a_loader_that_takes_another_file_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers(monkeypatch, Loaded({**FOUND, "libcrypto.so.3": "/root/libcrypto.so.3"}, ()))
    with pytest.raises(MachineFault, match=r"takes /root/libcrypto\.so\.3 for libcrypto\.so\.3"):
        loading.over(server(tmp_path), LIBRARY)


@pytest.mark.parametrize("names", [("libssl.so.1.1", "libcrypto.so.1.1"), ("libssl.so.4", "libcrypto.so.4")])
def test_a_server_that_asks_for_another_name_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: tuple[str, str]
) -> None:
    answers(monkeypatch, Loaded(dict.fromkeys(names, "/root/lib"), ()))
    with pytest.raises(UserMistake, match=f"asks for {names[0]} and {names[1]}; openssl-3.6 has libssl.so.3"):
        loading.over(server(tmp_path), LIBRARY)


def test_libraries_with_like_names_are_no_tls_libraries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers(monkeypatch, Loaded({"libcrypt.so.1": "/root/a", "libgcrypt.so.20": "/root/b"}, ()))
    with pytest.raises(UserMistake, match="has its TLS library linked into it"):
        loading.over(server(tmp_path), LIBRARY)


def test_the_given_library_comes_first_and_what_it_needs_last(tmp_path: Path) -> None:
    of_root = server(tmp_path)
    (command, option, path, program, *_) = of_root.command(["--version"], tls_library=LIBRARY)
    assert (command, option) == (
        str(tmp_path / "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
        "--library-path",
    )
    assert path.split(":") == ["/kept/lib", str(tmp_path / "lib/x86_64-linux-gnu"), "/kept/support"]
    assert program == str(of_root.executable)
    assert of_root.environment(LIBRARY) == {}


def test_a_tree_of_its_own_is_told_its_libraries_in_the_environment(tmp_path: Path) -> None:
    specimen = Specimen(name="mysql-8.0.33", kind="server", version="8.0.33", origin="a test")
    libraries = (tmp_path / "libs",)
    build = ServerBuild(specimen, "mysql", tmp_path / "mysqld", basedir=tmp_path, own_libraries=libraries)
    assert build.command(["--version"], tls_library=LIBRARY) == [str(tmp_path / "mysqld"), "--version"]
    assert build.environment(LIBRARY) == {"LD_LIBRARY_PATH": f"/kept/lib:{tmp_path}/libs:/kept/support"}
    assert build.environment() == {"LD_LIBRARY_PATH": f"{tmp_path}/libs"}


@pytest.mark.parametrize(
    ("version", "era"),
    [("5.6.14", (5, 6)), ("10.1.8-MariaDB", (10, 1)), ("9.7.4-2", (9, 7)), ("", (9999, 0))],
)
def test_the_era_of_a_server(tmp_path: Path, version: str, era: tuple[int, int]) -> None:
    specimen = Specimen(name="x", kind="server", version=version, origin="a test")
    assert ServerBuild(specimen, "mysql", tmp_path).era == era
