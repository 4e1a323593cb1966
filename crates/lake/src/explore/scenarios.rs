//! The scenarios, and the rules without which something is lost in them.

use std::fs;
use std::path::Path;

use super::worker::{all, part, shard};
use super::*;

fn limits(changes_of_turn: usize, kills: usize) -> Limits {
    Limits {
        changes_of_turn,
        kills,
        ..Limits::default()
    }
}

/// Workers on an empty place, whose commands are run again.
fn usual(name: &'static str, workers: &[Command], changes_of_turn: usize) -> Scenario {
    Scenario {
        name,
        before: Vec::new(),
        workers: workers.to_vec(),
        recovery: workers.to_vec(),
        may_refuse: false,
        limits: limits(changes_of_turn, 1),
        manners: Manners::Usual,
        has_links: true,
    }
}

/// All scenarios of buckets.
fn of_buckets() -> Vec<Scenario> {
    let mut scenarios = of_both();
    let lost = |limits: Limits| Limits {
        lost_answers: 1,
        kills: 0,
        ..limits
    };
    let mut scenario = usual("a lost answer", &[part(0), part(1)], 1);
    scenario.limits = lost(scenario.limits);
    scenarios.push(scenario);
    let mut scenario = usual("a late list", &[part(0), all()], 2);
    scenario.limits = Limits {
        late_lists: 1,
        kills: 0,
        ..scenario.limits
    };
    scenarios.push(scenario);
    let mut scenario = usual("a store that ignores conditions", &[part(0), part(1)], 2);
    scenario.manners = Manners::IgnoresConditions;
    scenario.recovery = Vec::new();
    scenario.limits.kills = 0;
    scenarios.push(scenario);
    let mut scenario = usual("new tags for equal bytes", &[part(0), all()], 2);
    scenario.manners = Manners::NewTags;
    scenarios.push(scenario);
    scenarios
}

/// All scenarios of disks.
fn of_disks() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    for mut scenario in of_both() {
        // A call is a much smaller step than a request, so there are many more orders.
        let most = usize::from(scenario.workers.len() < 3);
        scenario.limits.changes_of_turn = scenario.limits.changes_of_turn.min(most);
        scenarios.push(scenario.clone());
        scenario.limits.kills = 0;
        scenario.limits.crashes = 1;
        scenarios.push(scenario);
    }
    let mut scenario = usual("a disk without links", &[part(0), all()], 1);
    scenario.has_links = false;
    scenarios.push(scenario);
    for (name, command) in [
        ("a run and --forget", Command::Forget),
        ("a run and --remove-unnamed", Command::RemoveUnnamed),
    ] {
        let mut scenario = usual(name, &[all(), command], 2);
        scenario.before = vec![part(0)];
        scenario.recovery = vec![all()];
        scenario.may_refuse = true;
        scenarios.push(scenario);
    }
    scenarios
}

fn of_both() -> Vec<Scenario> {
    let mut scenarios = vec![
        usual("two equal runs", &[all(), all()], 2),
        usual("two runs for different parts", &[part(0), part(1)], 3),
        usual("three runs", &[part(0), part(1), all()], 2),
    ];
    let mut add = |scenario: Scenario| scenarios.push(scenario);
    let mut scenario = usual("two additions", &[part(1), all()], 2);
    scenario.before = vec![part(0)];
    add(scenario);
    let mut scenario = usual("two additions of different parts", &[part(1), part(2)], 2);
    scenario.before = vec![part(0)];
    add(scenario);
    let mut scenario = usual("two shards", &[shard(0), shard(1)], 2);
    scenario.recovery.push(Command::Commit);
    add(scenario);
    let mut scenario = usual("a shard twice", &[shard(0), shard(0)], 2);
    scenario.recovery.extend([shard(1), Command::Commit]);
    add(scenario);
    let mut scenario = usual("a late shard and a commit", &[shard(1), Command::Commit], 2);
    scenario.before = vec![shard(0), shard(1)];
    add(scenario);
    let mut scenario = usual("two commits", &[Command::Commit, Command::Commit], 2);
    scenario.before = vec![shard(0), shard(1)];
    scenario.recovery = vec![Command::Commit];
    add(scenario);
    let mut scenario = usual("a commit and a run", &[Command::Commit, all()], 2);
    scenario.before = vec![shard(0), shard(1)];
    scenario.recovery = vec![Command::Commit];
    add(scenario);
    let mut scenario = usual("an addition and a look", &[all(), Command::Look], 3);
    scenario.before = vec![part(0)];
    scenario.recovery = vec![all()];
    add(scenario);
    let mut scenario = usual("two identities", &[all(), Command::ConvertOtherwise], 3);
    scenario.recovery = Vec::new();
    scenario.may_refuse = true;
    add(scenario);
    let mut scenario = usual("a source that is replaced", &[part(0), part(0)], 2);
    scenario.limits.replaced_sources = 1;
    scenario.recovery = vec![part(0)];
    add(scenario);
    let mut scenario = usual(
        "a source that is replaced before an addition",
        &[part(0), all()],
        1,
    );
    scenario.before = vec![part(0)];
    scenario.limits.replaced_sources = 1;
    scenario.recovery = vec![all()];
    add(scenario);
    let mut scenario = usual("a killed --forget", &[Command::Forget], 0);
    scenario.before = vec![shard(0), shard(1)];
    scenario.recovery = vec![Command::Forget, all()];
    add(scenario);
    scenarios
}

