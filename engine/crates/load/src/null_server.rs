//! A server that does nothing: it speaks just enough of a protocol to be asked, and answers every question with the
//! same rows and everything else with OK. What a load costs against it is the client's own cost.

mod mysql;
mod postgres;

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::sockopt::set_socket_linger;

pub use mysql::MySql;
pub use postgres::Postgres;

/// What epoll calls the listener and the order to stop; no connection has these numbers.
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

/// The length of sysbench's column `c`.
pub const USUAL_ROW_BYTES: usize = 119;
/// Longer than a login packet or a statement of any job, and read piecewise if it is not.
const BUFFER_BYTES: usize = 64 << 10;

/// How statements begin that are answered with rows.
const ASKS: [&[u8]; 5] = [b"SELECT", b"SHOW", b"WITH", b"TABLE", b"VALUES"];

/// What a result has: N rows, each of one value of M bytes.
#[derive(Debug, Clone, Copy)]
pub struct Filling {
    /// How many rows.
    pub rows: usize,
    /// How long the value of each is; less than 16 MiB.
    pub row_bytes: usize,
}

/// What it says in one protocol, and how it hears a client there.
pub trait Talk: Sized {
    /// All that it ever says, ready to be written.
    type Answers: Send + 'static;

    /// These, with results that are filled so.
    fn answers(filling: Filling) -> Self::Answers;

    /// How many bytes it sends.
    fn lengths(answers: &Self::Answers) -> Lengths;

    /// Begins with a client that has connected; none when it is gone.
    fn begin(socket: &mut TcpStream, answers: &Self::Answers) -> Option<Self>;

    /// Answers every command in the input; none when there is nothing more to say.
    fn take(&mut self, input: &[u8], socket: &mut TcpStream, answers: &Self::Answers)
    -> Option<()>;
}

/// How many bytes it sends of each, packets' headers included.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    /// Its greeting.
    pub greeting: usize,
    /// Its OK to a login.
    pub ok: usize,
    /// A result as text.
    pub result: usize,
}

/// One running in a thread of its own on a free port of 127.0.0.1; ends when it is dropped.
pub struct NullServer {
    address: SocketAddr,
    lengths: Lengths,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl NullServer {
    /// Starts it; every statement that asks is answered with these rows.
    ///
    /// # Errors
    /// No port, descriptor or thread to be had.
    pub fn start<T: Talk + 'static>(filling: Filling) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let answers = T::answers(filling);
        let lengths = T::lengths(&answers);
        let (listening, stopping) = (listener, Arc::clone(&stop));
        let thread = thread::Builder::new()
            .name("null-server".into())
            .spawn(move || {
                // What goes wrong here, the client meets as a closed connection.
                let service = Service::<T>::new(listening, &stopping, answers);
                let _ = service.and_then(|mut service| service.serve());
            })?;
        Ok(Self {
            address,
            lengths,
            stop,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many bytes it sends.
    pub fn lengths(&self) -> Lengths {
        self.lengths
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // An eventfd takes any eight bytes but all ones (eventfd(2)).
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One client.
struct Client<T> {
    socket: TcpStream,
    talk: T,
}

/// What the thread works with.
struct Service<T: Talk> {
    epoll: OwnedFd,
    listener: TcpListener,
    clients: Vec<Option<Client<T>>>,
    answers: T::Answers,
    buffer: Vec<u8>,
}

impl<T: Talk> Service<T> {
    fn new(listener: TcpListener, stop: &OwnedFd, answers: T::Answers) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        watch(&epoll, stop, STOP)?;
        watch(&epoll, &listener, LISTENER)?;
        Ok(Self {
            epoll,
            listener,
            clients: Vec::new(),
            answers,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// Serves until it is told to stop.
    fn serve(&mut self) -> io::Result<()> {
        let none = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        let mut events = [none; 64];
        loop {
            let ready = match epoll::wait(&self.epoll, &mut events[..], None) {
                Err(rustix::io::Errno::INTR) => continue,
                ready => ready?,
            };
            for event in &events[..ready] {
                match event.data.u64() {
                    STOP => return Ok(()),
                    LISTENER => self.accept()?,
                    number => self.answer(usize::try_from(number).unwrap_or_default()),
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        let (mut socket, _) = self.listener.accept()?;
        socket.set_nodelay(true)?;
        // Closing resets, so that no port of a client stays behind in TIME_WAIT.
        set_socket_linger(&socket, Some(Duration::ZERO))?;
        let free = self.clients.iter().position(Option::is_none);
        let number = free.unwrap_or(self.clients.len());
        if free.is_none() {
            self.clients.push(None);
        }
        watch(&self.epoll, &socket, number as u64)?;
        let talk = T::begin(&mut socket, &self.answers);
        self.clients[number] = talk.map(|talk| Client { socket, talk });
        Ok(())
    }

    /// Reads what a client sent and answers it; one that is done or gone is dropped.
    fn answer(&mut self, number: usize) {
        let Some(client) = self.clients.get_mut(number).and_then(Option::as_mut) else {
            return;
        };
        let stays = client.socket.read(&mut self.buffer).is_ok_and(|count| {
            let input = &self.buffer[..count];
            let Client { socket, talk } = client;
            count > 0 && talk.take(input, socket, &self.answers).is_some()
        });
        if !stays {
            self.clients[number] = None;
        }
    }
}

fn watch(epoll: &OwnedFd, what: impl AsFd, number: u64) -> io::Result<()> {
    Ok(epoll::add(
        epoll,
        what,
        EventData::new_u64(number),
        EventFlags::IN,
    )?)
}

/// Whether a statement asks for rows, going by its first word.
fn asks(sql: &[u8]) -> bool {
    let begins_with = |word: &&[u8]| {
        sql.get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    ASKS.iter().any(begins_with)
}
