//! Descriptions with mistakes of every sort: each is read or refused, and none stops the process.

use proptest::prelude::*;

use super::{MAX_BYTES, SMALL, parse};

/// The replacements for a value, or for a part of a line.
const ODD: [&str; 22] = [
    "",
    "\"\"",
    "\"x\"",
    "\"time\"",
    "\"mood\"",
    "\"../x\"",
    "\"struct\"",
    "\"list\"",
    "\"{cell}\"",
    "\"å\\u0000\\n\"",
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999",
    "nan",
    "inf",
    "true",
    "[]",
    "[[\"days\"]]",
    "{}",
    "1979-05-27",
];

fn odd() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&ODD[..])
}

/// Replaces the value of a line, removes the line, repeats it, moves it, or cuts the text there.
fn mutate(text: &str, line: usize, to: usize, how: u8, odd: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return odd.to_owned();
    }
    let (line, to) = (line % lines.len(), to % lines.len());
    match how {
        0 => drop(lines.remove(line)),
        1 => lines.insert(to, lines[line].clone()),
        2 => lines.swap(line, to),
        3 => lines.truncate(line),
        4 => lines[line].push_str(odd),
        _ => {
            let key = lines[line].split('=').next().unwrap_or_default();
            lines[line] = format!("{key}= {odd}");
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_mutated_description_is_read_or_refused_with_a_line_of_it(
        changes in prop::collection::vec(
            (any::<usize>(), any::<usize>(), 0_u8..10, odd()),
            1..5,
        ),
    ) {
        let text = changes.iter().fold(SMALL.to_owned(), |text, (line, to, how, odd)| {
            mutate(&text, *line, *to, *how, odd)
        });
        match parse(&text) {
            Ok(traces) => prop_assert!(!traces.is_empty()),
            Err(error) => {
                let lines = text.lines().count() + 1;
                prop_assert!(error.line().is_none_or(|line| (1..=lines).contains(&line)));
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\PC\\n]{0,200}") {
        prop_assert!(parse(&text).is_err());
    }
}

#[test]
fn deep_nesting_is_refused() {
    let deep = 100_000;
    for text in [
        format!("family = {}", "[".repeat(deep)),
        format!("{SMALL}[[table.column{}]]\n", ".field".repeat(deep)),
        format!("{SMALL}field{} = 1\n", ".field".repeat(deep)),
    ] {
        assert!(parse(&text).is_err());
    }
    // Lists in lists, each in its TOML table.
    let mut nested = SMALL.to_owned();
    for depth in 1..2_000 {
        let header = ".field".repeat(depth);
        nested += &format!("[[table.column{header}]]\nname = \"item\"\nkind = \"list\"\n");
        if nested.len() > MAX_BYTES - 10_000 {
            break;
        }
    }
    assert!(parse(&nested).is_err());
}
