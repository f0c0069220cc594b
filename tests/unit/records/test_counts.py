"""What clients opened, added up and taken apart, by kind of handshake and way of logging in."""

from __future__ import annotations

from tlstax.contract import Counts, Handshakes
from tlstax.contract.event import less, total

NOTHING = Counts(connections=0, handshakes=(), authentications={})


def opened(full: int, resumed: int = 0) -> Counts:
    def kind(count: int, *, again: bool) -> Handshakes:
        return Handshakes(
            version="TLSv1.3",
            cipher="TLS_AES_256_GCM_SHA384",
            group="X25519",
            resumed=again,
            hello_retry=False,
            count=count,
        )

    kinds = ((full, False), (resumed, True))
    return Counts(
        connections=full + resumed,
        handshakes=tuple(kind(count, again=again) for count, again in kinds if count),
        authentications={"fast": full + resumed},
    )


def test_a_sum_has_each_kind_once() -> None:
    assert total([]) == NOTHING
    assert total([opened(2), opened(3, 4), NOTHING]) == opened(5, 4)


def test_a_part_that_is_taken_leaves_the_rest_by_kind() -> None:
    assert less(opened(5, 4), opened(4)) == opened(1, 4)
    assert less(opened(5, 4), opened(5, 4)) == NOTHING
    assert less(opened(4), opened(5, 4)) == NOTHING
    assert less(total([opened(2), opened(3, 4)]), opened(3, 4)) == opened(2)
