//! The loop: wait, read, write; on kept connections, or on one for each request.

use std::net::IpAddr;

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;
use tlstax_client::{Access, clock};
use tlstax_contract::{Job, Protocol};
use tlstax_wire::{PrepareParser, PrepareProgress, command};

use crate::failure::Failure;
use crate::line::Line;
use crate::opening::Opening;
use crate::requests::{Requests, to_prepare};

const EVENTS: usize = 512;
const BUFFER_BYTES: usize = 64 << 10;
const PATIENCE: Timespec = Timespec {
    tv_sec: 10,
    tv_nsec: 0,
};

/// A connection and how much of its answer has come.
struct Place {
    opening: Opening,
    answering: bool,
    got_bytes: usize,
}

/// All connections of a job.
pub struct Floor {
    /// How they come to the server.
    pub access: Access,
    epoll: OwnedFd,
    events: Vec<Event>,
    buffer: Vec<u8>,
    places: Vec<Place>,
    requests: Requests,
    goodbye: Vec<u8>,
    reconnect: bool,
    answer_bytes: usize,
    sources: Vec<IpAddr>,
    /// Connections that were opened so far.
    pub connections: u64,
    /// What the server said that it is.
    pub server_version: String,
}

impl Floor {
    /// Opens the connections, and finds out how long an answer is.
    ///
    /// # Errors
    /// The first failure.
    pub fn set_up(job: &Job, access: Access) -> Result<Self, Failure> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(tlstax_client::Failure::connecting)?;
        let places = (0..job.connections)
            .map(|_| {
                Ok(Place {
                    opening: Opening::new(&access)?,
                    answering: false,
                    got_bytes: 0,
                })
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let none = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        let mut goodbye = Vec::new();
        command::quit(&mut goodbye);
        let mut floor = Self {
            access,
            epoll,
            events: vec![none; EVENTS],
            buffer: vec![0; BUFFER_BYTES],
            places,
            requests: Requests::new(job, 1)?,
            goodbye,
            reconnect: job.workload.reconnect,
            answer_bytes: 0,
            sources: job.source_addresses.clone(),
            connections: 0,
            server_version: String::new(),
        };
        for number in 0..floor.places.len() {
            floor.open_and_prepare(number, job)?;
        }
        floor.learn_answer(job)?;
        if floor.reconnect {
            floor
                .places
                .iter_mut()
                .for_each(|place| place.opening.line = None);
        }
        Ok(floor)
    }

    fn open_and_prepare(&mut self, number: usize, job: &Job) -> Result<(), Failure> {
        self.begin(number)?;
        loop {
            let readable = self.wait_for(number)?;
            let opening = &mut self.places[number].opening;
            if opening.proceed(readable, &mut self.buffer, &self.access)? {
                break;
            }
        }
        if self.server_version.is_empty() {
            self.server_version = self.places[number].opening.server_version();
        }
        if job.workload.protocol == Protocol::Text {
            return Ok(());
        }
        let mut out = Vec::new();
        command::stmt_prepare(&mut out, to_prepare(job).as_bytes());
        let mut parser = PrepareParser::new(self.places[number].opening.capabilities()?);
        line_of(&mut self.places[number])?.write(&out)?;
        loop {
            let count = line_of(&mut self.places[number])?.read(&mut self.buffer)?;
            match parser.feed(&self.buffer[..count])? {
                PrepareProgress::NeedMore => self.wait().map(drop)?,
                PrepareProgress::Complete { statement, .. } if statement.statement_id == 1 => {
                    return Ok(());
                }
                PrepareProgress::Complete { .. } => {
                    return Err(Failure::Stuck(
                        "the server numbers a first statement other than 1",
                    ));
                }
            }
        }
    }

    /// Asks once and counts the answer's bytes; all answers are as long, since the rows are.
    fn learn_answer(&mut self, job: &Job) -> Result<(), Failure> {
        let capabilities = self.places[0].opening.capabilities()?;
        let mut parser = match job.workload.protocol {
            Protocol::Text => tlstax_wire::ResponseParser::text(capabilities),
            Protocol::Prepared => tlstax_wire::ResponseParser::binary(capabilities),
        };
        line_of(&mut self.places[0])?.write(self.requests.take())?;
        loop {
            let count = line_of(&mut self.places[0])?.read(&mut self.buffer)?;
            self.answer_bytes += count;
            let progress = parser.feed(&self.buffer[..count], &mut tlstax_wire::DiscardRows)?;
            if let tlstax_wire::Progress::Complete { .. } = progress {
                return Ok(());
            }
            self.wait()?;
        }
    }

    /// Starts requests until `end_ns`, and finishes them; how many were answered.
    ///
    /// # Errors
    /// The first failure: a floor with errors is none.
    pub fn run(&mut self, end_ns: u64) -> Result<u64, Failure> {
        let (mut operations, mut busy) = (0, self.places.len());
        for number in 0..self.places.len() {
            self.start(number)?;
        }
        while busy > 0 {
            let ready = self.wait()?;
            // One look at the clock for all that came together.
            let go_on = clock::now_ns() < end_ns;
            for at in 0..ready {
                let Event { flags, data } = self.events[at];
                let number = usize::try_from(data.u64()).unwrap_or_default();
                if !self.proceed(number, flags.contains(EventFlags::IN))? {
                    continue;
                }
                operations += 1;
                if go_on {
                    self.start(number)?;
                } else {
                    busy -= 1;
                }
            }
        }
        Ok(operations)
    }

    fn start(&mut self, number: usize) -> Result<(), Failure> {
        if self.reconnect {
            return self.begin(number);
        }
        self.ask(number)
    }

    fn ask(&mut self, number: usize) -> Result<(), Failure> {
        let place = &mut self.places[number];
        place.answering = true;
        place.got_bytes = 0;
        line_of(place)?.write(self.requests.take())
    }

    fn begin(&mut self, number: usize) -> Result<(), Failure> {
        let turn = usize::try_from(self.connections).unwrap_or_default();
        let source = self.sources.get(turn % self.sources.len().max(1)).copied();
        self.connections += 1;
        let place = &mut self.places[number];
        place.answering = false;
        place
            .opening
            .begin(number as u64, source, &self.epoll, &self.access)
    }

    /// Goes on with one connection; true when a request of its was answered.
    fn proceed(&mut self, number: usize, readable: bool) -> Result<bool, Failure> {
        let place = &mut self.places[number];
        if !place.answering {
            if place
                .opening
                .proceed(readable, &mut self.buffer, &self.access)?
            {
                self.ask(number)?;
            }
            return Ok(false);
        }
        place.got_bytes += line_of(place)?.read(&mut self.buffer)?;
        while place.got_bytes < self.answer_bytes {
            if !line_of(place)?.has_more() {
                return Ok(false);
            }
            place.got_bytes += line_of(place)?.read(&mut self.buffer)?;
        }
        place.answering = false;
        if self.reconnect {
            line_of(place)?.write(&self.goodbye)?;
            place.opening.line = None;
        }
        Ok(true)
    }

    /// Waits for an event of this connection; true when it can be read.
    fn wait_for(&mut self, number: usize) -> Result<bool, Failure> {
        loop {
            let ready = self.wait()?;
            let its = |event: &&Event| event.data.u64() == number as u64;
            if let Some(&Event { flags, .. }) = self.events[..ready].iter().find(its) {
                return Ok(flags.contains(EventFlags::IN));
            }
        }
    }

    fn wait(&mut self) -> Result<usize, Failure> {
        match epoll::wait(&self.epoll, &mut self.events[..], Some(&PATIENCE)) {
            Ok(0) => Err(Failure::Stuck(
                "the server has not answered for 10 s, or not as long as at first",
            )),
            Ok(count) => Ok(count),
            Err(rustix::io::Errno::INTR) => Ok(0),
            Err(error) => Err(tlstax_client::Failure::connecting(error).into()),
        }
    }
}

fn line_of(place: &mut Place) -> Result<&mut Line, Failure> {
    place
        .opening
        .line
        .as_mut()
        .ok_or(Failure::Stuck("a connection is gone"))
}
