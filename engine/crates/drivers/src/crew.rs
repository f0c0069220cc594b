//! All connections of a job: set to do the same, or to work until a time, and handed operations for it.

use std::time::{Duration, Instant};

use tlstax_client::clock::{nanoseconds, now_ns, seconds};
use tlstax_contract::{ErrorKind, Job};

use crate::adapter::{Adapter, Answer};
use crate::laboratory::Laboratory;
use crate::stock::Drawing;
use crate::terms::batch_of;
use crate::trouble::Trouble;

/// This many failures in a row end the job (contract/README.md).
const FAILURES_IN_A_ROW: u32 = 100;
/// No order to work lasts longer: then it is known what was done, and that the connection is not stuck.
const LONGEST_WORK_NS: u64 = 1_000_000_000;
/// What an adapter may take for what has nothing to do with a server.
const OWN_WORK: Duration = Duration::from_secs(120);
/// The least that is handed over.
const FEWEST: u64 = 16;
/// The most operations that wait in an adapter, and the most bytes of a body.
const MOST: u64 = 200_000;
const LONGEST_BODY: u64 = 8 << 20;
/// The room that a stock has above what was used in as much time.
const ROOM: f64 = 1.5;

/// What a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Nothing,
    Filling,
    Working { until_ns: u64 },
}

/// A connection as the host sees it.
#[derive(Debug)]
struct Hand {
    doing: Doing,
    since_ns: u64,
    /// Operations in the adapter's stock.
    stock: u64,
    /// Operations taken of it in this slice.
    used: u64,
    /// Finished operations of which the times were not handed over yet.
    finished: u64,
    /// Whether no times were handed over yet.
    is_fresh: bool,
}

/// The times of what a connection has finished.
#[derive(Debug)]
pub struct Report {
    /// How many operations.
    pub operations: u64,
    /// Whether they are the first on it.
    pub is_first: bool,
    /// The adapter's answer.
    pub answer: Answer,
}

/// What was done in a slice.
#[derive(Debug, Default)]
pub struct Done {
    /// Begun.
    pub started: u64,
    /// Finished.
    pub operations: u64,
    /// Begun and failed.
    pub failures: Vec<(Trouble, u64)>,
    /// When the last failure was told of, by the monotonic clock.
    pub last_failure_ns: u64,
    /// How often a stock was empty before the slice was over.
    pub refills: u64,
}

impl Done {
    /// How many operations failed.
    pub fn errors(&self) -> u64 {
        self.failures.iter().map(|(_, operations)| operations).sum()
    }
}

/// All connections.
#[derive(Debug)]
pub struct Crew {
    /// Their process.
    pub adapter: Adapter,
    /// What the laboratory says.
    pub laboratory: Laboratory,
    /// What they are to do.
    pub drawing: Drawing,
    hands: Vec<Hand>,
    timeout: Duration,
    batch: u64,
    /// Operations that may still be handed over, where there is a limit.
    left: Option<u64>,
    in_a_row: u32,
}

impl Crew {
    /// Of an adapter that has said what it takes.
    pub fn new(adapter: Adapter, laboratory: Laboratory, drawing: Drawing, job: &Job) -> Self {
        let hands = (0..job.connections).map(|_| Hand {
            doing: Doing::Nothing,
            since_ns: 0,
            stock: 0,
            used: 0,
            finished: 0,
            is_fresh: true,
        });
        Self {
            adapter,
            laboratory,
            drawing,
            hands: hands.collect(),
            timeout: Duration::from_secs_f64(job.timeout_s),
            batch: batch_of(job).into(),
            left: None,
            in_a_row: 0,
        }
    }

    /// How many there are.
    pub fn connections(&self) -> usize {
        self.hands.len()
    }

    /// Gives an order to every connection and waits for all answers, in the connections' order. An order that has
    /// to do with the server is answered within the job's timeout.
    ///
    /// # Errors
    /// The first failure that one of them tells of, or that it does not answer.
    pub fn all(&mut self, order: &str, asks_server: bool) -> Result<Vec<Answer>, Trouble> {
        let order = order.as_bytes();
        for channel in &mut self.adapter.channels {
            channel.order(order);
        }
        let of: Vec<usize> = (0..self.connections()).collect();
        self.wait(of, asks_server)
    }

    /// Gives an order to one connection, with a body, and waits for its answer.
    ///
    /// # Errors
    /// As of [`Self::all`].
    pub fn one(
        &mut self,
        number: usize,
        order: &str,
        body: &[u8],
        asks_server: bool,
    ) -> Result<Answer, Trouble> {
        self.adapter.channels[number].order(&[order.as_bytes(), body].concat());
        let mut answers = self.wait(vec![number], asks_server)?;
        answers
            .pop()
            .ok_or_else(|| Trouble::new(ErrorKind::Internal, "no answer"))
    }

