//! What all connections of a job have in common, and what the connections of one thread share.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use fastrand::Rng;
use tlstax_client::Access;
use tlstax_contract::Negotiated;

use crate::barrier::Barrier;
use crate::full_load::Meter;
use crate::lingering::Lingering;
use crate::recorder::Recorder;
use crate::script::Script;
use crate::session::ScramKeys;
use crate::supply::Supply;

/// What all connections of a job have in common.
#[derive(Debug)]
pub struct Shared {
    /// What they do.
    pub script: Script,
    /// What they draw from, all of them.
    pub supply: Supply,
    /// How they come to the server.
    pub access: Access,
    /// Notes what is done under full load; none where the job does not ask.
    pub full_load: Option<Meter>,
    /// Where the threads of a storm wait for each other.
    pub barrier: Barrier,
    /// Of how many the server may not have closed its end yet when another is opened; none where nobody looks.
    pub lingering: Option<u32>,
    /// How many threads there are.
    pub threads: u32,
    /// After how long a silent server is given up.
    pub timeout_ns: u64,
}

impl Shared {
    /// What a thread may have of `lingering`; none where nobody looks. Threads share it as they share connections.
    pub fn lingering_of(&self, number: usize) -> Option<usize> {
        self.lingering.map(|most| share(most, self.threads, number))
    }
}

/// What the thread with this number has of what all share as evenly as can be.
pub fn share(all: u32, threads: u32, number: usize) -> usize {
    (all / threads) as usize + usize::from(number < (all % threads) as usize)
}

/// What the connections of one thread share.
#[derive(Debug)]
pub struct ThreadState {
    /// What all threads have in common.
    pub shared: Arc<Shared>,
    /// Tells which socket is ready.
    pub epoll: OwnedFd,
    /// Where answers are read to.
    pub buffer: Vec<u8>,
    /// Where the thread writes down what happens.
    pub recorder: Recorder,
    /// The thread's own chance.
    pub rng: Rng,
    /// What both sides said of the connections asked.
    pub proofs: Vec<Negotiated>,
    /// What the server's greeting said.
    pub server_version: String,
    /// Which source address is next.
    pub next_source: usize,
    /// Results still wanted for checking.
    pub samples_wanted: usize,
    /// The operation whose result is kept next.
    pub next_sample_at: u64,
    /// Memory that the results kept so far take.
    pub sample_bytes: usize,
    /// What SCRAM has hashed of the account's password so far.
    pub scram_keys: ScramKeys,
    /// What was closed and the server has not yet; none where that is of no interest.
    pub lingering: Option<Lingering>,
}

/// Results are kept up to this much memory: a few of whole tables are enough.
const ENOUGH_SAMPLE_BYTES: usize = 1 << 20;

impl ThreadState {
    /// The source address of the next connection.
    pub fn take_source(&mut self) -> Option<IpAddr> {
        let sources = &self.shared.access.sources;
        let source = sources
            .get(self.next_source % sources.len().max(1))
            .copied();
        self.next_source = self.next_source.wrapping_add(1);
        source
    }

    /// Whether the server was promised no fewer connections than there are when another is opened.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.lingering.as_ref().is_none_or(Lingering::leaves_room)
    }

    /// Whether this operation's rows are to be kept. Kept ones lie ever further apart, so that
    /// a few spread over a run of any length.
    pub fn take_sample(&mut self) -> bool {
        let take = self.samples_wanted > 0
            && self.recorder.scheduled >= self.next_sample_at
            && self.sample_bytes < ENOUGH_SAMPLE_BYTES;
        if take {
            self.samples_wanted -= 1;
            self.next_sample_at = self.next_sample_at * 2 + 1;
        }
        take
    }
}
