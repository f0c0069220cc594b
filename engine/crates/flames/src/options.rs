//! What the command line asks for.

use lexopt::{Arg, Parser, ValueExt};

/// The options of one graph.
#[derive(Debug, PartialEq)]
pub struct Options {
    /// Above the graph.
    pub title: String,
    /// Below the title; none where it is empty.
    pub subtitle: String,
    /// What is counted: "ns per operation".
    pub count_name: String,
    /// Frames narrower than N per cent of the whole are left out.
    pub min_width_percent: f64,
    /// Whether each line has two counts, and colours show the difference.
    pub differential: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            title: "Flame graph".into(),
            subtitle: String::new(),
            count_name: "ns per operation".into(),
            min_width_percent: 0.1,
            differential: false,
        }
    }
}

impl Options {
    /// Reads the arguments; an unknown one, or a bad value, is told in one sentence.
    pub fn from_arguments(mut arguments: Parser) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next().map_err(|error| error.to_string())? {
            match argument {
                Arg::Long("title") => options.title = text(&mut arguments)?,
                Arg::Long("subtitle") => options.subtitle = text(&mut arguments)?,
                Arg::Long("count-name") => options.count_name = text(&mut arguments)?,
                Arg::Long("min-width") => options.min_width_percent = percent(&mut arguments)?,
                Arg::Long("differential") => options.differential = true,
                unknown => return Err(unknown.unexpected().to_string()),
            }
        }
        Ok(options)
    }
}

fn text(arguments: &mut Parser) -> Result<String, String> {
    arguments
        .value()
        .and_then(ValueExt::string)
        .map_err(|error| error.to_string())
}

fn percent(arguments: &mut Parser) -> Result<f64, String> {
    let given = text(arguments)?;
    given
        .parse()
        .ok()
        .filter(|percent| (0.0..100.0).contains(percent))
        .ok_or_else(|| format!("--min-width: {given:?} is not a percentage from 0 to below 100"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Options, String> {
        Options::from_arguments(Parser::from_args(arguments))
    }

    #[test]
    fn every_option_is_read() {
        let options = read(&[
            "--title",
            "T",
            "--subtitle=S",
            "--count-name",
            "C",
            "--min-width",
            "0.25",
            "--differential",
        ]);
        let expected = Options {
            title: "T".into(),
            subtitle: "S".into(),
            count_name: "C".into(),
            min_width_percent: 0.25,
            differential: true,
        };
        assert_eq!(options, Ok(expected));
    }

    #[test]
    fn what_is_unknown_or_wrong_is_named() {
        assert!(read(&["--colour"]).unwrap_err().contains("--colour"));
        assert!(read(&["file.txt"]).unwrap_err().contains("file.txt"));
        assert!(read(&["--title"]).unwrap_err().contains("--title"));
        for width in ["wide", "100", "-1", "NaN"] {
            let argument = format!("--min-width={width}");
            assert!(read(&[&argument]).unwrap_err().contains(width));
        }
    }
}
