//! What the engine's own loop costs on this machine: the job's operations against a server that does
//! nothing, before the real one is met.

use std::sync::Arc;

use tlstax_client::clock::{now_ns, thread_cpu_ns};
use tlstax_client::{Access, Failure};
use tlstax_contract::{Job, Overhead, Server};

use crate::barrier::Barrier;
use crate::dispatch::Stage;
use crate::null_server::{Filling, MySql, NullServer, Postgres, USUAL_ROW_BYTES};
use crate::script::{Resumption, Script};
use crate::shared::Shared;
use crate::supply::Supply;
use crate::worker::Worker;

/// The descriptors of N connections, both ends, fit what [`Access::prepare`] allows any job.
const MOST_CONNECTIONS: usize = 16;
/// Until caches and branch predictors know the way.
const WARM_UP_NS: u64 = 2_000_000;
/// Some thousand operations: enough for an average, short beside any trial. Every block measures it anew.
const MEASURED_NS: u64 = 5_000_000;
/// A null server that is silent for so long will say nothing more.
const TIMEOUT_NS: u64 = 2_000_000_000;
/// The answer of a point select.
const ROWS: usize = 1;

/// Measures in the calling thread, whose CPU time alone counts. The loop is closed and in the clear:
/// TLS and compression are their libraries' cost, not the loop's. None where it cannot be measured.
pub fn measure(job: &Job) -> Option<Overhead> {
    against(job, ROWS).ok().flatten()
}

fn against(job: &Job, rows: usize) -> Result<Option<Overhead>, Failure> {
    let row_bytes = USUAL_ROW_BYTES;
    let filling = Filling { rows, row_bytes };
    let server = match job.server {
        Server::Mysql {} => NullServer::start::<MySql>(filling),
        Server::Postgresql(_) => NullServer::start::<Postgres>(filling),
    };
    let server = server.map_err(Failure::connecting)?;
    let count = MOST_CONNECTIONS.min(job.connections as usize);
    let mut worker = worker_at(&server, job, count)?;
    worker.set_up()?;
    worker.work(stage(WARM_UP_NS), None, u32::MAX)?;
    worker.start_afresh(0);
    let before_ns = thread_cpu_ns();
    worker.work(stage(MEASURED_NS), None, u32::MAX)?;
    let used_ns = thread_cpu_ns() - before_ns;
    let operations = worker.take_record().0.operations;
    Ok(per_operation(used_ns, operations))
}

/// A worker with N connections for the job's operations against that server.
pub fn worker_at(server: &NullServer, job: &Job, count: usize) -> Result<Worker, Failure> {
    let script = Script::compile(&job.workload, Resumption::Off)?;
    let shared = Arc::new(Shared {
        supply: Supply::endless(&script.spans),
        script,
        access: Access::within_process(job, server.address()),
        full_load: None,
        barrier: Barrier::of(1),
        lingering: None,
        threads: 1,
        timeout_ns: TIMEOUT_NS,
    });
    Worker::new(shared, Arc::default(), count, 0, job.seed, 0)
}

fn stage(lasting_ns: u64) -> Stage {
    let end_ns = now_ns() + lasting_ns;
    Stage {
        end_ns,
        give_up_ns: end_ns,
    }
}

