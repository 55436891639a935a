//! The JSON Schema of results, from the types that they are written from.

use octavo_buffer::trace_curves::TraceCurves;
use octavo_experiment::{compare::Comparison, findings::Findings, value::Value};
use schemars::{
    JsonSchema, Schema, SchemaGenerator,
    generate::SchemaSettings,
    transform::{RecursiveTransform, Transform},
};
use serde_json::{Map, json};

use crate::{
    ab::{self, Forecasts},
    json::{BenchFields, Described, Devices, Formatted, Machines, WithSentences},
    study::Studies,
};

/// The schemas of what commands print with `--json`, as draft 2020-12
/// (<https://json-schema.org/draft/2020-12>).
#[derive(Debug)]
pub struct Schemas {
    generator: SchemaGenerator,
    outputs: Map<String, serde_json::Value>,
}

impl Schemas {
    /// Those of the documents that this crate composes.
    pub fn of_reports() -> Self {
        let none = Self {
            generator: SchemaSettings::draft2020_12()
                .for_serialize()
                .into_generator(),
            outputs: Map::new(),
        };
        none.with_format::<WithSentences<&Findings>>("advise", "advise, run, report and predict")
            .with_format::<WithSentences<&Comparison>>("compare", "compare")
            .with_format::<WithSentences<&Value>>("value", "value")
            .with_format::<WithSentences<&TraceCurves>>("curve", "curve")
            .with_format::<ab::Compared<'_>>("ab", "ab")
            .with_format::<Forecasts>("ab-dry-run", "ab --dry-run")
            .with_format::<BenchFields<'_>>("bench", "bench, with and without --ramp")
            .with_format::<Devices<'_>>("devices", "devices")
            .with_format::<Machines<'_>>("machines", "devices --machines")
            .with_format::<Described<'_>>("devices-show", "devices show")
            .with_format::<Studies<'_>>("reproduce", "reproduce")
    }

    /// Adds what [`json`](crate::json) writes of a type, with the commands that print it.
    #[must_use]
    pub fn with_format<T: JsonSchema>(self, output: &str, commands: &str) -> Self {
        self.without_format::<Formatted<T>>(output, commands)
    }

    /// The same of a type that is written without [`FORMAT`](crate::FORMAT).
    #[must_use]
    pub fn without_format<T: JsonSchema>(mut self, output: &str, commands: &str) -> Self {
        let mut schema = self.generator.subschema_for::<T>();
        schema.insert(
            "description".into(),
            format!("Printed by octavo {commands}").into(),
        );
        self.outputs.insert(output.to_owned(), schema.to_value());
        self
    }

    /// One document with all of them: `$defs` has the outputs by their names, and the types that they
    /// are made of.
    ///
    /// # Panics
    /// Never: a schema has a JSON form.
    pub fn to_json(mut self) -> String {
        let names: Vec<String> = self.outputs.keys().cloned().collect();
        let mut all = self.generator.take_definitions(true);
        all.extend(self.outputs);
        let any: Vec<_> = names
            .iter()
            .map(|name| json!({ "$ref": format!("#/$defs/{name}") }))
            .collect();
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "What Octavo prints with --json",
            "description": format!(
                "$defs has an output each: {}. A new field leaves its format as it is.",
                names.join(", ")
            ),
            "anyOf": any,
            "$defs": all,
        });
        let mut schema = Schema::try_from(schema).expect("an object is a schema");
        RecursiveTransform(nullable_number).transform(&mut schema);
        serde_json::to_string_pretty(&schema).expect("a schema has a JSON form")
    }
}

/// JSON has no infinity: a figure that is not finite, such as an interval's end that is not known, is
/// null.
fn nullable_number(schema: &mut Schema) {
    if schema.get("type").is_some_and(|of| of == "number") {
        schema.insert("type".into(), json!(["number", "null"]));
    }
}
