"""Nothing is run that somebody else could have put into the cache, whoever starts the launcher."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import PROGRAMS, Clone, is_root

SOMEBODY = 12345
"""A user of whom no machine has heard."""

as_root = pytest.mark.skipif(not is_root(), reason="only root can give files to others")


def refusal(clone: Clone, *arguments: str, **more: str) -> str:
    """The one sentence with which the launcher ends before it has run anything of the cache."""
    before = clone.calls("")
    done = clone.start(*arguments, **more)
    assert (done.returncode, done.stdout) == (3, ""), done
    (sentence,) = done.stderr.splitlines()
    assert clone.calls("") == before
    return sentence


def inside(clone: Clone) -> dict[str, Path]:
    """What is run of a cache that was set up, and the folders that it lies in."""
    (environment,) = (clone.cache / "environments").iterdir()
    (engine,) = (clone.cache / "engines").iterdir()
    return {
        "cache": clone.cache,
        "environments": environment.parent,
        "environment": environment,
        "programs": environment / "bin",
        "python": environment / "bin" / "python",
        "engines": engine.parent,
        "engine's folder": engine,
        "engine": engine / "tlstax-engine",
    }


PLACES = (
    *("cache", "environments", "environment", "programs", "python"),
    *("engines", "engine's folder", "engine"),
)


@pytest.mark.parametrize("place", PLACES)
def test_what_others_may_write_to_is_not_run(clone: Clone, place: str) -> None:
    assert clone.start().returncode == 0
    path = inside(clone)[place]
    path.chmod(path.stat().st_mode | 0o002)
    sentence = refusal(clone)
    assert sentence.startswith(f"tlstax: others may write to {path}, and what is kept there is run; chmod ")
    assert sentence.endswith(" as its owner, or set TLSTAX_CACHE to a path of your own")
    command = sentence.partition("; ")[2].partition(" as its owner")[0]
    subprocess.run(["bash", "-c", command], check=True)
    assert clone.start().stderr == ""


@as_root
@pytest.mark.parametrize("place", PLACES)
def test_root_runs_nothing_from_a_users_cache(clone: Clone, place: str) -> None:
    assert clone.start().returncode == 0
    path = inside(clone)[place]
    os.chown(path, SOMEBODY, SOMEBODY)
    assert refusal(clone) == (
        f"tlstax: {path} belongs to the user {SOMEBODY}, and what is kept there would be run as root; start "
        f"tlstax as the user {SOMEBODY}, or set TLSTAX_CACHE to a path of your own"
    )


@pytest.mark.parametrize("mode", [0o1777, 0o777])
def test_above_the_cache_a_sticky_bit_will_do(clone: Clone, mode: int) -> None:
    above = clone.folder / "above"
    above.mkdir()
    above.chmod(mode)
    cache = {"TLSTAX_CACHE": str(above / "cache")}
    if mode & 0o1000:
        assert clone.start(**cache).returncode == 0
        assert clone.start(**cache).stderr == ""
    else:
        assert f"others may write to {above}, " in refusal(clone, **cache)
        assert not (above / "cache").exists()


def test_a_link_to_a_cache_is_no_way_around(clone: Clone) -> None:
    above = clone.folder / "above"
    (above / "cache").mkdir(parents=True)
    above.chmod(0o777)
    clone.cache.symlink_to(above / "cache")
    assert f"others may write to {above}, " in refusal(clone)


@as_root
@pytest.mark.parametrize(("group", "is_shared"), [(0, False), (SOMEBODY, True)])
def test_a_group_that_is_its_owners_own_is_nobody_else(clone: Clone, group: int, is_shared: bool) -> None:
    assert clone.start().returncode == 0
    os.chown(clone.cache, 0, group)
    clone.cache.chmod(0o775)
    if is_shared:
        assert f"others may write to {clone.cache}, " in refusal(clone)
    else:
        assert clone.start().stderr == ""


def test_what_is_set_up_nobody_else_may_write_to(clone: Clone) -> None:
    """Also for a user who lets others write to what they make: else their second start would be refused."""
    script = 'umask 000 && exec "$@"'
    for _ in range(2):
        command = ["bash", "-c", script, "bash", clone.launcher, "run"]
        subprocess.run(command, env=clone.environment(), check=True, capture_output=True)
    made = [path for path in clone.cache.rglob("*") if not path.is_symlink()]
    assert [path for path in made if path.stat().st_mode & 0o022] == []


def test_an_engine_from_elsewhere_is_looked_at_too(clone: Clone) -> None:
    engine = clone.folder / "elsewhere" / "engine"
    engine.parent.mkdir()
    shutil.copy("/bin/true", engine)
    assert clone.start(TLSTAX_ENGINE=str(engine)).returncode == 0
    engine.parent.chmod(0o777)
    sentence = refusal(clone, TLSTAX_ENGINE=str(engine))
    assert sentence.startswith(f"tlstax: others may write to {engine.parent}, ")
    assert sentence.endswith("or set TLSTAX_ENGINE to a path of your own")


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("--version",), ("doctor",)], ids=" ".join)
def test_what_runs_nothing_of_the_cache_still_answers(clone: Clone, words: tuple[str, ...]) -> None:
    assert clone.start().returncode == 0
    clone.cache.chmod(0o777)
    before = clone.calls("python3")
    done = clone.start(*words)
    assert (done.returncode, done.stderr) == (0, "")
    if words == ("doctor",):
        assert f"others may write to {clone.cache}" in done.stdout
    assert [call for call in clone.calls("python3") if "-m tlstax" in call and call not in before] == []


@pytest.fixture
def somebodys() -> Iterator[Clone]:
    """A clone and a cache of another user's, where that user gets at them."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    clone = Clone(folder)
    clone.make()
    shutil.copytree(PROGRAMS, folder / "programs")
    folder.chmod(0o755)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)
    yield clone
    shutil.rmtree(folder)


@as_root
def test_an_ordinary_user_runs_from_a_cache_of_their_own_alone(somebodys: Clone) -> None:
    def started_by(user: int) -> subprocess.CompletedProcess[str]:
        as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]
        settings = somebodys.environment(PATH=f"{somebodys.folder}/programs:/usr/bin:/bin")
        command = [*as_user, somebodys.launcher, "run"]
        return subprocess.run(command, env=settings, check=False, capture_output=True, text=True, cwd="/")

    assert started_by(SOMEBODY).returncode == 0
    assert started_by(SOMEBODY).stderr == ""
    done = started_by(SOMEBODY + 1)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"belongs to the user {SOMEBODY}, and what is kept there would be run as the user" in done.stderr
