//! Variables of a script: places that are found by name once.

use std::collections::BTreeMap;

use crate::value::{Parameter, Result, Value};

/// Variables that are given before a script runs, such as `-D scale=10`: texts by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions {
    texts: BTreeMap<String, String>,
}

impl Definitions {
    /// Adds a definition; the last one of a name counts.
    pub fn set(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.texts.insert(name.into(), text.into());
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.texts.contains_key(name)
    }
}

/// Whether a name can be a variable's: letters, digits and underscores, and what is beyond
/// ASCII (`valid_variable_name`).
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_name_byte)
}

/// Whether a byte can be in a variable's name.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The place of a variable in [`Variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) usize);

/// The variables of one client.
#[derive(Clone, Debug)]
pub(crate) struct Variables {
    slots: Vec<Variable>,
}

#[derive(Clone, Debug)]
struct Variable {
    content: Content,
    /// Kept when the content is none, so that the next text needs no memory.
    text: String,
}

#[derive(Clone, Copy, Debug)]
enum Content {
    Unset,
    Value(Value),
    /// What a query answered.
    Text,
    /// What a definition gives, which stands in a statement as if it had been written there.
    Given,
}

impl Variables {
    pub(crate) fn new(count: usize) -> Self {
        let unset = Variable {
            content: Content::Unset,
            text: String::new(),
        };
        Self {
            slots: vec![unset; count],
        }
    }

    pub(crate) fn set(&mut self, slot: Slot, value: Value) {
        self.slots[slot.0].content = Content::Value(value);
    }

    /// Sets a text; `write` appends it to what is empty.
    pub(crate) fn set_text(&mut self, slot: Slot, write: impl FnOnce(&mut String)) {
        let variable = &mut self.slots[slot.0];
        variable.content = Content::Text;
        variable.text.clear();
        write(&mut variable.text);
    }

    /// Sets what a definition gives.
    pub(crate) fn give(&mut self, slot: Slot, text: &str) {
        self.set_text(slot, |own| own.push_str(text));
        self.slots[slot.0].content = Content::Given;
    }

    /// Takes over a variable of others.
    pub(crate) fn copy(&mut self, slot: Slot, others: &Self, from: Slot) {
        let other = &others.slots[from.0];
        let variable = &mut self.slots[slot.0];
        variable.content = other.content;
        if matches!(other.content, Content::Text | Content::Given) {
            variable.text.clear();
            variable.text.push_str(&other.text);
        }
    }

    /// The value in an expression. `name` is for messages.
    pub(crate) fn value(&self, slot: Slot, name: &str) -> Result<Value> {
        let variable = &self.slots[slot.0];
        match variable.content {
            Content::Unset => Err(format!("{name} has no value yet")),
            Content::Value(value) => Ok(value),
            Content::Text | Content::Given => Value::of_text(name, &variable.text),
        }
    }

    /// The value as a parameter.
    pub(crate) fn parameter(&self, slot: Slot, name: &str) -> Result<Parameter<'_>> {
        let variable = &self.slots[slot.0];
        match variable.content {
            Content::Unset => Err(format!("{name} has no value yet")),
            Content::Value(value) => Ok(Parameter::Value(value)),
            Content::Text => Ok(Parameter::Text(&variable.text)),
            Content::Given => Ok(match Value::of_text(name, &variable.text) {
                Ok(number @ (Value::Integer(_) | Value::Double(_))) => Parameter::Value(number),
                Ok(Value::Boolean(value)) if is_literal(&variable.text) => {
                    Parameter::Value(Value::Boolean(value))
                }
                _ => Parameter::Text(&variable.text),
            }),
        }
    }

    /// Appends the value as it stands in a quoted text.
    pub(crate) fn append(&self, slot: Slot, name: &str, text: &mut String) -> Result<()> {
        let variable = &self.slots[slot.0];
        match variable.content {
            Content::Unset => return Err(format!("{name} has no value yet")),
            Content::Value(value) => value.append(text),
            Content::Text => text.push_str(&variable.text),
            // Quotes in it stand doubled, as in the text around.
            Content::Given => {
                for (place, part) in variable.text.split("''").enumerate() {
                    if place > 0 {
                        text.push('\'');
                    }
                    text.push_str(part);
                }
            }
        }
        Ok(())
    }
}

/// Whether a text is TRUE or FALSE as SQL has them.
fn is_literal(text: &str) -> bool {
    text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false")
}
