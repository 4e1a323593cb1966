use super::*;

#[test]
fn shown_as_typed_but_for_secrets() {
    for (typed, expected) in [
        ("s3://bucket", "s3://bucket"),
        ("S3://bucket/", "s3://bucket"),
        ("gs://bucket/a/b.csv.gz", "gs://bucket/a/b.csv.gz"),
        ("az://container/a@b#c", "az://container/a@b#c"),
        (
            "abfss://c@acc.dfs.core.windows.net/a",
            "abfss://c@acc.dfs.core.windows.net/a",
        ),
        ("https://user:pa@ss@h:8080/a%20b", "https://h:8080/a%20b"),
        ("https://h/a?sig=secret", "https://h/a"),
        ("http://[::1]:80/a", "http://[::1]:80/a"),
    ] {
        assert_eq!(Url::parse(typed).unwrap().to_string(), expected);
    }
}

#[test]
fn malformed_urls_are_refused_without_their_secrets() {
    const MALFORMED: &str = "
        ftp://host/a|htps://host/a|s3://|s3:///path|s3://buc ket/a|s3://b//a|s3://b/../a|gs://b/a\n|\
        https://|https://host:port/a|https://ho st/a|https://host/a b|https://host/a/%2e%2E/b|\
        https://host/.%2e|https://host/a%2f..%2fb|https://host/%252e%252e/b|\
        s3://AKIA:SECRET/SECRET@bucket/a|s3://AKIA:SECRET@bucket/a|az://c:SECRET@a.b.c/a|\
        az://c@account/a|az://container/a?sig=SECRET|https://user:SECRET/SECRET@host/a|\
        https://host/a#access_token=SECRET|https://host/a?b#SECRET|\
        https://host/a%3FX-Amz-Signature=SECRET|https://host:SECRET/a|abfss://c@SECRET/a|\
        abfss://c@account:SECRET.dfs.core.windows.net/a|s3://SECRET+SECRET/a|\
        s3://bucket/X-Amz-Signature=SECRET";
    for typed in MALFORMED.trim_start().split('|') {
        let error = Url::parse(typed).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{typed}");
        assert!(error.advice().is_some(), "{typed}");
        let text = format!("{error} {error:?}");
        assert!(!text.contains("SECRET"), "{text}");
    }
    assert!(misspelt("s3:/bucket/a").is_some());
    assert!(misspelt("https//host").is_some());
    assert!(misspelt("HTTPS:/host").is_some());
    let shown = misspelt(" https://user:SECRET@host").unwrap().to_string();
    assert!(shown.starts_with(" https://…@host: "), "{shown}");
    for typed in ["user:SECRET@host", "user%3ASECRET%40host", "sig=SECRET"] {
        let shown = misspelt(typed).unwrap().to_string();
        assert!(!shown.contains("SECRET"), "{shown}");
        for path in [format!("./{typed}"), format!("/{typed}")] {
            assert!(misspelt(&path).is_none(), "{path}");
        }
    }
    assert!(misspelt("s3").is_none());
    assert!(misspelt("gsx/a").is_none());
}

#[test]
fn a_path_stays_inside_however_it_is_written() {
    for path in "a a/b a%20b x%2Fy.csv ..a a.. ... %2e%2e.csv 100% %zz %25".split(' ') {
        assert!(stays_inside(path), "{path}");
    }
    let outside = "/a a//b a/ . .. a/../b %2e %2e%2e/a %2E. .%2e/%2e./a a%2f..%2fb ..%5ca a\\.. \
                   %252e%252e/a %25252e.";
    for path in outside.split(' ').chain([""]) {
        assert!(!stays_inside(path), "{path}");
    }
}

#[test]
fn down_and_up_again() {
    let bucket = Url::parse("s3://bucket/").unwrap();
    assert_eq!((bucket.name(), bucket.parent()), (None, None));
    let object = bucket.join("a/b c.csv");
    assert_eq!(object.to_string(), "s3://bucket/a/b c.csv");
    assert_eq!(object.name(), Some("b c.csv"));
    assert_eq!(object.parent().unwrap().to_string(), "s3://bucket/a");
    let file = Url::parse("https://h/x%2Fy.csv?sig=1").unwrap();
    let again = file.parent().unwrap().join(file.name().unwrap());
    assert_eq!(again, file);
    let web = Url::parse("https://h").unwrap();
    assert_eq!(web.join("a b/ü%").to_string(), "https://h/a%20b/%C3%BC%25");
}