#[allow(clippy::cast_precision_loss)]
fn per_operation(used_ns: u64, operations: u64) -> Option<Overhead> {
    (operations > 0).then(|| Overhead {
        cpu_us_per_op: used_ns as f64 / 1e3 / operations as f64,
        operations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(workload: &str) -> Job {
        job_for("mysql", workload)
    }

    fn job_for(server: &str, workload: &str) -> Job {
        let text = format!(
            r#"{{"schema": 2, "endpoint": {{"kind": "unix", "path": "/nowhere"}},
                "server": {{"kind": "{server}"}},
                "account": {{"user": "u", "password": "p", "database": "d"}},
                "tls": {{"mode": "off"}}, "workload": {workload},
                "connections": 40, "duration_s": 1, "seed": 1}}"#
        );
        Job::from_json(&text).unwrap()
    }

    fn workload(reconnect: bool, protocol: &str, statements: usize) -> String {
        let statement = r#"{"sql": "SELECT c FROM t WHERE id={id}",
            "parameters": {"id": {"kind": "uniform_int", "low": 1, "high": 9}}}"#;
        let all = vec![statement; statements].join(",");
        format!(r#"{{"reconnect": {reconnect}, "protocol": "{protocol}", "statements": [{all}]}}"#)
    }

    fn cost_us(workload: &str, rows: usize) -> f64 {
        let found = against(&job(workload), rows).unwrap().unwrap();
        assert!(found.operations > 0);
        assert!(found.cpu_us_per_op.is_finite() && found.cpu_us_per_op > 0.0);
        found.cpu_us_per_op
    }

    #[test]
    fn every_kind_of_workload_has_an_overhead() {
        for protocol in ["text", "prepared"] {
            for reconnect in [false, true] {
                cost_us(&workload(reconnect, protocol, 2), ROWS);
            }
        }
    }

    #[test]
    fn every_kind_of_workload_has_an_overhead_in_postgresql_too() {
        let insert = r#"{"sql": "INSERT INTO t VALUES ({id})", "parameters": {
            "id": {"kind": "sequence", "first": 1, "last": 2}}}"#;
        for protocol in ["text", "prepared"] {
            for reconnect in [false, true] {
                let mix = format!(
                    r#"{{"reconnect": {reconnect}, "protocol": "{protocol}", "on_connect": ["SET x=1"],
                        "mix": [{{"bracketed": true, "statements": [{insert}, {{"sql": "SELECT 1"}}]}}]}}"#
                );
                for workload in [workload(reconnect, protocol, 2), mix] {
                    let found = against(&job_for("postgresql", &workload), ROWS).unwrap();
                    assert!(found.unwrap().operations > 0, "{workload}");
                }
            }
        }
    }

    #[test]
    fn a_storm_has_an_overhead() {
        cost_us(r#"{"storm": true, "on_connect": ["SET @x=1"]}"#, ROWS);
    }

    #[test]
    fn a_mix_that_writes_has_an_overhead_however_short_its_sequences() {
        let insert = r#"{"sql": "INSERT INTO t VALUES ({id}, {c})", "parameters": {
            "id": {"kind": "sequence", "first": 1, "last": 2},
            "c": {"kind": "digits", "template": "x#-#y"}}}"#;
        let select = r#"{"sql": "SELECT 1", "repeat": 3, "protocol": "text"}"#;
        for protocol in ["text", "prepared"] {
            for reconnect in [false, true] {
                let workload = format!(
                    r#"{{"reconnect": {reconnect}, "protocol": "{protocol}", "on_connect": ["SET @x=1"],
                        "mix": [{{"bracketed": true, "statements": [{insert}, {select}]}},
                                {{"statements": [{select}]}}]}}"#
                );
                cost_us(&workload, ROWS);
            }
        }
    }

    /// The least of three, because whatever else runs on the machine only adds.
    fn least_us(workload: &str, rows: usize) -> f64 {
        let all = (0..3).map(|_| cost_us(workload, rows));
        all.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn what_is_added_to_the_loops_work_is_seen() {
        let plain = least_us(&workload(false, "text", 1), ROWS);
        let many_rows = least_us(&workload(false, "text", 1), 1000);
        let many_statements = least_us(&workload(false, "prepared", 10), ROWS);
        let reconnecting = least_us(&workload(true, "text", 1), ROWS);
        assert!(many_rows > 1.5 * plain, "{many_rows} after {plain}");
        assert!(
            many_statements > 3.0 * plain,
            "{many_statements} after {plain}"
        );
        assert!(reconnecting > 1.5 * plain, "{reconnecting} after {plain}");
    }
}
