//! A run whose plan is replaced at a given moment.

use std::sync::Arc;

use bytes::Bytes;
use tracelake_core::error::{ErrorKind, Result};
use tracelake_location::{Listed, Location, Memory, Objects, Url};

use super::commands::all;
use super::schedule::{MANIFEST, PLAN, Tree};

/// A bucket in which the plan is gone as soon as all facts are there.
#[derive(Debug)]
struct LosesPlan {
    bucket: Memory,
    facts: usize,
}

impl Objects for LosesPlan {
    fn read(&self, path: &str) -> Result<Option<(Bytes, String)>> {
        self.bucket.read(path)
    }

    fn version(&self, path: &str) -> Result<Option<(u64, String)>> {
        self.bucket.version(path)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        self.bucket.list(prefix)
    }

    fn put(&self, path: &str, bytes: Bytes) -> Result<String> {
        self.bucket.put(path, bytes)
    }

    fn put_new(&self, path: &str, bytes: Bytes) -> Result<bool> {
        let is_new = self.bucket.put_new(path, bytes)?;
        if self.bucket.list("_tracelake/facts")?.len() == self.facts {
            self.bucket.remove(&[PLAN])?;
        }
        Ok(is_new)
    }

    fn remove(&self, paths: &[&str]) -> Result<()> {
        self.bucket.remove(paths)
    }
}

#[test]
fn a_run_reads_its_plan_again_before_it_puts_the_manifest() {
    let bucket = Arc::new(LosesPlan {
        bucket: Memory::new(Tree::new()),
        facts: 2,
    });
    let objects = Arc::clone(&bucket);
    let lake = Location::Url(Url::of_objects("lake", objects));
    let error = all().run(&lake).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    let objects = bucket.bucket.objects();
    assert!(!objects.contains_key(MANIFEST));
    let is_facts = |path: &&String| path.starts_with("_tracelake/facts/");
    assert_eq!(objects.keys().filter(is_facts).count(), 2);
}
