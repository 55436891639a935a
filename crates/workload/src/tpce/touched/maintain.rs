//! Data-Maintenance, a transaction of a thousand.

use super::{
    super::{ids, schema::*, statements::DataMaintenance},
    ITEMS, TouchedRows, of_security, price_of_day, row, time, watch_list,
};
use crate::{
    connection::Value,
    touch::{AccessPath, Hits, Place},
};

impl TouchedRows {
    pub(super) fn maintain(
        &self,
        statement: DataMaintenance,
        v: &[Value<'_>],
        p: [i64; 14],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        // Rows of something that has so many of them, one after the other.
        let of_ident = |ident: i64, each: u64| Place::initial(row(ident).initial * each);
        let permission = |account| self.at(ACCOUNT_PERMISSION, self.account(account).1);
        let rate_name = || self.any(TAXRATE, self.inserted as i64, 18);
        match statement {
            DataMaintenance::RIGHTS => hits.row(permission(p[0])),
            DataMaintenance::SET_RIGHTS => hits.row(permission(p[1])),
            DataMaintenance::CUSTOMER_ADDRESS | DataMaintenance::COMPANY_ADDRESS => {
                let whose = row(p[0]).initial as i64;
                let address = match statement {
                    DataMaintenance::CUSTOMER_ADDRESS => self.scale.customer_address(whose),
                    _ => self.scale.company_address(whose),
                };
                hits.rows(row(p[0]), 1);
                hits.read_key(ADDRESS, Place::initial(address as u64));
                hits.answer(&[Value::Integer(ids::ident(address))])
            }
            DataMaintenance::RATING | DataMaintenance::MAIL => hits.row(row(p[0])),
            DataMaintenance::SET_ADDRESS
            | DataMaintenance::SET_RATING
            | DataMaintenance::SET_MAIL
            | DataMaintenance::SET_NEWS_DATE => hits.row(row(p[1])),
            DataMaintenance::COUNTRY_RATE => {
                hits.rows(of_ident(p[0], 2), 2);
                hits.answer(&[])
            }
            // A row goes and another one comes beside it.
            DataMaintenance::SET_COUNTRY_RATE => hits.row(of_ident(p[1], 2)),
            DataMaintenance::ADD_VOLUME => hits.row(price_of_day(
                self.security(v.get(1)),
                self.day(time(v.get(2))),
            )),
            DataMaintenance::EXCHANGES => {
                hits.rows(Place::initial(0), 4);
                hits.answers(4)
            }
            DataMaintenance::SET_EXCHANGE => hits.row(Place::initial(0)),
            DataMaintenance::QUARTERS => {
                hits.rows(of_ident(p[0], 20), 20);
                hits.answers(20)
            }
            DataMaintenance::SET_QUARTER => hits.row(of_ident(p[1], 20)),
            DataMaintenance::NEWS_DATES => {
                let first = of_ident(p[0], 2);
                hits.rows(first, 2);
                hits.read(NEWS_ITEM, AccessPath::Key, first, 2);
                let id = |news: u64| [Value::Integer(ids::ident((first.initial + news) as i64))];
                hits.answer(&id(0)) + hits.answer(&id(1))
            }
            DataMaintenance::LISTED => hits.row(of_security(self.security(v.first()))),
            DataMaintenance::SET_LISTED => hits.row(of_security(self.security(v.get(1)))),
            DataMaintenance::RATE_NAME | DataMaintenance::SET_RATE_NAME => hits.row(rate_name()),
            DataMaintenance::WATCHED => {
                let customer = row(p[0]).initial as i64;
                let list = watch_list(customer.min(self.scale.customers - 1));
                hits.rows(row(p[0]), 1);
                hits.read(
                    WATCH_ITEM,
                    AccessPath::Key,
                    Place::initial(list * ITEMS),
                    ITEMS,
                );
                let list = Value::Integer(ids::ident(list as i64));
                (0..ITEMS).map(|_| hits.answer(&[list])).sum()
            }
            DataMaintenance::NOT_WATCHED => hits.row(self.any(SECURITY, p[1], 19)),
            DataMaintenance::SET_WATCHED => hits.row(of_ident(p[1], ITEMS)),
        }
    }
}
