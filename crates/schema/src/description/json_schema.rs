//! The JSON Schema of descriptions, made of the types that read them. Only the tests make it; the program has the file.

use std::borrow::Cow;
use std::path::Path;
use std::{env, fs};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::column_spec::ColumnSpec;
use super::fault::Name;
use super::short_columns::ShortColumns;
use super::spec::FamilySpec;
use super::words::kinds;
use super::{JSON_SCHEMA, spec_of};

/// The file, and the variable of the environment with which a test writes it.
const FILE: &str = "description.schema.json";
const WRITE: &str = "TRACELAKE_WRITE_JSON_SCHEMA";

impl JsonSchema for Name {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Name".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

impl JsonSchema for ShortColumns {
    fn schema_name() -> Cow<'static, str> {
        "ShortColumns".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let column = generator.subschema_for::<ColumnSpec>();
        json_schema!({
            "description": "Columns by their published names, in the order of the fields: a kind, or a table of keys.",
            "type": "object",
            "additionalProperties": { "anyOf": [kinds(generator), column] }
        })
    }
}

/// The JSON Schema of a description.
fn made() -> String {
    let settings = SchemaSettings::draft07();
    let schema = settings
        .into_generator()
        .into_root_schema_for::<FamilySpec>();
    let mut schema = serde_json::to_value(schema).unwrap();
    schema["title"] = "A description of traces for tracelake".into();
    plain(&mut schema);
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

/// Leaves out what says nothing to a reader of TOML: null, the widths of integers, and links of Rust.
fn plain(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|name| *name != json!("null"));
                if let [one] = &types[..] {
                    let one = one.clone();
                    fields.insert("type".to_owned(), one);
                }
            }
            if let Some(Value::Array(all)) = fields.get_mut("anyOf") {
                all.retain(|one| *one != json!({ "type": "null" }));
                if let [Value::Object(one)] = &all[..] {
                    let one = one.clone();
                    fields.remove("anyOf");
                    fields.extend(one);
                }
            }
            if fields.get("default") == Some(&Value::Null) {
                fields.remove("default");
            }
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = without_links(text);
            }
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// A text of a doc comment without links: `` [`crate::Check`] `` becomes `Check`.
fn without_links(text: &str) -> String {
    let words =
        text.split_inclusive(char::is_whitespace).map(|word| {
            let Some((before, link)) = word.split_once("[`") else {
                return word.to_owned();
            };
            let (name, after) = link.split_once("`]").unwrap_or((link, ""));
            let after = after.split_once(')').map_or(after, |(target, rest)| {
                if target.starts_with('(') { rest } else { after }
            });
            let name = name.rsplit("::").next().unwrap_or(name);
            format!("{before}{name}{after}")
        });
    words.collect::<String>().replace('\n', " ")
}

#[test]
fn the_json_schema_is_that_of_the_types() {
    let made = made();
    if env::var_os(WRITE).is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
        fs::write(path, made).unwrap();
        return;
    }
    assert!(
        made == JSON_SCHEMA,
        "crates/schema/{FILE} is stale: {WRITE}=1 cargo test -p tracelake-schema json_schema"
    );
}

