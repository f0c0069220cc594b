//! The dispatch against a server of arithmetic: no socket, no clock, exact expectations.

use fastrand::Rng;
use tlstax_contract::Arrivals;

use super::*;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const SERVICE: u64 = 100 * US;
const PAUSE: u64 = SECOND;
const RESUME: u64 = SECOND + 500 * MS;
const WINDOW: u64 = 2 * SECOND;
const STAGE: Stage = Stage {
    end_ns: WINDOW,
    give_up_ns: 2 * WINDOW,
};
const RATE_PER_S: f64 = 1000.0;
const TIMEOUT: u64 = 60 * SECOND;

/// A server that works on every connection at once and stands still between two times.
struct Server {
    pause_ns: u64,
    resume_ns: u64,
    answers: Vec<(u64, usize)>,
}

impl Server {
    fn ask(&mut self, index: usize, now_ns: u64) {
        let undisturbed = now_ns + SERVICE;
        let answer_ns = if now_ns >= self.resume_ns || undisturbed <= self.pause_ns {
            undisturbed
        } else {
            let done_before = self.pause_ns.saturating_sub(now_ns);
            self.resume_ns + SERVICE - done_before
        };
        self.answers.push((answer_ns, index));
    }

    fn take_answer(&mut self, now_ns: u64) -> Option<usize> {
        let place = self.answers.iter().position(|&(at, _)| at <= now_ns)?;
        Some(self.answers.remove(place).1)
    }
}

/// What came of a stage: of each operation when it was due and how long it took, in the order of the
/// answers, and how late it was started, in the order of the starts.
#[derive(Default)]
struct Written {
    answered: Vec<(u64, u64)>,
    start_delays: Vec<u64>,
    waits_of_skipped: Vec<u64>,
    ended_ns: u64,
}

impl Written {
    fn at_least(&self, latency_ns: u64) -> usize {
        let slow = |answer: &&(u64, u64)| answer.1 >= latency_ns;
        self.answered.iter().filter(slow).count()
    }

    fn note(&mut self, start: Start, now_ns: u64) {
        self.start_delays.push(now_ns - start.due_ns);
    }
}

/// N connections, all idle.
fn idle(connections: usize) -> Dispatch {
    let mut dispatch = Dispatch::new(connections, TIMEOUT);
    for index in 0..connections {
        dispatch.engage(index, 0, 0);
        dispatch.release(index);
        dispatch.park(index);
    }
    dispatch
}

/// A stage from 0 to [`WINDOW`], driven as the worker does: whatever happens next, happens, and time
/// goes on to the next thing.
fn driven(connections: usize, schedule: Option<OpenSchedule>, pause: (u64, u64)) -> Written {
    let mut dispatch = idle(connections);
    let mut server = Server {
        pause_ns: pause.0,
        resume_ns: pause.1,
        answers: Vec::new(),
    };
    dispatch.begin(STAGE, schedule);
    let (mut written, mut now) = (Written::default(), 0);
    loop {
        while let Some(index) = server.take_answer(now) {
            let took = dispatch.answered(index, now);
            written.answered.push((now - took, took));
            if let Some(start) = dispatch.next_on(index, now) {
                written.note(start, now);
                server.ask(index, now);
            }
        }
        while let Some(start) = dispatch.next(now) {
            written.note(start, now);
            server.ask(start.index, now);
        }
        if dispatch.is_over(now) {
            break;
        }
        let answer = server.answers.iter().map(|&(at, _)| at).min();
        let next = answer.into_iter().chain(dispatch.next_due_ns()).min();
        now = next.expect("a stage that is not over has something to wait for");
    }
    written.waits_of_skipped = std::iter::from_fn(|| dispatch.skip(now)).collect();
    written.ended_ns = now;
    written
}

fn every_millisecond() -> OpenSchedule {
    let rng = Rng::with_seed(1);
    OpenSchedule::new(RATE_PER_S, Arrivals::Uniform, 1.0, (0, WINDOW), rng)
}