    /// The rows of a statement by itself, on one connection.
    ///
    /// # Errors
    /// As of [`Self::all`].
    pub fn rows(&mut self, number: usize, sql: &str) -> Result<Answer, Trouble> {
        let order = format!("rows -1 {}\n", sql.len());
        self.one(number, &order, sql.as_bytes(), true)
    }

    fn wait(&mut self, mut waiting: Vec<usize>, asks_server: bool) -> Result<Vec<Answer>, Trouble> {
        let longest = if asks_server { self.timeout } else { OWN_WORK };
        let begun = Instant::now();
        let mut answers: Vec<(usize, Answer)> = Vec::new();
        while !waiting.is_empty() {
            let left = longest.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(self.silent());
            }
            for (number, answer) in self.adapter.answers(&waiting, left, &mut self.laboratory)? {
                self.adapter.check(&answer.told)?;
                waiting.retain(|waits| *waits != number);
                answers.push((number, answer));
            }
        }
        answers.sort_by_key(|(number, _)| *number);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    fn silent(&self) -> Trouble {
        let words = format!(
            "{} waited more than {} s for the server",
            self.adapter.name,
            self.timeout.as_secs_f64()
        );
        Trouble::new(ErrorKind::Timeout, words)
    }

    /// From now on N operations are started, those in stock among them.
    ///
    /// # Errors
    /// As of [`Self::all`].
    pub fn limit(&mut self, operations: u64) -> Result<(), Trouble> {
        let mut stock: u64 = self.hands.iter().map(|hand| hand.stock).sum();
        if stock > operations || self.batch > 1 {
            self.all("empty\n", false)?;
            self.hands.iter_mut().for_each(|hand| hand.stock = 0);
            stock = 0;
        }
        self.left = Some(operations - stock);
        self.drawing.limit(operations - stock);
        Ok(())
    }

    /// Fills the stocks for a slice of this length, by what was used in the last one, of that length.
    ///
    /// # Errors
    /// As of [`Self::all`].
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    pub fn fill_up(&mut self, length_s: f64, last_s: f64) -> Result<(), Trouble> {
        let share = MOST / self.connections() as u64;
        for number in 0..self.connections() {
            let hand = &self.hands[number];
            let expected = (hand.used as f64 * (length_s / last_s)).min(share as f64) as u64;
            let wanted = FEWEST + (expected as f64 * ROOM) as u64;
            if hand.stock >= FEWEST + expected || hand.stock >= wanted {
                continue;
            }
            if let Some(order) = self.drawn(number, wanted - hand.stock)? {
                self.one(number, "", &order, false)?;
            }
        }
        Ok(())
    }

    /// Fills the first connection's stock as far as it goes.
    ///
    /// # Errors
    /// As of [`Self::all`].
    pub fn fill_to_the_brim(&mut self) -> Result<(), Trouble> {
        let wanted = MOST - self.hands[0].stock.min(MOST);
        if let Some(order) = self.drawn(0, wanted)? {
            self.one(0, "", &order, false)?;
        }
        Ok(())
    }

    /// Has the first connection use up its stock until then; it is handed nothing more.
    ///
    /// # Errors
    /// What ends the job.
    pub fn work_without_more(&mut self, until_ns: u64) -> Result<Done, Trouble> {
        let answer = self.one(0, &format!("work {until_ns}\n"), &[], false)?;
        let operations = answer.number("operations");
        let hand = &mut self.hands[0];
        (hand.stock, hand.finished) = (hand.stock - operations.min(hand.stock), operations);
        Ok(Done {
            operations,
            ..Done::default()
        })
    }

