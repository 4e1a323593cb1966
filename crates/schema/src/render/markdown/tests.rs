use std::sync::Arc;

use super::*;
use crate::TRACES;

#[test]
fn an_absent_column_is_said_to_be_absent() {
    let absent = |trace: &Trace| {
        let missing = trace
            .tables
            .iter()
            .map(|t| t.columns.len() - t.fields.len());
        missing.sum::<usize>()
    };
    for trace in TRACES {
        let said = markdown(trace, None)
            .matches("*Not in the files of")
            .count();
        assert_eq!(said, absent(trace), "{}", trace.name);
    }
    let family: Vec<&Trace> = TRACES
        .iter()
        .filter(|t| t.family == TRACES[0].family)
        .map(|trace| &**trace)
        .collect();
    let said = dictionary(&family).matches("*Not in the files of").count();
    assert_eq!(
        said,
        family.iter().map(|trace| absent(trace)).sum::<usize>()
    );
}

#[test]
fn keys_archives_and_reasons_are_on_the_page() {
    for trace in TRACES {
        let page = markdown(trace, None);
        for archive in &trace.archives {
            assert!(page.contains(archive.sha256.as_deref().unwrap_or("not stated")));
            assert!(archive.names.iter().all(|name| page.contains(name)));
        }
        for table in trace.all_tables() {
            let section = table_section(trace, table);
            assert!(section.contains(table.required.as_deref().unwrap_or_default()));
            assert!(section.contains(&quoted(&table.entity)));
            assert!(section.contains(&quoted(&table.primary_key)));
            for reference in &table.references {
                assert!(section.contains(&format!("of `{}`", reference.table)));
            }
        }
    }
}

#[test]
fn a_description_brings_no_html_and_no_formula() {
    let mut trace = (*TRACES[0]).clone();
    let mut column = (*trace.tables[0].columns[0]).clone();
    column.doc = "<script>alert('$x$')</script>".to_owned();
    column.content = "<b>".to_owned();
    let table = Table {
        summary: "<img src=x onerror=alert(1)>".to_owned(),
        ..Table::plain("odd", [column])
    };
    trace.title = "</title>".to_owned();
    trace.anomalies = vec!["costs $5 <!--".to_owned()];
    let table = Arc::new(table);
    trace.tables = vec![Arc::clone(&table)];
    for page in [
        markdown(&trace, None),
        dictionary(&[&trace]),
        anomalies(&trace) + &table_section(&trace, &table),
    ] {
        assert!(!page.contains('<'), "{page}");
        assert_eq!(page.matches('$').count(), page.matches("\\$").count());
        assert!(page.contains("&lt;script>alert('\\$x\\$')&lt;/script>"));
    }
}

#[test]
fn a_bar_does_not_end_a_cell() {
    assert_eq!(cell("a|b"), "a\\|b");
}
