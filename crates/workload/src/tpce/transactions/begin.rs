//! What a run begins with: the numbers and the time that the database has got to, and
//! Trade-Cleanup (clause 3.3.12), which cancels what an earlier run left half done.

use crate::{
    Connection, Outcome, Result,
    answer::{Prepared, integer, timestamp, transact},
    connection::{Access, Value},
    tpce::{calendar, ids, scaled::Scale, statements as sql},
};

/// Where the trades and the time of a run begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tpce) struct RunStart {
    /// T_ID of the first new trade.
    pub(in crate::tpce) first_trade: i64,
    /// A moment of trading.
    pub(in crate::tpce) moment: i64,
}

/// Looks how far trading has got, and cancels what nobody will do.
pub(in crate::tpce) fn begin(connection: &mut dyn Connection, scale: &Scale) -> Result<RunStart> {
    let mut begun = RunStart {
        first_trade: ids::trade(scale.begun()),
        moment: scale.end(),
    };
    transact(connection, sql::STATEMENTS, Access::Write, |connection| {
        let end = calendar::date(scale.end());
        let last = connection.one(sql::LAST_TIME, &[], |row| timestamp(row, 0))?;
        begun.moment += last.saturating_sub(end).clamp(0, i64::MAX / 4);
        let last = connection.one(sql::LAST_TRADE_ID, &[], |row| integer(row, 0))?;
        cancel(
            connection,
            begun.first_trade,
            end + begun.moment - scale.end(),
        )?;
        begun.first_trade = begun.first_trade.max(last.saturating_add(1));
        Ok(Outcome::Committed)
    })?;
    Ok(begun)
}

/// Cancels the trades from this number on that are not done, and their requests.
fn cancel(connection: &mut Prepared<'_>, first: i64, now: i64) -> Result<()> {
    let mut left = Vec::new();
    connection.all(sql::ALL_REQUESTS, &[], |row| {
        left.push(integer(row, 0)?);
        Some(())
    })?;
    // A database without rows answers with other numbers.
    left.retain(|id| *id >= first);
    let requested = left.len();
    let submitted = [Value::Integer(first), Value::Text("SBMT")];
    connection.all(sql::SUBMITTED, &submitted, |row| {
        left.push(integer(row, 0)?);
        Some(())
    })?;
    left.retain(|id| *id >= first);
    let now = Value::Timestamp(now);
    for (place, id) in left.iter().enumerate() {
        let id = Value::Integer(*id);
        if place < requested {
            connection.change_one(sql::INSERT_HISTORY, &[id, now, Value::Text("SBMT")])?;
            connection.change_one(sql::DELETE_REQUEST, &[id])?;
        }
        connection.change_one(sql::SET_STATUS, &[Value::Text("CNCL"), now, id])?;
        connection.change_one(sql::INSERT_HISTORY, &[id, now, Value::Text("CNCL")])?;
    }
    Ok(())
}
