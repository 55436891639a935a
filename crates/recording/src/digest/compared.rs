//! What stands beside a parameter: a column that it is compared with or becomes a value of, or a
//! word that says what kind of number it is.

use super::{
    catalog::{Catalog, Class},
    lexed::{Item, Style, closing, commas, opening},
    tables::{ColumnOf, Reference, resolve},
};

/// What a parameter is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is compared with a column.
    Compared {
        /// The column.
        of: ColumnOf,
        /// What of its values.
        part: PartOf,
        /// How.
        by: By,
    },
    /// All values of an array are compared with a column.
    AnyOf(ColumnOf),
    /// It becomes the value of a column.
    Set(ColumnOf),
    /// It is added to a column, or taken from it.
    Amount,
    /// How many rows are wanted.
    Limit,
    /// A number that decides nothing about rows.
    Whole(i64),
    /// A word of a function.
    Word(&'static str),
}

/// What of a column's values is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PartOf {
    /// All of it.
    Value,
    /// It in small letters.
    Lower,
    /// It in capitals.
    Upper,
    /// An element of an array.
    Element,
}

/// How a column is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// It is equal.
    Equality,
    /// It is at least, or more than.
    Least,
    /// It is at most, or less than.
    Most,
    /// In another way, or one of several values.
    Other,
}

/// A statement with what its names mean.
pub(crate) struct Named<'s> {
    pub(crate) items: &'s [Item],
    pub(crate) references: &'s [Reference],
    pub(crate) catalog: &'s Catalog,
    pub(crate) style: Style,
}

/// An expression of a column, and where it ends.
struct Found {
    of: ColumnOf,
    part: PartOf,
    end: usize,
}

/// Words that begin a part of a statement.
const CLAUSES: [&str; 12] = [
    "SELECT",
    "FROM",
    "WHERE",
    "SET",
    "ON",
    "HAVING",
    "VALUES",
    "RETURNING",
    "LIMIT",
    "OFFSET",
    "UNION",
    "WHEN",
];

/// Words before a bracket that is no function's.
const BEFORE_BRACKETS: [&str; 12] = [
    "AND", "BETWEEN", "BY", "CASE", "HAVING", "NOT", "ON", "OR", "SELECT", "THEN", "WHEN", "WHERE",
];