/// The schedules that are tried unless all are asked for.
fn share(mut scenario: Scenario, most: usize) -> Scenario {
    if !tries_all() {
        let most = if scenario.workers.len() > 2 { 0 } else { most };
        scenario.limits.changes_of_turn = scenario.limits.changes_of_turn.min(most);
        if scenario.limits.replaced_sources > 0 {
            scenario.limits.kills = 0;
        }
    }
    scenario
}

fn explore_all<W: Place>(scenarios: Vec<Scenario>, most: usize) -> usize {
    let mut states = 0;
    for scenario in scenarios.into_iter().map(|scenario| share(scenario, most)) {
        let explored = explore::<W>(&scenario, Frontier::all());
        states += explored.unwrap_or_else(|wrong| panic!("{}: {wrong}", scenario.name));
    }
    states
}

#[test]
fn buckets() {
    let states = explore_all::<Bucket>(of_buckets(), 1);
    assert!(states > 1_000, "{states}");
}

#[test]
fn disks() {
    let states = explore_all::<Tree>(of_disks(), 0);
    assert!(states > 1_000, "{states}");
}

#[test]
fn random_schedules() {
    let count = if tries_all() { 100_000 } else { 1_000 };
    let worlds = of_buckets().len() + of_disks().len();
    let each = count / worlds;
    let widen = |mut scenario: Scenario| {
        scenario.limits.changes_of_turn = usize::MAX;
        scenario.limits.kills = 2;
        scenario
    };
    for (seed, scenario) in of_buckets().into_iter().map(widen).enumerate() {
        explore::<Bucket>(&scenario, Frontier::random(seed as u64, each))
            .unwrap_or_else(|wrong| panic!("{}: {wrong}", scenario.name));
    }
    for (seed, scenario) in of_disks().into_iter().map(widen).enumerate() {
        explore::<Tree>(&scenario, Frontier::random(1_000 + seed as u64, each))
            .unwrap_or_else(|wrong| panic!("{}: {wrong}", scenario.name));
    }
}