/// What an operation due at `due_ns` must take when the server stands still from [`PAUSE`] to
/// [`RESUME`]. Those due from the pause on queue in their order; then as many at a time as there are
/// connections take one service time, until none is late.
fn expected_ns(connections: u64, due_ns: u64) -> u64 {
    if due_ns < PAUSE {
        return SERVICE;
    }
    let place = (due_ns - PAUSE) / MS;
    let answer_ns = RESUME + (place / connections + 1) * SERVICE;
    answer_ns.saturating_sub(due_ns).max(SERVICE)
}

fn assert_as_expected(connections: u64, written: &Written) {
    // One operation a millisecond, the first after a millisecond, none at the window's end.
    let due: Vec<u64> = (1..2000).map(|place| place * MS).collect();
    let mut answered = written.answered.clone();
    answered.sort_unstable();
    let expected: Vec<_> = due
        .iter()
        .map(|&due| (due, expected_ns(connections, due)))
        .collect();
    assert_eq!(answered, expected);
    assert_eq!(written.waits_of_skipped, Vec::<u64>::new());
}

#[test]
fn an_open_loop_shows_a_pause_to_all_that_was_due_in_it() {
    // The k-th operation due in the pause takes 500.1 ms - k * 1 ms + k / connections * 0.1 ms.
    for (connections, half_of_it_or_more) in [(1, 278), (8, 254)] {
        let written = driven(connections, Some(every_millisecond()), (PAUSE, RESUME));
        assert_as_expected(connections as u64, &written);
        assert_eq!(written.at_least(250 * MS), half_of_it_or_more);
        assert_eq!(written.at_least(500 * MS + SERVICE), 1);
    }
}

#[test]
fn a_closed_loop_shows_the_same_pause_to_one_operation_a_connection() {
    for connections in [1, 8] {
        let written = driven(connections, None, (PAUSE, RESUME));
        assert_eq!(written.at_least(SERVICE + 1), connections);
        assert_eq!(written.at_least(500 * MS + SERVICE), connections);
        let served = (WINDOW - (RESUME - PAUSE)) / SERVICE;
        assert_eq!(written.answered.len() as u64, served * connections as u64);
        assert!(written.start_delays.iter().all(|delay| *delay == 0));
    }
}

#[test]
fn how_late_operations_start_is_what_they_take_beyond_their_service() {
    let written = driven(1, Some(every_millisecond()), (PAUSE, RESUME));
    // One connection answers in the order in which it starts.
    let beyond: Vec<_> = written
        .answered
        .iter()
        .map(|(_, took)| took - SERVICE)
        .collect();
    let differ = |place: &usize| written.start_delays[*place] != beyond[*place];
    // But for the one that was being served when the server stopped: it had started in time.
    assert_eq!((0..1999).filter(differ).collect::<Vec<_>>(), [999]);
    assert_eq!((written.start_delays[999], beyond[999]), (0, 500 * MS));
}

#[test]
fn connections_to_spare_keep_the_schedule() {
    let written = driven(2, Some(every_millisecond()), (WINDOW, WINDOW));
    assert_eq!(written.start_delays, [0; 1999]);
    assert_eq!(written.ended_ns, 1999 * MS + SERVICE);
}

#[test]
fn late_work_is_still_done_after_the_window() {
    let pause = WINDOW - 100 * MS;
    let written = driven(8, Some(every_millisecond()), (pause, pause + 500 * MS));
    assert_eq!(written.answered.len(), 1999);
    assert_eq!(written.waits_of_skipped, Vec::<u64>::new());
    // All of the last hundred: the one due last waited the least, 401 ms and the queue before it.
    assert_eq!(written.at_least(401 * MS), 100);
    assert_eq!(
        written.ended_ns,
        pause + 500 * MS + 100_u64.div_ceil(8) * SERVICE
    );
}

