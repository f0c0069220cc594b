//! An adapter without a driver (drivers/ADAPTERS.md), for the tests of the host: its option `log` names a file for what
//! it was told to run, `fails` every how many operations one fails, `hangs` and `dies` after how many it does so.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

struct Worker {
    terms: Value,
    opened: u64,
    done: u64,
    stock: VecDeque<String>,
    times: String,
}

impl Worker {
    fn option(&self, name: &str) -> Option<u64> {
        self.terms["options"][name].as_str()?.parse().ok()
    }

    fn work(&mut self, until_ns: u64) -> Value {
        let mut done = 0;
        while now_ns() < until_ns {
            let Some(fields) = self.stock.pop_front() else {
                break;
            };
            self.done += 1;
            if self.option("dies") == Some(self.done) {
                std::process::exit(7);
            }
            if self.option("hangs") == Some(self.done) {
                thread::sleep(Duration::from_secs(3600));
            }
            if self
                .option("fails")
                .is_some_and(|every| self.done % every == 0)
            {
                let secret = &self.terms["account"]["password"];
                let words = format!("no,\n {}", secret.as_str().unwrap_or_default());
                return json!({"operations": done, "failure": {"kind": "server_error", "words": words, "code": 1213}});
            }
            self.operate(&fields);
            done += 1;
        }
        json!({"operations": done})
    }

    fn operate(&mut self, fields: &str) {
        let began = now_ns();
        let reconnects = self.terms["reconnect"] == true;
        let connected = if reconnects { now_ns() + 1 } else { began };
        self.opened += u64::from(reconnects);
        let mut times = vec![began, connected, connected];
        for _ in self.terms["calls"].as_array().into_iter().flatten() {
            thread::sleep(Duration::from_millis(1));
            times.push(now_ns());
        }
        times.push(now_ns());
        for time in times {
            self.times += &time.to_string();
            self.times.push(' ');
        }
        if let Some(path) = self.terms["options"]["log"].as_str() {
            let mut file = OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .unwrap();
            // At once, as another connection writes too.
            let line = fields.replace('\u{1f}', "|") + "\n";
            file.write_all(line.as_bytes()).unwrap();
        }
    }

    fn rows(body: &str) -> Value {
        match body {
            "SELECT VERSION()" => json!([["9.9-fake"]]),
            "SHOW SESSION STATUS LIKE 'Ssl%'" => json!([["Ssl_cipher", ""], ["Ssl_version", ""]]),
            _ => json!([["1", null]]),
        }
    }

    fn answer(&mut self, words: &[&str], body: &str) -> (Value, String) {
        let told = match words[0] {
            "open" => {
                self.opened += 1;
                json!({"version": "1.0", "view": null})
            }
            "rows" => json!({"rows": Self::rows(body)}),
            "operations" => {
                self.stock.extend(body.split('\u{1e}').map(str::to_owned));
                json!({})
            }
            "empty" => {
                self.stock.clear();
                json!({})
            }
            "work" => self.work(words[1].parse().unwrap()),
            "report" => {
                let times = std::mem::take(&mut self.times);
                return (json!({"opened": self.opened, "bytes": times.len()}), times);
            }
            _ => json!({}),
        };
        (told, String::new())
    }

    fn serve(mut self, channel: &Value) {
        let path = |end: usize| format!("/dev/fd/{}", channel[end]);
        let mut orders = BufReader::new(File::open(path(0)).unwrap());
        let mut answers = File::options().write(true).open(path(1)).unwrap();
        let mut line = String::new();
        while orders.read_line(&mut line).unwrap() > 0 {
            let words: Vec<&str> = line.split_whitespace().collect();
            let mut body = String::new();
            if matches!(words[0], "rows" | "operations") {
                let bytes = words[2].parse().unwrap();
                orders
                    .by_ref()
                    .take(bytes)
                    .read_to_string(&mut body)
                    .unwrap();
            }
            let (told, behind) = self.answer(&words, &body);
            answers
                .write_all(format!("{told}\n{behind}").as_bytes())
                .unwrap();
            line.clear();
        }
    }
}

fn main() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let terms: Value = serde_json::from_str(&line).unwrap();
    println!("{}", json!({"takes": []}));
    for channel in terms["channels"].as_array().unwrap().clone() {
        let worker = Worker {
            terms: terms.clone(),
            opened: 0,
            done: 0,
            stock: VecDeque::new(),
            times: String::new(),
        };
        thread::spawn(move || worker.serve(&channel));
    }
    while std::io::stdin()
        .read_line(&mut line)
        .is_ok_and(|count| count > 0)
    {}
    std::process::exit(0);
}
