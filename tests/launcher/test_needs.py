"""What a bare machine lacks is installed for root, fetched for a user, and else named in one sentence."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, Clone, wait_until

NO_RUST = {"CARGO_HOME": "/nonexistent", "RUSTUP_HOME": "/nonexistent"}
INSTALLED = "python3-venv gcc libc6-dev rustc-web cargo-web"


def start(clone: Clone, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return clone.start(*arguments, **NO_RUST, **more)


def test_an_ordinary_user_gets_a_compiler_and_pip_into_the_cache(user_clone: Clone) -> None:
    done = start(user_clone)
    assert done.returncode == 0, done.stderr
    assert "fetching a compiler from Debian into the cache (40 MB, once)" in done.stderr
    (fetched,) = [c for c in user_clone.calls("apt-get") if "--download-only" in c and "gcc" in c]
    assert fetched.endswith("--download-only install rustc-web cargo-web gcc libc6-dev")
    assert not [c for c in user_clone.calls("apt-get") if c.endswith("python3-venv")]
    (install,) = [call for call in user_clone.calls("python3") if "pip install" in call]
    assert "/usr/share/python-wheels/pip-1-py3.whl/pip install" in install
    assert "--require-hashes" in install
    assert [call for call in user_clone.calls("python3") if "-m venv --without-pip" in call]
    assert {path.name for path in user_clone.cache.iterdir()} == {
        "compiler",
        "engines",
        "environments",
        "setup.lock",
    }
    assert start(user_clone).stderr == ""


def test_a_fetched_compiler_is_used_again(user_clone: Clone) -> None:
    assert start(user_clone).returncode == 0
    user_clone.main_rs.write_text("//! Second.\n")
    assert start(user_clone).returncode == 0
    assert user_clone.builds() == 2
    assert sum("gcc" in c and "--download-only" in c for c in user_clone.calls("apt-get")) == 1


def test_the_fetched_linker_finds_its_libraries_and_never_a_second_c_library(user_clone: Clone) -> None:
    assert start(user_clone).returncode == 0
    assert [path.name for path in (user_clone.compiler / "lib").iterdir()] == ["librustc.so"]
    linker = [user_clone.compiler / "bin" / "cc", "-o", "two words"]
    done = subprocess.run(linker, env=user_clone.environment(), capture_output=True, text=True, check=True)
    assert done.stdout == f"gcc --sysroot={user_clone.compiler}/root -o two words\n"


def test_what_is_written_in_c_can_be_archived(user_clone: Clone) -> None:
    assert start(user_clone).returncode == 0
    archiver = [user_clone.compiler / "bin" / "ar", "cq", "two words"]
    done = subprocess.run(archiver, env=user_clone.environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "ar cq two words\n"


def test_what_does_not_run_is_not_kept_as_a_compiler(user_clone: Clone) -> None:
    user_clone.set_state("gcc-fails")
    done = start(user_clone)
    assert done.returncode == 3
    assert "fetching a compiler" in done.stderr.splitlines()[-1]
    (user_clone.state / "gcc-fails").unlink()
    assert start(user_clone).returncode == 0


def test_where_nothing_can_be_fetched_one_sentence_has_the_command_to_paste(user_clone: Clone) -> None:
    user_clone.set_state("apt-fails", "E: Temporary failure in name resolution\n")
    done = start(user_clone)
    assert done.returncode == 3
    last = done.stderr.splitlines()[-1]
    assert "check the network" in last
    assert "apt-get update && apt-get install python3-venv gcc libc6-dev rustc" in last


def test_root_has_all_that_is_missing_installed_in_one_step(user_clone: Clone) -> None:
    user_clone.be_root()
    (user_clone.machine / "cc").unlink(missing_ok=True)
    done = start(user_clone)
    assert "installing Debian packages: " + INSTALLED in done.stderr
    calls = user_clone.calls("apt-get")
    updated = next(place for place, call in enumerate(calls) if call.endswith("update"))
    installed = next(place for place, call in enumerate(calls) if f" install {INSTALLED}" in call)
    assert updated < installed


def test_rust_that_no_package_has_is_asked_for_with_the_version_that_was_found(user_clone: Clone) -> None:
    user_clone.set_state("rust-packages", "rustc\n")
    done = start(user_clone)
    assert done.returncode == 3
    last = done.stderr.splitlines()[-1]
    assert "Rust 1.85 or newer to build its load engine (found 1.63.0)" in last
    assert "rustup toolchain install stable" in last
    assert "apt-get install python3-venv gcc libc6-dev; rustup" in last


@pytest.mark.parametrize("who", ["root", "user"])
def test_without_apt_one_sentence_names_all_that_is_missing(user_clone: Clone, who: str) -> None:
    if who == "root":
        user_clone.be_root()
    programs = user_clone.folder / "programs"
    programs.mkdir()
    for program in (ROOT / "tests" / "launcher" / "programs").iterdir():
        if not program.name.startswith("apt") and program.name != "dpkg-deb":
            (programs / program.name).symlink_to(program)
    done = start(user_clone, PATH=f"{programs}:{user_clone.machine}")
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    for missing in (
        "Python 3.11 or newer with its venv module",
        "Rust 1.85 or newer",
        "a C compiler",
        "no apt",
    ):
        assert missing in line


def test_a_python_that_is_too_old_is_named(user_clone: Clone) -> None:
    user_clone.set_state("python", "old")
    done = start(user_clone)
    assert done.returncode == 3
    assert "it needs Python 3.11 or newer with its venv module" in done.stderr.splitlines()[-1]
    assert "apt-get install python3-venv" in done.stderr.splitlines()[-1]


WORDS = [
    (("--help",), 0, "Usage: tlstax [OPTIONS] COMMAND"),
    (("run", "--help"), 0, "Usage: tlstax run [OPTIONS]"),
    (("run", "-h"), 0, "Usage: tlstax run [OPTIONS]"),
    (("help",), 0, "Usage: tlstax [OPTIONS] COMMAND"),
    (("help", "study", "run"), 0, "Usage: tlstax study run [OPTIONS] {NAME}"),
    (("study", "run", "tax", "--help"), 0, "Usage: tlstax study run [OPTIONS] {NAME}"),
    (("--version",), 0, "tlstax 0."),
    (("doctor",), 0, "missing  Rust"),
    (("doctor", "--json"), 0, '"name": "Rust", "status": "limited"'),
]


@pytest.mark.parametrize(("arguments", "status", "words"), WORDS)
def test_help_and_doctor_need_nothing_and_install_nothing(
    user_clone: Clone, arguments: tuple[str, ...], status: int, words: str
) -> None:
    user_clone.be_root()
    done = start(user_clone, *arguments)
    assert (done.returncode, done.stderr) == (status, "")
    assert words.replace("missing  Rust", "limited  Rust") in done.stdout
    assert not user_clone.calls("apt-get")
    assert not user_clone.cache.exists()


def test_a_key_press_sets_nothing_up(clone: Clone) -> None:
    done = clone.start("completion-names", "runs")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (clone.installs(), clone.builds()) == (0, 0)


@pytest.mark.parametrize("words", [("completion-names", "runs"), ("completion", "bash")], ids=" ".join)
def test_completion_needs_no_engine(clone: Clone, words: tuple[str, ...]) -> None:
    assert clone.start().returncode == 0
    clone.main_rs.write_text("//! Second.\n")
    done = clone.start(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"-m tlstax {' '.join(words)}\n" in done.stdout
    assert clone.builds() == 1


def test_without_a_word_the_help_is_shown_as_a_mistake(clone: Clone) -> None:
    done = subprocess.run(
        [clone.launcher], env=clone.environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: tlstax [OPTIONS] COMMAND")


def test_an_environment_that_was_used_last_a_month_ago_is_not_deleted_when_the_engine_changes(
    clone: Clone,
) -> None:
    clone.start()
    (environment,) = (clone.cache / "environments").iterdir()
    long_ago(environment / "complete")
    clone.main_rs.write_text("//! Second.\n")
    assert clone.start().returncode == 0
    assert (environment / "bin" / "python").exists()
    assert clone.installs() == 1


def long_ago(file: Path) -> None:
    when = file.stat().st_mtime - 40 * 24 * 3600
    os.utime(file, (when, when))


TELLS = """#!/bin/sh
case "${TLSTAX_PASSWORD+told}${MYSQL_PWD+told}${PGPASSWORD+told}" in ?*) what=told ;; *) what=untold ;; esac
echo "${0##*/} $what" >>"$FAKE_STATE/who-was-told"
exec "%s" "$@"
"""
"""Stands before a program of the machine, and writes down whether it was told a password."""


@pytest.mark.parametrize("words", [("run",), ("doctor",), ("--version",)], ids=" ".join)
def test_the_laboratory_alone_is_told_the_passwords(clone: Clone, words: tuple[str, ...]) -> None:
    clone.machine.mkdir()
    for program in Path("/usr/bin").iterdir():
        # The shells that run the launcher and what stands before the others.
        if program.name not in {"bash", "sh", "dash", "env"} and os.access(program, os.X_OK):
            stand_in = clone.machine / program.name
            stand_in.write_text(TELLS % program)
            stand_in.chmod(0o755)
    for shell in ("bash", "sh", "env"):
        (clone.machine / shell).symlink_to(Path("/usr/bin") / shell)
    for _ in range(2):
        done = clone.start(*words, TLSTAX_PASSWORD="s\udce9cret", MYSQL_PWD="other", PGPASSWORD="pg")
        assert done.returncode == 0, done.stderr
    told = (clone.state / "who-was-told").read_text().splitlines()
    assert "sha256sum untold" in told
    assert "stat untold" in told
    assert [line for line in told if line.endswith(" told")] == []
    if words == ("run",):
        assert "password s\udce9cret other pg\n" in done.stdout
        assert (clone.state / "password-of-pip").read_text() == "none\n"


def test_no_password_is_made_up(clone: Clone) -> None:
    assert "password none none none\n" in clone.start().stdout


def test_one_that_is_interrupted_while_it_starts_to_wait_ends(clone: Clone) -> None:
    """The signal comes at every moment of the start of the program that is waited for."""
    clone.set_state("pip-waits")
    first = clone.begin()
    wait_until(lambda: clone.installs() == 1)
    for _ in range(20):
        second = clone.begin()
        assert second.stderr is not None
        second.stderr.readline()
        second.terminate()
        assert second.wait(timeout=20) == 143
    (clone.state / "pip-waits").unlink()
    first.communicate(timeout=20)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root takes /proc away")
@pytest.mark.parametrize("is_set_up", [True, False])
def test_a_machine_without_proc_is_told_so(clone: Clone, is_set_up: bool) -> None:
    if is_set_up:
        assert clone.start().returncode == 0
    before = clone.calls("")

    def start(*words: str) -> subprocess.CompletedProcess[str]:
        script = 'mount -t tmpfs none /proc && exec "$@"'
        command = ["unshare", "--mount", "bash", "-c", script, "bash", clone.launcher, *words]
        return subprocess.run(command, env=clone.environment(), capture_output=True, text=True, check=False)

    done = start("run")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(
        "tlstax: /proc is not mounted, and without it no process can be watched; as root"
    )
    assert (start("--version").returncode, start("run", "--help").returncode) == (0, 0)
    doctor = start("doctor")
    assert (doctor.returncode, doctor.stderr) == (0, "")
    assert "/proc is not mounted" in doctor.stdout
    assert clone.calls("") == before
