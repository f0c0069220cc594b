//! What is measured, whatever it is: set up once, then worked on again and again.

use std::time::{Duration, Instant};

use tlstax_tls::{Config, Library, MemoryContext, Negotiated, Role, TlsError, Verify, Version};

use crate::WARMUP;
use crate::exchange::Exchange;
use crate::handshake::Handshake;
use crate::messages::{Asked, Ends, WireVersion};
use crate::record::Record;
use crate::sides::Sides;
use crate::signature::Signature;

const TURN: Duration = Duration::from_millis(1);
const MOST_IN_A_ROW: u64 = 64;

/// Something that either side does again and again.
pub trait Subject {
    /// Does it once or, if it is short, some times in a row; how often.
    fn work(&mut self, sides: &mut Sides) -> Result<u64, TlsError>;

    /// What its connection agreed on, where it has one.
    fn negotiated(&self) -> Option<&Negotiated>;
}

/// How often something short is done before the other side has its turn, so that both keep to themselves what
/// they need in the processor's caches: for about a millisecond. The first call is not like the others.
pub fn in_a_row(mut once: impl FnMut() -> Result<(), TlsError>) -> Result<u64, TlsError> {
    once()?;
    let began = Instant::now();
    once()?;
    let took_ns = began.elapsed().as_nanos().max(1);
    Ok(u64::try_from(TURN.as_nanos() / took_ns)
        .map_or(MOST_IN_A_ROW, |times| times.clamp(1, MOST_IN_A_ROW)))
}

/// Sets a subject up, and warms it. `Err` says why this library cannot do it.
pub fn prepare(library: Library, asked: &Asked) -> Result<Box<dyn Subject>, String> {
    let mut ready: Box<dyn Subject> = match asked {
        Asked::Handshake {
            ends,
            resumed,
            fresh_context,
        } => {
            let fresh = fresh_context.then(|| client_config(ends));
            let contexts = Contexts::new(library, ends)?;
            Box::new(Handshake::new(library, contexts, *resumed, fresh).map_err(words)?)
        }
        Asked::Record { ends, size_bytes } => Box::new(
            Record::new(library, &Contexts::new(library, ends)?, *size_bytes).map_err(words)?,
        ),
        Asked::Signature { key_file } => {
            let pem = std::fs::read(key_file).map_err(|error| error.to_string())?;
            Box::new(Signature::new(library, &pem).map_err(words)?)
        }
        Asked::Exchange { group } => Box::new(Exchange::new(library, group).map_err(words)?),
    };
    let began = Instant::now();
    while began.elapsed() < WARMUP {
        ready.work(&mut Sides::default()).map_err(words)?;
    }
    Ok(ready)
}

/// The contexts of both sides.
#[derive(Clone)]
pub struct Contexts {
    pub client: MemoryContext,
    pub server: MemoryContext,
}

impl Contexts {
    fn new(library: Library, ends: &Ends) -> Result<Self, String> {
        let server = Config {
            certificate_file: Some(ends.certificate_file.clone()),
            key_file: Some(ends.key_file.clone()),
            ..common_config(ends)
        };
        Ok(Self {
            client: MemoryContext::new(library, Role::Client, &client_config(ends))
                .map_err(words)?,
            server: MemoryContext::new(library, Role::Server, &server).map_err(words)?,
        })
    }
}

fn client_config(ends: &Ends) -> Config {
    Config {
        verify: Verify::Ca,
        ca_file: Some(ends.ca_file.clone()),
        ..common_config(ends)
    }
}

/// What both sides are set to alike.
fn common_config(ends: &Ends) -> Config {
    let version = match ends.version {
        WireVersion::Tls12 => Version::Tls12,
        WireVersion::Tls13 => Version::Tls13,
    };
    let (cipher_list, ciphersuites) = match version {
        Version::Tls13 => (None, ends.cipher.clone()),
        _ => (ends.cipher.clone(), None),
    };
    Config {
        min_version: Some(version),
        max_version: Some(version),
        groups: Some(ends.group.clone()),
        cipher_list,
        ciphersuites,
        ..Config::default()
    }
}

#[allow(clippy::needless_pass_by_value)]
fn words(error: TlsError) -> String {
    error.to_string()
}
