//! What all connections of a job have in common, and what the connections of one thread share.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use fastrand::Rng;
use tlstax_contract::{ErrorKind, Fault, Negotiated, TlsLibrary};
use tlstax_tls::{Context, Library};
use tlstax_wire::LoginConfig;

use crate::failure::Failure;
use crate::full_load::Meter;
use crate::meeting::Meeting;
use crate::recorder::Recorder;
use crate::script::Script;
use crate::socket::Target;
use crate::supply::Supply;

/// Encryption as the job asks for it.
#[derive(Debug)]
pub struct TlsTerms {
    /// Settings and trusted certificates, read once.
    pub context: Context,
    /// The name to send and to check.
    pub server_name: Option<String>,
    /// Whether sessions are taken up again.
    pub resumption: bool,
}

/// What all connections of a job have in common.
#[derive(Debug)]
pub struct Shared {
    /// What they do.
    pub script: Script,
    /// What they draw from, all of them.
    pub supply: Supply,
    /// Where they go.
    pub target: Target,
    /// Whom they log in as.
    pub login: Arc<LoginConfig>,
    /// How they are encrypted; none in the clear.
    pub tls: Option<TlsTerms>,
    /// The TLS library of this job; in the clear it is loaded only when the server wants a password
    /// encrypted with its RSA key.
    pub library: OnceLock<Library>,
    /// Notes what is done under full load; none where the job does not ask.
    pub full_load: Option<Meter>,
    /// Where the threads of a storm meet.
    pub meeting: Meeting,
    /// Where they come from, in turn.
    pub sources: Vec<IpAddr>,
    /// After how long a silent server is given up.
    pub timeout_ns: u64,
}

impl Shared {
    /// The TLS library of encrypted connections, as the contract tells of it; none in the clear.
    pub fn tls_library(&self) -> Option<TlsLibrary> {
        let library = self.tls.as_ref().and_then(|_| self.library.get())?;
        Some(TlsLibrary {
            version: library.version_text().to_owned(),
            libssl_path: library.libssl_path().to_owned(),
            libcrypto_path: library.libcrypto_path().to_owned(),
        })
    }

    /// The TLS library, loaded when it was not yet.
    ///
    /// # Errors
    /// The machine has none that can be used.
    pub fn library(&self) -> Result<&Library, Failure> {
        if self.library.get().is_none() {
            let loaded = Library::load(None)?;
            // Another thread may have been faster; both loaded the same.
            let _ = self.library.set(loaded);
        }
        let missing = || Failure::new(ErrorKind::Internal, Fault::Client, "no TLS library");
        self.library.get().ok_or_else(missing)
    }
}

/// What the connections of one thread share.
#[derive(Debug)]
pub struct Desk {
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
}

/// Of results that take so much memory no more are kept: a few of whole tables are enough.
const ENOUGH_SAMPLE_BYTES: usize = 1 << 20;

impl Desk {
    /// The source address of the next connection.
    pub fn take_source(&mut self, sources: &[IpAddr]) -> Option<IpAddr> {
        let source = sources
            .get(self.next_source % sources.len().max(1))
            .copied();
        self.next_source = self.next_source.wrapping_add(1);
        source
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
