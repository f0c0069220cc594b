//! The loop: wait, read, write; on kept connections, or on one for each request.

use std::net::IpAddr;

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::time::Timespec;
use tlstax_client::{Access, clock};
use tlstax_contract::{Job, Protocol};
use tlstax_wire_pg::ScramKeys;

use crate::failure::Failure;
use crate::line::Line;
use crate::opening::Opening;
use crate::requests::{Requests, to_prepare};
use crate::talk::Answer;

const EVENTS: usize = 512;
const BUFFER_BYTES: usize = 64 << 10;
const PATIENCE: Timespec = Timespec {
    tv_sec: 10,
    tv_nsec: 0,
};

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// That it is open.
    Opening,
    /// The answer to its prepare.
    Prepared,
    /// The answer to its request.
    Answer,
}

/// A connection, what it waits for, and how much of that has come.
struct Place {
    opening: Opening,
    due: Due,
    got_bytes: usize,
}

/// All connections of a job.
pub struct Floor {
    /// How they come to the server.
    pub access: Access,
    /// What SCRAM has hashed of the account's password: once, as the engine does.
    scram_keys: ScramKeys,
    epoll: OwnedFd,
    events: Vec<Event>,
    buffer: Vec<u8>,
    places: Vec<Place>,
    requests: Requests,
    /// What prepares the statement on a connection; empty where it goes as text.
    preparation: Vec<u8>,
    goodbye: Vec<u8>,
    reconnect: bool,
    prepared_bytes: usize,
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
                    due: Due::Opening,
                    got_bytes: 0,
                })
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let none = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        let mut floor = Self {
            access,
            scram_keys: ScramKeys::kept(),
            epoll,
            events: vec![none; EVENTS],
            buffer: vec![0; BUFFER_BYTES],
            places,
            requests: Requests::default(),
            preparation: Vec::new(),
            goodbye: Vec::new(),
            reconnect: job.workload.reconnect,
            prepared_bytes: 0,
            answer_bytes: 0,
            sources: job.source_addresses.clone(),
            connections: 0,
            server_version: String::new(),
        };
        let mut types = Vec::new();
        for number in 0..floor.places.len() {
            types = floor.open_and_prepare(number, job)?;
        }
        let talk = &floor.places[0].opening.talk;
        floor.goodbye = talk.goodbye();
        floor.requests = Requests::new(job, &talk.speech(types))?;
        floor.learn_answer(job)?;
        if floor.reconnect {
            floor
                .places
                .iter_mut()
                .for_each(|place| place.opening.line = None);
        }
        Ok(floor)
    }

    /// Opens a connection; the types of the values that its prepared statement takes, where there is one.
    fn open_and_prepare(&mut self, number: usize, job: &Job) -> Result<Vec<u32>, Failure> {
        self.begin(number)?;
        loop {
            let readable = self.wait_for(number)?;
            if self.open(number, readable)? {
                break;
            }
        }
        let talk = &self.places[number].opening.talk;
        if self.server_version.is_empty() {
            self.server_version = talk.server_version();
        }
        if job.workload.protocol == Protocol::Text {
            return Ok(Vec::new());
        }
        self.preparation.clear();
        let sql = to_prepare(job, talk.placeholder());
        let mut answer = talk.prepare(&sql, &mut self.preparation)?;
        line_of(&mut self.places[number])?.write(&self.preparation)?;
        self.prepared_bytes = self.read_whole(number, &mut answer)?;
        Ok(answer.types())
    }

    /// Asks once and counts the answer's bytes; all answers are as long, since the rows are.
    fn learn_answer(&mut self, job: &Job) -> Result<(), Failure> {
        let mut answer = self.places[0].opening.talk.answer(job.workload.protocol);
        line_of(&mut self.places[0])?.write(self.requests.take())?;
        self.answer_bytes = self.read_whole(0, &mut answer)?;
        Ok(())
    }

    /// Reads an answer to its end; how many bytes it has.
    fn read_whole(&mut self, number: usize, answer: &mut Answer) -> Result<usize, Failure> {
        let mut got_bytes = 0;
        loop {
            let count = line_of(&mut self.places[number])?.read(&mut self.buffer)?;
            got_bytes += count;
            if answer.feed(&self.buffer[..count])? {
                return Ok(got_bytes);
            }
            if !line_of(&mut self.places[number])?.has_more() {
                self.wait()?;
            }
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
        (place.due, place.got_bytes) = (Due::Answer, 0);
        line_of(place)?.write(self.requests.take())
    }

    fn prepare(&mut self, number: usize) -> Result<(), Failure> {
        let place = &mut self.places[number];
        (place.due, place.got_bytes) = (Due::Prepared, 0);
        line_of(place)?.write(&self.preparation)
    }

    fn begin(&mut self, number: usize) -> Result<(), Failure> {
        let turn = usize::try_from(self.connections).unwrap_or_default();
        let source = self.sources.get(turn % self.sources.len().max(1)).copied();
        self.connections += 1;
        let place = &mut self.places[number];
        place.due = Due::Opening;
        place
            .opening
            .begin(number as u64, source, &self.epoll, &self.access)
    }

    /// Goes on with one connection; true when a request of its was answered.
    fn proceed(&mut self, number: usize, readable: bool) -> Result<bool, Failure> {
        let place = &mut self.places[number];
        let due_bytes = match place.due {
            Due::Opening => {
                if self.open(number, readable)? {
                    if self.preparation.is_empty() {
                        self.ask(number)?;
                    } else {
                        self.prepare(number)?;
                    }
                }
                return Ok(false);
            }
            Due::Prepared => self.prepared_bytes,
            Due::Answer => self.answer_bytes,
        };
        place.got_bytes += line_of(place)?.read(&mut self.buffer)?;
        while place.got_bytes < due_bytes {
            if !line_of(place)?.has_more() {
                return Ok(false);
            }
            place.got_bytes += line_of(place)?.read(&mut self.buffer)?;
        }
        if place.due == Due::Prepared {
            self.ask(number)?;
            return Ok(false);
        }
        place.due = Due::Opening;
        if self.reconnect {
            line_of(place)?.write(&self.goodbye)?;
            place.opening.line = None;
        }
        Ok(true)
    }

    /// Goes on opening a connection; true when its server takes statements.
    fn open(&mut self, number: usize, readable: bool) -> Result<bool, Failure> {
        let (access, keys) = (&self.access, &mut self.scram_keys);
        let opening = &mut self.places[number].opening;
        opening.proceed(readable, &mut self.buffer, access, keys)
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