#[test]
fn what_cannot_be_started_in_time_has_waited_until_the_end() {
    let resume = 10 * SECOND;
    let written = driven(8, Some(every_millisecond()), (PAUSE, resume));
    assert_eq!(written.answered.len(), 999 + 8);
    assert_eq!(written.ended_ns, resume + SERVICE);
    let waits: Vec<u64> = (1008..2000)
        .map(|due| resume + SERVICE - due * MS)
        .collect();
    assert_eq!(written.waits_of_skipped, waits);
}

#[test]
fn a_connection_that_fails_while_it_is_idle_starts_nothing_until_it_has_rested() {
    let mut dispatch = idle(2);
    dispatch.begin(STAGE, Some(every_millisecond()));
    assert!(dispatch.rest(0, 0));
    let start = dispatch.next(MS);
    assert_eq!(start.map(|start| start.index), Some(1));
    assert_eq!(dispatch.next(2 * MS), None);
    assert_eq!(dispatch.rested(REST_NS - 1), None);
    assert_eq!(dispatch.rested(REST_NS), Some(0));
    let start = dispatch.next_on(0, REST_NS);
    assert_eq!(
        start,
        Some(Start {
            index: 0,
            due_ns: 2 * MS
        })
    );
}

#[test]
fn a_connection_is_started_once_though_it_became_idle_twice() {
    let mut dispatch = idle(1);
    dispatch.begin(STAGE, Some(every_millisecond()));
    dispatch.rest(0, 0);
    assert_eq!(dispatch.rested(REST_NS), Some(0));
    dispatch.park(0);
    assert!(dispatch.next(REST_NS).is_some());
    assert_eq!(dispatch.next(REST_NS), None);
}

#[test]
fn nothing_is_looked_for_at_once_when_the_stage_is_over() {
    let mut dispatch = idle(2);
    dispatch.begin(STAGE, None);
    dispatch.rest(0, 0);
    assert_eq!(dispatch.next_look_ns(MS), REST_NS);
    assert_eq!(dispatch.next_look_ns(WINDOW), WINDOW + TICK_NS);
    assert_eq!(dispatch.rested(WINDOW), None);
}

#[test]
fn a_stage_in_which_all_rest_is_over_in_time_and_they_go_on_in_the_next() {
    let mut dispatch = idle(1);
    let stage = |start_ns: u64| Stage {
        end_ns: start_ns + 5 * MS,
        give_up_ns: start_ns + 5 * MS,
    };
    dispatch.begin(stage(0), None);
    dispatch.rest(0, MS);
    assert!(!dispatch.is_over(2 * MS));
    assert_eq!(dispatch.next_look_ns(2 * MS), 5 * MS);
    assert!(dispatch.is_over(5 * MS));
    dispatch.begin(stage(40 * MS), None);
    assert_eq!(dispatch.rested(40 * MS), Some(0));
}

#[test]
fn failures_are_in_a_row_however_many_stages_they_take() {
    let mut dispatch = idle(1);
    for attempt in 1..=HOPELESS {
        dispatch.begin(STAGE, None);
        dispatch.engage(0, 0, 0);
        assert_eq!(dispatch.rest(0, 0), attempt < HOPELESS, "attempt {attempt}");
    }
}

#[test]
fn a_server_is_given_up_after_many_failures_and_no_success() {
    let mut dispatch = idle(1);
    dispatch.begin(STAGE, None);
    for attempt in 0..2 * HOPELESS {
        dispatch.engage(0, 0, 0);
        if attempt == HOPELESS / 2 {
            dispatch.answered(0, 0);
            continue;
        }
        let last = HOPELESS / 2 + HOPELESS;
        assert_eq!(dispatch.rest(0, 0), attempt < last, "attempt {attempt}");
        if attempt == last {
            return;
        }
    }
}

