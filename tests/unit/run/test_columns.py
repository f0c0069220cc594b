"""Columns of slices: whole ones, or what was done of each under full load."""

from __future__ import annotations

from tlstax.contract import Counts, FullLoadSpan, Slice
from tlstax.run.participant import Turn, columns_of

COUNTS = Counts(connections=0, handshakes=(), authentications={})


def part(operations: int, cpu_of_us: tuple[float, ...]) -> FullLoadSpan:
    return FullLoadSpan(
        elapsed_s=0.03, operations=operations, latency_sum_s=0.24, cpu_us=9000.0, cpu_of_us=cpu_of_us
    )


def turn(number: int, full_load: FullLoadSpan | None) -> Turn:
    done = Slice(
        elapsed_s=0.05, operations=50, latency_sum_s=0.4, cpu_us=15000.0, counts=COUNTS, full_load=full_load
    )
    return Turn(number, done, settling_s=0.001, server_cpu_us=44000.0, path_cpu_us=700.0)


def test_under_full_load_the_columns_are_what_the_client_has_read() -> None:
    turns = [turn(3, part(30, (28000.0, 200.0, 100.0))), turn(5, part(31, (29000.0, 300.0, 100.0)))]
    assert columns_of(turns, 8, of_server=True, of_path=True, of_storm=False) == {
        "rounds": (3, 5),
        "operations": (30, 31),
        "elapsed_s": (0.03, 0.03),
        "latency_sum_s": (0.24, 0.24),
        "client_cpu_us": (9000.0, 9000.0),
        "server_cpu_us": (28000.0, 29000.0),
        "path_cpu_us": (300.0, 400.0),
        "rounds_s": (),
        "finished": (50, 50),
        "lead_in": 8,
    }


def test_without_a_server_in_reach_the_clocks_are_the_paths() -> None:
    turns = [turn(3, part(30, (200.0, 100.0)))]
    assert columns_of(turns, 8, of_server=False, of_path=True, of_storm=False)["path_cpu_us"] == (300.0,)
    assert columns_of(turns, 8, of_server=False, of_path=True, of_storm=False)["server_cpu_us"] == ()
    bare = columns_of([turn(3, part(30, ()))], 8, of_server=False, of_path=False, of_storm=False)
    assert (bare["server_cpu_us"], bare["path_cpu_us"], bare["operations"]) == ((), (), (30,))


def test_of_a_slice_that_was_too_short_nothing_counts_but_what_was_finished() -> None:
    turns = [turn(0, part(30, (28000.0, 300.0))), turn(1, None), turn(2, part(32, (29000.0, 400.0)))]
    found = columns_of(turns, 8, of_server=True, of_path=True, of_storm=False)
    assert (found["operations"], found["elapsed_s"]) == ((30, 0, 32), (0.03, 0, 0.03))
    assert (found["server_cpu_us"], found["path_cpu_us"]) == ((28000.0, 0, 29000.0), (300.0, 0, 400.0))
    assert (found["latency_sum_s"], found["client_cpu_us"]) == ((0.24, 0, 0.24), (9000.0, 0, 9000.0))
    assert (found["finished"], found["rounds"], found["lead_in"]) == ((50, 50, 50), (0, 1, 2), 8)


def test_where_half_of_the_slices_were_too_short_all_are_whole() -> None:
    turns = [turn(0, part(30, (28000.0, 300.0))), turn(1, None)]
    whole = {
        "rounds": (0, 1),
        "operations": (50, 50),
        "elapsed_s": (0.051, 0.051),
        "latency_sum_s": (0.4, 0.4),
        "client_cpu_us": (15000.0, 15000.0),
        "server_cpu_us": (44000.0, 44000.0),
        "path_cpu_us": (700.0, 700.0),
        "rounds_s": (),
        "finished": (50, 50),
        "lead_in": None,
    }
    assert columns_of(turns, 8, of_server=True, of_path=True, of_storm=False) == whole
    asked_of_nobody = [turn(0, None), turn(1, None)]
    assert columns_of(asked_of_nobody, None, of_server=True, of_path=True, of_storm=False) == whole
    out_of_reach = columns_of(asked_of_nobody, None, of_server=False, of_path=False, of_storm=False)
    assert out_of_reach == {**whole, "server_cpu_us": (), "path_cpu_us": ()}


def test_a_storms_slices_have_the_time_of_their_round() -> None:
    done = turn(0, None).slice.model_copy(update={"rounds_s": (0.04,)})
    storm = Turn(0, done, settling_s=0.0, server_cpu_us=44000.0, path_cpu_us=0.0)
    assert columns_of([storm], None, of_server=True, of_path=False, of_storm=True)["rounds_s"] == (0.04,)
