//! Values in the binary protocol
//! (<https://mariadb.com/kb/en/resultset-row/#binary-resultset-row>).

use jiff::civil::DateTime;
use octavo_workload::{
    connection::{Real, Row, Value},
    schema::ColumnKind,
};

use super::{
    failure::Failure,
    fields::Fields,
    time::{microseconds, time_at},
};

/// The protocol's numbers of types
/// (<https://mariadb.com/kb/en/result-set-packets/#field-types>).
mod types {
    pub(super) const DECIMAL: u8 = 0;
    pub(super) const TINY: u8 = 1;
    pub(super) const SHORT: u8 = 2;
    pub(super) const LONG: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const DOUBLE: u8 = 5;
    pub(super) const NULL: u8 = 6;
    pub(super) const TIMESTAMP: u8 = 7;
    pub(super) const LONGLONG: u8 = 8;
    pub(super) const INT24: u8 = 9;
    pub(super) const DATE: u8 = 10;
    pub(super) const TIME: u8 = 11;
    pub(super) const DATETIME: u8 = 12;
    pub(super) const YEAR: u8 = 13;
    pub(super) const NEWDECIMAL: u8 = 246;
    pub(super) const VAR_STRING: u8 = 253;
}

/// The type that a parameter of a kind is sent as. A value of the user's own has that which suits
/// it, as it would have in the statement's text.
pub(crate) fn parameter_type(kind: ColumnKind, value: Value<'_>) -> u8 {
    match kind {
        ColumnKind::Any => match value {
            Value::Integer(_) => types::LONGLONG,
            Value::Real(_) => types::DOUBLE,
            _ => types::VAR_STRING,
        },
        ColumnKind::Integer | ColumnKind::Integer32 => types::LONGLONG,
        ColumnKind::Decimal { .. } => types::NEWDECIMAL,
        ColumnKind::Char(_) | ColumnKind::Varchar(_) => types::VAR_STRING,
        ColumnKind::Timestamp => types::DATETIME,
    }
}

/// Appends a parameter that is not NULL, as [`parameter_type`] says of its
/// kind.
pub(crate) fn push_parameter(
    out: &mut Vec<u8>,
    kind: ColumnKind,
    value: Value<'_>,
) -> Result<(), Failure> {
    match (kind, value) {
        (ColumnKind::Integer | ColumnKind::Integer32 | ColumnKind::Any, Value::Integer(number)) => {
            out.extend_from_slice(&number.to_le_bytes());
        }
        (ColumnKind::Any, Value::Real(number)) => {
            out.extend_from_slice(&number.get().to_le_bytes());
        }
        (ColumnKind::Decimal { .. }, Value::Decimal { unscaled, scale }) => {
            // The longest: a sign, a zero and a point besides 255 digits. Its
            // length fits in one byte at any scale that a kind can have.
            let start = out.len();
            out.push(0);
            push_decimal(out, unscaled, scale);
            let length = out.len() - start - 1;
            out[start] = u8::try_from(length)
                .ok()
                .filter(|&length| length <= 0xfa)
                .ok_or_else(|| Failure::Refused(format!("{scale} is no scale of a decimal")))?;
        }
        (ColumnKind::Char(_) | ColumnKind::Varchar(_) | ColumnKind::Any, Value::Text(text)) => {
            push_length(out, text.len());
            out.extend_from_slice(text.as_bytes());
        }
        (ColumnKind::Timestamp, Value::Timestamp(microseconds)) => {
            let time = time_at(microseconds)?;
            out.push(11);
            out.extend_from_slice(&time.year().to_le_bytes());
            for part in [
                time.month(),
                time.day(),
                time.hour(),
                time.minute(),
                time.second(),
            ] {
                out.extend_from_slice(&part.to_le_bytes());
            }
            let microsecond = time.subsec_nanosecond() / 1000;
            out.extend_from_slice(&microsecond.to_le_bytes());
        }
        (kind, value) => {
            return Err(Failure::Refused(format!(
                "{value:?} was given for a parameter that is declared as {kind:?}"
            )));
        }
    }
    Ok(())
}

