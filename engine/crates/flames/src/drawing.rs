//! The graph itself, drawn by the inferno crate.

use inferno::flamegraph::color::{BackgroundColor, Color};
use inferno::flamegraph::{self, TextTruncateDirection};

use crate::colours;
use crate::options::Options;

/// Frames whose cost did not change are white, and must be seen.
const SKY: Color = Color {
    r: 227,
    g: 232,
    b: 238,
};

/// The SVG of lines that `folded::lines` made. A plain graph is coloured by kinds of libraries, a
/// difference by what a function's own code costs more (red) or less (blue).
pub fn svg(lines: &[String], options: &Options) -> Result<Vec<u8>, String> {
    let mut palette = colours::palette(lines);
    let mut wanted = flamegraph::Options::default();
    wanted.title.clone_from(&options.title);
    if !options.subtitle.is_empty() {
        wanted.subtitle = Some(options.subtitle.clone());
    }
    wanted.count_name.clone_from(&options.count_name);
    wanted.no_sort = true;
    wanted.min_width = options.min_width_percent;
    wanted.bgcolors = Some(BackgroundColor::Flat(SKY));
    // A name's beginning tells more than its end, which is the library.
    wanted.text_truncate_direction = TextTruncateDirection::Right;
    if !options.differential {
        wanted.palette_map = Some(&mut palette);
    }
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut wanted, lines.iter().map(String::as_str), &mut svg)
        .map_err(|error| error.to_string())?;
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded;

    fn drawn(text: &str, options: &Options) -> String {
        let lines = folded::lines(text, options.differential).unwrap();
        String::from_utf8(svg(&lines, options).unwrap()).unwrap()
    }

    fn differential() -> Options {
        Options {
            differential: true,
            ..Options::default()
        }
    }

    /// What is drawn for the frame whose title begins so.
    fn frame<'a>(svg: &'a str, title: &str) -> &'a str {
        let (_, after) = svg.split_once(&format!("<title>{title}")).expect(title);
        after.split_once("</g>").unwrap().0
    }

    #[test]
    fn a_frame_has_its_cost_and_its_share() {
        let svg = drawn("main [p];f [p] 1500\nmain [p] 500", &Options::default());
        assert!(frame(&svg, "f [p]").starts_with(" (1,500 ns per operation, 75.00%)"));
        assert!(frame(&svg, "main [p]").starts_with(" (2,000 ns per operation, 100.00%)"));
        assert!(svg.contains("all (2,000 ns per operation, 100%)"));
    }

    #[test]
    fn what_grew_is_red_and_what_shrank_is_blue() {
        let svg = drawn(
            "m [p];grew [p] 0 100\nm [p];shrank [p] 100 50\nm [p];same [p] 7 7",
            &differential(),
        );
        assert!(frame(&svg, "grew [p]").contains("rgb(255,100,100)"));
        assert!(frame(&svg, "shrank [p]").contains("rgb(175,175,255)"));
        assert!(frame(&svg, "same [p]").contains("rgb(250,250,250)"));
        assert!(frame(&svg, "grew [p]").contains("+63.69%"));
    }

    #[test]
    fn frames_below_the_least_width_are_left_out() {
        let options = Options {
            min_width_percent: 2.0,
            ..Options::default()
        };
        let svg = drawn("wide [p] 99\nthin [p] 1", &options);
        assert!(svg.contains("wide [p]") && !svg.contains("thin [p]"));
    }

    #[test]
    fn no_order_of_names_is_refused() {
        let svg = drawn("a 9\na !b 1\na;c 2\na [x] 3\n~ 1", &Options::default());
        assert!(svg.contains("a !b (1") && svg.contains("~ (1"));
    }

    #[test]
    fn a_plain_graph_is_the_same_every_time() {
        let text = "a [kernel];b [libc.so.6] 5\na [kernel];c [mysqld] 9";
        assert_eq!(
            drawn(text, &Options::default()),
            drawn(text, &Options::default())
        );
    }

    #[test]
    fn a_name_and_a_title_are_text_whatever_they_hold() {
        let options = Options {
            title: "</text><script>alert(1)</script>".into(),
            subtitle: "a & b < c".into(),
            ..Options::default()
        };
        let svg = drawn(
            "</title><script>alert(2)</script>\"' onload=x & ]]> [x] 5",
            &options,
        );
        assert_eq!(svg.matches("<script").count(), 1, "the library's own");
        assert!(svg.contains("&lt;script&gt;alert(1)") && svg.contains("&lt;script&gt;alert(2)"));
        assert!(svg.contains("a &amp; b &lt; c"));
    }
}
