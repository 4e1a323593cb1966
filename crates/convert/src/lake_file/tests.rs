use std::sync::Arc;

use arrow_array::{Array, Int64Array};
use tracelake_core::options::Codec;
use tracelake_core::settings::Settings;
use tracelake_encode::arrow_file::ArrowFile;
use tracelake_encode::output::{OutputFile, OutputSettings, RowOrder};
use tracelake_schema::arrow::arrow_schema;
use tracelake_schema::{Column, Kind, Table};

use super::*;

fn arrow_file(codec: Codec) -> Vec<u8> {
    let columns = ["a", "time"].map(|name| Column::plain(name, Kind::Integer));
    let table = &Arc::new(Table::plain("t", columns));
    let mut settings = Settings::default();
    (settings.format, settings.compression) = (Format::Arrow, codec);
    let output = OutputSettings::of(&settings).unwrap();
    let mut file = ArrowFile::create(Vec::new(), table, output, RowOrder::Published).unwrap();
    for values in [[Some(3), None], [Some(-1), Some(9)]] {
        let times: Arc<dyn Array> = Arc::new(Int64Array::from(values.to_vec()));
        let zeros: Arc<dyn Array> = Arc::new(Int64Array::from(vec![0; 2]));
        let batch = RecordBatch::try_new(arrow_schema(table), vec![zeros, times]).unwrap();
        file.write(batch).unwrap();
    }
    file.finish().unwrap()
}

#[test]
fn a_disk_that_fails_is_not_a_broken_file() {
    let kind = |error: io::Error| not_parquet(&Location::Disk("x".into()), error.into()).kind();
    assert_eq!(kind(io::Error::from_raw_os_error(5)), ErrorKind::Failed);
    let short = io::Error::from(io::ErrorKind::UnexpectedEof);
    assert_eq!(kind(short), ErrorKind::Corrupt);
}

#[test]
fn an_arrow_file_is_read_back() {
    for codec in [Codec::None, Codec::DEFAULT] {
        let directory = tempfile::tempdir().unwrap();
        let path = Location::from(directory.path().join("a.arrow"));
        std::fs::write(path.as_path().unwrap(), arrow_file(codec)).unwrap();
        let file = LakeFile::open(&path, Format::Arrow).unwrap();
        assert_eq!(file.rows(&path).unwrap(), 4);
        assert_eq!(file.range("time").unwrap(), Some((-1, 9)));
        assert_eq!(file.schema().fields().len(), 2);
        let batches: Vec<_> = file.batches(None).unwrap().map(|b| b.unwrap()).collect();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
        assert!(LakeFile::open(&path, Format::Parquet).is_err());
    }
}

/// A file that is cut, or has any one byte flipped, is read or refused, without a panic and
/// without more memory than it has bytes.
#[test]
fn a_broken_arrow_file_is_read_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = Location::from(directory.path().join("a.arrow"));
    let whole = arrow_file(Codec::None);
    let mut refused = 0;
    let mut look = |bytes: &[u8]| {
        std::fs::write(path.as_path().unwrap(), bytes).unwrap();
        match LakeFile::open(&path, Format::Arrow) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                refused += 1;
            }
            Ok(file) => {
                let _ = file.range("time");
                if let Ok(batches) = file.batches(None) {
                    for batch in batches {
                        if batch.is_err() {
                            break;
                        }
                    }
                }
            }
        }
    };
    for length in 0..whole.len() {
        look(&whole[..length]);
    }
    for index in 0..whole.len() {
        for bits in [0xff, 0x01] {
            let mut broken = whole.clone();
            broken[index] ^= bits;
            look(&broken);
        }
    }
    assert!(refused > whole.len());
}
