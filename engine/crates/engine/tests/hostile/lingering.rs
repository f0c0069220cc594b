//! Servers that take their time to close what the client has closed, and count it meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use tlstax_contract::Job;

use crate::client::Client;
use crate::engine::job;
use crate::server::Server;

/// Many times what an operation takes.
const WINDING_UP: Duration = Duration::from_millis(400);
const CONNECTIONS: usize = 4;

/// What is there, and the most that was there at once.
#[derive(Default)]
struct Census {
    there: AtomicUsize,
    most: AtomicUsize,
}

/// A server that closes its end so long after the client's goodbye.
fn slow_to_close(census: &Arc<Census>) -> Server {
    let census = Arc::clone(census);
    Server::start(move |peer| {
        let there = census.there.fetch_add(1, Ordering::SeqCst) + 1;
        census.most.fetch_max(there, Ordering::SeqCst);
        let served = peer.log_in().and_then(|()| peer.answer(usize::MAX));
        sleep(WINDING_UP);
        census.there.fetch_sub(1, Ordering::SeqCst);
        served
    })
}

/// Connections that say one thing and are made anew.
fn reconnecting(server: &Server, lingering: Option<u32>, threads: u32) -> Job {
    let plain = job(server);
    let mut workload = plain.workload.clone();
    workload.reconnect = true;
    Job {
        connections: u32::try_from(CONNECTIONS).unwrap(),
        threads,
        workload,
        lingering,
        duration_s: 1.0,
        ..plain
    }
}

/// The most that were there at once, and what part of the connections' time was in operations.
fn watched(lingering: Option<u32>, threads: u32) -> (usize, f64) {
    let census = Arc::new(Census::default());
    let server = slow_to_close(&census);
    let mut client = Client::start(&reconnecting(&server, lingering, threads));
    let slices = [client.go(0.5), client.go(0.5)];
    let left = census.there.load(Ordering::SeqCst);
    assert!(
        lingering.is_none() || left == 0,
        "{left} are there between slices"
    );
    let done = client.end();
    assert!(done.errors.is_empty(), "{:?}", done.errors);
    assert!(done.operations > 0);
    #[allow(clippy::cast_precision_loss)]
    let could_s = slices.iter().map(|slice| slice.elapsed_s).sum::<f64>() * CONNECTIONS as f64;
    let busy_s: f64 = slices.iter().map(|slice| slice.latency_sum_s).sum();
    (census.most.load(Ordering::SeqCst), busy_s / could_s)
}

#[test]
fn no_more_are_there_than_may_be_and_waiting_is_in_no_latency() {
    for (lingering, threads) in [(0, 1), (2, 1), (3, 2), (1, 4)] {
        let (most, busy) = watched(Some(lingering), threads);
        let promised = CONNECTIONS + lingering as usize;
        assert!(most <= promised, "{most} of {promised}");
        assert!(busy < 0.5, "{busy} of the time was in operations");
    }
}

#[test]
fn where_nobody_looks_the_next_is_opened_at_once() {
    let (most, _) = watched(None, 1);
    assert!(most > 2 * CONNECTIONS, "{most}");
}