#[test]
fn silence_is_overdue_after_the_timeout_and_found_at_the_next_tick() {
    let mut dispatch = idle(2);
    dispatch.begin(STAGE, None);
    assert_eq!(dispatch.next(0).map(|start| start.index), Some(0));
    assert_eq!(dispatch.overdue(TIMEOUT), None);
    assert_eq!(dispatch.overdue(TIMEOUT + 1), None);
    assert_eq!(dispatch.overdue(TIMEOUT + TICK_NS), Some(0));
    dispatch.rest(0, TIMEOUT + TICK_NS);
    assert_eq!(dispatch.overdue(TIMEOUT + TICK_NS), None);
}

#[test]
fn when_something_is_used_up_nothing_more_is_started_and_nothing_was_skipped() {
    for schedule in [None, Some(every_millisecond())] {
        let mut dispatch = idle(2);
        dispatch.begin(STAGE, schedule);
        let now = 5 * MS;
        let first = dispatch.next(now).expect("something is due").index;
        let second = dispatch.next(now).expect("something is due").index;
        dispatch.end_with(second);
        assert_eq!(dispatch.next(now), None);
        assert!(!dispatch.is_over(now), "the first is still under way");
        dispatch.answered(first, now + SERVICE);
        assert_eq!(dispatch.next_on(first, now + SERVICE), None);
        assert!(dispatch.is_over(now + SERVICE));
        assert_eq!(dispatch.skip(now + SERVICE), None);
    }
}

#[test]
fn who_was_refused_goes_on_at_once_unless_nobody_ever_succeeds() {
    let mut dispatch = idle(1);
    dispatch.begin(STAGE, None);
    for attempt in 1..=HOPELESS {
        assert_eq!(dispatch.next_on(0, 0).map(|start| start.index), Some(0));
        assert_eq!(dispatch.refused(0), attempt < HOPELESS, "attempt {attempt}");
    }
}

#[test]
fn a_storm_is_given_up_when_as_many_have_failed_in_a_row_as_there_are_connections() {
    for (connections, patience) in [(3, HOPELESS), (250, 250)] {
        let mut dispatch = idle(connections);
        for failed in 1..=patience {
            let index = failed as usize % connections;
            dispatch.engage(index, 0, 0);
            assert_eq!(dispatch.drop_out(index), failed < patience, "{failed}");
        }
        assert_eq!(dispatch.working(), 0);
        dispatch.engage(0, 0, 0);
        dispatch.answered(0, MS);
        assert!(dispatch.drop_out(0), "one that was open is no reason");
        assert_eq!(dispatch.working(), 0);
    }
}

#[test]
fn connections_that_are_staggered_begin_one_after_the_other() {
    let mut dispatch = idle(4);
    dispatch.begin(STAGE, None);
    dispatch.stagger(MS, 8 * MS);
    let first = dispatch.next(MS).unwrap().index;
    assert_eq!(dispatch.next(MS), None);
    assert!(!dispatch.is_over(MS));
    let mut begun = vec![first];
    for at_ms in [3, 5, 7] {
        assert_eq!(dispatch.next_look_ns(MS), at_ms * MS);
        assert_eq!(dispatch.rested(at_ms * MS - 1), None);
        let index = dispatch.rested(at_ms * MS).unwrap();
        assert_eq!(dispatch.next_on(index, at_ms * MS).unwrap().index, index);
        begun.push(index);
    }
    begun.sort_unstable();
    assert_eq!(begun, [0, 1, 2, 3]);
    assert_eq!(dispatch.working(), 4);
}

#[test]
fn nobody_is_staggered_beside_one_that_rests_after_a_failure() {
    let mut dispatch = idle(3);
    dispatch.begin(STAGE, None);
    let failing = dispatch.next(0).unwrap().index;
    dispatch.rest(failing, 0);
    dispatch.stagger(MS, 8 * MS);
    assert!(dispatch.next(MS).is_some() && dispatch.next(MS).is_some());
}