/// Why a value isn't one of a schema, as far as this one goes.
fn fault(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    let Value::Object(rules) = schema else {
        return (schema == &json!(false)).then(|| format!("{value} is refused"));
    };
    if let Some(Value::String(path)) = rules.get("$ref") {
        let pointer = path.strip_prefix('#').unwrap();
        return fault(root, root.pointer(pointer).unwrap(), value);
    }
    for key in rules.keys() {
        let known = [
            "$schema",
            "title",
            "description",
            "default",
            "definitions",
            "type",
            "enum",
            "const",
            "allOf",
            "anyOf",
            "oneOf",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "minItems",
            "maxItems",
            "minimum",
        ];
        assert!(known.contains(&key.as_str()), "{key}");
    }
    let is_of_type = |name: &Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => value.is_boolean(),
    };
    if rules.get("type").is_some_and(|name| !is_of_type(name)) {
        return Some(format!("{value} isn't of type {}", rules["type"]));
    }
    if let Some(Value::Array(words)) = rules.get("enum")
        && !words.contains(value)
    {
        return Some(format!("{value} isn't one of {}", rules["enum"]));
    }
    if rules.get("const").is_some_and(|one| one != value) {
        return Some(format!("{value} isn't {}", rules["const"]));
    }
    let mut all = rules
        .get("allOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    if let Some(why) = all.find_map(|one| fault(root, one, value)) {
        return Some(why);
    }
    for several in ["anyOf", "oneOf"] {
        if let Some(Value::Array(all)) = rules.get(several)
            && all.iter().all(|one| fault(root, one, value).is_some())
        {
            return Some(format!("{value} is none of {several}"));
        }
    }
    let none = Map::new();
    let properties = rules
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let mut fields = value.as_object().unwrap_or(&none).iter();
    let wrong = fields.find_map(|(name, value)| match properties.get(name) {
        Some(schema) => fault(root, schema, value).map(|why| format!("{name}: {why}")),
        None => rules
            .get("additionalProperties")
            .and_then(|schema| fault(root, schema, value))
            .map(|why| format!("{name}: {why}")),
    });
    let required = rules.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten();
    let missing = required.find(|name| value.get(name.as_str().unwrap()).is_none());
    let mut items = value.as_array().into_iter().flatten();
    let item = rules.get("items").filter(|items| items.is_object());
    wrong
        .or_else(|| missing.map(|name| format!("{name} is missing")))
        .or_else(|| items.find_map(|one| fault(root, item?, one)))
}

#[track_caller]
fn fault_of(text: &str) -> Option<String> {
    let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap();
    let value: Value = toml::from_str(text).unwrap();
    fault(&schema, &schema, &value)
}

/// Every description that is shipped or shown has the form that editors look for.
#[test]
fn descriptions_have_the_form_of_the_json_schema() {
    let mut texts: Vec<String> = Vec::new();
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas")).unwrap() {
        texts.push(fs::read_to_string(file.unwrap().path()).unwrap());
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/describe-a-trace.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks = page.split("```toml\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap().to_owned());
    texts.extend(blocks.filter(|block| block.starts_with("family")));
    assert!(texts.len() > 8);
    for text in texts {
        assert_eq!(fault_of(&text), None, "{text}");
        spec_of(&text).unwrap();
    }
}

#[test]
fn mistakes_are_faults_of_the_json_schema() {
    let short = "family = \"f\"\n[[table]]\nname = \"t\"\ncolumns = { a = \"integer\" }\n";
    assert_eq!(fault_of(short), None);
    for (piece, by, says) in [
        ("\"integer\"", "\"int\"", "is none of anyOf"),
        ("\"integer\"", "{ unit = \"s\" }", "is none of anyOf"),
        (
            "\"integer\"",
            "{ kind = \"integer\", unti = \"s\" }",
            "is none of anyOf",
        ),
        ("family = \"f\"\n", "", "family"),
        ("name = \"t\"", "nam = \"t\"", "nam: "),
        ("name = \"t\"", "name = 5", "isn't of type"),
        (
            "name = \"t\"",
            "name = \"t\"\nsyntax = \"xml\"",
            "none of oneOf",
        ),
        (
            "name = \"t\"",
            "name = \"t\"\nparts = \"one\"",
            "isn't of type \"integer\"",
        ),
        (
            "name = \"t\"",
            "name = \"t\"\ncsv.headers = true",
            "headers: ",
        ),
    ] {
        let text = short.replacen(piece, by, 1);
        let why = fault_of(&text).unwrap_or_default();
        assert!(why.contains(says), "{why:?} doesn't say {says:?}: {text}");
        assert!(spec_of(&text).is_err() || by.contains("\"int\""), "{text}");
    }
}