/// A scenario by its name.
#[derive(Debug, Clone, Copy)]
enum In {
    Bucket(&'static str),
    Disk(&'static str),
}

/// Each rule, the sentence on the page, and the scenario in which something is lost without it.
const RULES: [(Rule, &str, In); 23] = [
    (
        Rule::FactsBeforeOutputs,
        "Facts are put before outputs are shown.",
        In::Bucket("two equal runs"),
    ),
    (
        Rule::FirstFactsStay,
        "The first facts of a part stay.",
        In::Bucket("a source that is replaced"),
    ),
    (
        Rule::FactsAgree,
        "Facts must agree.",
        In::Bucket("a source that is replaced"),
    ),
    (
        Rule::OutputsAreThere,
        "A part is done by its outputs, not by its facts alone.",
        In::Bucket("two equal runs"),
    ),
    (
        Rule::ManifestIsCompared,
        "The manifest is swapped only if it is the one that was read.",
        In::Bucket("two runs for different parts"),
    ),
    (
        Rule::PlanAfterManifest,
        "A plan is removed after its parts are committed.",
        In::Bucket("two commits"),
    ),
    (
        Rule::FirstIdentityStays,
        "The first identity stays.",
        In::Bucket("two identities"),
    ),
    (
        Rule::IdentityAfterListing,
        "The identity is read again after the listing.",
        In::Disk("two equal runs"),
    ),
    (
        Rule::FactsBeforeManifest,
        "Facts are listed before the manifest is read.",
        In::Disk("an addition and a look"),
    ),
    (
        Rule::FactsByName,
        "Facts that a listing lacks are asked for by name.",
        In::Bucket("a late list"),
    ),
    (
        Rule::AnswersMayBeLost,
        "After any answer but a plain yes, the object is read.",
        In::Bucket("a lost answer"),
    ),
    (
        Rule::ConditionsAreChecked,
        "The store is asked whether it keeps its conditions.",
        In::Bucket("a store that ignores conditions"),
    ),
    (
        Rule::SourceIsCompared,
        "The source of a part that is done is compared.",
        In::Bucket("a source that is replaced before an addition"),
    ),
    (
        Rule::CommittedFactsStay,
        "Facts of committed parts are removed by a run that is alone.",
        In::Bucket("a source that is replaced"),
    ),
    (
        Rule::OutputsRemovedFirst,
        "`--forget` removes outputs before facts.",
        In::Bucket("a killed --forget"),
    ),
    (
        Rule::IdentityStaysWithFacts,
        "The identity is taken back only if there are no facts.",
        In::Disk("two shards"),
    ),
    (
        Rule::StagingStays,
        "Staged files of others are removed by a run that is alone.",
        In::Disk("two equal runs"),
    ),
    (
        Rule::RemovalIsAlone,
        "Removal has the lake alone.",
        In::Disk("a run and --forget"),
    ),
    (
        Rule::BytesBeforeName,
        "A file is on the disk before it has its name.",
        In::Disk("two equal runs"),
    ),
    (
        Rule::FactsAreSynced,
        "Names of facts are on the disk before outputs are shown.",
        In::Disk("two equal runs"),
    ),
    (
        Rule::OutputsAreSynced,
        "Names of outputs are on the disk before the manifest is swapped.",
        In::Disk("two equal runs"),
    ),
    (
        Rule::NamesOfOthersAreSynced,
        "Names that other processes have made are on the disk before anything counts on them.",
        In::Disk("two equal runs"),
    ),
    (
        Rule::SwapIsLocked,
        "On a disk, the manifest is compared and renamed under `lock`.",
        In::Disk("two additions of different parts"),
    ),
];

/// The loss without a rule. The shortest schedule is the easiest to read, and to find.
fn loss(rule: Rule, scenario: In) -> Option<String> {
    OFF.set(Some(rule));
    let loss = (0..=2).find_map(|most| {
        let within = |mut scenario: Scenario| {
            scenario.limits.changes_of_turn = scenario.limits.changes_of_turn.min(most);
            scenario
        };
        match scenario {
            In::Bucket(name) => {
                let mut scenarios = of_buckets().into_iter();
                let found = within(scenarios.find(|scenario| scenario.name == name)?);
                explore::<Bucket>(&found, Frontier::all()).err()
            }
            In::Disk(name) => {
                let named = of_disks()
                    .into_iter()
                    .filter(|scenario| scenario.name == name);
                let mut within = named.map(|mut scenario| {
                    if most > 1 {
                        scenario.limits = limits(most, 0);
                    }
                    within(scenario)
                });
                within.find_map(|scenario| explore::<Tree>(&scenario, Frontier::all()).err())
            }
        }
    });
    OFF.set(None);
    loss
}

/// `TRACELAKE_PAGE=update` writes the schedules into the page.
#[test]
fn something_is_lost_without_each_rule() {
    let page =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals/commit-protocol.md");
    let mut text = fs::read_to_string(&page).unwrap();
    let mut wrong = Vec::new();
    for (rule, sentence, scenario) in RULES {
        let Some(loss) = loss(rule, scenario) else {
            wrong.push(format!("nothing is lost without {rule:?}"));
            continue;
        };
        let place = match scenario {
            In::Bucket(name) => format!("{name}, bucket"),
            In::Disk(name) => format!("{name}, disk"),
        };
        let (_, schedule) = loss.rsplit_once("by ").unwrap();
        let found = format!(" | {place}: `{schedule}` |");
        let Some(row) = text
            .lines()
            .find(|row| row.starts_with(&format!("| {sentence} | ")))
        else {
            wrong.push(format!("the page has no row for {rule:?}"));
            continue;
        };
        if !row.ends_with(&found) {
            wrong.push(format!(
                "the row of {rule:?} doesn't end with{found}: {loss}"
            ));
            let cells: Vec<&str> = row.split(" | ").collect();
            let row = row.to_owned();
            let anew = format!("{} | {}{found}", cells[0], cells[1].trim_end_matches(" |"));
            text = text.replace(&row, &anew);
        }
    }
    if env::var("TRACELAKE_PAGE").is_ok_and(|page| page == "update") {
        fs::write(&page, text).unwrap();
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
