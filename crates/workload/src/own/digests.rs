//! A client that runs digests, with values of rows that its copy has.

use std::{
    cmp::Ordering,
    fmt::Write as _,
    sync::{Arc, PoisonError},
};

use octavo_recording::digest::Class;
use octavo_script::PARAMETERS_MAX;
use octavo_units::Seed;

use super::call::{FEW, call, no_counts};
use crate::{
    Audit, AuditLine, Client, Connection, ConnectionError, Mix, Outcome, Result, StatementCount,
    TransactionKind,
    connection::{StatementId, Value},
    random::Draws,
    user::{Drawn, DrawnValues, HeldValue, Place, SourceValues},
};

/// What is added to a number at most, as guessed statements do. Chosen.
const AMOUNT_MAX: i64 = 25;

/// The bytes of a table's values that are held: rows behind them are not drawn. Chosen.
const VALUES_MAX: usize = 64 << 20;

/// One client.
pub(super) struct DigestClient {
    drawn: Arc<Drawn>,
    values: Option<Arc<DrawnValues>>,
    kinds: &'static [TransactionKind],
    mix: Mix,
    draws: Draws,
    /// What the values of a transaction are drawn with.
    transaction: Draws,
    seed: Seed,
    /// Draws so far, which number the seeds.
    number: u64,
    /// Where the random numbers of the transaction begin: a retry has the same.
    begin: Seed,
    /// The kind and the digest drawn last.
    last: Option<(usize, usize)>,
    /// New values so far, and before the transaction drawn last.
    made: (i64, i64),
    /// Which client of how many.
    place: (i64, i64),
    is_counted: bool,
    ran: Vec<u64>,
    /// By digest.
    found: Vec<StatementCount>,
    /// Texts of values that are made, by parameter.
    texts: Vec<String>,
    /// The row of each of a digest's rows.
    rows: Vec<u32>,
}

