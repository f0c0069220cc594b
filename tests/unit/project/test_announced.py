"""What the campaign of kills takes for measured: by the screen of a run, what must be in its store."""

import pytest
from announced import over, takes_turns

SITTING = (
    "block 1, trial 1 of 4: plaintext\nblock 1, trial 2 of 4: TLS 1.3\n",
    "block 1, trial 2 of 4: 2 cases take turns\n",
    "block 1, trial 3 of 4: plaintext, profiled\n",
    "block 1, trial 4 of 4: TLS 1.3, profiled\n",
    "block 2, trial 1 of 4: plaintext\nblock 2, trial 2 of 4: TLS 1.3\n",
    "block 2, trial 2 of 4: 2 cases take turns\n",
    "block 2, trial 3 of 4: plaintext, profiled\n",
)


@pytest.mark.parametrize(("lines", "least"), [(0, 0), (1, 0), (2, 0), (3, 2), (4, 2), (5, 2), (6, 2), (7, 6)])
def test_clients_that_sit_down_are_not_over(lines: int, least: int) -> None:
    shown = "".join(SITTING[:lines])
    assert over(shown, in_turns=True) == least
    assert takes_turns(shown) == (lines >= 2)


def test_a_trial_by_itself_is_over_when_the_next_begins() -> None:
    shown = "".join(f"block {block}, trial {trial} of 2: TLS 1.3\n" for block in (1, 2) for trial in (1, 2))
    assert over(shown, in_turns=False) == 3
    assert over("", in_turns=False) == 0
    assert not takes_turns(shown)
