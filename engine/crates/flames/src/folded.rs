//! Folded stacks: what a line is, and how it is made safe for the drawing library and for XML.

use std::collections::BTreeMap;

/// The lines as the drawing library wants them: one for each stack, in the order of the stacks, and only
/// what can be misread changed.
///
/// The library sorts lines with their counts and then refuses some that stand in another order without
/// them. It takes every trailing word of digits for a count, skips a line that begins with `# `, and writes
/// characters that XML forbids as they are.
pub fn lines(text: &str, differential: bool) -> Result<Vec<String>, String> {
    let columns = if differential { 2 } else { 1 };
    let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut total: u64 = 0;
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let (stack, counts) = split(line, columns).ok_or_else(|| {
            let wanted = if differential {
                "a stack and two counts"
            } else {
                "a stack and a count"
            };
            format!("line {} is not {wanted}", place + 1)
        })?;
        if counts.iter().any(|&count| count > LARGEST) {
            return Err(format!("line {}: a count is too large to draw", place + 1));
        }
        total = total.saturating_add(counts.last().copied().unwrap_or_default());
        let sums = found
            .entry(unmistakable(stack))
            .or_insert_with(|| vec![0; columns]);
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum = sum.saturating_add(count);
        }
    }
    if total == 0 {
        return Err("there is nothing to draw: no stack has a count above 0".into());
    }
    Ok(found.into_iter().map(written).collect())
}

fn written((stack, counts): (String, Vec<u64>)) -> String {
    let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
    format!("{stack} {}", counts.join(" "))
}

/// So that sums of them are exact in a browser, whose numbers are: a quarter of an hour in nanoseconds.
const LARGEST: u64 = 1_000_000_000_000;

/// The stack, and its count behind it.
fn split(line: &str, columns: usize) -> Option<(&str, Vec<u64>)> {
    let mut counts = Vec::with_capacity(columns);
    let mut stack = line;
    for _ in 0..columns {
        let (before, count) = stack.rsplit_once(' ')?;
        counts.insert(0, count.parse().ok()?);
        stack = before.trim_end();
    }
    (!stack.is_empty()).then_some((stack, counts))
}

/// A stack whose last word is no number and whose first is no `#`, in characters that XML allows.
fn unmistakable(stack: &str) -> String {
    let mut text: String = stack
        .chars()
        .map(|character| {
            if is_xml(character) {
                character
            } else {
                char::REPLACEMENT_CHARACTER
            }
        })
        .collect();
    let number_from = text.rfind(' ').filter(|&place| {
        text[place + 1..]
            .chars()
            .all(|c| c.is_ascii_digit() || c == '.')
    });
    if let Some(place) = number_from {
        text.replace_range(place..=place, NO_BREAK_SPACE);
    }
    if text.starts_with("# ") {
        text.replace_range(1..2, NO_BREAK_SPACE);
    } else if text == "#" {
        // Its count is written behind a space.
        text.push_str(NO_BREAK_SPACE);
    }
    text
}

const NO_BREAK_SPACE: &str = "\u{a0}";

/// Whether XML 1.0 allows the character (section 2.2, production 2); a control that it does allow may
/// not be in a name either.
fn is_xml(character: char) -> bool {
    !character.is_control() && !matches!(character, '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_and_keep_their_counts() {
        assert_eq!(
            lines("b [x] 2\n\na [x];c [y] 1\n", false).unwrap(),
            ["a [x];c [y] 1", "b [x] 2"]
        );
        assert_eq!(lines("b [x] 0 7", true).unwrap(), ["b [x] 0 7"]);
    }

    #[test]
    fn a_stack_that_comes_twice_is_one() {
        assert_eq!(lines("b 1 2\nb 3 4", true).unwrap(), ["b 4 6"]);
    }

    #[test]
    fn the_order_is_that_of_the_stacks() {
        assert_eq!(lines("a !b 1\na 9", false).unwrap(), ["a 9", "a !b 1"]);
    }

    #[test]
    fn a_line_that_is_no_stack_with_counts_is_named() {
        for (text, differential) in [
            ("a [x] 1\nnonsense", false),
            ("a [x] 1\na [x] 1.5", false),
            ("a [x] 1\na [x] -1", false),
            ("a [x] 1\n7", false),
            ("a [x] 1 2\na [x] 1", true),
        ] {
            let why = lines(text, differential).unwrap_err();
            assert!(why.starts_with("line 2 is not a stack and"), "{why}");
        }
    }

    #[test]
    fn nothing_to_draw_and_too_much_are_told() {
        assert!(lines("", false).unwrap_err().contains("nothing to draw"));
        assert!(
            lines("a [x] 5 0", true)
                .unwrap_err()
                .contains("nothing to draw")
        );
        let large = format!("a [x] {}\nb [x] 1", u64::MAX);
        assert!(lines(&large, false).unwrap_err().contains("too large"));
    }

    #[test]
    fn a_name_cannot_be_taken_for_a_count_or_a_comment() {
        assert_eq!(lines("a;route 66 5", false).unwrap(), ["a;route\u{a0}66 5"]);
        assert_eq!(lines("# a 5", false).unwrap(), ["#\u{a0}a 5"]);
        assert_eq!(lines("# 5", false).unwrap(), ["#\u{a0} 5"]);
    }

    #[test]
    fn characters_that_xml_forbids_are_replaced() {
        assert_eq!(lines("a\u{1b}[2J 5", false).unwrap(), ["a\u{fffd}[2J 5"]);
    }
}
