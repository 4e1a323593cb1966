//! `generate --form parquet`: the rows of the JSON form, in files like those of the publisher.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::{SerializedFileReader, SerializedPageReader};
use tracelake_schema::{TRACES, Trace};
use tracelake_testkit::{Scratch, convert, generate, read_output, run, shared, tree};

/// The traces that are published as JSON and as Parquet, and can be generated.
fn published_in_two_forms() -> impl Iterator<Item = &'static Arc<Trace>> {
    TRACES.iter().filter(|trace| {
        let mut tables = trace.tables.iter();
        tables.any(|table| table.parquet && !table.synthetic.is_empty())
    })
}

/// The outputs of a lake, relative to it.
fn outputs(lake: &Path) -> BTreeSet<PathBuf> {
    let files = tree(lake).unwrap().into_keys().map(PathBuf::from);
    let is_output = |path: &PathBuf| path.extension().is_some_and(|it| it == "parquet");
    files.filter(is_output).collect()
}

#[test]
fn both_forms_have_the_same_rows() {
    for trace in published_in_two_forms() {
        let scratch = Scratch::new();
        let [json, parquet] = ["json", "parquet"].map(|form| {
            let source = scratch.path().join(form);
            // More than the 65,536 rows of a row group.
            let options = ["--parts", "1", "--rows", "70000", "--form", form];
            generate(&trace.name, &source, &options);
            let lake = scratch.path().join(format!("lake-{form}"));
            let cell: &[&str] = match trace.cells {
                Some(_) => &["--cell", "a", "--allow-missing"],
                None => &[],
            };
            convert(&source, &lake, cell).well();
            lake
        });
        let files = outputs(&json);
        assert_eq!(files, outputs(&parquet));
        let tables = trace.tables.iter().filter(|table| table.parquet);
        assert_eq!(files.len(), tables.count(), "{files:?}");
        for file in files {
            let [one, other] = [&json, &parquet].map(|lake| read_output(&lake.join(&file)));
            assert!(one.num_rows() > 0, "{}", file.display());
            assert_eq!(one, other, "{}", file.display());
        }
    }
}

/// Lists how a file of Parquet is made, whatever its rows are. Its writer isn't listed, nor the order of floats in
/// statistics, which is that of the writer's version.
fn structure(path: &Path) -> Vec<String> {
    let file = Arc::new(File::open(path).unwrap());
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let footer = reader.metadata();
    let about = footer.file_metadata();
    let mut facts = vec![
        format!("version {}", about.version()),
        format!("key-value metadata {:?}", about.key_value_metadata()),
        format!("{:#?}", about.schema()),
    ];
    for (index, column) in footer.row_group(0).columns().iter().enumerate() {
        let encodings: BTreeSet<Encoding> = column.encodings().collect();
        let statistics = column.statistics().unwrap();
        facts.push(format!(
            "{}: {:?}, {encodings:?}, nulls {}, dictionary {}, bloom filter {}, indices of pages {} and {}",
            column.column_path(),
            column.compression_codec(),
            statistics.null_count_opt().is_some(),
            column.dictionary_page_offset().is_some(),
            column.bloom_filter_offset().is_some(),
            column.column_index_offset().is_some(),
            column.offset_index_offset().is_some(),
        ));
        let reads_statistics = ReaderProperties::builder()
            .set_read_page_statistics(true)
            .build();
        let rows = usize::try_from(footer.row_group(0).num_rows()).unwrap();
        let pages = SerializedPageReader::new_with_properties(
            Arc::clone(&file),
            footer.row_group(0).column(index),
            rows,
            None,
            Arc::new(reads_statistics),
        );
        let pages = pages.unwrap().map(|page| match page.unwrap() {
            Page::DictionaryPage { encoding, .. } => format!("dictionary {encoding}"),
            Page::DataPage {
                encoding,
                def_level_encoding,
                rep_level_encoding,
                statistics,
                ..
            } => format!(
                "data {encoding}, levels {def_level_encoding} and {rep_level_encoding}, statistics {}",
                statistics.is_some()
            ),
            Page::DataPageV2 { .. } => "data of version 2".to_owned(),
        });
        facts.extend(pages.collect::<BTreeSet<_>>());
    }
    facts
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn a_file_is_made_like_a_published_one() {
    let name = "machine_events-000000000000.parquet.gz";
    let published = shared(&format!("next/borg-2019-parquet/{name}"));
    let scratch = Scratch::new();
    for trace in published_in_two_forms() {
        let out = scratch.path().join(&trace.name);
        generate(&trace.name, &out, &["--rows", "1000", "--form", "parquet"]);
        let lines = |path: &Path| structure(path).join("\n");
        assert_eq!(lines(&out.join(name)), lines(&published));
    }
}

/// The message names the traces that can be generated so.
#[test]
fn parquet_is_refused_where_it_is_not_published() {
    let scratch = Scratch::new();
    let names: Vec<&str> = published_in_two_forms()
        .map(|trace| trace.name.as_str())
        .collect();
    let other = tracelake_schema::simulated_trace_names().find(|name| !names.contains(name));
    let out = scratch.path().join("out");
    let arguments = ["generate", other.unwrap(), out.to_str().unwrap()];
    let refused = run(arguments.into_iter().chain(["--form", "parquet"]));
    refused.refuses(2, &format!("a trace that has one: {}", names.join(", ")));
    assert!(fs::metadata(out).is_err(), "nothing was written");
}
