//! Names in a list that object_store takes for no names, such as `a//b`: they are marked, so that the
//! list is read.
//!
//! Stores allow such keys, and one of them would otherwise fail the list of all.

/// Begins the marked form of a part; it is a character for private use.
const MARK: char = '\u{e000}';

/// Elements that hold a key, or what keys start with: of S3 and Google, and of Azure.
const ELEMENTS: &[&str] = &["Key", "Prefix", "Name"];

/// A list as a store sends it, whose keys all have parts that object_store takes.
pub(super) fn marked(list: String) -> String {
    let elements = || {
        list.split('<')
            .map(|element| (element, marked_element(element)))
    };
    // Nearly all lists stay as they are, and aren't copied.
    if elements().all(|(_, marked)| marked.is_none()) {
        return list;
    }
    let elements = elements().map(|(element, marked)| marked.unwrap_or_else(|| element.to_owned()));
    elements.collect::<Vec<_>>().join("<")
}

/// An element without the start of its tag, if it holds a key that has to be marked.
fn marked_element(element: &str) -> Option<String> {
    let (tag, key) = element.split_once('>')?;
    let key = ELEMENTS.contains(&tag).then(|| marked_key(key))??;
    Some(format!("{tag}>{key}"))
}

/// A key with its empty parts and its dots marked; `None` if it has none. A slash at its end is allowed.
fn marked_key(key: &str) -> Option<String> {
    let (names, slash) = match key.strip_suffix('/') {
        Some(names) => (names, "/"),
        None => (key, ""),
    };
    let is_bad = |part: &str| matches!(part, "" | "." | "..");
    if key.is_empty() || !names.split('/').any(is_bad) {
        return None;
    }
    let parts = names.split('/').map(|part| match is_bad(part) {
        true => format!("{MARK}{part}"),
        false => part.to_owned(),
    });
    Some(parts.collect::<Vec<_>>().join("/") + slash)
}

/// A part of a key as it is in the store.
pub(super) fn unmarked(part: &str) -> &str {
    match part.strip_prefix(MARK) {
        Some(bad @ ("" | "." | "..")) => bad,
        _ => part,
    }
}

#[cfg(test)]
mod tests {
    use object_store::path::Path;

    use super::*;

    #[test]
    fn every_key_of_a_list_is_read_and_found_again() {
        for key in [
            "a/b", "a//b", "a/../b", "../b", "./a", "/a", "//a", "a/..", "a/.b", "..a/b", "",
        ] {
            let list = format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>");
            let marked = marked(list);
            let start = marked.strip_prefix("<Contents><Key>").unwrap();
            let (marked_key, rest) = start.split_once("</Key>").unwrap();
            assert_eq!(rest, "<Size>1</Size></Contents>");
            let path = Path::parse(marked_key).unwrap();
            let parts = path.parts().map(|part| unmarked(part.as_ref()).to_owned());
            assert_eq!(parts.collect::<Vec<_>>().join("/"), key);
        }
    }

    #[test]
    fn prefixes_end_in_a_slash() {
        let list = "<Prefix></Prefix><CommonPrefixes><Prefix>a//</Prefix></CommonPrefixes><BlobPrefix>\
                    <Name>../</Name></BlobPrefix><Keys>//</Keys><Key>a";
        let read = format!(
            "<Prefix></Prefix><CommonPrefixes><Prefix>a/{MARK}/</Prefix></CommonPrefixes><BlobPrefix>\
             <Name>{MARK}../</Name></BlobPrefix><Keys>//</Keys><Key>a"
        );
        assert_eq!(marked(list.to_owned()), read);
    }
}
