//! How far apart the two places are: what one line of the control socket says.

use serde::Deserialize;

use crate::clock;

/// A round trip time, by how much each packet's delay varies at most, and a rate each way (0: no limit).
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Half of it is each way's delay.
    pub rtt_ms: f64,
    /// A packet's delay is drawn evenly from the half round trip less this to the half round trip and this.
    pub jitter_ms: f64,
    /// Megabits of IP packets a second, each way.
    pub rate_mbit: f64,
}

/// Longer than any of this planet, and short enough for every sum of times.
const MOST: f64 = 1e6;

impl Settings {
    /// Reads one line; what is wrong with it is told in one sentence.
    pub fn from_line(line: &str) -> Result<Self, String> {
        let settings: Self =
            serde_json::from_str(line).map_err(|error| format!("bad settings: {error}"))?;
        for (name, value) in [
            ("rtt_ms", settings.rtt_ms),
            ("jitter_ms", settings.jitter_ms),
            ("rate_mbit", settings.rate_mbit),
        ] {
            if !(0.0..=MOST).contains(&value) {
                return Err(format!(
                    "bad settings: {name} is {value}, not between 0 and {MOST}"
                ));
            }
        }
        Ok(settings)
    }

    /// The delay of a packet for which `draw`, between -1 and 1, was drawn.
    pub fn delay_ns(&self, draw: f64) -> u64 {
        clock::from_ms(self.rtt_ms / 2.0 + self.jitter_ms * draw)
    }

    /// How long the line is taken by N bytes; not at all where it has no limit.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss
    )]
    pub fn sending_ns(&self, bytes: usize) -> u64 {
        if self.rate_mbit > 0.0 {
            (bytes as f64 * 8e3 / self.rate_mbit).round() as u64
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_and_halved() {
        let settings =
            Settings::from_line(r#"{"rtt_ms":45,"jitter_ms":2.5,"rate_mbit":8}"#).unwrap();
        assert_eq!(settings.delay_ns(0.0), 22_500_000);
        assert_eq!(settings.delay_ns(1.0), 25_000_000);
        assert_eq!(settings.delay_ns(-1.0), 20_000_000);
        assert_eq!(settings.sending_ns(1_000), 1_000_000);
    }

    #[test]
    fn no_packet_arrives_before_it_was_sent() {
        let settings = Settings {
            rtt_ms: 1.0,
            jitter_ms: 9.0,
            rate_mbit: 0.0,
        };
        assert_eq!(settings.delay_ns(-1.0), 0);
        assert_eq!(settings.sending_ns(1_500), 0);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (line, word) in [
            (r#"{"rtt_ms":-1,"jitter_ms":0,"rate_mbit":0}"#, "rtt_ms"),
            (r#"{"rtt_ms":1,"jitter_ms":0,"rate_mbit":2e7}"#, "rate_mbit"),
            (r#"{"rtt_ms":1,"jitter_ms":0}"#, "rate_mbit"),
            (
                r#"{"rtt_ms":1,"jitter_ms":0,"rate_mbit":0,"loss":1}"#,
                "loss",
            ),
        ] {
            let why = Settings::from_line(line).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }
}
