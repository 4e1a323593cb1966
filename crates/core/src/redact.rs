//! Texts that may hold a URL, without what may be a secret in it.
//!
//! A text that was typed wrong follows no grammar, and a password may hold any character. So too much is
//! taken out rather than too little.

/// Names of values that are secrets, or parts of one, in the queries of stores and web servers.
const SECRETS: &[&str] = &[
    "x-amz-signature",
    "x-amz-credential",
    "x-amz-security-token",
    "x-goog-signature",
    "x-goog-credential",
    "awsaccesskeyid",
    "googleaccessid",
    "signature",
    "sig",
    "access_token",
    "token",
    "secret",
    "password",
    "api_key",
    "apikey",
];

/// How a colon, slashes and an at sign are written where a URL is a value in another one.
const ENCODED: [(&str, &str); 3] = [("%3a", ":"), ("%2f", "/"), ("%40", "@")];

/// A URL, even a malformed one, without user name, password, query and fragment.
#[must_use]
pub fn redacted_url(text: &str) -> String {
    let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
    let rest = rest.trim_start_matches('/');
    let (rest, query) = match rest.find(['?', '#']) {
        // It may be in a password, so that the host isn't known.
        Some(at) if rest[at..].contains('@') => return format!("{scheme}://…"),
        Some(at) => (&rest[..at], format!("{}…", &rest[at..=at])),
        None => (rest, String::new()),
    };
    // A password may hold slashes, so all before the last @ may be one.
    match rest.rsplit_once('@') {
        Some((_, rest)) => values(&format!("{scheme}://…@{rest}{query}")),
        None => values(&format!("{scheme}://{rest}{query}")),
    }
}

/// A text in which URLs may be, without what may be a secret.
///
/// ```
/// use tracelake_core::redact::redacted;
/// assert_eq!(redacted("--source=https://me:secret@host/a?sig=1"), "--source=https://…@host/a?…");
/// ```
#[must_use]
pub fn redacted(text: &str) -> String {
    if let Some(colon) = text.find("://") {
        let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let scheme = text.as_bytes()[..colon]
            .iter()
            .rev()
            .take_while(|&byte| is_scheme(byte));
        let start = colon - scheme.count();
        let url = redacted_url(&text[start..]);
        return format!("{}{url}", values(&text[..start]));
    }
    let mut decoded = text.to_owned();
    for (code, character) in ENCODED {
        decoded = decoded.replace(code, character);
        decoded = decoded.replace(&code.to_ascii_uppercase(), character);
    }
    if decoded != text && (decoded.contains("://") || decoded.contains('@')) {
        return redacted(&decoded);
    }
    // `user:password@host`, after the name of an option or in a sentence, whose own colons have a blank after them.
    let user = text.rsplit_once('@').and_then(|(user, host)| {
        let mut colons = user.match_indices(':').map(|(at, _)| at);
        let colon = colons.find(|at| !user[at + 1..].starts_with(char::is_whitespace))?;
        let before = |character: char| character.is_whitespace() || "='\"(".contains(character);
        let start = user[..colon].rfind(before).map_or(0, |at| at + 1);
        Some((&text[..start], host))
    });
    match user {
        Some((before, host)) => format!("{}…@{}", values(before), values(host)),
        None => values(text),
    }
}

/// A line of a log, in which a URL or a part of one has no blanks: each word is redacted by itself, whatever it is.
///
/// ```
/// use tracelake_core::redact::redacted_line;
///
/// let line = "connecting to (\"http\", token@host:80) for /a?code=1";
/// assert_eq!(redacted_line(line), "connecting to (\"http\", …@host:80) for /a?…");
/// ```
#[must_use]
pub fn redacted_line(line: &str) -> String {
    let is_end = |character: char| character.is_whitespace() || character == '"';
    let words = line.split_inclusive(is_end).map(|word| {
        let text = word.trim_end_matches(is_end);
        let (place, query) = match text.split_once('?') {
            Some((place, query)) if !query.is_empty() => (place, "?…"),
            _ => (text, ""),
        };
        let place = match place.rsplit_once('@') {
            Some((_, host)) if !place.contains("://") => format!("…@{host}"),
            _ => place.to_owned(),
        };
        format!("{}{query}{}", redacted(&place), &word[text.len()..])
    });
    words.collect()
}

/// Whether a text holds a value whose name says that it is secret, such as `X-Amz-Signature=…`.
#[must_use]
pub fn has_secret_value(text: &str) -> bool {
    values(text) != text
}

/// Takes out the values of names that say that they are secret.
fn values(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let bytes = lower.as_bytes();
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = SECRETS
        .iter()
        .filter_map(|name| value_of(&lower, name, at))
        .min()
    {
        let length = bytes[found..]
            .iter()
            .position(|&byte| byte == b'&' || byte.is_ascii_whitespace());
        let end = length.map_or(text.len(), |length| found + length);
        shown.push_str(&text[at..found]);
        if end > found {
            shown.push('…');
        }
        at = end;
    }
    shown.push_str(&text[at..]);
    shown
}

