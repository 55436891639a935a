//! What the terminals really entered, counted at the first try.

use super::{
    inputs::{Customer, NewOrder, OrderStatus, Payment, UNUSED_ITEM},
    kinds::{Kind, TRANSACTIONS},
    random::{Constants, NuRand},
    schema::DISTRICTS,
};
use crate::{Audit, AuditDistribution, AuditLine, AuditRule, Mix};

/// A count out of a total.
#[derive(Debug, Default)]
struct Share {
    count: u64,
    total: u64,
}

impl Share {
    fn add(&mut self, happened: bool) {
        self.count += u64::from(happened);
        self.total += 1;
    }
}

/// Counts of one client.
#[derive(Debug, Default)]
pub(super) struct Counts {
    ran: [u64; TRANSACTIONS.len()],
    remote_lines: Share,
    rolled_back: Share,
    lines: u64,
    remote_payments: Share,
    payments_by_surname: Share,
    statuses_by_surname: Share,
    skipped_districts: Share,
    items: [u64; NuRand::BINS],
    customers: [u64; NuRand::BINS],
    surnames: [u64; NuRand::BINS],
}

impl Counts {
    /// A transaction of any kind; its inputs are counted beside it.
    pub(super) fn ran(&mut self, kind: Kind) {
        self.ran[kind as usize] += 1;
    }

    pub(super) fn new_order(&mut self, input: &NewOrder, constants: &Constants) {
        let rolled_back = input.lines.iter().any(|line| line.item == UNUSED_ITEM);
        self.rolled_back.add(rolled_back);
        self.lines += input.lines.len() as u64;
        for line in &input.lines {
            self.remote_lines
                .add(line.supply_warehouse != input.warehouse);
            if line.item != UNUSED_ITEM {
                self.items[constants.item.bin(line.item)] += 1;
            }
        }
        self.customers[constants.customer.bin(input.customer)] += 1;
    }

    pub(super) fn payment(&mut self, input: &Payment, constants: &Constants) {
        self.remote_payments
            .add(input.customer_warehouse != input.warehouse);
        let by_surname = self.customer(input.customer, constants);
        self.payments_by_surname.add(by_surname);
    }

    pub(super) fn order_status(&mut self, input: &OrderStatus, constants: &Constants) {
        let by_surname = self.customer(input.customer, constants);
        self.statuses_by_surname.add(by_surname);
    }

    fn customer(&mut self, customer: Customer, constants: &Constants) -> bool {
        match customer {
            Customer::Number(number) => {
                self.customers[constants.customer.bin(number)] += 1;
                false
            }
            Customer::Surname(surname) => {
                self.surnames[constants.surname.bin(surname)] += 1;
                true
            }
        }
    }

    /// A delivery that was committed.
    pub(super) fn delivered(&mut self, skipped: u64) {
        self.skipped_districts.count += skipped;
        self.skipped_districts.total += DISTRICTS.unsigned_abs();
    }

    pub(super) fn audit(&self, constants: &Constants, warehouses: i64, mix: &Mix) -> Audit {
        let line = |name: &str, share: &Share, wanted| {
            AuditLine::independent(name, share.count, share.total, wanted)
        };
        let kinds = mix.weights().len();
        let mut lines: Vec<AuditLine> = AuditLine::of_kinds(
            &TRANSACTIONS[..kinds],
            &self.ran[..kinds],
            mix,
            "transactions",
        )
        .collect();
        // A single warehouse has no remote one (clauses 2.4.1.5 and 2.5.1.2).
        let remote = |share| if warehouses > 1 { share } else { 0.0 };
        lines.extend([
            line(
                "New-Order lines from a remote warehouse",
                &self.remote_lines,
                remote(0.01),
            ),
            line("New-Orders rolled back", &self.rolled_back, 0.01),
            AuditLine {
                name: "lines of New-Orders, of 15 possible".into(),
                count: self.lines,
                total: 15 * self.rolled_back.total,
                // 5 to 15, 10 on average.
                wanted: 10.0 / 15.0,
                // Uniform over 5 to 15: a variance of 10, where 15
                // independent choices of this share have 15 × 2/3 × 1/3.
                rule: AuditRule::Dispersed(3.0),
            },
            line(
                "Payments through a remote warehouse",
                &self.remote_payments,
                remote(0.15),
            ),
            line("Payments by surname", &self.payments_by_surname, 0.6),
            line("Order-Statuses by surname", &self.statuses_by_surname, 0.6),
            // More than 1 % have to be reported (clause 2.7.4.2).
            AuditLine {
                rule: AuditRule::AtMost,
                ..line(
                    "districts that Deliveries skipped",
                    &self.skipped_districts,
                    0.01,
                )
            },
        ]);
        let distribution = |name: &str, counts: &[u64], draw: &NuRand| AuditDistribution {
            name: name.into(),
            counts: counts.to_vec(),
            wanted: draw.bin_shares(),
        };
        let distributions = vec![
            distribution("items, NURand(8191)", &self.items, &constants.item),
            distribution(
                "customers, NURand(1023)",
                &self.customers,
                &constants.customer,
            ),
            distribution("surnames, NURand(255)", &self.surnames, &constants.surname),
        ];
        Audit {
            lines,
            distributions,
            ..Audit::default()
        }
    }
}
