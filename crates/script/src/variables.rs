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
pub(crate) fn is_name(name: &str) -> bool {
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
    Text,
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

    /// Takes over a variable of others.
    pub(crate) fn copy(&mut self, slot: Slot, others: &Self, from: Slot) {
        let other = &others.slots[from.0];
        let variable = &mut self.slots[slot.0];
        variable.content = other.content;
        if matches!(other.content, Content::Text) {
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
            Content::Text => Value::of_text(name, &variable.text),
        }
    }

    /// The value as a parameter.
    pub(crate) fn parameter(&self, slot: Slot, name: &str) -> Result<Parameter<'_>> {
        let variable = &self.slots[slot.0];
        match variable.content {
            Content::Unset => Err(format!("{name} has no value yet")),
            Content::Value(value) => Ok(Parameter::Value(value)),
            Content::Text => Ok(Parameter::Text(&variable.text)),
        }
    }
}