/// Where the first value of this name starts from `at` on; the name is a word.
fn value_of(lower: &str, name: &str, at: usize) -> Option<usize> {
    let mut places = lower[at..].match_indices(name).map(|(start, _)| at + start);
    places.find_map(|start| {
        let before = &lower[..start];
        let begins = !before.ends_with(|character: char| character.is_ascii_alphanumeric())
            || ["%3f", "%26"].iter().any(|code| before.ends_with(code));
        let rest = &lower[start + name.len()..];
        let equals = ["=", "%3d"]
            .iter()
            .find(|equals| rest.starts_with(*equals))?;
        let value = start + name.len() + equals.len();
        let is_shown = rest[equals.len()..].starts_with('…');
        (begins && !is_shown).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments in which `SECRET` must not be seen, and what is left of them.
    const CASES: &[(&str, &str)] = &[
        ("https://user:SECRET@host/a", "https://…@host/a"),
        ("https://user:SECRET/SECRET@host/a", "https://…@host/a"),
        ("https://user:SE@SECRET@host/a", "https://…@host/a"),
        ("https://user:SECRET%40SECRET@host/a", "https://…@host/a"),
        ("https://SECRET@host/a", "https://…@host/a"),
        ("https://host/a?X-Amz-Signature=SECRET", "https://host/a?…"),
        ("https://host/a#access_token=SECRET", "https://host/a#…"),
        ("https://host/a%3Fsig=SECRET", "https://host/a%3Fsig=…"),
        ("https://host/a%3Fsig%3DSECRET", "https://host/a%3Fsig%3D…"),
        ("https://host/a?sig=SECRET,https://h", "https://host/a?…"),
        ("https://h/a?x,https://u:SECRET@h", "https://…"),
        ("https://user:SECRET?SECRET@host/a", "https://…"),
        ("https://user:SECRET#SECRET@host/a", "https://…"),
        ("https://h/a,https://u:SECRET@h/b", "https://…@h/b"),
        ("--source=https://u:SECRET@h/b", "--source=https://…@h/b"),
        ("--sig=SECRET&https://h/b", "--sig=…&https://h/b"),
        (" https://u:SECRET@h/b", " https://…@h/b"),
        ("s3:/AKIA:SECRET@bucket/a", "…@bucket/a"),
        ("user:SECRET@host", "…@host"),
        ("--out=user:SECRET@host", "--out=…@host"),
        (
            "out: 'user:SE CRET@host' is no path",
            "out: '…@host' is no path",
        ),
        (
            "out: 'user:SECRET@host' is no path",
            "out: '…@host' is no path",
        ),
        ("X-Amz-Signature=SECRET", "X-Amz-Signature=…"),
        (
            "x-amz-security-token=SECRET&b=1",
            "x-amz-security-token=…&b=1",
        ),
        ("a=1&Signature=SECRET", "a=1&Signature=…"),
        ("https%3A%2F%2Fuser%3ASECRET%40host", "https://…@host"),
        ("https://u:SECRET@h/\u{1b}[31m", "https://…@h/\u{1b}[31m"),
    ];

    #[test]
    fn no_secret_is_left() {
        for &(text, expected) in CASES {
            assert_eq!(redacted(text), expected);
            assert!(!redacted(text).contains("SECRET"), "{text}");
            // Redacting again changes nothing.
            assert_eq!(redacted(expected), expected);
        }
    }

    #[test]
    fn a_line_of_a_log_keeps_what_holds_no_secret() {
        for (line, expected) in [
            (
                "TRACE pool: reuse (\"http\", user:SECRET@127.0.0.1:80) 12:30:01",
                "TRACE pool: reuse (\"http\", …@127.0.0.1:80) 12:30:01",
            ),
            ("uri=http://SECRET@h/a?b=SECRET, x", "uri=http://…@h/a?… x"),
            ("Location: /a?code=SECRET,SECRET\n", "Location: /a?…\n"),
            ("user:SE'CRET@h what?", "…@h what?"),
            ("AWS_SECRET_ACCESS_KEY set", "AWS_SECRET_ACCESS_KEY set"),
        ] {
            assert_eq!(redacted_line(line), expected);
            assert_eq!(redacted_line(expected), expected);
        }
    }

    #[test]
    fn what_holds_no_secret_stays_as_it_is() {
        for text in [
            "job_events",
            "--tables=a,b",
            "a@b",
            "12:30",
            "filter: 'a@b' is no number",
            "s3://bucket/a b",
            "https://host:8080/a%20b",
            "design=1",
            "tokens=2",
            "",
        ] {
            assert_eq!(redacted(text), text);
        }
    }
}
