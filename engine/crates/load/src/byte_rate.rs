//! How fast the engine reads long results, beside a bare loop that reads the same bytes and only counts them.
//!
//! Both ask the same server that does nothing, in the clear, on one connection each, from the thread that calls.

use std::io::{Read, Write};
use std::net::TcpStream;

use tlstax_client::Failure;
use tlstax_client::clock::{now_ns, process_cpu_ns, thread_cpu_ns};
use tlstax_contract::Job;
use tlstax_wire::{append_packet, command};

use crate::dispatch::Stage;
use crate::null_server::{Filling, MySql, NullServer};
use crate::overhead::worker_at;
use crate::worker::Worker;

/// As much as the engine's own threads read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// What one side did of a slice, and what that took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSlice {
    /// Results that were read to their end.
    pub results: u64,
    /// Bytes of TCP payload received.
    pub received_bytes: u64,
    /// From the first question to the last answer.
    pub elapsed_ns: u64,
    /// CPU time of the thread that reads.
    pub reader_cpu_ns: u64,
    /// CPU time of the rest of this process, which is the server.
    pub sender_cpu_ns: u64,
}

/// A server of long results, and its two readers.
pub struct ByteRate {
    // Dropped first, so that the server's thread is not kept waiting for a reader.
    worker: Worker,
    bare: Bare,
    _server: NullServer,
}

impl ByteRate {
    /// Starts the server, whose results have N rows of M bytes, and connects both readers. The
    /// server's thread keeps the processors that the calling thread has now.
    ///
    /// # Errors
    /// No port, descriptor or thread, or a job that is none.
    pub fn new(filling: Filling) -> Result<Self, Failure> {
        let server = NullServer::start::<MySql>(filling).map_err(Failure::connecting)?;
        let job = Job::from_json(JOB)?;
        let mut worker = worker_at(&server, &job, 1)?;
        worker.set_up()?;
        let bare = Bare::connect(&server).map_err(Failure::connecting)?;
        Ok(Self {
            worker,
            bare,
            _server: server,
        })
    }

    /// Lets the engine read results for so long, and finish the last.
    ///
    /// # Errors
    /// The server is gone.
    pub fn engine(&mut self, lasting_ns: u64) -> Result<ByteSlice, Failure> {
        let worker = &mut self.worker;
        worker.start_afresh(0);
        let mut slice = timed(|| {
            let end_ns = now_ns() + lasting_ns;
            let stage = Stage {
                end_ns,
                give_up_ns: end_ns,
            };
            worker.work(stage, None, u32::MAX)?;
            Ok((0, 0))
        })?;
        let record = worker.take_record().0;
        slice.results = record.operations;
        slice.received_bytes = record.wire.bytes_received;
        Ok(slice)
    }

    /// Lets the bare loop do the same.
    ///
    /// # Errors
    /// The server is gone.
    pub fn bare(&mut self, lasting_ns: u64) -> Result<ByteSlice, Failure> {
        let bare = &mut self.bare;
        timed(|| {
            let end_ns = now_ns() + lasting_ns;
            let mut results = 0;
            while results == 0 || now_ns() < end_ns {
                bare.read_result()?;
                results += 1;
            }
            Ok((results, results * bare.result_bytes as u64))
        })
    }
}

const JOB: &str = r#"{"schema": 2, "endpoint": {"kind": "unix", "path": "/"}, "account": {"user": "", "password": ""},
    "tls": {"mode": "off"}, "workload": {"statements": [{"sql": "SELECT c FROM t"}]},
    "connections": 1, "duration_s": 1, "seed": 1}"#;

/// What it takes to read results, of which `read` says how many there were and how many bytes.
fn timed(read: impl FnOnce() -> Result<(u64, u64), Failure>) -> Result<ByteSlice, Failure> {
    let (process_ns, thread_ns, at_ns) = (process_cpu_ns(), thread_cpu_ns(), now_ns());
    let (results, received_bytes) = read()?;
    let elapsed_ns = now_ns() - at_ns;
    let reader_cpu_ns = thread_cpu_ns() - thread_ns;
    let all_ns = process_cpu_ns() - process_ns;
    Ok(ByteSlice {
        results,
        received_bytes,
        elapsed_ns,
        reader_cpu_ns,
        sender_cpu_ns: all_ns.saturating_sub(reader_cpu_ns),
    })
}

/// The bare loop: a socket that waits, a buffer, and how many bytes are due.
struct Bare {
    socket: TcpStream,
    question: Vec<u8>,
    buffer: Vec<u8>,
    result_bytes: usize,
}

impl Bare {
    fn connect(server: &NullServer) -> std::io::Result<Self> {
        let mut socket = TcpStream::connect(server.address())?;
        socket.set_nodelay(true)?;
        let (lengths, mut question) = (server.lengths(), Vec::new());
        command::query(&mut question, b"SELECT c FROM t");
        let mut bare = Self {
            socket: socket.try_clone()?,
            question,
            buffer: vec![0; BUFFER_BYTES],
            result_bytes: lengths.result,
        };
        bare.read(lengths.greeting)?;
        let mut login = Vec::new();
        append_packet(&mut login, 1, b"login");
        socket.write_all(&login)?;
        bare.read(lengths.ok)?;
        Ok(bare)
    }

    fn read_result(&mut self) -> std::io::Result<()> {
        self.socket.write_all(&self.question)?;
        self.read(self.result_bytes)
    }

    fn read(&mut self, mut due: usize) -> std::io::Result<()> {
        while due > 0 {
            let room = due.min(self.buffer.len());
            match self.socket.read(&mut self.buffer[..room])? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                count => due -= count,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_read_the_same_results_to_their_end() {
        for filling in [
            Filling {
                rows: 2000,
                row_bytes: 119,
            },
            Filling {
                rows: 3,
                row_bytes: 100_000,
            },
        ] {
            let mut rate = ByteRate::new(filling).unwrap();
            for slice in [
                rate.bare(1_000_000).unwrap(),
                rate.engine(1_000_000).unwrap(),
                rate.bare(1_000_000).unwrap(),
            ] {
                assert!(slice.results > 0);
                assert_eq!(slice.received_bytes % slice.results, 0);
                let each = slice.received_bytes / slice.results;
                let values = (filling.rows * filling.row_bytes) as u64;
                assert!(values < each && each < values + 20 * filling.rows as u64 + 200);
                assert!(slice.reader_cpu_ns > 0 && slice.elapsed_ns > 0);
            }
        }
    }
}