/// Appends a length as the protocol writes it.
fn push_length(out: &mut Vec<u8>, length: usize) {
    match length {
        0..=0xfa => out.push(length as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
}

/// Appends a value as text. A NULL is `null`; `quote` stands around times, and
/// texts go through `push_text`, without what a CHAR does not store.
#[inline]
pub(super) fn push_value(
    out: &mut Vec<u8>,
    kind: ColumnKind,
    value: Value<'_>,
    null: &[u8],
    quote: &[u8],
    push_text: impl FnOnce(&mut Vec<u8>, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match value {
        Value::Null => out.extend_from_slice(null),
        Value::Integer(number) => push_integer(out, number),
        Value::Decimal { unscaled, scale } => push_decimal(out, unscaled, scale),
        // A blank at the end of a CHAR is not stored.
        Value::Text(text) if matches!(kind, ColumnKind::Char(_)) => {
            push_text(out, text.trim_end_matches(' '))?;
        }
        Value::Text(text) => push_text(out, text)?,
        Value::Real(number) => push_text(out, &number.get().to_string())?,
        Value::Timestamp(microseconds) => {
            let time = time_at(microseconds)?;
            out.extend_from_slice(quote);
            push_time(out, time);
            out.extend_from_slice(quote);
        }
    }
    Ok(())
}

/// Appends a time in digits: `20000229000000.000001`.
fn push_time(out: &mut Vec<u8>, time: DateTime) {
    push_digits(out, u64::from(time.year().unsigned_abs()), 4);
    for part in [
        time.month(),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
    ] {
        push_digits(out, u64::from(part.unsigned_abs()), 2);
    }
    let microsecond = time.subsec_nanosecond().unsigned_abs() / 1000;
    if microsecond > 0 {
        out.push(b'.');
        push_digits(out, u64::from(microsecond), 6);
    }
}

/// Appends a whole number in digits.
fn push_integer(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    push_digits(out, number.unsigned_abs(), 1);
}

/// Appends `unscaled / 10^scale` in digits.
fn push_decimal(out: &mut Vec<u8>, unscaled: i64, scale: u8) {
    if unscaled < 0 {
        out.push(b'-');
    }
    push_digits(out, unscaled.unsigned_abs(), usize::from(scale) + 1);
    if scale > 0 {
        let point = out.len() - usize::from(scale);
        out.insert(point, b'.');
    }
}

/// Appends a number in at least `width` digits.
fn push_digits(out: &mut Vec<u8>, mut number: u64, width: usize) {
    // 2^64 has twenty digits.
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    while number > 0 {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    let used = digits.len() - start;
    out.extend(std::iter::repeat_n(b'0', width.saturating_sub(used)));
    out.extend_from_slice(&digits[start..]);
}

/// What the server says of a result's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerColumn {
    kind: u8,
    is_unsigned: bool,
    /// Whether its bytes are no text: the number of the character set `binary`.
    is_binary: bool,
}

impl ServerColumn {
    /// Reads a column's definition. All but two fields are skipped: they stand
    /// at a fixed distance from the end, behind six texts.
    pub(crate) fn parse(definition: &[u8]) -> Result<Self, Failure> {
        /// The length of what follows, character set, length, type, flags,
        /// decimals, and two bytes that mean nothing.
        const TAIL: usize = 13;
        const UNSIGNED: u16 = 0x20;
        const BINARY: u16 = 63;
        match definition
            .len()
            .checked_sub(TAIL)
            .map(|at| &definition[at..])
        {
            Some(&[0x0c, set, above, _, _, _, _, kind, low, high, _, _, _]) => Ok(Self {
                kind,
                is_binary: u16::from_le_bytes([set, above]) == BINARY,
                is_unsigned: u16::from_le_bytes([low, high]) & UNSIGNED != 0,
            }),
            _ => Err(Failure::Malformed("a column's definition that is none")),
        }
    }

    /// Why it cannot be a variable of a script, if it cannot.
    pub(crate) fn unlike_variables(self) -> Option<&'static str> {
        use types::{
            DATE, DATETIME, DECIMAL, DOUBLE, FLOAT, INT24, LONG, LONGLONG, NEWDECIMAL, NULL, SHORT,
            TIME, TIMESTAMP, TINY, YEAR,
        };
        match self.kind {
            DATE | DATETIME | TIMESTAMP | TIME => {
                Some("is a time: give its text by CAST(... AS CHAR)")
            }
            DECIMAL | DOUBLE | FLOAT | INT24 | LONG | LONGLONG | NEWDECIMAL | NULL | SHORT
            | TINY | YEAR => None,
            _ if self.is_binary => Some("has bytes that are no text: give HEX(...) of them"),
            _ => None,
        }
    }

    /// Skips a value.
    fn skip(self, fields: &mut Fields<'_>) -> Result<(), Failure> {
        use types::{
            DATE, DATETIME, DOUBLE, FLOAT, INT24, LONG, LONGLONG, NULL, SHORT, TIME, TIMESTAMP,
            TINY, YEAR,
        };
        match self.kind {
            NULL => Ok(()),
            TINY => fields.bytes(1).map(drop),
            SHORT | YEAR => fields.bytes(2).map(drop),
            LONG | INT24 | FLOAT => fields.bytes(4).map(drop),
            LONGLONG | DOUBLE => fields.bytes(8).map(drop),
            DATE | TIME | DATETIME | TIMESTAMP => {
                let length = fields.u8()?;
                fields.bytes(usize::from(length)).map(drop)
            }
            _ => fields.text().map(drop),
        }
    }
}

/// Where a value stands in its row, without the length before a text; `None`
/// for NULL.
type Place = Option<(u32, u32)>;

/// A row in the bytes of its packet. Values are decoded when they are asked
/// for.
pub(crate) struct BinaryRow<'r> {
    packet: &'r [u8],
    places: &'r [Place],
    columns: &'r [ServerColumn],
    kinds: &'r [ColumnKind],
}

impl<'r> BinaryRow<'r> {
    /// Finds the values of a row's packet; `places` is memory to work with.
    /// Everything that [`Row::value`] relies on is checked here.
    pub(crate) fn parse(
        packet: &'r [u8],
        columns: &'r [ServerColumn],
        kinds: &'r [ColumnKind],
        places: &'r mut Vec<Place>,
    ) -> Result<Self, Failure> {
        let mut fields = Fields(packet);
        if fields.u8()? != 0 {
            return Err(Failure::Malformed("a row that is none"));
        }
        // The first two bits are not used.
        let nulls = fields.bytes((columns.len() + 7 + 2) / 8)?;
        let at = |rest: Fields<'_>| (packet.len() - rest.0.len()) as u32;
        places.clear();
        for (position, column) in columns.iter().enumerate() {
            let bit = position + 2;
            if nulls[bit / 8] & (1 << (bit % 8)) != 0 {
                places.push(None);
                continue;
            }
            let before = fields;
            column.skip(&mut fields)?;
            let end = at(fields);
            let mut start = at(before);
            match column.kind {
                types::DATE | types::TIME | types::DATETIME | types::TIMESTAMP => start += 1,
                types::LONGLONG
                    if column.is_unsigned
                        && kinds.get(position) == Some(&ColumnKind::Any)
                        && packet[end as usize - 1] >= 0x80 =>
                {
                    return Err(Failure::Malformed(
                        "a number beyond 2^63 for a variable: give its text by CAST(... AS CHAR)",
                    ));
                }
                kind if kind == types::DECIMAL || kind > types::YEAR => {
                    let mut text = before;
                    let length = text.length()?;
                    start = at(text);
                    let bytes = &packet[start as usize..end as usize];
                    debug_assert_eq!(length, bytes.len() as u64);
                    // Nobody asks for what is behind the declared columns.
                    let is_asked = position < kinds.len();
                    if is_asked && !bytes.is_ascii() && str::from_utf8(bytes).is_err() {
                        return Err(Failure::Malformed("a text that is not UTF-8"));
                    }
                }
                _ => {}
            }
            places.push(Some((start, end)));
        }
        if !fields.0.is_empty() {
            return Err(Failure::Malformed("a row longer than its columns"));
        }
        Ok(Self {
            packet,
            places,
            columns,
            kinds,
        })
    }
}

impl Row for BinaryRow<'_> {
    /// A value that is not of its declared kind comes as what it is; a
    /// number or time that [`Value`] cannot hold comes as NULL, which readers
    /// of a column that has none refuse.
    fn value(&self, column: usize) -> Value<'_> {
        let Some((start, end)) = self.places[column] else {
            return Value::Null;
        };
        let bytes = &self.packet[start as usize..end as usize];
        let kind = self.kinds[column];
        decode(self.columns[column], kind, bytes).unwrap_or(Value::Null)
    }
}

