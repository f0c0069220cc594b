//! Requests made beforehand, so that making one costs the loop nothing.

use fastrand::Rng;
use tlstax_contract::{Job, Parameter, Protocol};

use crate::failure::Failure;
use crate::refused;
use crate::talk::Speech;

/// This many different requests are sent in turn: enough that no cache of the server's gains by it.
const HOW_MANY: usize = 16 << 10;

/// The requests of a job; none until it is known how they are said.
#[derive(Default)]
pub struct Requests {
    ready: Vec<Vec<u8>>,
    next: usize,
}

impl Requests {
    /// Renders the job's statement with random values.
    ///
    /// # Errors
    /// A statement with other than one placeholder, or that the protocol cannot carry.
    pub fn new(job: &Job, speech: &Speech) -> Result<Self, Failure> {
        let statement = &job.workload.statements[0];
        let mut parameters = statement.parameters.iter();
        let (Some((name, &Parameter::UniformInt { low, high })), None) =
            (parameters.next(), parameters.next())
        else {
            return Err(refused("the floor's statement has one parameter"));
        };
        let hole = format!("{{{name}}}");
        let mut rng = Rng::with_seed(job.seed);
        let ready = (0..HOW_MANY).map(|_| {
            let (mut out, value) = (Vec::new(), rng.i64(low..=high));
            match job.workload.protocol {
                Protocol::Prepared => speech.execute(&mut out, value)?,
                Protocol::Text => {
                    let sql = statement.sql.replace(&hole, &value.to_string());
                    speech.query(&mut out, &sql)?;
                }
            }
            Ok(out)
        });
        Ok(Self {
            ready: ready.collect::<Result<_, Failure>>()?,
            next: 0,
        })
    }

    /// The next one.
    #[inline]
    pub fn take(&mut self) -> &[u8] {
        self.next = (self.next + 1) % HOW_MANY;
        &self.ready[self.next]
    }
}

/// The statement as it is prepared, with this for its value.
pub fn to_prepare(job: &Job, placeholder: &str) -> String {
    let statement = &job.workload.statements[0];
    statement
        .parameters
        .keys()
        .fold(statement.sql.clone(), |sql, name| {
            sql.replace(&format!("{{{name}}}"), placeholder)
        })
}
