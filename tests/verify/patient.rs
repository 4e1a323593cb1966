//! A lake that is changed, looked at and put right again.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use tracelake_testkit::{
    Run, Scratch, committed_sample, convert, copy, run, sha256, write_manifest,
};

/// One table of the sample as a lake, and a copy to do harm to.
pub(crate) struct Patient {
    scratch: Scratch,
    pub(crate) healthy: Value,
}

impl Patient {
    /// Converts the tables of the sample that are named, with a comma between.
    pub(crate) fn new(tables: &str) -> Self {
        Self::with(tables, &[])
    }

    /// Converts with more options.
    pub(crate) fn with(tables: &str, options: &[&str]) -> Self {
        let scratch = Scratch::new();
        let options = [&["--tables", tables], options].concat();
        convert(&committed_sample(), &scratch.out(), &options).well();
        let healthy = tracelake_testkit::manifest(&scratch.out());
        let patient = Self { scratch, healthy };
        patient.heal();
        patient
    }

    /// Where the copy is.
    pub(crate) fn lake(&self) -> PathBuf {
        self.scratch.path().join("patient")
    }

    /// Makes the copy anew.
    pub(crate) fn heal(&self) {
        let _ = fs::remove_dir_all(self.lake());
        copy(&self.scratch.out(), &self.lake());
    }

    pub(crate) fn write_manifest(&self, manifest: &Value) {
        write_manifest(&self.lake(), manifest);
    }

    /// Puts other bytes in place of a part's output, and lets the manifest say that they are right;
    /// every table here has its time in the first column.
    pub(crate) fn forge(&self, part: &str, bytes: &[u8], batch: &RecordBatch) {
        let times = batch.column(0).as_primitive::<Int64Type>();
        let range = (times.iter().flatten().min(), times.iter().flatten().max());
        self.forge_facts(part, bytes, batch.num_rows(), range);
    }

    /// Puts other bytes in place of a part's output whose rows and times stay the same.
    pub(crate) fn forge_bytes(&self, part: &str, bytes: &[u8]) {
        let facts = self.healthy.pointer(part).unwrap();
        let rows = usize::try_from(facts["rows_out"].as_u64().unwrap()).unwrap();
        let times = (facts["time_min"].as_i64(), facts["time_max"].as_i64());
        self.forge_facts(part, bytes, rows, times);
    }

    fn forge_facts(
        &self,
        part: &str,
        bytes: &[u8],
        rows: usize,
        (time_min, time_max): (Option<i64>, Option<i64>),
    ) {
        let mut manifest = self.healthy.clone();
        let table = part.rsplit_once("/parts/").unwrap().0;
        let facts = manifest.pointer_mut(part).unwrap();
        let path = facts["output"]["path"].as_str().unwrap().to_owned();
        let before = facts["rows_out"].as_u64().unwrap();
        facts["output"]["bytes"] = Value::from(bytes.len());
        facts["output"]["sha256"] = Value::from(sha256(bytes));
        facts["time_min"] = Value::from(time_min);
        facts["time_max"] = Value::from(time_max);
        facts["rows_in"] = Value::from(rows);
        facts["rows_out"] = Value::from(rows);
        let rows_of_table = &mut manifest.pointer_mut(table).unwrap()["rows"];
        *rows_of_table = Value::from(rows_of_table.as_u64().unwrap() + rows as u64 - before);
        fs::write(self.lake().join(path), bytes).unwrap();
        self.write_manifest(&manifest);
    }

    pub(crate) fn verify(&self) -> Run {
        run(["verify".into(), self.lake()])
    }

    pub(crate) fn verify_source(&self) -> Run {
        run([
            "verify".into(),
            self.lake(),
            "--source".into(),
            committed_sample(),
        ])
    }
}