impl DigestClient {
    /// Client `place.0` of `place.1`, which draws from its own part of `seed`.
    pub(super) fn new(
        drawn: &Arc<Drawn>,
        kinds: &'static [TransactionKind],
        mix: &Mix,
        seed: Seed,
        place: (u32, u32),
    ) -> Self {
        let own = seed.derive("client", u64::from(place.0));
        let calls = drawn.calls.iter();
        Self {
            drawn: Arc::clone(drawn),
            values: None,
            kinds,
            mix: mix.clone(),
            draws: Draws::new(own),
            transaction: Draws::new(own),
            seed: own,
            number: 0,
            begin: own,
            last: None,
            made: (0, 0),
            place: (place.0.into(), place.1.into()),
            is_counted: false,
            ran: vec![0; kinds.len()],
            found: calls
                .flat_map(|own| no_counts(std::slice::from_ref(&own.call)))
                .collect(),
            texts: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// What values are drawn from: asked of the first copy, and of no other one.
    fn values(&mut self, connection: &mut dyn Connection) -> Result<Arc<DrawnValues>> {
        if let Some(values) = &self.values {
            return Ok(Arc::clone(values));
        }
        let mut held = self
            .drawn
            .values
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let values = match &*held {
            Some(values) => Arc::clone(values),
            None => Arc::new(read(&self.drawn, connection).map_err(told)?),
        };
        *held = Some(Arc::clone(&values));
        self.values = Some(Arc::clone(&values));
        Ok(values)
    }

    /// Draws the rows of a digest, and makes the texts of its values that no row has.
    fn fill(&mut self, digest: usize, values: &DrawnValues) {
        self.transaction.restart(self.begin);
        let own = &self.drawn.calls[digest];
        self.rows.clear();
        for (row, _) in own.rows.iter().enumerate() {
            let of = &values.rows[digest][row];
            let at = draw(&mut self.transaction, of.len());
            self.rows.push(at.map_or(u32::MAX, |at| of[at]));
        }
        self.texts.resize(own.values.len(), String::new());
        for (place, text) in own.values.iter().zip(&mut self.texts) {
            if let Place::Several {
                source,
                column,
                count,
            } = *place
            {
                text.clear();
                text.push('{');
                let of = &values.sources[source];
                for position in 0..count {
                    let Some(row) = draw(&mut self.transaction, of.rows) else {
                        break;
                    };
                    if position > 0 {
                        text.push(',');
                    }
                    element(text, &of.columns[column][row]);
                }
                text.push('}');
            }
        }
    }
}

/// A position among so many, if there is one.
fn draw(draws: &mut Draws, count: usize) -> Option<usize> {
    let last = i64::try_from(count).ok()?.checked_sub(1)?;
    (last >= 0).then(|| usize::try_from(draws.uniform(0, last)).unwrap_or_default())
}

/// An element of an array as PostgreSQL writes it
/// (<https://www.postgresql.org/docs/17/arrays.html#ARRAYS-IO>).
fn element(text: &mut String, value: &HeldValue) {
    match value {
        HeldValue::Null => text.push_str("NULL"),
        HeldValue::Integer(number) => {
            let _infallible = write!(text, "{number}");
        }
        HeldValue::Text(value) => {
            text.push('"');
            for character in value.chars() {
                if matches!(character, '"' | '\\') {
                    text.push('\\');
                }
                text.push(character);
            }
            text.push('"');
        }
    }
}

/// An error while values were read: what takes too long will do so the next time, and so will a text
/// that is no UTF-8, which is found when it is sent.
fn told(error: ConnectionError) -> ConnectionError {
    match error {
        ConnectionError::Timeout(source) => ConnectionError::Other {
            context: "read values for digests: a table took longer than a statement may; give \
                      --script or --recording, or a --sample of the rows"
                .into(),
            source,
        },
        ConnectionError::Other { source, .. } => ConnectionError::Other {
            context: "read values for digests: a table's values could not be read; give --script \
                      or --recording"
                .into(),
            source,
        },
        other => other,
    }
}

/// Asks a copy for all values.
fn read(drawn: &Drawn, connection: &mut dyn Connection) -> Result<DrawnValues> {
    let mut sources = Vec::new();
    for (number, source) in drawn.sources.iter().enumerate() {
        let mut of = SourceValues {
            columns: vec![Vec::new(); source.columns.len()],
            largest: vec![0; source.largest.len()],
            ..SourceValues::default()
        };
        let id = StatementId(drawn.first_source + number);
        let mut bytes = 0;
        connection.query(id, &[], &mut |row| {
            if bytes > VALUES_MAX {
                return;
            }
            of.rows += 1;
            for (position, class) in source.columns.iter().enumerate() {
                let value = held(row.value(position), *class);
                bytes += match &value {
                    HeldValue::Text(text) => text.len(),
                    _ => 0,
                };
                of.columns[position].push(value);
            }
            for (position, class) in source.largest.iter().enumerate() {
                let value = held(row.value(source.columns.len() + position), *class);
                if let HeldValue::Integer(number) = value {
                    of.largest[position] = number;
                }
            }
        })?;
        of.next = of.columns.iter().map(|column| next(column)).collect();
        sources.push(of);
    }
    let rows = drawn.calls.iter().map(|own| {
        let rows = own.rows.iter().map(|(source, wanted)| {
            let of: &SourceValues = &sources[*source];
            let is_known = |row: &usize| {
                let mut wanted = wanted.iter();
                wanted.all(|column| of.columns[*column][*row] != HeldValue::Null)
            };
            let known = (0..of.rows).filter(is_known);
            let known: Vec<u32> = known.filter_map(|row| u32::try_from(row).ok()).collect();
            match known.is_empty() {
                // What is NULL everywhere finds nothing, as it does on the server.
                true => (0..of.rows)
                    .filter_map(|row| u32::try_from(row).ok())
                    .collect(),
                false => known,
            }
        });
        rows.collect()
    });
    Ok(DrawnValues {
        rows: rows.collect(),
        sources,
    })
}

fn held(value: Value<'_>, class: Class) -> HeldValue {
    match value {
        Value::Null => HeldValue::Null,
        Value::Text(text) => match (class, text.parse()) {
            (Class::Integer, Ok(number)) => HeldValue::Integer(number),
            _ => HeldValue::Text(text.into()),
        },
        Value::Integer(number) | Value::Timestamp(number) => HeldValue::Integer(number),
        Value::Real(number) => HeldValue::Text(number.get().to_string().into()),
        Value::Decimal { unscaled, scale } => {
            let number = unscaled as f64 / 10f64.powi(i32::from(scale));
            HeldValue::Text(number.to_string().into())
        }
    }
}

/// The row with the next higher value for each row, which is itself for the highest.
fn next(column: &[HeldValue]) -> Vec<u32> {
    let are_numbers = column.iter().all(|value| match value {
        HeldValue::Text(text) => text.parse::<f64>().is_ok(),
        _ => true,
    });
    let number = |text: &str| text.parse::<f64>().unwrap_or_default();
    let compare = |one: &HeldValue, other: &HeldValue| match (one, other) {
        (HeldValue::Integer(one), HeldValue::Integer(other)) => one.cmp(other),
        (HeldValue::Text(one), HeldValue::Text(other)) if are_numbers => {
            number(one).total_cmp(&number(other))
        }
        (HeldValue::Text(one), HeldValue::Text(other)) => one.cmp(other),
        (HeldValue::Null, HeldValue::Null) => Ordering::Equal,
        (HeldValue::Null, _) => Ordering::Less,
        (_, HeldValue::Null) => Ordering::Greater,
        (HeldValue::Integer(_), _) => Ordering::Less,
        (_, HeldValue::Integer(_)) => Ordering::Greater,
    };
    let mut order: Vec<usize> = (0..column.len()).collect();
    order.sort_by(|one, other| compare(&column[*one], &column[*other]));
    let mut next: Vec<u32> = (0..column.len())
        .map(|row| u32::try_from(row).unwrap_or(u32::MAX))
        .collect();
    let mut higher: Option<usize> = None;
    let mut at: Option<usize> = None;
    for &row in order.iter().rev() {
        if at.is_some_and(|at| column[at] != column[row]) {
            higher = at;
        }
        at = Some(row);
        if let Some(higher) = higher.and_then(|row| u32::try_from(row).ok()) {
            next[row] = higher;
        }
    }
    next
}

impl Client for DigestClient {
    fn draw(&mut self) -> usize {
        let kind = self.mix.draw(&mut self.draws);
        let of_kind = &self.drawn.of_kinds[kind];
        let all = of_kind.last().map_or(1, |(_, sum)| *sum);
        let drawn = self
            .draws
            .uniform(1, i64::try_from(all).unwrap_or(i64::MAX));
        let drawn = drawn.unsigned_abs();
        let at = of_kind.partition_point(|(_, sum)| *sum < drawn);
        let digest = of_kind.get(at).map_or(0, |(digest, _)| *digest);
        self.number += 1;
        self.begin = self.seed.derive("transaction", self.number);
        self.is_counted = false;
        let places = self.drawn.calls[digest].values.iter();
        let new = places.filter(|place| matches!(place, Place::New { .. }));
        self.made.1 = self.made.0;
        self.made.0 += i64::try_from(new.count()).unwrap_or_default();
        self.last = Some((kind, digest));
        kind
    }

    /// # Panics
    /// When nothing was drawn.
    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome> {
        let (kind, digest) = self.last.expect("a transaction is drawn before it runs");
        let held = self.values(connection)?;
        // Neither is a retry: how many there are is another cell's chance.
        let is_first = !std::mem::replace(&mut self.is_counted, true);
        self.ran[kind] += u64::from(is_first);
        self.fill(digest, &held);
        let (index, count) = self.place;
        let mut made = self.made.1;
        let drawn = Arc::clone(&self.drawn);
        let own = &drawn.calls[digest];
        let mut amounts = [0; PARAMETERS_MAX];
        for (position, place) in own.values.iter().enumerate() {
            match *place {
                Place::Amount => amounts[position] = self.transaction.uniform(1, AMOUNT_MAX),
                Place::New { source, largest } => {
                    let number = made.saturating_mul(count).saturating_add(index + 1);
                    made += 1;
                    let seed = self.begin.derive("new", position as u64).get();
                    let text = &mut self.texts[position];
                    text.clear();
                    let _infallible = match drawn.sources[source].largest[largest] {
                        Class::Uuid => write!(
                            text,
                            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
                            seed >> 32,
                            seed >> 16 & 0xffff,
                            seed >> 4 & 0xfff,
                            index & 0xfff,
                            number & 0xffff_ffff_ffff
                        ),
                        // Never the same, and nowhere near each other.
                        Class::Text(_) => {
                            write!(text, "{:08x}{:08x}", seed >> 32, number & 0xffff_ffff)
                        }
                        _ => {
                            let largest = held.sources[source].largest[largest];
                            amounts[position] = largest.saturating_add(number);
                            Ok(())
                        }
                    };
                }
                _ => {}
            }
        }
        let mut few = [Value::Null; FEW];
        let mut many;
        let values = if own.values.len() <= FEW {
            &mut few[..own.values.len()]
        } else {
            many = [Value::Null; PARAMETERS_MAX];
            &mut many[..own.values.len()]
        };
        for (position, (value, place)) in values.iter_mut().zip(&own.values).enumerate() {
            let of_row = |row: usize, column: usize, is_next: bool| {
                let source = &held.sources[own.rows[row].0];
                let mut at = self.rows[row] as usize;
                if is_next && let Some(next) = source.next[column].get(at) {
                    at = *next as usize;
                }
                match source.columns[column].get(at) {
                    None | Some(HeldValue::Null) => Value::Null,
                    Some(HeldValue::Integer(number)) => Value::Integer(*number),
                    Some(HeldValue::Text(text)) => Value::Text(text),
                }
            };
            *value = match *place {
                Place::Column { row, column } => of_row(row, column, false),
                Place::Next { row, column } => of_row(row, column, true),
                Place::Several { .. } => Value::Text(&self.texts[position]),
                Place::New { source, largest } => match drawn.sources[source].largest[largest] {
                    Class::Uuid | Class::Text(_) => Value::Text(&self.texts[position]),
                    _ => Value::Integer(amounts[position]),
                },
                Place::Amount => Value::Integer(amounts[position]),
                Place::Whole(number) => Value::Integer(number),
                Place::Word(word) => Value::Text(word),
            };
        }
        let id = StatementId(drawn.first_statement + digest);
        match call(connection, &own.call, id, values, false, &mut |_| {}) {
            Ok(rows) => {
                if is_first {
                    self.found[digest].ran(rows);
                }
                Ok(Outcome::Committed)
            }
            Err(error) => {
                connection.rollback()?;
                match error {
                    // The values of programs fit together, and these may not.
                    ConnectionError::Other { .. } => {
                        self.found[digest].failed += u64::from(is_first);
                        Ok(Outcome::RolledBack)
                    }
                    // Each of the same kind would take as long.
                    ConnectionError::Timeout(source) => {
                        let name = own.call.counted.as_deref().unwrap_or("a digest");
                        Err(ConnectionError::Other {
                            context: format!("{name}: a statement took longer than its limit"),
                            source,
                        })
                    }
                    other => Err(other),
                }
            }
        }
    }

    fn audit(&self) -> Audit {
        let kinds = AuditLine::of_kinds(self.kinds, &self.ran, &self.mix, "transactions");
        let found = self.found.iter();
        Audit {
            lines: kinds.filter(|line| line.wanted > 0.0).collect(),
            statements: found
                .filter(|of| of.runs + of.failed > 0)
                .cloned()
                .collect(),
            ..Audit::default()
        }
    }
}
