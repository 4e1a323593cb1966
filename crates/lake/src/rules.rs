//! The rules of the commit protocol that a test can switch off, to see what is lost without them.
//!
//! `docs/internals/commit-protocol.md` has the loss that the explorer finds for each.

/// A rule about what is put, shown, compared or removed, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// The facts of a part are put before its outputs are shown.
    FactsBeforeOutputs,
    /// The first facts of a part stay.
    FirstFactsStay,
    /// A part whose facts another run has put is only shown if they agree.
    FactsAgree,
    /// A part is done if its outputs are there, not by its facts alone.
    OutputsAreThere,
    /// The manifest is swapped for the next one only if it is the one that was read.
    ManifestIsCompared,
    /// A plan is removed after its parts are committed.
    PlanAfterManifest,
    /// The first identity stays, and another one is refused.
    FirstIdentityStays,
    /// The identity is read again after the listing that shows whether OUT is empty.
    IdentityAfterListing,
    /// Facts are listed before the manifest is read.
    FactsBeforeManifest,
    /// Facts that a listing lacks are asked for by name before an output counts as unnamed.
    FactsByName,
    /// After any answer but a plain yes, what is there is read.
    AnswersMayBeLost,
    /// A store is asked whether it keeps its conditions.
    ConditionsAreChecked,
    /// The source of a part that is done is compared.
    SourceIsCompared,
    /// Facts of committed parts are removed only if no other run works on the lake.
    CommittedFactsStay,
    /// Uncommitted outputs are removed before their facts.
    OutputsRemovedFirst,
    /// The identity is taken back only if there are no facts.
    IdentityStaysWithFacts,
    /// Staged files of others are removed only if no other run works on the lake.
    StagingStays,
    /// Removal has the lake alone.
    RemovalIsAlone,
    /// A file is on the disk before it has its name.
    BytesBeforeName,
    /// The names of facts are on the disk before outputs are shown.
    FactsAreSynced,
    /// The names of outputs are on the disk before the manifest is swapped.
    OutputsAreSynced,
    /// Names that other processes have made are on the disk before anything counts on them.
    NamesOfOthersAreSynced,
    /// On a disk, the manifest is compared and renamed under `lock`.
    SwapIsLocked,
}

/// Whether a rule holds, as it does outside of tests.
#[cfg(not(test))]
pub(crate) const fn holds(_: Rule) -> bool {
    true
}

#[cfg(test)]
thread_local! {
    /// The rule that is switched off in this thread.
    pub(crate) static OFF: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}

/// Whether a rule holds.
#[cfg(test)]
pub(crate) fn holds(rule: Rule) -> bool {
    OFF.get() != Some(rule)
}
