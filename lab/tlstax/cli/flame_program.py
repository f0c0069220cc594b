"""Draws flame graphs, by the program that was built beside the engine: the only part of it that acts."""

from __future__ import annotations

import subprocess

from tlstax.clients.engine import tool_command
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason
from tlstax.topics.flames import COUNT_NAME, FlameGraph

NAME = "tlstax-tools flames"

LEAST_PERCENT = 0.1
"""Narrower frames are left out: on a screen they are less than a pixel, and they are most of the file."""

DRAWING_TIMEOUT_S = 60


def draw(graph: FlameGraph) -> str:
    """The graph's SVG. Raises MachineFault where the program is missing or fails."""
    command = [
        *tool_command("flames"),
        f"--title={graph.title}",
        f"--subtitle={graph.subtitle}",
        f"--count-name={COUNT_NAME}",
        f"--min-width={LEAST_PERCENT}",
        *(["--differential"] if graph.differential else []),
    ]
    try:
        done = subprocess.run(
            command, input=graph.text().encode(), capture_output=True, check=False, timeout=DRAWING_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineFault(f"{NAME} could not draw a flame graph ({reason(error)})") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().removeprefix(f"{NAME}: ")
        raise MachineFault(f"{NAME} could not draw a flame graph ({said or f'status {done.returncode}'})")
    return done.stdout.decode()
