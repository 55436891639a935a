//! The schema of what `--json` prints, and outputs that have to be as it says.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use tempfile::TempDir;

use crate::{complaint, octavo};

/// Reads the schema and an output; all that is wrong, a line each. A field that the schema does not
/// have is wrong here, though for readers the schema is open.
const CHECK: &str = r##"
import json, sys
from jsonschema import Draft202012Validator

SCHEMA = "the schema"
PARTS = ("allOf", "anyOf", "oneOf")

def parts(node, is_part, found):
    """Types whose fields are among those of another object."""
    if isinstance(node, list):
        for one in node:
            parts(one, is_part, found)
    elif isinstance(node, dict):
        is_object = is_part or "properties" in node
        if is_object and "$ref" in node:
            found.add(node["$ref"].rsplit("/", 1)[1])
        for key, value in node.items():
            parts(value, key in PARTS and is_object, found)

def close(node, is_part):
    if isinstance(node, list):
        for one in node:
            close(one, is_part)
    elif isinstance(node, dict):
        has_fields = "properties" in node
        for key, value in node.items():
            close(value, key in PARTS and (is_part or has_fields or "$ref" in node))
        if has_fields and not is_part and "additionalProperties" not in node:
            node["unevaluatedProperties"] = False

schema = json.load(open(sys.argv[1]))
if sys.argv[2] == SCHEMA:
    Draft202012Validator.check_schema(schema)
    sys.exit()
assert sys.argv[2] in schema["$defs"], sys.argv[2]
found = set()
parts(schema["$defs"], False, found)
for name, one in schema["$defs"].items():
    close(one, name in found)
one = {"$ref": "#/$defs/" + sys.argv[2], "$defs": schema["$defs"]}
wrong = list(Draft202012Validator(one).iter_errors(json.load(sys.stdin)))
for error in wrong[:5]:
    print("/".join(map(str, error.absolute_path)) + ": " + error.message[:300])
sys.exit(len(wrong) > 0)
"##;

/// The schema in a file, written once.
fn schema() -> &'static Path {
    static SCHEMA: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = SCHEMA.get_or_init(|| {
        let home = tempfile::tempdir().unwrap();
        let output = octavo().args(["docs", "json-schema"]).output().unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        let path = home.path().join("schema.json");
        fs::write(&path, &output.stdout).unwrap();
        (home, path)
    });
    path
}

/// What a validator says of an output, by the name that the schema has for it.
fn wrong(name: &str, text: &[u8]) -> String {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("output.json");
    fs::write(&path, text).unwrap();
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python");
    let output = Command::new("python3")
        .args(["-c", CHECK])
        .arg(schema())
        .arg(name)
        .env("PYTHONPATH", packages)
        .stdin(fs::File::open(&path).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(0) => String::new(),
        _ if said.is_empty() => format!("./test installs what it imports\n{}", complaint(&output)),
        _ => format!("{name}: {said}"),
    }
}

/// Fails where an output is not as the schema says.
#[track_caller]
pub(crate) fn conforms(name: &str, text: &[u8]) {
    let wrong = wrong(name, text);
    assert_eq!(wrong, "");
}

#[test]
fn catalogs_conform_and_what_does_not_is_found() {
    // That takes seconds, once.
    conforms("the schema", b"");
    let printed = |arguments: &[&str]| octavo().args(arguments).output().unwrap().stdout;
    let devices = printed(&["devices", "--json"]);
    conforms("devices", &devices);
    conforms("machines", &printed(&["devices", "--machines", "--json"]));
    conforms(
        "devices-show",
        &printed(&["devices", "show", "pc-a", "--json"]),
    );
    let profile =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/runs/2026-11-22-twin/profile.toml");
    let fit = printed(&["devices", "fit", profile.to_str().unwrap(), "--json"]);
    conforms("devices-fit", &fit);
    let text = String::from_utf8(devices).unwrap();
    for (old, new, said) in [
        ("\"format\": ", "\"formats\": ", "'formats' was unexpected"),
        ("\"format\": ", "\"format\": 1", "was expected"),
        (
            "\"name\": \"",
            "\"name\": 1, \"more\": \"",
            "is not of type",
        ),
    ] {
        let bad = text.replacen(old, new, 1);
        assert_ne!(bad, text);
        let wrong = wrong("devices", bad.as_bytes());
        assert!(wrong.contains(said), "{new}: {wrong}");
    }
}
