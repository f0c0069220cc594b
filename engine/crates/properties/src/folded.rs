//! Folded stacks, whatever their text: refused in a sentence, or drawn as XML, with no count lost.

use quick_xml::events::Event;
use tlstax_flames::options::Options;
use tlstax_flames::{drawing, folded as lines_of};

/// Options, in the first byte.
const DIFFERENTIAL: u8 = 1;
const DRAWN: u8 = 2;

/// The target.
///
/// # Panics
/// Where a property does not hold.
pub fn folded(data: &[u8]) {
    let Some((options, text)) = data.split_first() else {
        return;
    };
    let differential = options & DIFFERENTIAL != 0;
    let text = String::from_utf8_lossy(text);
    let lines = match lines_of::lines(&text, differential) {
        Ok(lines) => lines,
        Err(sentence) => {
            assert!(!sentence.is_empty() && !sentence.contains('\n'));
            return;
        }
    };
    assert_eq!(counted(&lines), counted(&text.lines().collect::<Vec<_>>()));
    match lines_of::lines(&lines.join("\n"), differential) {
        Ok(again) => assert_eq!(again, lines, "they mean something else when read again"),
        // Of the same stack in several lines.
        Err(sentence) => assert!(sentence.contains("too large"), "{sentence}"),
    }
    if options & DRAWN != 0 {
        let options = Options {
            differential,
            min_width_percent: 0.0,
            ..Options::default()
        };
        check_xml(&drawing::svg(&lines, &options).expect("what was accepted can be drawn"));
    }
}

/// The sum of the last counts of all lines.
fn counted(lines: &[impl AsRef<str>]) -> u128 {
    let last = |line: &str| line.trim().rsplit(' ').next()?.parse::<u128>().ok();
    lines.iter().filter_map(|line| last(line.as_ref())).sum()
}

/// It is XML that a browser reads: well-formed, in characters that XML has, with one script, the library's.
fn check_xml(svg: &[u8]) {
    let text = std::str::from_utf8(svg).expect("UTF-8");
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut scripts = 0;
    loop {
        match reader.read_event().expect("well-formed") {
            Event::Eof => break,
            Event::Start(tag) => {
                scripts += u32::from(tag.name().as_ref() == b"script");
                for attribute in tag.attributes() {
                    attribute.expect("a well-formed attribute");
                }
            }
            _ => {}
        }
    }
    assert_eq!(scripts, 1, "somebody's name became a script");
    let forbidden = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t' | '\r')) || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    assert!(
        !text.contains(forbidden),
        "a character that XML does not have"
    );
}
