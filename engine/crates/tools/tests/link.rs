//! The link as the laboratory starts it; pairs of datagram sockets stand in for the devices.

use std::io::{BufRead, BufReader, IoSlice, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// Longer than anything here takes; only a failure waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

struct Link {
    child: Child,
    control: BufReader<UnixStream>,
    far: UnixDatagram,
    near: UnixDatagram,
    socket: PathBuf,
}

impl Link {
    fn start(name: &str) -> Self {
        let socket = std::env::temp_dir().join(format!("link-{}-{name}", std::process::id()));
        let listening = UnixListener::bind(&socket).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_tlstax-tools"))
            .arg("link")
            .arg("carry")
            .arg(format!("--socket={}", socket.display()))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (control, _) = listening.accept().unwrap();
        control.set_read_timeout(Some(PATIENCE)).unwrap();
        let (far, far_device) = UnixDatagram::pair().unwrap();
        let (near, near_device) = UnixDatagram::pair().unwrap();
        for device in [&far_device, &near_device] {
            device.set_nonblocking(true).unwrap();
        }
        let devices = [far_device.as_fd(), near_device.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&devices)));
        sendmsg(
            &control,
            &[IoSlice::new(&[0])],
            &mut ancillary,
            SendFlags::empty(),
        )
        .unwrap();
        for place in [&far, &near] {
            place.set_read_timeout(Some(PATIENCE)).unwrap();
        }
        let control = BufReader::new(control);
        Self {
            child,
            control,
            far,
            near,
            socket,
        }
    }

    fn say(&mut self, line: &str) -> serde_json::Value {
        self.control
            .get_mut()
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
        let mut answer = String::new();
        self.control.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    fn end(self) -> Output {
        self.control.get_ref().shutdown(Shutdown::Both).unwrap();
        let _ = std::fs::remove_file(&self.socket);
        self.child.wait_with_output().unwrap()
    }
}

/// A packet of IPv4 as far as its first byte tells.
fn packet(number: u8) -> [u8; 40] {
    let mut bytes = [number; 40];
    bytes[0] = 0x45;
    bytes
}

#[test]
fn packets_arrive_in_order_late_as_told_and_are_counted() {
    let mut link = Link::start("late");
    link.say(r#"{"rtt_ms":60,"jitter_ms":0,"rate_mbit":0}"#);
    let sent = Instant::now();
    for number in 0..3 {
        link.near.send(&packet(number)).unwrap();
    }
    let mut bytes = [0; 100];
    for number in 0..3 {
        let count = link.far.recv(&mut bytes).unwrap();
        assert!(sent.elapsed() >= Duration::from_millis(30));
        assert_eq!(bytes[..count], packet(number));
    }
    link.far.send(&packet(9)).unwrap();
    link.near.recv(&mut bytes).unwrap();
    assert!(sent.elapsed() >= Duration::from_millis(60));
    let carried = link.say(r#"{"rtt_ms":0,"jitter_ms":0,"rate_mbit":0}"#);
    assert_eq!(carried["to_far"]["packets"], 3);
    assert_eq!(carried["to_far"]["bytes"], 120);
    assert_eq!(carried["to_near"]["packets"], 1);
    assert!(carried["lateness_us"]["max"].as_f64().unwrap() >= 0.0);
    assert!(link.end().status.success());
}

#[test]
fn what_is_no_ipv4_is_not_carried() {
    let mut link = Link::start("six");
    link.near.send(&[0x60; 60]).unwrap();
    link.near.send(&packet(1)).unwrap();
    let mut bytes = [0; 100];
    assert_eq!(link.far.recv(&mut bytes).unwrap(), 40);
    let carried = link.say(r#"{"rtt_ms":0,"jitter_ms":0,"rate_mbit":0}"#);
    assert_eq!(carried["to_far"]["packets"], 1);
    link.end();
}

#[test]
fn bad_settings_are_refused_and_the_old_ones_stay() {
    let mut link = Link::start("bad");
    let refused = link.say(r#"{"rtt_ms":-1,"jitter_ms":0,"rate_mbit":0}"#);
    assert!(refused["error"].as_str().unwrap().contains("rtt_ms is -1"));
    link.near.send(&packet(1)).unwrap();
    link.far.recv(&mut [0; 100]).unwrap();
    assert!(link.end().status.success());
}

#[test]
fn a_laboratory_that_hangs_up_before_there_are_devices_is_told() {
    let socket = std::env::temp_dir().join(format!("link-{}-early", std::process::id()));
    let listening = UnixListener::bind(&socket).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_tlstax-tools"))
        .arg("link")
        .args(["carry", "--socket", socket.to_str().unwrap()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(listening.accept().unwrap());
    let done = child.wait_with_output().unwrap();
    let _ = std::fs::remove_file(&socket);
    assert_eq!(done.status.code(), Some(3));
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(said.contains("no devices came"), "{said}");
}
