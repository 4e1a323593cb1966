use super::*;

#[test]
fn codes_are_single_words() {
    let body = b"<?xml?><Error><Code>NoSuchBucket</Code><Message>a b</Message></Error>";
    assert_eq!(element(body, "Code").as_deref(), Some("NoSuchBucket"));
    assert_eq!(element(body, "Message"), None);
    assert_eq!(element(body, "Region"), None);
    assert_eq!(element(b"\xff", "Code"), None);
}

#[test]
fn a_redirect_takes_no_secret_along_and_keeps_to_https() {
    let url = |text: &str| reqwest::Url::parse(text).unwrap();
    let step = |from: &str, to: &str, stays| {
        redirected(&[url(from)], &url(to), stays).map_err(|unusable| unusable.reason)
    };
    assert_eq!(step("https://a/b", "https://c/d", false), Ok(true));
    assert_eq!(step("http://a/b", "https://c/d", false), Ok(true));
    assert_eq!(step("https://a/b", "https://a/d", true), Ok(true));
    for other in ["https://c/b", "https://a:8443/b"] {
        assert_eq!(step("https://a/b", other, true), Ok(false), "{other}");
    }
    for stays in [true, false] {
        assert!(step("https://a/b", "http://a/b", stays).is_err());
    }
    let circle = vec![url("https://a/b"); REDIRECTS];
    assert!(redirected(&circle, &circle[0], false).is_ok());
    let circle = vec![url("https://a/b"); REDIRECTS + 1];
    assert!(redirected(&circle, &circle[0], false).is_err());
}

#[test]
fn ranges_that_cannot_be_are_no_size() {
    assert_eq!(size_of_range("bytes 0-0/10"), Some(1));
    assert_eq!(size_of_range("bytes 3-9/10"), Some(7));
    for range in [
        "",
        "0-9/10",
        "bytes 0-9",
        "bytes 0-9/*",
        "bytes */10",
        "bytes 9-3/10",
        "bytes 0-10/10",
        "bytes 0-18446744073709551615/18446744073709551615",
    ] {
        assert_eq!(size_of_range(range), None, "{range}");
    }
}

#[test]
fn an_encoding_is_allowed_if_it_is_the_files_own() {
    let checked = |path: &str, encoding: &'static str| {
        let value = HeaderValue::from_static(encoding);
        let headers = [("content-encoding".parse().unwrap(), value)];
        check_encoding(path, &headers.into_iter().collect()).is_ok()
    };
    assert!(checked("/a.csv.gz", "gzip"));
    assert!(checked("/a.tgz", "x-gzip"));
    assert!(checked("/a.csv", "identity"));
    assert!(!checked("/a.csv", "gzip"));
    assert!(!checked("/a.csv.gz", "br"));
    assert!(!checked("/SHA256SUM", "gzip"));
    assert!(check_encoding("/a", &HeaderMap::new()).is_ok());
}

#[test]
fn pauses_are_bounded() {
    let headers = |value: &'static str| {
        let value = HeaderValue::from_static(value);
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", value);
        headers
    };
    assert_eq!(pause(&headers("2")), Some(Duration::from_secs(2)));
    assert_eq!(pause(&headers("86400")), Some(LONGEST_PAUSE));
    assert_eq!(pause(&headers("Wed, 21 Oct 2026 07:28:00 GMT")), None);
    assert_eq!(pause(&HeaderMap::new()), None);
}
