"""The launcher: sets up what is missing, once; says what is wrong in one sentence; leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import Clone, is_running, wait_until


def told(out: str, what: str) -> str:
    found = re.search(rf"^{what} (.*)$", out, re.MULTILINE)
    assert found, f"the laboratory was not told its {what}: {out!r}"
    return found[1]


def test_the_first_start_sets_up_and_the_second_does_nothing(clone: Clone) -> None:
    first = clone.start("run")
    assert first.returncode == 0
    assert "installing the Python packages" in first.stderr
    assert "building the load engine" in first.stderr
    assert (clone.installs(), clone.builds()) == (1, 1)

    second = clone.start("run")
    assert (second.returncode, second.stderr) == (0, "")
    assert (clone.installs(), clone.builds()) == (1, 1)


def test_packages_are_installed_by_hash_and_the_engine_is_built_from_its_lock(clone: Clone) -> None:
    clone.start()
    (install,) = [call for call in clone.calls("python3") if "-m pip install" in call]
    assert "--require-hashes" in install
    engine, watch = clone.calls("cargo")
    assert "--package tlstax-engine" in engine
    assert "--release" in engine
    assert "--package tlstax-watch" in watch, "linked statically, so by itself"
    assert "--profile helper" in watch
    assert all("--locked" in build for build in (engine, watch))


def test_the_engine_is_built_while_the_packages_are_installed(clone: Clone) -> None:
    clone.set_state("pip-waits")
    process = clone.begin()
    wait_until(lambda: clone.installs() == 1 and len(clone.calls("cargo build")) == 2)
    (clone.state / "pip-waits").unlink()
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    lines = [line for line in err.splitlines() if "installing" in line or "building" in line]
    assert lines[:2] == [
        "tlstax: installing the Python packages (once)…",
        "tlstax: building the load engine (once, one or two minutes)…",
    ]
    assert {re.sub(r" \d+ s$", "", line) for line in lines[2:]} == {
        "tlstax:   building the load engine: done in",
        "tlstax:   installing the Python packages: done in",
    }


@pytest.mark.parametrize("fails", ["cargo", "pip"])
def test_what_fails_is_told_and_ends_the_other(clone: Clone, fails: str) -> None:
    clone.set_state("pip-hangs" if fails == "cargo" else "cargo-hangs")
    clone.set_state(f"{fails}-fails", "error: not for us to know\n")
    clone.set_state(f"{fails}-waits")
    process = clone.begin()
    running = clone.state / ("pid" if fails == "cargo" else "cargo-pid")
    wait_until(running.exists)
    wait_until(lambda: running.read_text().endswith("\n"))
    (clone.state / f"{fails}-waits").unlink()
    _, err = process.communicate(timeout=20)
    assert process.returncode == 3
    what = "building the load engine" if fails == "cargo" else "installing the Python packages"
    assert f"{what} failed" in err.splitlines()[-1]
    assert "  error: not for us to know" in err.splitlines()
    wait_until(lambda: not is_running(int(running.read_text())))
    assert (clone.cache / "setup.log").read_text() == "error: not for us to know\n"
    assert not (clone.cache / "setup-scratch").exists()


def test_the_laboratory_takes_the_launchers_place(clone: Clone) -> None:
    clone.start()
    process = clone.begin("run", "two words", FAKE_STATUS="1")
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert told(out, "pid") == str(process.pid)
    assert told(out, "arguments").endswith("-P -s -m tlstax run two words")
    assert told(out, "path") == str(clone.root / "lab")
    assert told(out, "cache") == str(clone.cache)
    engine = Path(told(out, "engine"))
    programs = ("engine", "tools", "watch")
    for program in (f"tlstax-{name}" for name in programs):
        assert engine.with_name(program).read_text() == "//! First.\n"


@pytest.mark.parametrize("how", ["link", "relative", "other folder"])
def test_it_can_be_called_by_any_path(clone: Clone, how: str) -> None:
    clone.start()
    link = clone.folder / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to("../a clone/tlstax")
    command, folder = {
        "link": (str(link), Path("/")),
        "relative": ("../tlstax", clone.root / "lab"),
        "other folder": (str(clone.launcher), Path("/")),
    }[how]
    done = subprocess.run(
        [command], env=clone.environment(), cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert told(done.stdout, "path") == str(clone.root / "lab")


def test_every_state_of_the_engines_sources_has_an_engine_of_its_own(clone: Clone) -> None:
    clone.start()
    clone.main_rs.write_text("//! Second.\n")
    assert Path(told(clone.start().stdout, "engine")).read_text() == "//! Second.\n"
    assert clone.builds() == 2
    clone.main_rs.write_text("//! First.\n")
    assert Path(told(clone.start().stdout, "engine")).read_text() == "//! First.\n"
    assert clone.builds() == 2
    assert clone.installs() == 1


def test_sources_that_change_while_they_are_compiled_are_compiled_again(clone: Clone) -> None:
    clone.set_state("edited-meanwhile", "//! Third.\n")
    assert Path(told(clone.start().stdout, "engine")).read_text() == "//! Third.\n"
    assert clone.builds() == 2


def test_other_requirements_have_an_environment_of_their_own(clone: Clone) -> None:
    clone.start()
    (clone.root / "setup" / "requirements.txt").write_text("other==1\n")
    assert clone.start().returncode == 0
    assert (clone.installs(), clone.builds()) == (2, 1)
    assert len(list((clone.cache / "environments").iterdir())) == 2


def test_an_environment_whose_python_is_gone_is_made_again(clone: Clone) -> None:
    clone.start()
    (environment,) = (clone.cache / "environments").iterdir()
    (environment / "bin" / "python").unlink()
    assert clone.start().returncode == 0
    assert clone.installs() == 2


def begin_first_and_second(clone: Clone) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
    """Two launchers: one that sets up until the state `pip-waits` goes, and one that waits for it."""
    clone.set_state("pip-waits")
    first = clone.begin()
    wait_until(lambda: clone.installs() == 1)
    second = clone.begin()
    assert second.stderr is not None
    assert second.stderr.readline() == "tlstax: another tlstax is setting up; waiting for it to finish\n"
    return first, second


def test_two_at_once_set_up_once(clone: Clone) -> None:
    first, second = begin_first_and_second(clone)
    (clone.state / "pip-waits").unlink()
    for process in (first, second):
        out, _ = process.communicate(timeout=20)
        assert process.returncode == 0
        assert told(out, "pid") == str(process.pid)
    assert (clone.installs(), clone.builds()) == (1, 1)


def test_ending_the_one_that_waits_does_not_disturb_the_other(clone: Clone) -> None:
    first, second = begin_first_and_second(clone)
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=20)
    assert second.returncode == 130
    assert (clone.cache / "setup-scratch").is_dir()
    (clone.state / "pip-waits").unlink()
    first.communicate(timeout=20)
    assert first.returncode == 0
    assert clone.builds() == 1


@pytest.mark.parametrize(
    ("how", "status"),
    [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_a_launcher_that_is_ended_in_set_up_leaves_no_process(
    clone: Clone, how: signal.Signals, status: int
) -> None:
    clone.set_state("pip-hangs")
    clone.set_state("cargo-hangs")
    process = clone.begin()
    names = ("pid", "child-pid", "cargo-pid")
    for name in names:
        wait_until((clone.state / name).exists)
        wait_until(lambda name=name: (clone.state / name).read_text().endswith("\n"))  # type: ignore[misc]
    pids = [int((clone.state / name).read_text()) for name in names]
    assert all(is_running(pid) for pid in pids)

    os.kill(process.pid, how)
    _, err = process.communicate(timeout=20)
    assert process.returncode == status
    wait_until(lambda: not any(is_running(pid) for pid in pids))
    if how != signal.SIGKILL:
        assert err.splitlines()[-1] == "tlstax: set-up was interrupted; the next start goes on with it"

    for name in ("pip-hangs", "cargo-hangs"):
        (clone.state / name).unlink()
    assert clone.start().returncode == 0
    assert {path.name for path in clone.cache.iterdir()} == {"engines", "environments", "setup.lock"}


def test_what_was_not_used_for_a_month_goes_when_something_new_comes(clone: Clone) -> None:
    clone.start()
    (environment,) = (clone.cache / "environments").iterdir()
    (engine,) = (clone.cache / "engines").iterdir()
    unfinished = clone.cache / "environments" / "unfinished"
    unfinished.mkdir()
    long_ago = (environment / "complete").stat().st_mtime - 40 * 24 * 3600
    os.utime(environment / "complete", (long_ago, long_ago))
    (clone.root / "setup" / "requirements.txt").write_text("other==1\n")
    clone.start()
    assert not environment.exists()
    assert not unfinished.exists()
    assert engine.exists()


SENTENCES = [
    ("WARNING: Retrying: Failed to establish a new connection: NewConnectionError", "check the network"),
    ("WARNING: SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))", "PIP_CERT"),
    ("ERROR: [Errno 28] No space left on device", "is full"),
    ("ERROR: something nobody thought of", "something nobody thought of"),
    ("ERROR: \x1b]0;owned\x07 something \x1b[2Jthat steers", "  ERROR: ]0;owned something [2Jthat steers"),
]


@pytest.mark.parametrize(("log", "words"), SENTENCES)
def test_a_failed_installation_is_told_in_a_sentence(clone: Clone, log: str, words: str) -> None:
    clone.set_state("pip-fails", log + "\n")
    done = clone.start()
    assert done.returncode == 3
    assert done.stdout == ""
    assert words in done.stderr
    assert "installing the Python packages failed" in done.stderr.splitlines()[-1]
    assert (clone.cache / "setup.log").read_text().strip().endswith(log)
    (clone.state / "pip-fails").unlink()
    assert clone.start().returncode == 0


def test_a_cache_that_cannot_be_made_is_told_in_a_sentence(clone: Clone) -> None:
    (clone.folder / "file").touch()
    done = clone.start(TLSTAX_CACHE=str(clone.folder / "file" / "cache"))
    assert done.returncode == 3
    assert re.fullmatch(r"tlstax: cannot write to .*: set TLSTAX_CACHE to a folder .*\n", done.stderr)


def test_without_home_the_accounts_own_is_taken(clone: Clone) -> None:
    clone.start()
    environment = {k: v for k, v in clone.environment().items() if k != "HOME"}
    done = subprocess.run([clone.launcher], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_the_cache_lies_in_the_users(clone: Clone) -> None:
    done = clone.start(TLSTAX_CACHE="", XDG_CACHE_HOME=str(clone.folder / "xdg"))
    assert told(done.stdout, "cache") == str(clone.folder / "xdg" / "tlstax")
    done = clone.start(TLSTAX_CACHE="", XDG_CACHE_HOME="relative")
    assert told(done.stdout, "cache") == str(clone.folder / "home" / ".cache" / "tlstax")


def test_an_engine_from_elsewhere_is_taken(clone: Clone) -> None:
    done = clone.start(TLSTAX_ENGINE="/bin/true")
    assert told(done.stdout, "engine") == "/bin/true"
    assert clone.builds() == 0
    wrong = clone.start(TLSTAX_ENGINE="/no/such/engine")
    assert wrong.returncode == 3
    assert "/no/such/engine" in wrong.stderr
