//! The table of states of a lake in a bucket: what a run does about the plan and the manifest that it finds.

use tracelake_lake::plan_file::PlanFile;

/// A bucket as a run found it.
#[derive(Clone, Copy)]
pub(super) struct Sighting<'a> {
    /// The SHA-256 of the manifest, if there is one.
    pub(super) manifest: Option<&'a str>,
    /// The plan, if there is one.
    pub(super) plan: Option<SightedPlan<'a>>,
    /// Whether the manifest has everything of the plan, or of the run's own if there is no plan.
    pub(super) has_all: bool,
}

/// A plan that a run found in a bucket.
#[derive(Clone, Copy)]
pub(super) struct SightedPlan<'a> {
    /// Its content, unless it is damaged.
    pub(super) file: Option<&'a PlanFile>,
    /// Whether it agrees with the run's own plan.
    pub(super) agrees: bool,
    /// Whether it is replaced: on request, or because this run put it by mistake.
    pub(super) is_replaced: bool,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Put the run's plan, which adds to this manifest, if there is one.
    Put { base: Option<String> },
    /// Remove the plan, then put the run's own.
    Replace { base: Option<String> },
    /// Take away the manifest that the plan adds to, then work.
    Withdraw,
    /// Work by the plan.
    Join,
    /// Remove what the commit of the plan left, then look again.
    Tidy,
    /// Nothing to add.
    Finished,
    /// Leave the lake alone.
    Refuse,
}

/// The next step; the rows of the table in the order of the match.
pub(super) fn decide(found: Sighting<'_>) -> Step {
    let owned = |digest: &str| Some(digest.to_owned());
    match (found.manifest, found.plan) {
        (None, None) => Step::Put { base: None },
        (Some(_), None) if found.has_all => Step::Finished,
        (Some(manifest), None) => Step::Put {
            base: owned(manifest),
        },
        (None, Some(plan)) => match plan {
            SightedPlan { agrees: true, .. } => Step::Join,
            SightedPlan {
                is_replaced: true,
                file,
                ..
            } => Step::Replace {
                base: file.and_then(|file| file.base.clone()),
            },
            _ => Step::Refuse,
        },
        (Some(manifest), Some(plan)) => {
            let adds = plan.file.and_then(|file| file.base.as_deref()) == Some(manifest);
            match plan {
                SightedPlan { agrees: true, .. } if adds => Step::Withdraw,
                SightedPlan { file: Some(_), .. } if !adds && found.has_all => Step::Tidy,
                SightedPlan {
                    is_replaced: true, ..
                } => Step::Replace {
                    base: owned(manifest),
                },
                _ => Step::Refuse,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tracelake_core::seal;

    use super::*;

    const M: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const OTHER: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn plan(base: Option<&str>) -> PlanFile {
        let json = r#"{
  "tool": "tracelake", "version": "9.0.0", "trace": "some-trace",
  "options": {"layout": "hive", "format": "parquet", "compression": "zstd", "on_bad_row": "fail"},
  "shards": 1, "tables": [], "parts": [],
"#;
        let mut plan = PlanFile::from_json(&seal::document(json.into())).unwrap();
        plan.base = base.map(str::to_owned);
        plan
    }

    #[test]
    fn the_table_of_states() {
        let put = |base: Option<&str>| Step::Put {
            base: base.map(str::to_owned),
        };
        let replace = |base: Option<&str>| Step::Replace {
            base: base.map(str::to_owned),
        };
        let (plain, adding, other) = (plan(None), plan(Some(M)), plan(Some(OTHER)));
        // Manifest; plan, whether it agrees, whether it is replaced; whether the manifest has all; the step.
        type Row<'a> = (
            Option<&'a str>,
            Option<(Option<&'a PlanFile>, bool, bool)>,
            bool,
            Step,
        );
        let rows: &[Row<'_>] = &[
            (None, None, false, put(None)),
            (Some(M), None, true, Step::Finished),
            (Some(M), None, false, put(Some(M))),
            (None, Some((Some(&plain), true, false)), false, Step::Join),
            (None, Some((Some(&plain), true, true)), false, Step::Join),
            (
                None,
                Some((Some(&plain), false, false)),
                false,
                Step::Refuse,
            ),
            (
                None,
                Some((Some(&plain), false, true)),
                false,
                replace(None),
            ),
            (
                None,
                Some((Some(&adding), false, true)),
                false,
                replace(Some(M)),
            ),
            (None, Some((None, false, false)), false, Step::Refuse),
            (None, Some((None, false, true)), false, replace(None)),
            (
                Some(M),
                Some((Some(&adding), true, false)),
                false,
                Step::Withdraw,
            ),
            // A damaged part is made again, and then the manifest is what it was.
            (
                Some(M),
                Some((Some(&adding), true, false)),
                true,
                Step::Withdraw,
            ),
            (
                Some(M),
                Some((Some(&adding), false, false)),
                false,
                Step::Refuse,
            ),
            (
                Some(M),
                Some((Some(&adding), false, false)),
                true,
                Step::Refuse,
            ),
            (
                Some(M),
                Some((Some(&adding), false, true)),
                true,
                replace(Some(M)),
            ),
            (Some(M), Some((Some(&plain), true, false)), true, Step::Tidy),
            (
                Some(M),
                Some((Some(&other), false, false)),
                true,
                Step::Tidy,
            ),
            (
                Some(M),
                Some((Some(&plain), true, false)),
                false,
                Step::Refuse,
            ),
            (
                Some(M),
                Some((Some(&other), true, false)),
                false,
                Step::Refuse,
            ),
            (
                Some(M),
                Some((Some(&other), true, true)),
                false,
                replace(Some(M)),
            ),
            (Some(M), Some((None, false, false)), true, Step::Refuse),
            (Some(M), Some((None, false, true)), true, replace(Some(M))),
        ];
        for (row, (manifest, sighted, has_all, expected)) in rows.iter().enumerate() {
            let step = decide(Sighting {
                manifest: *manifest,
                plan: sighted.map(|(file, agrees, is_replaced)| SightedPlan {
                    file,
                    agrees,
                    is_replaced,
                }),
                has_all: *has_all,
            });
            assert_eq!(step, *expected, "row {row}");
        }
    }
}
