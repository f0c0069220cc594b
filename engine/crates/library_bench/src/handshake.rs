//! A connection from nothing to nothing, full or resumed.

use tlstax_tls::{
    Config, Library, MemoryBuffer, MemoryContext, MemoryEnd, MemorySession, Negotiated, Role,
    TlsError,
};

use crate::sides::Sides;
use crate::subject::{Contexts, Subject};

/// How often either side has its say before a handshake that is not over is given up.
const MOST_STEPS: u32 = 10;

/// A connection that is made again and again.
pub struct Handshake {
    library: Library,
    contexts: Contexts,
    session: Option<MemorySession>,
    /// What the client makes a context of for each connection; none where one is for all.
    fresh: Option<Config>,
    negotiated: Negotiated,
}

/// Both ends of a connection.
pub struct Connected {
    pub client: MemoryEnd,
    pub server: MemoryEnd,
}

impl Handshake {
    /// Shakes hands once, or twice where the second is to be `resumed`.
    pub fn new(
        library: Library,
        contexts: Contexts,
        resumed: bool,
        fresh: Option<Config>,
    ) -> Result<Self, TlsError> {
        let first = connect(library, &contexts, None, &mut Sides::default())?;
        let mut this = Self {
            library,
            contexts,
            session: None,
            fresh,
            negotiated: first.client.negotiated(),
        };
        if resumed {
            this.session = first.client.session();
            let session = this.session.as_ref();
            let second = connect(library, &this.contexts, session, &mut Sides::default())?;
            this.negotiated = second.client.negotiated();
            check(this.negotiated.resumed)?;
        }
        Ok(this)
    }
}

impl Subject for Handshake {
    fn work(&mut self, sides: &mut Sides) -> Result<u64, TlsError> {
        let mut contexts = self.contexts.clone();
        if let Some(config) = &self.fresh {
            contexts.client =
                sides.client(|| MemoryContext::new(self.library, Role::Client, config))?;
        }
        let session = self.session.as_ref();
        let Connected { client, server } = connect(self.library, &contexts, session, sides)?;
        check(client.is_resumed() == self.session.is_some())?;
        sides.client(|| drop((client, contexts.client)));
        sides.server(|| drop(server));
        Ok(1)
    }

    fn negotiated(&self) -> Option<&Negotiated> {
        Some(&self.negotiated)
    }
}

/// Makes both ends and has them shake hands; the client takes in what the server sends unasked, which in TLS
/// 1.3 are its session tickets (RFC 8446, section 4.6.1).
pub fn connect(
    library: Library,
    contexts: &Contexts,
    session: Option<&MemorySession>,
    sides: &mut Sides,
) -> Result<Connected, TlsError> {
    let (mut client, to_server, to_client) = sides.client(|| {
        let to_server = MemoryBuffer::new(library)?;
        let to_client = MemoryBuffer::new(library)?;
        let mut client = MemoryEnd::new(&contexts.client, &to_client, &to_server, session)?;
        client.handshake()?;
        Ok::<_, TlsError>((client, to_server, to_client))
    })?;
    let (mut server, mut server_done) = sides.server(|| {
        let mut server = MemoryEnd::new(&contexts.server, &to_server, &to_client, None)?;
        let done = server.handshake()?;
        Ok::<_, TlsError>((server, done))
    })?;
    let mut client_done = false;
    for _ in 0..MOST_STEPS {
        if client_done && server_done {
            break;
        }
        client_done = sides.client(|| client.handshake())?;
        if !server_done {
            server_done = sides.server(|| server.handshake())?;
        }
    }
    if !(client_done && server_done) {
        return Err(unfinished("it did not come to an end"));
    }
    sides.client(|| client.read(&mut [0; 16]))?;
    Ok(Connected { client, server })
}

fn check(as_asked: bool) -> Result<(), TlsError> {
    if as_asked {
        Ok(())
    } else {
        Err(unfinished(
            "a session was resumed where none may be, or was not",
        ))
    }
}

fn unfinished(reason: &str) -> TlsError {
    TlsError::Library {
        operation: "a handshake",
        reason: reason.to_owned(),
    }
}
