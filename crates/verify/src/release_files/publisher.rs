//! Statements about a lake that only its publisher can make: the file `release.toml` in the lake's home.

use serde::Deserialize;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_schema::description::is_printable;

/// The publisher's statements.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Publisher {
    /// The page where the lake can be downloaded.
    url: Url,
    /// Responsible AI.
    pub(super) rai: Rai,
}

/// The publisher's statements about the use of the data, by the names of Croissant.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Rai {
    pub(super) data_limitations: Prose,
    pub(super) data_biases: Prose,
    pub(super) personal_sensitive_information: Prose,
    pub(super) data_use_cases: Prose,
    pub(super) data_social_impact: Prose,
    pub(super) data_collection: Prose,
    pub(super) data_release_maintenance_plan: Prose,
}

impl Publisher {
    /// Reads the file.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] with line and column, if it isn't TOML, or has other keys or values than the template.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let text = str::from_utf8(bytes).map_err(|error| {
            let reason = "not UTF-8".to_owned();
            misread(bytes, error.valid_up_to(), reason)
        })?;
        toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let reason = error.message().trim().replace('\n', ", ");
            misread(bytes, offset, reason)
        })
    }

    /// The page where the lake can be downloaded.
    pub(super) fn url(&self) -> Option<&str> {
        Some(&*self.url.0).filter(|url| !url.is_empty())
    }
}

/// An error at a byte of the file.
fn misread(bytes: &[u8], offset: usize, reason: String) -> Error {
    let before = &bytes[..offset.min(bytes.len())];
    let lines = before.iter().filter(|byte| **byte == b'\n').count() as u64;
    let line_begins = before.iter().rposition(|byte| *byte == b'\n');
    let column = before.len() - line_begins.map_or(0, |newline| newline + 1);
    Error::new(ErrorKind::Usage, reason)
        .line(lines + 1, Some(column as u64 + 1))
        .hint("fix it, or move it away, and release writes it anew")
}

/// A text on one line; empty if there is none.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Prose(String);

impl Prose {
    pub(super) fn get(&self) -> Option<&str> {
        Some(&*self.0).filter(|text| !text.is_empty())
    }
}

impl TryFrom<String> for Prose {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<Self, Self::Error> {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match is_printable(&line) {
            true => Ok(Self(line)),
            false => Err("a text has letters that aren't printed, such as control characters"),
        }
    }
}

/// An address of a page; empty if there is none.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "String")]
struct Url(String);

impl TryFrom<String> for Url {
    type Error = &'static str;

    fn try_from(url: String) -> std::result::Result<Self, Self::Error> {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&byte);
        let is_page = ["https://", "http://"].iter().any(|start| {
            let rest = url.strip_prefix(start);
            rest.is_some_and(|rest| !rest.is_empty())
        });
        match url.is_empty() || is_page && url.bytes().all(is_plain) {
            true => Ok(Self(url)),
            false => Err("not an address such as https://example.org/my-lake"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tracelake_lake::TEMPLATE;

    use super::*;

    #[test]
    fn the_template_says_nothing() {
        let empty = Publisher::read(TEMPLATE.as_bytes()).unwrap();
        assert_eq!(empty.url(), None);
        let Rai {
            data_limitations,
            data_biases,
            personal_sensitive_information,
            data_use_cases,
            data_social_impact,
            data_collection,
            data_release_maintenance_plan,
        } = &empty.rai;
        for text in [
            data_limitations,
            data_biases,
            personal_sensitive_information,
            data_use_cases,
            data_social_impact,
            data_collection,
            data_release_maintenance_plan,
        ] {
            assert_eq!(text.get(), None);
        }
        // Each key is in it.
        let keys = TEMPLATE.lines().filter(|line| line.ends_with(" = \"\""));
        assert_eq!(keys.count(), 8);
    }

    #[test]
    fn a_mistake_has_a_place() {
        for (text, line, column, says) in [
            ("url = \"\"\nurl = \"\"", 2, 1, "duplicate key"),
            ("url = 5", 1, 7, "invalid type"),
            (
                "\n[rai]\ndata_bias = \"\"",
                3,
                1,
                "unknown field `data_bias`",
            ),
            ("[rai]\ndata_biases = [\"\"]", 2, 15, "invalid type"),
            ("[rai]\ndata_biases = \"a\\u0007\"", 2, 15, "aren't printed"),
            ("url = \"javascript:alert(1)\"", 1, 7, "not an address"),
            ("url = \"https://a/<b>\"", 1, 7, "not an address"),
            ("url", 1, 4, "expected"),
        ] {
            let error = Publisher::read(text.as_bytes()).unwrap_err();
            let place = error.place();
            assert_eq!(
                (place.line, place.column),
                (Some(line), Some(column)),
                "{text}: {error}"
            );
            assert!(error.to_string().contains(says), "{text}: {error}");
            assert_eq!(error.kind(), ErrorKind::Usage);
        }
        let error = Publisher::read(b"[rai]\n# \xff").unwrap_err();
        assert_eq!(
            (error.place().line, error.place().column),
            (Some(2), Some(3))
        );
    }

    #[test]
    fn line_breaks_are_spaces() {
        let text = "[rai]\ndata_biases = \"\"\"\nOne cell,\n  one $ year.\n\"\"\"";
        let publisher = Publisher::read(text.as_bytes()).unwrap();
        assert_eq!(
            publisher.rai.data_biases.get(),
            Some("One cell, one $ year.")
        );
    }
}