impl Named<'_> {
    fn item(&self, at: usize) -> Option<&Item> {
        self.items.get(at)
    }

    fn is(&self, at: Option<usize>, word: &str) -> bool {
        at.and_then(|at| self.item(at))
            .is_some_and(|item| item.is(word))
    }

    fn is_sign(&self, at: Option<usize>, sign: u8) -> bool {
        at.and_then(|at| self.item(at))
            .is_some_and(|item| item.is_sign(sign))
    }

    fn operator(&self, at: Option<usize>) -> Option<&str> {
        match self.item(at?)? {
            Item::Operator(text) => Some(text),
            _ => None,
        }
    }

    fn class(&self, of: ColumnOf) -> Class {
        let table = self.references[of.reference].table;
        self.catalog.tables[table].columns[of.column].class
    }

    /// What the parameter at this place is for.
    pub(crate) fn role(&self, at: usize) -> Option<Role> {
        let (mut begin, mut end) = (at, at + 1);
        // Casts and brackets around it.
        loop {
            end = self.behind_cast(end);
            let is_bracketed =
                self.is_sign(begin.checked_sub(1), b'(') && self.is_sign(Some(end), b')');
            let before = begin.checked_sub(2).and_then(|before| self.item(before));
            let is_of_cast = before.is_some_and(|item| item.is("CAST"));
            let is_group = before.is_some_and(|item| {
                matches!(item, Item::Operator(_))
                    || item
                        .is_one_of(&["LIKE", "BETWEEN", "AND", "LIMIT", "OFFSET", "THEN", "ELSE"])
            });
            let has_type = self.style == Style::Numbered
                && begin
                    .checked_sub(1)
                    .and_then(|before| self.item(before))
                    .is_some_and(is_type);
            if has_type {
                begin -= 1;
                continue;
            }
            let as_type =
                self.is_sign(begin.checked_sub(1), b'(') && self.is(Some(end), "AS") && is_of_cast;
            if as_type {
                end = closing(self.items, begin - 1)? + 1;
                begin -= 2;
            } else if is_bracketed && is_group {
                (begin, end) = (begin - 1, end + 1);
            } else {
                break;
            }
        }
        self.by_words_before(begin, end)
            .or_else(|| self.by_operator_behind(end))
            .or_else(|| self.as_constant(begin, end))
    }

    fn behind_cast(&self, mut end: usize) -> usize {
        while self.operator(Some(end)) == Some("::") {
            end += 2;
            // varchar(20), text[]
            while self.is_sign(Some(end), b'(') || self.is_sign(Some(end), b'[') {
                match closing(self.items, end) {
                    Some(close) => end = close + 1,
                    None => break,
                }
            }
        }
        end
    }

    fn by_words_before(&self, begin: usize, end: usize) -> Option<Role> {
        let before = begin.checked_sub(1)?;
        match &self.items[before] {
            Item::Operator(operator) => self.by_operator(operator, before),
            Item::Sign(b',') if self.is(before.checked_sub(2), "LIMIT") => Some(Role::Limit),
            Item::Sign(b'(' | b',' | b'[') => self.in_list(begin, end),
            item if item.is_one_of(&["LIKE", "ILIKE", "REGEXP", "RLIKE"]) => {
                self.compared(self.column_before_not(before)?, By::Other)
            }
            item if item.is("BETWEEN") => self.compared(self.column_before_not(before)?, By::Least),
            item if item.is("AND") => {
                // The other end may be an expression.
                let between = (begin.saturating_sub(8)..before).rev().find(|at| {
                    self.items[*at].is_one_of(&["BETWEEN", "AND", "OR", "WHERE", "ON"])
                })?;
                if !self.items[between].is("BETWEEN") {
                    return None;
                }
                self.compared(self.column_before_not(between)?, By::Most)
            }
            item if item.is("FROM") && self.is(before.checked_sub(1), "DISTINCT") => {
                let is = (before.saturating_sub(3)..before)
                    .rev()
                    .find(|at| self.items[*at].is("IS"))?;
                self.compared(self.column_before(is)?, By::Equality)
            }
            item if item.is("LIMIT") => {
                // MySQL's first number of two is where rows begin.
                match self.is_sign(Some(end), b',') {
                    true => Some(Role::Whole(0)),
                    false => Some(Role::Limit),
                }
            }
            item if item.is("OFFSET") => Some(Role::Whole(0)),
            item if item.is_one_of(&["FIRST", "NEXT"])
                && self.is(before.checked_sub(1), "FETCH") =>
            {
                Some(Role::Limit)
            }
            item if item.is("WHEN") => {
                let case = (0..before).rev().find(|at| self.items[*at].is("CASE"))?;
                let column = self.column_from(case + 1)?;
                self.is(Some(column.end), "WHEN")
                    .then(|| self.compared(column, By::Equality))?
            }
            item if item.is_one_of(&["THEN", "ELSE"]) => {
                let case = (0..before).rev().find(|at| self.items[*at].is("CASE"))?;
                let assigned = self.operator(case.checked_sub(1)) == Some("=");
                if assigned && self.is_assignment(case - 1) {
                    return Some(Role::Set(self.column_before(case - 1)?.of));
                }
                None
            }
            _ => None,
        }
    }

    fn compared(&self, found: Found, by: By) -> Option<Role> {
        Some(Role::Compared {
            of: found.of,
            part: found.part,
            by,
        })
    }

    /// By an operator before the parameter.
    fn by_operator(&self, operator: &str, at: usize) -> Option<Role> {
        if let "+" | "-" | "*" | "/" | "%" = operator {
            return self.added(operator, at);
        }
        if operator == "=" && self.is_assignment(at) {
            return Some(Role::Set(self.column_before(at)?.of));
        }
        if !is_comparison(operator) {
            return None;
        }
        if let Some(column) = self.column_before(at) {
            return self.compared(column, by(operator, false));
        }
        // Of what was counted: a number of any size.
        let open = self
            .is_sign(at.checked_sub(1), b')')
            .then(|| opening(self.items, at - 1))??;
        let function = self.item(open.checked_sub(1)?)?;
        function
            .is_one_of(&["COUNT", "SUM"])
            .then_some(Role::Whole(1))
    }

    /// A number beside a column in what another one is set to.
    fn added(&self, operator: &str, at: usize) -> Option<Role> {
        let column = self.column_before(at)?;
        let is_number = matches!(self.class(column.of), Class::Integer | Class::Number);
        if !is_number || !self.is_within_set(at) {
            return None;
        }
        match operator {
            "+" | "-" => Some(Role::Amount),
            _ => Some(Role::Whole(1)),
        }
    }

    /// Whether `=` at this place sets a column.
    fn is_assignment(&self, at: usize) -> bool {
        let mut depth = 0usize;
        for position in (0..at).rev() {
            match &self.items[position] {
                Item::Sign(b')') => depth += 1,
                Item::Sign(b'(') => match depth.checked_sub(1) {
                    Some(less) => depth = less,
                    None => return false,
                },
                item if depth == 0 && item.is("UPDATE") => {
                    return self.is(position.checked_sub(1), "KEY");
                }
                // `SET a = b = $1` compares.
                item if depth == 0 && item.is_sign(b',') => return self.is_within_set(position),
                // `VALUES(a)` is of a row that is there already.
                item if depth == 0 && item.is_one_of(&CLAUSES) && !item.is("VALUES") => {
                    return item.is("SET");
                }
                Item::Operator(operator) if depth == 0 && operator == "=" => return false,
                _ => {}
            }
        }
        false
    }

    /// Whether a place is behind SET, in brackets of its values too.
    fn is_within_set(&self, at: usize) -> bool {
        let mut depth = 0usize;
        for position in (0..at).rev() {
            match &self.items[position] {
                Item::Sign(b')') => depth += 1,
                Item::Sign(b'(') => depth = depth.saturating_sub(1),
                item if depth == 0 && item.is("UPDATE") => {
                    return self.is(position.checked_sub(1), "KEY");
                }
                item if depth == 0
                    && item.is_one_of(&CLAUSES)
                    && !item.is_one_of(&["WHEN", "VALUES"]) =>
                {
                    return item.is("SET");
                }
                _ => {}
            }
        }
        false
    }

    /// One of several values in brackets.
    fn in_list(&self, begin: usize, end: usize) -> Option<Role> {
        let open = opening(self.items, begin)?;
        let place = commas(self.items, open, begin);
        let before = open.checked_sub(1);
        if self.items[open].is_sign(b'[') {
            return self.in_array(open);
        }
        // Each value stands alone.
        let is_alone = self.is_sign(Some(end), b',') || self.is_sign(Some(end), b')');
        if !is_alone {
            return None;
        }
        if self.is(before, "IN") {
            let by = match place {
                0 => By::Equality,
                _ => By::Other,
            };
            return self.compared(self.column_before_not(before?)?, by);
        }
        // (a, b) IN (($1, $2), ($3, $4)) and (a, b) = ($1, $2)
        let is_row =
            before.is_some_and(|at| self.items[at].is_sign(b'(') || self.items[at].is_sign(b','));
        if is_row {
            let outer = opening(self.items, open)?;
            let is_in = self.is(outer.checked_sub(1), "IN");
            let by = match commas(self.items, outer, open) {
                0 => By::Equality,
                _ => By::Other,
            };
            return is_in.then(|| self.of_tuple(outer - 1, place, by))?;
        }
        if let Some(operator) = self.operator(before) {
            let at = before?;
            if operator == "=" && self.is_assignment(at) {
                let column = self.tuple_column(at, place)?;
                return Some(Role::Set(column.of));
            }
            return is_comparison(operator).then(|| self.of_tuple(at, place, By::Equality))?;
        }
        let function = self.item(before?)?;
        if function.is_one_of(&["ANY", "ALL", "SOME"]) {
            let operator = before?.checked_sub(1)?;
            self.operator(Some(operator))?;
            return Some(Role::AnyOf(self.column_before(operator)?.of));
        }
        let is_function = |words: &[&str]| {
            let name = function.name(self.style).unwrap_or_default();
            words.iter().any(|word| name.eq_ignore_ascii_case(word))
        };
        if is_function(&["COALESCE", "IFNULL", "NULLIF", "NVL", "GREATEST", "LEAST"]) {
            let close = closing(self.items, open)?;
            let column = (open + 1..close).find_map(|at| self.column_from(at))?;
            return self.compared(column, By::Other);
        }
        if is_function(&["DATE_TRUNC", "DATE_PART"]) && place == 0 {
            return Some(Role::Word("day"));
        }
        if is_function(&["TO_CHAR"]) && place == 1 {
            return Some(Role::Word("YYYY-MM-DD"));
        }
        if is_function(&["DATE_FORMAT"]) && place == 1 {
            return Some(Role::Word("%Y-%m-%d"));
        }
        let decides_nothing = [
            "COUNT",
            "SUM",
            "ROUND",
            "LEFT",
            "RIGHT",
            "SUBSTR",
            "SUBSTRING",
            "TRUNC",
            "TRUNCATE",
        ];
        is_function(&decides_nothing).then_some(Role::Whole(1))
    }

    /// An element of `ARRAY[...]`.
    fn in_array(&self, open: usize) -> Option<Role> {
        let array = open.checked_sub(1)?;
        if !self.items[array].is("ARRAY") {
            return None;
        }
        let before = array.checked_sub(1)?;
        if self.items[before].is_sign(b'(') && self.is(before.checked_sub(1), "ANY") {
            let operator = before.checked_sub(2)?;
            self.operator(Some(operator))?;
            return self.compared(self.column_before(operator)?, By::Other);
        }
        self.operator(Some(before))?;
        let column = self.column_before(before)?;
        let is_array = self.class(column.of) == Class::Array;
        is_array.then_some(Role::Compared {
            of: column.of,
            part: PartOf::Element,
            by: By::Other,
        })
    }

    /// By the column of a row in brackets before `at`.
    fn of_tuple(&self, at: usize, place: usize, by: By) -> Option<Role> {
        self.compared(self.tuple_column(at, place)?, by)
    }

    fn tuple_column(&self, at: usize, place: usize) -> Option<Found> {
        let mut close = at.checked_sub(1)?;
        if self.items[close].is("NOT") {
            close = close.checked_sub(1)?;
        }
        if !self.items[close].is_sign(b')') {
            return None;
        }
        let open = opening(self.items, close)?;
        let parts = super::insert::parts(self.items, open + 1..close);
        let part = parts.get(place)?;
        self.column_from(part.start)
            .filter(|column| column.end == part.end)
    }

    /// By an operator behind the parameter.
    fn by_operator_behind(&self, end: usize) -> Option<Role> {
        let operator = self.operator(Some(end))?;
        if !is_comparison(operator) {
            return None;
        }
        let is_any = self.item(end + 1)?.is_one_of(&["ANY", "SOME"]);
        if is_any && self.is_sign(Some(end + 2), b'(') {
            let column = self.column_from(end + 3)?;
            let is_array = self.class(column.of) == Class::Array;
            return is_array.then_some(Role::Compared {
                of: column.of,
                part: PartOf::Element,
                by: By::Other,
            });
        }
        self.compared(self.column_from(end + 1)?, by(operator, true))
    }

    /// A value that is wanted back as it is.
    fn as_constant(&self, begin: usize, end: usize) -> Option<Role> {
        let is_ended = self.item(end).is_none_or(|item| {
            item.is_sign(b',')
                || item.is_sign(b')')
                || item.is_one_of(&["AS", "FROM", "WHERE", "LIMIT", "UNION"])
        });
        // What an INSERT takes from a SELECT is of its columns, and of their types.
        let is_inserted = self.items.first().is_some_and(|first| {
            first.is_one_of(&["INSERT", "REPLACE"]) && opening(self.items, begin).is_none()
        });
        if is_inserted {
            return None;
        }
        let before = begin.checked_sub(1)?;
        let is_begun = self.items[before].is_one_of(&["SELECT", "DISTINCT", "ALL"])
            || self.items[before].is_sign(b',');
        if !is_ended || !is_begun {
            return None;
        }
        // The list of a SELECT.
        let within = opening(self.items, begin);
        let clause = (within.map_or(0, |open| open + 1)..begin)
            .rev()
            .find(|at| self.items[*at].is_one_of(&CLAUSES) && opening(self.items, *at) == within)?;
        self.items[clause].is("SELECT").then_some(Role::Whole(1))
    }

    fn column_before_not(&self, at: usize) -> Option<Found> {
        match self.is(at.checked_sub(1), "NOT") {
            true => self.column_before(at - 1),
            false => self.column_before(at),
        }
    }

    /// The column that ends before `at`.
    fn column_before(&self, at: usize) -> Option<Found> {
        // Where one may begin that ends there.
        let least = at.saturating_sub(12);
        let mut found = None;
        for begin in (least..at).rev() {
            let column = self.column_from(begin);
            if let Some(column) = column.filter(|column| column.end == at) {
                let is_calculated = self
                    .operator(begin.checked_sub(1))
                    .is_some_and(|operator| !is_comparison(operator) && operator != "=");
                found = (!is_calculated).then_some(column);
                // A longer one has it within.
            }
        }
        found
    }

    /// The column that begins at `at`.
    fn column_from(&self, at: usize) -> Option<Found> {
        let item = self.item(at)?;
        let of_function = [("LOWER", PartOf::Lower), ("UPPER", PartOf::Upper)];
        let function = of_function.into_iter().find(|(word, _)| {
            item.name(self.style)
                .is_some_and(|name| name.eq_ignore_ascii_case(word))
        });
        if let Some((_, part)) = function
            && self.is_sign(Some(at + 1), b'(')
        {
            let inner = self.column_from(at + 2)?;
            return self.is_sign(Some(inner.end), b')').then(|| Found {
                part,
                end: self.behind_cast(inner.end + 1),
                ..inner
            });
        }
        // It does not begin within a name.
        if self.is_sign(at.checked_sub(1), b'.') {
            return None;
        }
        if item.is_sign(b'(') {
            // A function says something else of it.
            let before = at.checked_sub(1).and_then(|before| self.item(before));
            let is_call = match before {
                Some(Item::Name(_)) => true,
                Some(word @ Item::Word(_)) => !word.is_one_of(&BEFORE_BRACKETS),
                _ => false,
            };
            if is_call {
                return None;
            }
            let inner = self.column_from(at + 1)?;
            let is_whole = self.is_sign(Some(inner.end), b')') && inner.part == PartOf::Value;
            return is_whole.then(|| Found {
                end: self.behind_cast(inner.end + 1),
                ..inner
            });
        }
        if item.is_one_of(&CLAUSES)
            || item.is_one_of(&["AND", "OR", "NOT", "BETWEEN", "IN", "CASE"])
        {
            return None;
        }
        let mut parts = vec![item.name(self.style)?];
        let mut end = at + 1;
        while self.is_sign(Some(end), b'.') {
            parts.push(self.item(end + 1)?.name(self.style)?);
            end += 2;
        }
        if self.is_sign(Some(end), b'(') {
            return None;
        }
        let of = resolve(&parts, at, self.items, self.references, self.catalog)?;
        Some(Found {
            of,
            part: PartOf::Value,
            end: self.behind_cast(end),
        })
    }
}

