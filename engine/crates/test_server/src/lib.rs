//! Listens on loopback for a test, and hands each connection to what the test serves it with.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// No server waits longer for a client that should have spoken or gone.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Listens until it is dropped.
pub struct Listening {
    /// Where clients connect to.
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    /// Calls `serve` for each connection, one after another; reads and writes on it fail after
    /// [`PATIENCE`].
    ///
    /// # Panics
    /// Where there is no port to listen on.
    pub fn start(serve: impl Fn(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_write_timeout(Some(PATIENCE)).unwrap();
                serve(stream);
            }
        });
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let Some(thread) = self.thread.take() else {
            return;
        };
        // Wakes the thread up from accept; where there is no file left for that, a moment later there is.
        while !thread.is_finished() {
            let _ = TcpStream::connect(self.address);
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = thread.join();
    }
}
