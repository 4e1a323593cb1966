"""Reads a released lake as its users would: each table with Hugging Face datasets by the card alone,
and with mlcroissant by croissant.json alone; both are compared with pyarrow's reading of the files.
The other descriptions are read by their own communities' validators, without a network.

In and out as in check.py, but any number of them, one a line, with three more keys in: "lake", the directory of the lake;
"rows", whether its tables are read, too; and "validates", whether the validator of RO-Crate is asked.
"""

import json
import math
import os
import sys
import tempfile

findings = []


def plain(value):
    """One form for all readers."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode()
    return value


def same(one, other):
    if one is None or other is None:
        return one is None and other is None
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    return one == other


def compare(reader, table, rows, expected):
    if len(rows) != len(expected):
        findings.append(f"{reader}: {table}: {len(rows)} rows, not {len(expected)}")
        return
    for number, (row, other) in enumerate(zip(rows, expected)):
        if list(row) != list(other):
            findings.append(f"{reader}: {table}: columns {list(row)}, not {list(other)}")
            return
        for column, value in row.items():
            if not same(plain(value), other[column]):
                findings.append(f"{reader}: {table}.{column}: row {number}: {value!r}, not {other[column]!r}")
                return


#: The keys that Zenodo's schema of an upload has, of those that a release writes, with their types.
ZENODO = {
    "upload_type": str, "title": str, "description": str, "version": str, "keywords": list, "license": str, "notes": str,
    "publication_date": str, "creators": list, "references": list, "related_identifiers": list,
}


def check_zenodo(lake):
    with open(os.path.join(lake, ".zenodo.json"), encoding="utf-8") as file:
        said = json.load(file)
    for key, value in said.items():
        if not isinstance(value, ZENODO.get(key, ())):
            findings.append(f"zenodo: {key}: {value!r}")
    for creator in said.get("creators", []):
        if list(creator) != ["name"]:
            findings.append(f"zenodo: creator {creator}")
    for one in said.get("related_identifiers", []):
        if one["relation"] != "isDerivedFrom" or not one["identifier"].startswith("http"):
            findings.append(f"zenodo: related {one}")


def check_citation(lake):
    from cffconvert import Citation

    path = os.path.join(lake, "CITATION.cff")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        citation = Citation(file.read())
    citation.validate()
    if not citation.as_bibtex().startswith("@misc{"):
        findings.append(f"cffconvert: {citation.as_bibtex()}")


def without_network():
    """Answers requests for the context of RO-Crate with the copy in rocrate, and no others."""
    import importlib.resources

    import requests

    context = importlib.resources.files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()

    def send(session, request, **_):
        if request.url != "https://w3id.org/ro/crate/1.3/context":
            raise requests.ConnectionError(f"the test has no network: {request.url}")
        answer = requests.Response()
        answer.status_code, answer.url, answer.request = 200, request.url, request
        answer.headers["Content-Type"] = "application/ld+json"
        answer._content = context
        return answer

    requests.Session.send = send


#: Recommendations that a release can't follow: who publishes the lake (56.1), with affiliation (80.2, 80.3), ORCID (91.0)
#: and address (93.0), isn't known, nor what the files of the source are (63.1), nor a page of every licence (85.0); SHA256SUMS, whose size and digest follow
#: from the crate, has neither (64.1).
UNKNOWN = {f"ro-crate-1.2_{number}" for number in ("56.1", "63.1", "64.1", "80.2", "80.3", "85.0", "91.0", "93.0")}


def check_crate(lake, validates):
    path = os.path.join(lake, "ro-crate-metadata.json")
    if not os.path.exists(path):
        return
    without_network()
    from rocrate.rocrate import ROCrate
    from rocrate_validator import models, services

    crate = ROCrate(lake)
    with open(path, encoding="utf-8") as file:
        ids = {entity["@id"] for entity in json.load(file)["@graph"]}
    read = {entity.id for entity in crate.get_entities()}
    if read != ids:
        findings.append(f"rocrate: entities {sorted(read ^ ids)}")
    if crate.version != "1.3":
        findings.append(f"rocrate: version {crate.version}")
    if not validates:
        return
    settings = models.ValidationSettings(
        rocrate_uri=lake, profile_identifier="ro-crate-1.3", requirement_severity=models.Severity.RECOMMENDED, no_cache=True
    )
    for issue in services.validate(settings).get_issues():
        if issue.severity < models.Severity.REQUIRED and issue.check.identifier in UNKNOWN:
            continue
        findings.append(f"roc-validator: {issue.severity.name}: {issue.check.identifier}: {issue.message}")


def answer(request):
    import datasets
    import mlcroissant
    import pyarrow.parquet

    lake, tables = request["lake"], {}
    findings.clear()
    check_zenodo(lake)
    check_citation(lake)
    check_crate(lake, request["validates"])
    names = [table["name"] for table in request["tables"]]
    croissant = mlcroissant.Dataset(jsonld=os.path.join(lake, "croissant.json"))
    issues = croissant.metadata.issues
    findings.extend(f"mlcroissant: {issue}" for issue in sorted(issues.errors | issues.warnings))
    sets = [record_set.id for record_set in croissant.metadata.record_sets]
    if sets != names:
        findings.append(f"mlcroissant: record sets {sets}, not {names}")
    if not request["rows"]:
        return {"findings": findings, "tables": {table["name"]: {"rows": table["rows"]} for table in request["tables"]}}
    configs = datasets.get_dataset_config_names(lake)
    if sorted(configs) != sorted(names):
        findings.append(f"datasets: configurations {configs}, not {names}")
    for table in request["tables"]:
        name, expected = table["name"], []
        for part in sorted(table["parts"], key=lambda part: part["output"]):
            expected += pyarrow.parquet.ParquetFile(part["output"]).read().to_pylist()
        loaded = datasets.load_dataset(lake, name, split="train")
        compare("datasets", name, loaded.to_list(), expected)
        records = []
        for record in croissant.records(name):
            records.append({field.removeprefix(f"{name}/"): value for field, value in record.items()})
        compare("mlcroissant", name, records, expected)
        tables[name] = {"rows": len(expected)}
    return {"findings": findings, "tables": tables}


def main():
    # What the libraries print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HF_HOME=home, HF_HUB_OFFLINE="1")
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


main()