/// Decodes a value that is not NULL; `None` when it cannot be held.
fn decode(column: ServerColumn, kind: ColumnKind, bytes: &[u8]) -> Option<Value<'_>> {
    let integer = |number: i64| match kind {
        ColumnKind::Decimal { scale, .. } => 10i64
            .checked_pow(u32::from(scale))
            .and_then(|unit| number.checked_mul(unit))
            .map(|unscaled| Value::Decimal { unscaled, scale }),
        _ => Some(Value::Integer(number)),
    };
    let unsigned = column.is_unsigned;
    match column.kind {
        types::TINY => match *bytes {
            [byte] if unsigned => integer(i64::from(byte)),
            [byte] => integer(i64::from(byte.cast_signed())),
            _ => None,
        },
        types::SHORT | types::YEAR => {
            let bytes = bytes.try_into().ok()?;
            match unsigned {
                true => integer(i64::from(u16::from_le_bytes(bytes))),
                false => integer(i64::from(i16::from_le_bytes(bytes))),
            }
        }
        types::LONG | types::INT24 => {
            let bytes = bytes.try_into().ok()?;
            match unsigned {
                true => integer(i64::from(u32::from_le_bytes(bytes))),
                false => integer(i64::from(i32::from_le_bytes(bytes))),
            }
        }
        types::LONGLONG => {
            let bytes = bytes.try_into().ok()?;
            match unsigned {
                true => integer(i64::try_from(u64::from_le_bytes(bytes)).ok()?),
                false => integer(i64::from_le_bytes(bytes)),
            }
        }
        types::NEWDECIMAL | types::DECIMAL if kind != ColumnKind::Any => decimal(kind, bytes),
        types::FLOAT => {
            let number = f32::from_le_bytes(bytes.try_into().ok()?);
            Some(Value::Real(Real::new(number.into())))
        }
        types::DOUBLE => {
            let number = f64::from_le_bytes(bytes.try_into().ok()?);
            Some(Value::Real(Real::new(number)))
        }
        types::DATE | types::DATETIME | types::TIMESTAMP => datetime(bytes).map(Value::Timestamp),
        types::TIME => None,
        _ => str::from_utf8(bytes).ok().map(Value::Text),
    }
}

