//! Statements of a release about responsible use: those that follow from the trace and the lake, and those of the
//! publisher.

use tracelake_schema::Obfuscation;

use super::limits::limits;
use super::publisher::Prose;
use super::released_lake::{ReleasedLake, known};

/// A property of Croissant's vocabulary for responsible AI.
pub(super) struct Statement {
    /// Its name in Croissant, without the prefix.
    pub(super) property: &'static str,
    /// Its name in `release.toml`.
    pub(super) key: &'static str,
    /// A heading for people.
    pub(super) heading: &'static str,
    /// Texts that follow from the trace and the lake, one for each fact.
    known: Vec<String>,
    /// The publisher's text.
    pub(super) said: Option<String>,
    /// Whether it is one that NeurIPS requires, and that only the publisher can answer and hasn't.
    pub(super) is_lacking: bool,
}

impl Statement {
    /// All texts.
    pub(super) fn texts(&self) -> Vec<&str> {
        let texts = self.known.iter().chain(&self.said);
        texts.map(String::as_str).collect()
    }
}

/// Everything that is said, in the order of `release.toml`. A property of which nothing is known has no texts.
pub(super) fn statements(lake: &ReleasedLake<'_>) -> Vec<Statement> {
    let rai = &lake.publisher.rai;
    let of_synthetic = |text: &str| match lake.is_synthetic() {
        true => vec![text.to_owned()],
        false => Vec::new(),
    };
    let required = |property, key, heading, known: Vec<String>, said: &Prose| Statement {
        is_lacking: known.is_empty() && said.get().is_none(),
        ..optional(property, key, heading, known, said)
    };
    let mut statements = vec![
        required(
            "dataLimitations",
            "data_limitations",
            "Limitations",
            limits(lake),
            &rai.data_limitations,
        ),
        required(
            "dataBiases",
            "data_biases",
            "Biases",
            of_synthetic(
                "The values are drawn from distributions of tracelake generate, which are those of no cluster.",
            ),
            &rai.data_biases,
        ),
        required(
            "personalSensitiveInformation",
            "personal_sensitive_information",
            "Personal and sensitive information",
            of_synthetic("None: no row is about a person, and names are made up."),
            &rai.personal_sensitive_information,
        ),
        required(
            "dataUseCases",
            "data_use_cases",
            "Uses",
            of_synthetic("To try out programs, not to learn about clusters."),
            &rai.data_use_cases,
        ),
        required(
            "dataSocialImpact",
            "data_social_impact",
            "Social impact",
            Vec::new(),
            &rai.data_social_impact,
        ),
        optional(
            "dataCollection",
            "data_collection",
            "Collection",
            vec![collection(lake)],
            &rai.data_collection,
        ),
        optional(
            "dataReleaseMaintenancePlan",
            "data_release_maintenance_plan",
            "Maintenance",
            Vec::new(),
            &rai.data_release_maintenance_plan,
        ),
    ];
    // It answers how people are protected, and not who is in the data.
    let obfuscated = obfuscated(lake).filter(|_| !lake.is_synthetic());
    for statement in &mut statements {
        if statement.property == "personalSensitiveInformation" {
            statement.known.extend(obfuscated.clone());
        }
    }
    statements
}

fn optional(
    property: &'static str,
    key: &'static str,
    heading: &'static str,
    known: Vec<String>,
    said: &Prose,
) -> Statement {
    Statement {
        property,
        key,
        heading,
        known,
        said: said.get().map(str::to_owned),
        is_lacking: false,
    }
}

/// The keys of `release.toml` that NeurIPS requires, and that say nothing.
pub(super) fn lacking(statements: &[Statement]) -> Vec<&'static str> {
    let lacking = statements.iter().filter(|one| one.is_lacking);
    lacking.map(|one| one.key).collect()
}

/// Who collected the rows, and where that is described.
pub(super) fn collection(lake: &ReleasedLake<'_>) -> String {
    let trace = lake.trace;
    if lake.is_synthetic() {
        return format!(
            "tracelake generate made the rows, in the format of {}; nothing was measured.",
            trace.name
        );
    }
    let creators: Vec<String> = trace.creators.iter().map(ToString::to_string).collect();
    let by = match creators.is_empty() {
        true => String::new(),
        false => format!(" by {}", creators.join(", ")),
    };
    let described = match known(&trace.document) {
        Some(document) => format!(" Described by: {document}."),
        None => String::new(),
    };
    format!("The rows were collected and published{by}.{described}")
}

/// The columns whose values the publisher has changed, in a sentence; `None` if there are none.
fn obfuscated(lake: &ReleasedLake<'_>) -> Option<String> {
    let columns = lake.tables.iter().flat_map(|(table, _)| {
        let changed = table
            .columns
            .iter()
            .filter(|column| column.obfuscation != Obfuscation::Unchanged);
        changed.map(|column| {
            let how = column.obfuscation.name();
            format!("{}.{} ({how})", table.name, column.name)
        })
    });
    let columns: Vec<String> = columns.collect();
    (!columns.is_empty()).then(|| {
        format!(
            "The publisher of the trace changed the values of these columns: {}.",
            columns.join(", ")
        )
    })
}
