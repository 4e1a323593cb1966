//! Forged claims of a Parquet file about its values: readers that trust them would miss rows.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{BoundaryOrder, Type};
use parquet::file::metadata::page_index::PageIndexBuilder;
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder, PageIndexPolicy, ParquetMetaData,
    ParquetMetaDataReader, ParquetMetaDataWriter, SortingColumn,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::TrackedWrite;

use crate::verify::patient::Patient;
use tracelake_testkit::{
    Run, Score, Scratch, ensure, generate, manifest, run, sha256, trace, write_manifest,
};

/// Where a pattern is in some bytes.
fn places(bytes: &[u8], pattern: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(pattern.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == pattern);
    found.map(|(at, _)| at).collect()
}

/// The largest time is in the statistics and in the page index. Both copies are changed, and then each alone.
#[test]
fn forged_bounds_are_found() {
    let patient = Patient::new("machine_events");
    let pointer = "/tables/0/parts/0";
    let facts = patient.healthy.pointer(pointer).unwrap();
    let path = patient
        .lake()
        .join(facts["output"]["path"].as_str().unwrap());
    let whole = fs::read(path).unwrap();
    let max = facts["time_max"].as_i64().unwrap();
    let pattern = max.to_le_bytes();
    // Before them it may be in a dictionary.
    let places: Vec<usize> = places(&whole, &pattern).into_iter().rev().take(2).collect();
    assert_eq!(
        places.len(),
        2,
        "a maximum is in the footer and in the page index"
    );
    let mut score = Score::new("forged bounds");
    let forged = [&places[..], &places[..1], &places[1..]];
    for (forged, value) in forged
        .iter()
        .flat_map(|forged| [(forged, max / 2), (forged, max + 1)])
    {
        let mut bytes = whole.clone();
        for &at in forged.iter() {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        patient.forge_bytes(pointer, &bytes);
        let run = patient.verify_source();
        let says = ["imum of ", "its time range"];
        let said = says.iter().any(|says| run.stderr.contains(says));
        // A page's bound may be beyond its values, as the format allows.
        let allowed = value > max && run.code == 0;
        let outcome = ensure((run.code == 5 && said) || allowed, || {
            format!("exit {}: {}", run.code, run.stderr)
        });
        score.count(&format!("{value} at {forged:?}"), outcome);
        patient.heal();
    }
    score.close();
}

/// A part whose columns have several pages, some sorted, some with NULLs and one with a bloom filter,
/// in a separate lake.
struct Part {
    scratch: Scratch,
    /// The output.
    path: PathBuf,
    /// Its bytes before anything was forged.
    whole: Vec<u8>,
    /// Its footer and page index.
    metadata: ParquetMetaData,
}

/// Enough rows for two pages.
const ROWS: &str = "150000";

impl Part {
    fn new() -> Self {
        let scratch = Scratch::new();
        let size = ["--parts", "1", "--rows", ROWS];
        generate(&trace().name, &scratch.src(), &size);
        // The largest table comes last.
        let table = &trace().tables.last().unwrap().name;
        scratch.convert_well(&["--tables", table]);
        let output = &manifest(&scratch.out())["tables"][0]["parts"][0]["output"]["path"];
        let path = scratch.out().join(output.as_str().unwrap());
        let whole = fs::read(&path).unwrap();
        let metadata = ParquetMetaDataReader::new()
            .with_page_index_policy(PageIndexPolicy::Required)
            .parse_and_finish(&bytes::Bytes::from(whole.clone()))
            .unwrap();
        Self {
            scratch,
            path,
            whole,
            metadata,
        }
    }

    /// Verifies the lake with other bytes in place of the output, which the manifest calls right.
    fn verify(&self, bytes: &[u8]) -> Run {
        fs::write(&self.path, bytes).unwrap();
        let mut manifest = manifest(&self.scratch.out());
        let output = &mut manifest["tables"][0]["parts"][0]["output"];
        output["bytes"] = bytes.len().into();
        output["sha256"] = sha256(bytes).into();
        write_manifest(&self.scratch.out(), &manifest);
        let options = [PathBuf::from("--source"), self.scratch.src()];
        run([PathBuf::from("verify"), self.scratch.out()]
            .into_iter()
            .chain(options))
    }

    /// The columns that a forgery fits, by their place.
    fn columns(&self, fits: impl Fn(&ColumnChunkMetaData) -> bool) -> Vec<usize> {
        let columns = self.metadata.row_group(0).columns().iter().enumerate();
        let fitting = columns.filter(|(_, chunk)| fits(chunk));
        fitting.map(|(at, _)| at).collect()
    }

    /// The file with other metadata: pages stay where they are, and what is forged comes after them.
    fn with(&self, at: usize, forged: Forged) -> Vec<u8> {
        let group = self.metadata.row_group(0).clone();
        let mut columns = group.columns().to_vec();
        let page_index = self.metadata.page_index_for_row_group(0);
        let count = columns.len();
        let mut index = PageIndexBuilder::new(1, count);
        for column in 0..count {
            let own = page_index.column_index(column).unwrap().clone();
            let offsets = page_index.offset_index(column).unwrap().clone();
            let (own, offsets) = match &forged {
                Forged::Index(forged) if column == at => (forged.clone(), offsets),
                Forged::Pages(locations) if column == at => {
                    let mut builder = OffsetIndexBuilder::new();
                    let starts = locations.iter().map(|page| page.first_row_index);
                    let ends = starts.clone().skip(1).chain([group.num_rows()]);
                    for (page, (start, end)) in locations.iter().zip(starts.zip(ends)) {
                        builder.append_row_count(end - start);
                        builder.append_offset_and_size(page.offset, page.compressed_page_size);
                    }
                    (own, builder.build())
                }
                _ => (own, offsets),
            };
            index.put_column_index(own, 0, column);
            index.put_offset_index(offsets, 0, column);
        }
        let mut sorting = group.sorting_columns().cloned();
        match forged {
            Forged::Statistics(statistics) => {
                let builder = columns[at].clone().into_builder();
                columns[at] = builder.set_statistics(statistics).build().unwrap();
            }
            Forged::Sorting(forged) => sorting = Some(forged),
            Forged::Index(_) | Forged::Pages(_) => {}
        }
        let group = group
            .into_builder()
            .set_sorting_columns(sorting)
            .set_column_metadata(columns)
            .build()
            .unwrap();
        let metadata = self.metadata.clone().into_builder();
        let metadata = metadata
            .set_row_groups(vec![group])
            .set_page_index(Some(Arc::new(index.build())))
            .build();
        let mut bytes = Vec::new();
        let mut file = TrackedWrite::new(&mut bytes);
        file.write_all(&self.whole).unwrap();
        let writer = ParquetMetaDataWriter::new_with_tracked(file, &metadata);
        writer.finish().unwrap();
        bytes
    }
}

/// A forgery of a column.
enum Forged {
    Statistics(Statistics),
    Index(ColumnIndexMetaData),
    Pages(Vec<PageLocation>),
    /// Of the row group, whichever column is named.
    Sorting(Vec<SortingColumn>),
}

/// The claim that rows are sorted by a column.
fn by(column: usize, descending: bool) -> SortingColumn {
    SortingColumn {
        column_idx: i32::try_from(column).unwrap(),
        descending,
        nulls_first: false,
    }
}

/// The page index of a column of INT64, to be changed and written again.
#[derive(Clone)]
struct IndexOfPages {
    mins: Vec<i64>,
    maxes: Vec<i64>,
    nulls: Vec<i64>,
    is_null: Vec<bool>,
    order: BoundaryOrder,
}

impl IndexOfPages {
    fn of(index: &ColumnIndexMetaData) -> Self {
        let ColumnIndexMetaData::INT64(values) = index else {
            panic!("a column of INT64");
        };
        let pages = 0..usize::try_from(index.num_pages()).unwrap();
        Self {
            mins: values.min_values().to_vec(),
            maxes: values.max_values().to_vec(),
            nulls: pages
                .clone()
                .map(|page| index.null_count(page).unwrap())
                .collect(),
            is_null: pages.map(|page| index.is_null_page(page)).collect(),
            order: index.get_boundary_order().unwrap(),
        }
    }

    fn forged(&self, forge: impl Fn(&mut Self)) -> Forged {
        let mut forged = self.clone();
        forge(&mut forged);
        let mut builder = ColumnIndexBuilder::new(Type::INT64);
        for page in 0..forged.mins.len() {
            let [min, max] = [forged.mins[page], forged.maxes[page]];
            let bytes = |value: i64| value.to_le_bytes().to_vec();
            let nulls = forged.nulls[page];
            builder.append(forged.is_null[page], bytes(min), bytes(max), nulls, None);
        }
        builder.set_boundary_order(forged.order);
        Forged::Index(builder.build().unwrap())
    }
}

/// Every claim that a reader may skip rows by, each forged alone.
#[test]
fn every_forged_claim_is_found() {
    let part = Part::new();
    part.verify(&part.whole).well();
    let integers = part.columns(|chunk| chunk.column_type() == Type::INT64);
    // The first column of the table is its time, whose range the manifest has too.
    let [time, column] = [integers[0], integers[1]];
    let chunk = part.metadata.row_group(0).column(column);
    let Some(Statistics::Int64(own)) = chunk.statistics() else {
        panic!("statistics of INT64");
    };
    let (min, max) = (*own.min_opt().unwrap(), *own.max_opt().unwrap());
    let statistics = |min, max, distinct, nulls| {
        let stated = ValueStatistics::new(Some(min), Some(max), distinct, Some(nulls), false);
        Forged::Statistics(Statistics::Int64(stated))
    };
    let indexes = part.metadata.page_index_for_row_group(0);
    let index = IndexOfPages::of(indexes.column_index(column).unwrap());
    let times = IndexOfPages::of(indexes.column_index(time).unwrap());
    assert!(times.mins.len() > 1, "a column of several pages");
    assert_eq!(
        times.order,
        BoundaryOrder::ASCENDING,
        "rows come in order of time"
    );
    let pages = |forge: fn(&mut PageLocation)| {
        let mut pages = indexes.page_locations(column).unwrap().clone();
        forge(&mut pages[1]);
        Forged::Pages(pages)
    };
    let doubles = part.columns(|chunk| chunk.column_type() == Type::DOUBLE);
    let double = *doubles.first().expect("a column of DOUBLE");
    let high = ValueStatistics::new(Some(1e300), Some(1e300), None, None, false);
    let sorting = part.metadata.row_group(0).sorting_columns();
    assert_eq!(sorting.map(|by| &by[..]), Some(&[by(time, false)][..]));
    let never = "an order of its rows that convert never does";
    let claims: Vec<(&str, usize, Forged, &str)> = vec![
        (
            "an order of ids",
            column,
            Forged::Sorting(vec![by(column, false)]),
            "aren't in the order that it claims",
        ),
        (
            "a descending order",
            time,
            Forged::Sorting(vec![by(time, true)]),
            never,
        ),
        (
            "an order of floats",
            double,
            Forged::Sorting(vec![by(double, false)]),
            never,
        ),
        (
            "an order of a column that isn't there",
            time,
            Forged::Sorting(vec![by(1 << 20, false)]),
            never,
        ),
        (
            "an order by two columns",
            time,
            Forged::Sorting(vec![by(time, false), by(column, false)]),
            never,
        ),
        (
            "a minimum too high",
            column,
            statistics(min + 1, max, None, 0),
            "beyond the minimum",
        ),
        (
            "a minimum too low",
            column,
            statistics(min - 1, max, None, 0),
            "is the minimum",
        ),
        (
            "a maximum too low",
            column,
            statistics(min, max - 1, None, 0),
            "beyond the maximum",
        ),
        (
            "a maximum too high",
            column,
            statistics(min, max + 1, None, 0),
            "is the maximum",
        ),
        (
            "NULLs",
            column,
            statistics(min, max, None, 1),
            "number of NULLs",
        ),
        (
            "distinct values",
            column,
            statistics(min, max, Some(2), 0),
            "distinct values",
        ),
        (
            "a minimum of floats",
            double,
            Forged::Statistics(Statistics::Double(high)),
            "beyond the minimum",
        ),
        (
            "a page's minimum",
            column,
            index.forged(|it| it.mins[1] = i64::MAX),
            "minimum of page 1",
        ),
        (
            "a page's maximum",
            column,
            index.forged(|it| it.maxes[1] = i64::MIN),
            "maximum of page 1",
        ),
        (
            "a page's NULLs",
            column,
            index.forged(|it| it.nulls[1] = 5),
            "page 1 has another number of NULLs",
        ),
        (
            "a page of NULLs",
            column,
            index.forged(|it| it.is_null[1] = true),
            "page 1 has",
        ),
        (
            "the order of pages",
            time,
            times.forged(|it| it.order = BoundaryOrder::DESCENDING),
            "not in the order",
        ),
        (
            "where a page is",
            column,
            pages(|page| page.offset += 1),
            "page",
        ),
        (
            "a page's size",
            column,
            pages(|page| page.compressed_page_size -= 1),
            "page",
        ),
        (
            "a page's rows",
            column,
            pages(|page| page.first_row_index += 1),
            "other numbers of rows",
        ),
    ];
    let mut score = Score::new("forged claims");
    for (what, column, forged, says) in claims {
        let run = part.verify(&part.with(column, forged));
        let found = run.code == 5 && run.stderr.contains(says);
        let outcome = ensure(found, || format!("exit {}: {}", run.code, run.stderr));
        score.count(what, outcome);
    }
    let filtered = part.columns(|chunk| chunk.bloom_filter_offset().is_some());
    assert!(!filtered.is_empty(), "a column with a bloom filter");
    for column in filtered {
        let chunk = part.metadata.row_group(0).column(column);
        let start = usize::try_from(chunk.bloom_filter_offset().unwrap()).unwrap();
        let end = start + usize::try_from(chunk.bloom_filter_length().unwrap()).unwrap();
        // The header is small; a block of the filter has 32 bytes.
        let mut bytes = part.whole.clone();
        bytes[end - 32..end].fill(0);
        assert!(end - start > 32);
        let run = part.verify(&bytes);
        let found = run.code == 5 && run.stderr.contains("its bloom filter lacks a value");
        let outcome = ensure(found, || format!("exit {}: {}", run.code, run.stderr));
        score.count("a bloom filter", outcome);
    }
    score.close();
}
