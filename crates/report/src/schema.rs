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
    FORMAT,
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

impl Default for Schemas {
    /// Those that this crate writes whole.
    fn default() -> Self {
        let none = Self {
            generator: SchemaSettings::draft2020_12()
                .for_serialize()
                .into_generator(),
            outputs: Map::new(),
        };
        none.with::<WithSentences<&Findings>>("advise")
            .with::<WithSentences<&Comparison>>("compare")
            .with::<WithSentences<&Value>>("value")
            .with::<WithSentences<&TraceCurves>>("curve")
            .with::<ab::Compared<'_>>("ab")
            .with::<Forecasts>("ab-dry-run")
            .with::<BenchFields<'_>>("bench")
            .with::<Devices<'_>>("devices")
            .with::<Machines<'_>>("machines")
            .with::<Described<'_>>("devices-show")
            .with::<Studies<'_>>("reproduce")
    }
}

impl Schemas {
    /// Adds what [`json`](crate::json) writes of a type.
    #[must_use]
    pub fn with<T: JsonSchema>(self, output: &str) -> Self {
        self.bare::<Formatted<T>>(output)
    }

    /// Adds a type that is written without the number of its format.
    #[must_use]
    pub fn bare<T: JsonSchema>(mut self, output: &str) -> Self {
        let schema = self.generator.subschema_for::<T>();
        self.outputs.insert(output.to_owned(), schema.to_value());
        self
    }

    /// One document with all of them: `$defs` has the outputs by their names, and the types that they
    /// are made of.
    ///
    /// # Panics
    /// Never: a schema has a JSON form.
    pub fn text(mut self) -> String {
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
                "Format {FORMAT}. {} are in $defs. A new field leaves the number as it is.",
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
