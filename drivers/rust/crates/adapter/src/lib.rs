//! The part of an adapter that the Rust drivers share: all but the driver itself, which is a `Driver`.

mod channel;
pub mod driver;
pub mod failure;
pub mod setup;

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::process::exit;
use std::sync::Arc;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::unix::pipe::Receiver;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::channel::{Channel, Shared};
use crate::driver::Driver;
use crate::failure::Failure;
use crate::setup::Setup;

/// What a driver can be told besides what all can.
pub type Takes = &'static [&'static str];

/// Serves the channels of the setup on standard input with the driver that `make` makes of it, until that ends.
/// `version` is what the driver says of itself. A task that breaks off ends the process, which tells the host.
pub fn serve<D: Driver>(
    version: String,
    takes: Takes,
    make: impl FnOnce(&Setup) -> Result<D, Failure>,
) {
    let runtime = Runtime::new().unwrap_or_else(|error| end(&error));
    runtime.block_on(async {
        let input = io::stdin().as_fd().try_clone_to_owned();
        let input = input.and_then(Receiver::from_owned_fd);
        let mut input = BufReader::new(input.unwrap_or_else(|error| end(&error)));
        let mut line = String::new();
        if !matches!(input.read_line(&mut line).await, Ok(1..)) {
            exit(0);
        }
        let mut serving = JoinSet::new();
        match begin(&line, version, make) {
            Ok(channels) => {
                say(&json!({"takes": takes}));
                for channel in channels {
                    serving.spawn(channel.serve());
                }
            }
            Err(failure) => say(&json!({"failure": failure})),
        }
        let ends = async {
            while let Some(served) = serving.join_next().await {
                if served.is_err() {
                    exit(1);
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            _ = input.read_to_string(&mut line) => exit(0),
            never = ends => never,
        }
    });
}

fn begin<D: Driver>(
    line: &str,
    version: String,
    make: impl FnOnce(&Setup) -> Result<D, Failure>,
) -> Result<Vec<Channel<D>>, Failure> {
    let setup = Setup::read(line)?;
    if !D::VERSIONS {
        setup.tls.refuse_versions()?;
    }
    let driver = make(&setup)?;
    let descriptors = setup.channels.clone();
    let shared = Arc::new(Shared::new(setup, driver, version));
    let open = |(input, output)| Channel::open(Arc::clone(&shared), input, output);
    let channels: io::Result<_> = descriptors.into_iter().map(open).collect();
    channels.map_err(|error| Failure::new("limits", error.to_string()))
}

fn say(answer: &serde_json::Value) {
    let mut output = io::stdout().lock();
    let _ = writeln!(output, "{answer}").and_then(|()| output.flush());
}

fn end(error: &io::Error) -> ! {
    eprintln!("{error}");
    exit(1)
}
