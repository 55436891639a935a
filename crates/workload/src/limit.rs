//! What a database says of page sizes that it does not have.

use std::borrow::Cow;

use octavo_units::PageSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the schema or the settings of the user's database say of other page sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The page sizes that it is about; not the present one.
    pub page_sizes: Vec<PageSize>,
    /// A sentence without its full stop.
    pub what: String,
    /// Where that is documented: an address, or a file of the source.
    pub source: Cow<'static, str>,
    /// Whether it forbids them. Else it is to be known before the change.
    pub forbids: bool,
}

impl Limit {
    /// What is to be known before the change to one of these page sizes.
    pub fn new(
        page_sizes: impl IntoIterator<Item = PageSize>,
        what: impl Into<String>,
        source: &'static str,
    ) -> Self {
        Self {
            page_sizes: page_sizes.into_iter().collect(),
            what: what.into(),
            source: source.into(),
            forbids: false,
        }
    }

    /// The same where such a page size is impossible.
    #[must_use]
    pub fn forbidding(self) -> Self {
        Self {
            forbids: true,
            ..self
        }
    }

    /// Whether it is about a page size.
    pub fn is_of(&self, page_size: PageSize) -> bool {
        self.page_sizes.contains(&page_size)
    }
}
