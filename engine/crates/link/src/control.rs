//! The control socket: two devices come first, then a line for each change of settings, answered each.

use std::io::{ErrorKind, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use serde::Serialize;

use crate::lane::Counts;
use crate::lateness::LatenessUs;

/// What was carried under the settings before.
#[derive(Debug, Serialize)]
pub struct Carried {
    /// From the near device to the far one.
    pub to_far: Counts,
    /// From the far device to the near one.
    pub to_near: Counts,
    /// How late packets were handed over, both ways together.
    pub lateness_us: LatenessUs,
}

/// The laboratory's end is the other one.
#[derive(Debug)]
pub struct Control {
    stream: UnixStream,
    unread: Vec<u8>,
}

/// What came in: whole lines, and whether there will be more.
pub struct Heard {
    /// Without their ends.
    pub lines: Vec<String>,
    /// The laboratory is gone, or has had enough.
    pub ended: bool,
}

impl Control {
    /// Connects, and waits for the two devices: the far one, then the near one.
    pub fn connect(path: &Path) -> Result<(Self, [OwnedFd; 2]), String> {
        let stream = UnixStream::connect(path)
            .map_err(|error| format!("{} cannot be reached: {error}", path.display()))?;
        let devices = receive_two(&stream).map_err(|error| format!("no devices came: {error}"))?;
        stream
            .set_nonblocking(true)
            .map_err(|error| error.to_string())?;
        Ok((
            Self {
                stream,
                unread: Vec::new(),
            },
            devices,
        ))
    }

    /// What has come in since.
    pub fn hear(&mut self) -> Heard {
        let mut bytes = [0; 1_024];
        let ended = loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => break true,
                Ok(count) => self.unread.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break error.kind() != ErrorKind::WouldBlock,
            }
        };
        let mut lines = Vec::new();
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            lines.push(String::from_utf8_lossy(&line[..end]).into_owned());
        }
        Heard { lines, ended }
    }

    /// Answers one line; a laboratory that is gone shows at the next look.
    pub fn answer(&mut self, answer: &Result<Carried, String>) {
        let said = match answer {
            Ok(carried) => serde_json::json!(carried),
            Err(why) => serde_json::json!({ "error": why }),
        };
        let _ = self.stream.write_all(format!("{said}\n").as_bytes());
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn receive_two(stream: &UnixStream) -> Result<[OwnedFd; 2], String> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut into = [IoSliceMut::new(&mut byte)];
    recvmsg(stream, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        .map_err(|error| error.to_string())?;
    let came: Vec<OwnedFd> = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    came.try_into()
        .map_err(|came: Vec<OwnedFd>| format!("{} instead of two", came.len()))
}