    /// The order that hands N operations to a connection; none where there are none left.
    fn drawn(&mut self, number: usize, wanted: u64) -> Result<Option<Vec<u8>>, Trouble> {
        let fair = |left: u64| left.div_ceil(self.hands.len() as u64);
        let wanted = self.left.map_or(wanted, |left| wanted.min(fair(left)));
        let wanted = wanted.div_ceil(self.batch) * self.batch;
        let mut body = Vec::new();
        let mut count = 0;
        while count < wanted && (body.len() as u64) < LONGEST_BODY {
            if count > 0 {
                body.push(crate::stock::BETWEEN_OPERATIONS);
            }
            let more = (wanted - count).min(self.batch.max(1024));
            let drawn = self.drawing.draw(more, &mut body)?;
            count += drawn;
            if drawn < more {
                break;
            }
        }
        if count == 0 {
            return Ok(None);
        }
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(count);
        }
        self.hands[number].stock += count;
        let order = format!("operations {count} {}\n", body.len());
        Ok(Some([order.into_bytes(), body].concat()))
    }

    /// Has all of them work until then, by the monotonic clock; `look` is called about once a second.
    ///
    /// # Errors
    /// What ends the job.
    pub fn work(&mut self, until_ns: u64, mut look: impl FnMut(&Done)) -> Result<Done, Trouble> {
        let mut done = Done::default();
        let mut next_look_ns = now_ns() + LONGEST_WORK_NS;
        for number in 0..self.connections() {
            self.hands[number].used = 0;
            if self.hands[number].stock > 0 {
                self.send_to_work(number, until_ns);
            } else {
                self.refill(number, until_ns, &mut done)?;
            }
        }
        loop {
            let busy: Vec<usize> = (0..self.connections())
                .filter(|number| self.hands[*number].doing != Doing::Nothing)
                .collect();
            if busy.is_empty() {
                return Ok(done);
            }
            let now = now_ns();
            self.check_timeouts(now)?;
            if now >= next_look_ns {
                look(&done);
                next_look_ns = now + LONGEST_WORK_NS;
            }
            let longest = Duration::from_nanos(next_look_ns - now).min(self.timeout);
            for (number, answer) in self.adapter.answers(&busy, longest, &mut self.laboratory)? {
                self.take_answer(number, &answer, until_ns, &mut done)?;
            }
        }
    }

    fn send_to_work(&mut self, number: usize, until_ns: u64) {
        let now = now_ns();
        let until_ns = until_ns.min(now + LONGEST_WORK_NS);
        let hand = &mut self.hands[number];
        (hand.doing, hand.since_ns) = (Doing::Working { until_ns }, now);
        self.adapter.channels[number].order(format!("work {until_ns}\n").as_bytes());
    }

    /// Hands operations over within a slice: at least as many as it has used in it.
    fn refill(&mut self, number: usize, until_ns: u64, done: &mut Done) -> Result<(), Trouble> {
        let used = self.hands[number].used;
        self.hands[number].doing = Doing::Nothing;
        if now_ns() >= until_ns {
            return Ok(());
        }
        if let Some(order) = self.drawn(number, used.clamp(FEWEST, MOST))? {
            done.refills += 1;
            self.adapter.channels[number].order(&order);
            let hand = &mut self.hands[number];
            (hand.doing, hand.since_ns) = (Doing::Filling, now_ns());
        }
        Ok(())
    }

    fn take_answer(
        &mut self,
        number: usize,
        answer: &Answer,
        until_ns: u64,
        done: &mut Done,
    ) -> Result<(), Trouble> {
        let doing = std::mem::replace(&mut self.hands[number].doing, Doing::Nothing);
        if doing == Doing::Filling {
            self.adapter.check(&answer.told)?;
            self.send_to_work(number, until_ns);
            return Ok(());
        }
        let failure = self.adapter.check(&answer.told).err();
        let hand = &mut self.hands[number];
        let finished = (answer.number("operations") * self.batch).min(hand.stock);
        hand.stock -= finished;
        let failed = u64::from(failure.is_some()) * self.batch.min(hand.stock);
        hand.stock -= failed;
        hand.used += finished + failed;
        hand.finished += finished;
        done.started += finished + failed;
        done.operations += finished;
        self.in_a_row = if finished > 0 { 0 } else { self.in_a_row };
        if let Some(trouble) = failure {
            done.last_failure_ns = now_ns();
            self.in_a_row += 1;
            if trouble.is_ours() || self.in_a_row >= FAILURES_IN_A_ROW {
                return Err(trouble);
            }
            match done
                .failures
                .iter_mut()
                .find(|(known, _)| known.is_like(&trouble))
            {
                Some((_, operations)) => *operations += failed,
                None => done.failures.push((trouble, failed)),
            }
        }
        if now_ns() >= until_ns {
            return Ok(());
        }
        if self.hands[number].stock > 0 {
            self.send_to_work(number, until_ns);
            return Ok(());
        }
        self.refill(number, until_ns, done)
    }

    fn check_timeouts(&self, now: u64) -> Result<(), Trouble> {
        let longest_ns = nanoseconds(self.timeout.as_secs_f64());
        let is_late = |hand: &Hand| match hand.doing {
            Doing::Nothing => false,
            Doing::Filling => seconds(now.saturating_sub(hand.since_ns)) > OWN_WORK.as_secs_f64(),
            Doing::Working { until_ns } => {
                now.saturating_sub(until_ns.max(hand.since_ns)) > longest_ns
            }
        };
        if self.hands.iter().any(is_late) {
            return Err(self.silent());
        }
        Ok(())
    }

    /// The times of what each connection has finished since they were last asked for.
    ///
    /// # Errors
    /// As of [`Self::all`].
    pub fn reports(&mut self) -> Result<Vec<Report>, Trouble> {
        let answers = self.all("report\n", false)?;
        let reports = self.hands.iter_mut().zip(answers).map(|(hand, answer)| {
            let operations = std::mem::take(&mut hand.finished);
            let is_first = hand.is_fresh;
            hand.is_fresh &= operations == 0;
            Report {
                operations,
                is_first,
                answer,
            }
        });
        Ok(reports.collect())
    }
}
