//! The table of finished parts: what a run does with a part that an earlier run finished.

/// A finished part as a run found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundPart {
    pub(super) files: PartFiles,
    pub(super) role: Role,
}

/// The files of a finished part, compared with its facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartFiles {
    /// They are what was committed.
    Whole,
    /// One is missing, or has other bytes.
    Damaged,
    /// They have the right bytes, but the facts say something else of them.
    Contradicted(&'static str),
    /// They have another name than the plan gives to the part.
    Misplaced,
}

/// How a finished part relates to the files that the run selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Its source is selected, and is still the file that the part was made from.
    SameSource,
    /// Its source is selected, and has changed.
    ChangedSource,
    /// It's derived from a part that the run checks as well.
    Derived,
    /// It isn't selected, but its file belongs to a part that is.
    FileOfAnother,
    /// It isn't selected.
    NotSelected,
}

/// The decision about a finished part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stays as it is.
    Keep,
    /// It is converted again.
    Remake,
    /// The lake can't be changed so: the part was made from another file.
    RefuseSource,
    /// The lake can't be changed so: the part is damaged, and the run doesn't make it again.
    RefuseDamage,
}

/// Decides what becomes of a finished part.
pub(super) fn decide(part: FoundPart) -> Fate {
    match (part.files, part.role) {
        // The file is of another part, and this one is made again, whatever its source is now.
        (PartFiles::Misplaced, Role::ChangedSource) => Fate::Remake,
        (_, Role::ChangedSource) => Fate::RefuseSource,
        (PartFiles::Whole, _) => Fate::Keep,
        (_, Role::NotSelected) => Fate::RefuseDamage,
        (_, Role::SameSource | Role::Derived | Role::FileOfAnother) => Fate::Remake,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_finished_parts() {
        use Fate::{Keep, RefuseDamage, RefuseSource, Remake};
        use PartFiles::{Contradicted, Damaged, Misplaced, Whole};
        let wrong = Contradicted("its recorded row counts don't add up");
        let rows = [
            // Files: whole, damaged, contradicted, misplaced.
            (Role::SameSource, [Keep, Remake, Remake, Remake]),
            (
                Role::ChangedSource,
                [RefuseSource, RefuseSource, RefuseSource, Remake],
            ),
            (Role::Derived, [Keep, Remake, Remake, Remake]),
            (Role::FileOfAnother, [Keep, Remake, Remake, Remake]),
            (
                Role::NotSelected,
                [Keep, RefuseDamage, RefuseDamage, RefuseDamage],
            ),
        ];
        for (role, fates) in rows {
            for (files, fate) in [Whole, Damaged, wrong, Misplaced].into_iter().zip(fates) {
                assert_eq!(
                    decide(FoundPart { files, role }),
                    fate,
                    "{files:?}, {role:?}"
                );
            }
        }
    }
}
