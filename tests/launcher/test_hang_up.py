"""A launcher under nohup: set-up takes minutes, and a terminal that hangs up must not end it."""

from __future__ import annotations

import os
import signal
import subprocess

from conftest import Clone, wait_until


def test_set_up_under_nohup_outlives_the_terminal(clone: Clone) -> None:
    clone.set_state("pip-waits")
    with subprocess.Popen(
        ["nohup", clone.launcher, "run"],
        env=clone.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        wait_until(lambda: clone.installs() == 1)
        os.killpg(process.pid, signal.SIGHUP)
        (clone.state / "pip-waits").unlink()
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert "interrupted" not in err
    assert "-m tlstax run" in out
