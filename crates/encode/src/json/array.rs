//! The elements of a JSON array that is the whole text, found chunk by chunk. Pure.
//!
//! Anything between two commas is an element; the reader of the element says what is wrong with it. So one bad element
//! doesn't hide the others.

use std::ops::Range;

use crate::splitting::{ArrayPlace, NoArray};

/// Splits a chunk that begins at `place` into at most `most` elements, whose ranges are added to `elements`. Returns where
/// the whole ones end. What follows is the start of an element, unless the text ends with the chunk.
///
/// # Errors
/// The byte where the text is no array, and why it isn't.
///
/// ```
/// use tracelake_encode::json::split_array;
/// use tracelake_encode::syntax::ArrayPlace;
///
/// let (mut place, mut elements) = (ArrayPlace::Start, Vec::new());
/// split_array(b"[{}, 5]", &mut place, true, u64::MAX, &mut elements).unwrap();
/// assert_eq!(elements, [1..3, 5..6]);
/// ```
pub fn split(
    chunk: &[u8],
    place: &mut ArrayPlace,
    is_last: bool,
    most: u64,
    elements: &mut Vec<Range<usize>>,
) -> Result<usize, (usize, NoArray)> {
    let mut whole = 0;
    loop {
        let at = after_space(chunk, whole);
        let Some(&next) = chunk.get(at) else {
            return match (is_last, *place) {
                (true, ArrayPlace::Start) => Err((at, NoArray::Start)),
                (true, ArrayPlace::Opened | ArrayPlace::AfterElement) => Err((at, NoArray::End)),
                (_, ArrayPlace::Ended) => Ok(at),
                (false, _) => Ok(whole),
            };
        };
        let start = match (*place, next) {
            (ArrayPlace::Start, b'[') => {
                (*place, whole) = (ArrayPlace::Opened, at + 1);
                continue;
            }
            (ArrayPlace::Start, _) => return Err((at, NoArray::Start)),
            (ArrayPlace::Opened | ArrayPlace::AfterElement, b']') => {
                (*place, whole) = (ArrayPlace::Ended, at + 1);
                continue;
            }
            (ArrayPlace::Opened, _) => at,
            // An element ends where a comma or the end of the array follows.
            (ArrayPlace::AfterElement, _) => after_space(chunk, at + 1),
            (ArrayPlace::Ended, _) => return Err((at, NoArray::After)),
        };
        if elements.len() as u64 >= most {
            return Ok(whole);
        }
        match end(chunk, start) {
            Some(end) => {
                let element = chunk[start..end].trim_ascii_end();
                elements.push(start..start + element.len());
                (*place, whole) = (ArrayPlace::AfterElement, end);
            }
            None if is_last => return Err((chunk.len(), NoArray::End)),
            None => return Ok(whole),
        }
    }
}

fn after_space(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let space = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
    from + space.count()
}

/// Where the element that starts at a byte ends: at the comma or the bracket that is in no string, object or list of it.
fn end(text: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        match *text.get(at)? {
            b'"' => {
                at += 1;
                loop {
                    at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
                    if text[at] == b'"' {
                        break;
                    }
                    at += 2;
                }
            }
            b'{' | b'[' => depth += 1,
            b',' | b']' if depth == 0 => return Some(at),
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// The elements of a text that is read in chunks of at most `size` bytes, and of `most` elements.
    fn elements(text: &str, size: usize, most: u64) -> Result<Vec<&str>, NoArray> {
        let (mut place, mut start, mut length) = (ArrayPlace::Start, 0, size);
        let mut found = Vec::new();
        loop {
            let end = text.len().min(start + length);
            let is_last = end == text.len();
            let mut ranges = Vec::new();
            let chunk = &text.as_bytes()[start..end];
            let whole = split(chunk, &mut place, is_last, most, &mut ranges).map_err(|it| it.1)?;
            let ranges = ranges.into_iter();
            found.extend(ranges.map(|range| &text[start + range.start..start + range.end]));
            if is_last && start + whole == text.len() {
                return Ok(found);
            }
            // What isn't whole is read again, with more.
            length = if whole == 0 { length + size } else { size };
            start += whole;
        }
    }

    #[test]
    fn elements_are_what_is_between_commas() {
        for (text, expected) in [
            ("[]", &[][..]),
            (" [\n] \n", &[]),
            ("[{}]", &["{}"]),
            (
                "[ {\"a\": [1, 2]},\n{\"b\": \"]},\\\"\"} ]\n",
                &["{\"a\": [1, 2]}", "{\"b\": \"]},\\\"\"}"],
            ),
            ("[1,{},]", &["1", "{}", ""]),
            (
                "[,x y }, \"a\\\\\",{]}]",
                &["", "x y }", "\"a\\\\\"", "{]}"],
            ),
        ] {
            for size in 1..text.len() + 1 {
                for most in [1, 2, u64::MAX] {
                    assert_eq!(
                        elements(text, size, most).as_deref(),
                        Ok(expected),
                        "{text}"
                    );
                }
            }
        }
        for (text, why) in [
            ("", NoArray::Start),
            ("\n", NoArray::Start),
            ("{}\n", NoArray::Start),
            ("\u{feff}[]", NoArray::Start),
            ("[", NoArray::End),
            ("[{}", NoArray::End),
            ("[{},\n", NoArray::End),
            ("[{}, \"]\n", NoArray::End),
            ("[{]", NoArray::End),
            ("[{}] x", NoArray::After),
            ("[{}]]", NoArray::After),
            ("[][]", NoArray::After),
        ] {
            for size in 1..text.len() + 1 {
                assert_eq!(elements(text, size, 1), Err(why), "{text}");
            }
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "[\\[\\]{},\"\\\\a é]{0,6}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[\\]},\"]{0,3}", inner, 0..4)
                    .prop_map(|named| named.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn elements_are_those_of_serde_json(
            values in prop::collection::vec(value(), 0..6),
            is_pretty in any::<bool>(),
            size in 1..40_usize,
            most in 1..4_u64,
        ) {
            let array = Value::from(values.clone());
            let text = match is_pretty {
                true => serde_json::to_string_pretty(&array).unwrap() + "\r\n",
                false => array.to_string(),
            };
            let found = elements(&text, size, most).unwrap();
            let found: Vec<Value> = found.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
            prop_assert_eq!(found, values);
        }

        #[test]
        fn any_text_has_elements_or_is_no_array(text in "[\\[\\]{},\"\\\\a \n]{0,30}", size in 1..20_usize) {
            let whole = elements(&text, text.len().max(1), u64::MAX);
            prop_assert_eq!(elements(&text, size, 1), whole);
        }
    }
}