/// Types that stand before a literal, where no parameter may stand.
pub(crate) fn is_type(item: &Item) -> bool {
    item.is_one_of(&[
        "BIT",
        "BOOL",
        "BOOLEAN",
        "BYTEA",
        "CIDR",
        "DATE",
        "INET",
        "INTERVAL",
        "JSON",
        "JSONB",
        "MONEY",
        "NUMERIC",
        "POINT",
        "TIME",
        "TIMESTAMP",
        "TIMESTAMPTZ",
        "UUID",
    ])
}

fn is_comparison(operator: &str) -> bool {
    matches!(
        operator,
        "=" | "<>"
            | "!="
            | "<"
            | ">"
            | "<="
            | ">="
            | "<=>"
            | "~"
            | "~*"
            | "!~"
            | "!~*"
            | "~~"
            | "~~*"
            | "@>"
            | "<@"
            | "&&"
    )
}

/// How an operator compares the column before it, or with `is_behind` the one behind it.
fn by(operator: &str, is_behind: bool) -> By {
    match (operator, is_behind) {
        ("=" | "<=>", _) => By::Equality,
        (">" | ">=", false) | ("<" | "<=", true) => By::Least,
        ("<" | "<=", false) | (">" | ">=", true) => By::Most,
        _ => By::Other,
    }
}
