"""What perf might print, changed at random: `python tests/campaigns/perf_text.py COUNT SEED`.

COUNT texts are cut out of recorded ones (tests/unit/records/profiles/recorded) and changed in a few places,
drawn from SEED: signs doubled and moved, brackets and digits put in, lines lost. Each must be read, in time,
without an exception, and no sample may be counted that is not in it. What was tried and lost is printed;
anything lost makes the status 1.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tlstax.records.profiles.perf_script import parse
from tlstax.records.profiles.stacks import Side, frames

RECORDED = Path(__file__).parents[1] / "unit" / "profiles" / "recorded"
PIDS: dict[int, Side] = {4001: "server", 4002: "client"}
WITHIN_S = 2.0
"""Several times what the longest of these texts takes on a busy machine."""

LONGEST = 1500
"""Samples longer than that are left out: they show no more, and take longer."""

AWKWARD = (
    *"()<>[]{};: \t\r\n\0\"'&#@.~-",
    *("ffffffffffffffff", "[unknown]", "operator", "(anonymous namespace)", " (deleted)", "const", ".part.0"),
    *("4001", "²", "٣", "\u2028", "\udcff", "PERF_RECORD_LOST lost ", "9" * 50, "0", "_start", " for "),
)


def samples() -> list[str]:
    """Each recorded sample, with the line's end behind it."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(RECORDED.glob("perf-script-*.txt"))]
    found = (sample for text in texts for sample in text.split("\n\n") if sample.strip())
    return [sample + "\n\n" for sample in found if len(sample) < LONGEST]


def put_in(text: str, chance: random.Random) -> str:
    """Something awkward at some place, sometimes many times."""
    place = chance.randint(0, len(text))
    times = chance.choice((1, 1, 1, 2, 10)) if chance.random() < 0.995 else 10_000
    return text[:place] + chance.choice(AWKWARD) * times + text[place:]


def cut_out(text: str, chance: random.Random) -> str:
    """Less of it."""
    place = chance.randint(0, len(text))
    return text[:place] + text[place + chance.choice((1, 1, 3, 20, 200)) :]


def repeat(text: str, chance: random.Random) -> str:
    """A piece of it several times."""
    place = chance.randint(0, len(text))
    piece = text[place : place + chance.randint(1, 40)]
    return text[:place] + piece * (chance.choice((2, 10)) if chance.random() < 0.99 else 500) + text[place:]


CHANGES: tuple[Callable[[str, random.Random], str], ...] = (put_in, put_in, cut_out, repeat)


def changed(all_samples: list[str], chance: random.Random) -> str:
    """One to three samples, with up to four changes."""
    text = "".join(chance.choices(all_samples, k=chance.randint(1, 3)))
    for _ in range(chance.randint(0, 4)):
        text = chance.choice(CHANGES)(text, chance)
    return text


def check(text: str) -> str:
    """What is wrong with how the text is read; empty where nothing is."""
    lines = text.splitlines(keepends=True)
    begun = time.perf_counter()
    try:
        found = parse(lines, PIDS)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    took_s = time.perf_counter() - begun
    counted = sum(side.samples for side in found.sides.values())
    if counted > sum(line.strip().lstrip("0") in {"4001", "4002"} for line in lines):
        return "samples were counted that are not there"
    for side in found.sides.values():
        for stack in side.stacks:
            if any(not frame.library for frame in frames(stack)):
                return f"a frame without a library in {stack!r}"
    return f"it took {took_s:.1f} s" if took_s > WITHIN_S else ""


def main(count: int, seed: int) -> int:
    """Try N texts; 1 where one was not read as it must be."""
    all_samples, chance = samples(), random.Random(seed)  # noqa: S311 - repeatable, not secret
    lost = 0
    for number in range(count):
        text = changed(all_samples, chance)
        if wrong := check(text):
            lost += 1
            sys.stdout.write(f"text {number} of seed {seed}: {wrong[:300]}: {text[:300]!r}\n")
    sys.stdout.write(f"{count:,} texts were read, {lost} of them not as they must be (seed {seed})\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