/// A decimal's digits, at the scale of its declared kind where they fit in
/// it.
fn decimal(kind: ColumnKind, text: &[u8]) -> Option<Value<'static>> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mut number = 0i64;
    let mut scale = None::<u8>;
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                // Downwards, where there is one number more.
                number = number
                    .checked_mul(10)?
                    .checked_sub(i64::from(byte - b'0'))?;
                scale = scale.map(|scale| scale.saturating_add(1));
            }
            b'.' if scale.is_none() => scale = Some(0),
            _ => return None,
        }
    }
    if !is_negative {
        number = number.checked_neg()?;
    }
    let mut scale = scale.unwrap_or(0);
    let wanted = match kind {
        ColumnKind::Decimal { scale, .. } => scale,
        _ => 0,
    };
    while scale < wanted {
        number = number.checked_mul(10)?;
        scale += 1;
    }
    while scale > wanted && number % 10 == 0 {
        number /= 10;
        scale -= 1;
    }
    Some(match kind {
        ColumnKind::Integer | ColumnKind::Integer32 if scale == 0 => Value::Integer(number),
        _ => Value::Decimal {
            unscaled: number,
            scale,
        },
    })
}

fn datetime(bytes: &[u8]) -> Option<i64> {
    if !matches!(bytes.len(), 4 | 7 | 11) {
        return None;
    }
    // What is 0 at the end is left out.
    let mut all = [0; 11];
    all[..bytes.len()].copy_from_slice(bytes);
    let [year @ .., month, day, hour, minute, second, _, _, _, _] = all;
    let [.., a, b, c, d] = all;
    let microsecond = u32::from_le_bytes([a, b, c, d]);
    let time = DateTime::new(
        i16::from_le_bytes(year),
        month as i8,
        day as i8,
        hour as i8,
        minute as i8,
        second as i8,
        i32::try_from(microsecond.checked_mul(1000)?).ok()?,
    );
    time.ok().filter(|time| time.year() >= 0).map(microseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MONEY: ColumnKind = ColumnKind::Decimal {
        precision: 12,
        scale: 2,
    };

    fn column(kind: u8) -> ServerColumn {
        ServerColumn {
            kind,
            is_unsigned: false,
            is_binary: false,
        }
    }

    fn written(value: Value<'_>, kind: ColumnKind) -> Vec<u8> {
        let mut out = Vec::new();
        push_parameter(&mut out, kind, value).unwrap();
        out
    }

    /// What is sent as a parameter comes back in the same form in a row.
    fn sent_back(value: Value<'_>, kind: ColumnKind) {
        let mut packet = vec![0, 0];
        packet.extend(written(value, kind));
        let (columns, kinds) = ([column(parameter_type(kind, value))], [kind]);
        let mut places = Vec::new();
        let row = BinaryRow::parse(&packet, &columns, &kinds, &mut places).unwrap();
        assert_eq!(row.value(0), value);
    }

    #[test]
    fn decimals_are_digits_with_a_point() {
        for (unscaled, scale, wanted) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (-5, 2, "-0.05"),
            (-12345, 2, "-123.45"),
            (1234, 4, "0.1234"),
            (i64::MIN, 0, "-9223372036854775808"),
            (i64::MAX, 18, "9.223372036854775807"),
        ] {
            let mut out = Vec::new();
            push_decimal(&mut out, unscaled, scale);
            assert_eq!(String::from_utf8(out).unwrap(), wanted);
        }
    }

    #[test]
    fn a_sum_is_read_as_its_declared_kind() {
        let decimal = |unscaled, scale| Some(Value::Decimal { unscaled, scale });
        for (text, kind, wanted) in [
            ("12", ColumnKind::Integer, Some(Value::Integer(12))),
            ("-12.00", ColumnKind::Integer, Some(Value::Integer(-12))),
            ("12.5", ColumnKind::Integer, decimal(125, 1)),
            ("12", MONEY, decimal(1200, 2)),
            ("12.3400", MONEY, decimal(1234, 2)),
            ("-0.01", MONEY, decimal(-1, 2)),
            ("9223372036854775808", ColumnKind::Integer, None),
            ("1e5", MONEY, None),
            ("1.2.3", MONEY, None),
        ] {
            assert_eq!(super::decimal(kind, text.as_bytes()), wanted, "{text}");
        }
    }

    #[test]
    fn integers_of_all_widths_and_signs() {
        for (kind, is_unsigned, bytes, wanted) in [
            (types::TINY, false, &[0xff][..], Some(-1)),
            (types::TINY, true, &[0xff], Some(255)),
            (types::SHORT, false, &[0xfe, 0xff], Some(-2)),
            (types::LONG, true, &[0xff; 4], Some(0xffff_ffff)),
            (types::LONGLONG, false, &[0xff; 8], Some(-1)),
            (types::LONGLONG, true, &[0xff; 8], None),
        ] {
            let column = ServerColumn {
                is_unsigned,
                ..column(kind)
            };
            let value = decode(column, ColumnKind::Integer, bytes);
            assert_eq!(value, wanted.map(Value::Integer));
        }
        let cents = decode(column(types::TINY), MONEY, &[7]);
        let (unscaled, scale) = (700, 2);
        assert_eq!(cents, Some(Value::Decimal { unscaled, scale }));
    }

    #[test]
    fn a_parameter_of_another_kind_is_refused() {
        let mut out = Vec::new();
        push_parameter(&mut out, MONEY, Value::Integer(1)).unwrap_err();
        push_parameter(&mut out, ColumnKind::Timestamp, Value::Timestamp(i64::MAX)).unwrap_err();
    }

    #[test]
    fn nulls_have_no_bytes() {
        let columns = [column(types::LONGLONG); 9];
        let kinds = [ColumnKind::Integer; 9];
        let mut places = Vec::new();
        // All but the last one.
        let mut packet = vec![0, 0xfc, 0x03];
        packet.extend(7i64.to_le_bytes());
        let row = BinaryRow::parse(&packet, &columns, &kinds, &mut places).unwrap();
        assert_eq!(row.value(0), Value::Null);
        assert_eq!(row.value(8), Value::Integer(7));
    }

    proptest! {
        #[test]
        fn parameters_decode_to_the_same_values(number: i64, text in ".{0,400}", scale in 0u8..=18) {
            sent_back(Value::Integer(number), ColumnKind::Integer);
            sent_back(Value::Text(&text), ColumnKind::Varchar(400));
            sent_back(
                Value::Decimal { unscaled: number, scale },
                ColumnKind::Decimal { precision: 19, scale },
            );
            let time = number % 60_000_000_000_000_000;
            sent_back(Value::Timestamp(time), ColumnKind::Timestamp);
        }

        #[test]
        fn arbitrary_rows_do_not_panic(
            mut packet in prop::collection::vec(any::<u8>(), 0..60),
            kinds in prop::collection::vec(any::<u8>(), 0..6),
        ) {
            if let Some(first) = packet.first_mut() {
                *first = 0;
            }
            let columns: Vec<_> = kinds.iter().map(|&kind| column(kind)).collect();
            for declared in [ColumnKind::Integer, MONEY, ColumnKind::Char(3), ColumnKind::Timestamp] {
                let declared = vec![declared; columns.len()];
                let mut places = Vec::new();
                if let Ok(row) = BinaryRow::parse(&packet, &columns, &declared, &mut places) {
                    for position in 0..columns.len() {
                        row.value(position);
                    }
                }
            }
        }

        #[test]
        fn arbitrary_definitions_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _either = ServerColumn::parse(&bytes);
        }
    }
}
