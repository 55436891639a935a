//! The terminals of one client.
//!
//! Each keeps its home warehouse and, for Stock-Level, its district. A turn
//! goes to any of them with equal chance; what it enters is dealt from one
//! deck a client. The dates that a transaction writes come from a clock that
//! advances with each draw, so that one seed gives one outcome.

use std::mem;

use octavo_units::Seed;

use super::{
    audit::Counts,
    inputs::{
        Delivery, Inputs, LONG_REPORT_ORDERS, NewOrder, OrderStatus, Payment, REPORT_ORDERS,
        Report, StockLevel, Terminal,
    },
    kinds::Kind,
    population::POPULATION_DATE,
    scaled::Tpcc,
    schema::DISTRICTS,
    transactions::{NewOrderReply, Runner},
};
use crate::{Audit, Client, Connection, ConnectionError, Mix, Outcome, mix::Deck, random::Draws};

/// Microseconds by which a client's clock advances with each draw.
const TICK: i64 = 1000;

/// A client's terminals: those whose index leaves the client's when divided
/// by the number of clients. Where there are more clients than terminals, the
/// surplus clients share. An operator's is a single one.
#[derive(Debug)]
pub struct Terminals {
    /// The index of the first.
    first: u64,
    /// The difference between two indices.
    step: u64,
    /// How many there are, at least one.
    own: u64,
    inputs: Inputs,
    deck: Deck<Kind>,
    mix: Mix,
    clock: i64,
    drawn: Drawn,
    /// Apart from [`Drawn`], to reuse the memory of its lines.
    new_order: NewOrder,
    runner: Runner,
    /// Whether the transaction drawn last was counted, at its first try.
    is_counted: bool,
    counts: Counts,
}

/// The transaction drawn last.
#[derive(Clone, Copy, Debug)]
enum Drawn {
    Nothing,
    NewOrder,
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
    Report(Kind, Report),
}

impl Terminals {
    /// The terminals of client `index` out of at least one `clients`.
    pub(super) fn new(workload: &Tpcc, seed: Seed, index: u32, clients: u32) -> Self {
        let (index, clients) = (u64::from(index), u64::from(clients.max(1)));
        let all = all_terminals(workload);
        let first = index % all;
        Self {
            own: (all - first).div_ceil(clients),
            step: clients,
            ..Self::at(workload, seed.derive("client", index), first)
        }
    }

    /// The terminal of operator `index` out of `operators`, at least one. They
    /// are spread evenly over the warehouses and, for Stock-Level, over the
    /// districts: no terminal has a second operator before each has one.
    pub(super) fn of_operator(workload: &Tpcc, seed: Seed, index: u32, operators: u32) -> Self {
        let (index, districts) = (u64::from(index), DISTRICTS.unsigned_abs());
        let manned = u64::from(operators.max(1)).min(all_terminals(workload));
        let turn = index % manned;
        // A warehouse gets ten turns in a row at most: other districts each.
        let warehouse = turn * u64::from(workload.warehouses) / manned;
        let terminal = warehouse * districts + turn % districts;
        Self::at(workload, seed.derive("terminal", index), terminal)
    }

    /// The terminal with this index alone, drawing from `seed`.
    fn at(workload: &Tpcc, seed: Seed, index: u64) -> Self {
        Self {
            first: index,
            step: 1,
            own: 1,
            inputs: Inputs {
                draws: Draws::new(seed),
                constants: workload.constants,
                warehouses: i64::from(workload.warehouses),
            },
            deck: Deck::new(&Kind::ALL, &workload.mix),
            mix: workload.mix.clone(),
            clock: POPULATION_DATE,
            drawn: Drawn::Nothing,
            new_order: NewOrder::default(),
            runner: Runner::default(),
            is_counted: false,
            counts: Counts::default(),
        }
    }

    /// The reply of the last New-Order.
    pub fn new_order_reply(&self) -> &NewOrderReply {
        &self.runner.new_order
    }

    /// A terminal of this client's, each as likely as another.
    fn terminal(&mut self) -> Terminal {
        let turn = self.inputs.draws.uniform(0, self.own as i64 - 1);
        Terminal::at(self.first + self.step * turn.unsigned_abs())
    }

    /// Counts the inputs of the transaction drawn last.
    fn count(&mut self) {
        let constants = &self.inputs.constants;
        let kind = match &self.drawn {
            Drawn::Nothing => return,
            Drawn::NewOrder => {
                self.counts.new_order(&self.new_order, constants);
                Kind::NewOrder
            }
            Drawn::Payment(input) => {
                self.counts.payment(input, constants);
                Kind::Payment
            }
            Drawn::OrderStatus(input) => {
                self.counts.order_status(input, constants);
                Kind::OrderStatus
            }
            Drawn::Delivery(_) => Kind::Delivery,
            Drawn::StockLevel(_) => Kind::StockLevel,
            Drawn::Report(kind, _) => *kind,
        };
        self.counts.ran(kind);
    }
}

/// The number of terminals at a scale.
fn all_terminals(workload: &Tpcc) -> u64 {
    u64::from(workload.warehouses) * DISTRICTS.unsigned_abs()
}

impl Client for Terminals {
    fn draw(&mut self) -> usize {
        let kind = self.deck.deal(&mut self.inputs.draws);
        let home = self.terminal();
        self.clock += TICK;
        let date = self.clock;
        self.is_counted = false;
        self.drawn = match kind {
            Kind::NewOrder => {
                self.inputs.new_order(home, date, &mut self.new_order);
                Drawn::NewOrder
            }
            Kind::Payment => Drawn::Payment(self.inputs.payment(home, date)),
            Kind::OrderStatus => Drawn::OrderStatus(self.inputs.order_status(home)),
            Kind::Delivery => Drawn::Delivery(self.inputs.delivery(home, date)),
            Kind::StockLevel => Drawn::StockLevel(self.inputs.stock_level(home)),
            Kind::Report => Drawn::Report(kind, self.inputs.report(REPORT_ORDERS)),
            Kind::LongReport => Drawn::Report(kind, self.inputs.report(LONG_REPORT_ORDERS)),
        };
        kind as usize
    }

    /// # Panics
    /// When nothing was drawn.
    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome, ConnectionError> {
        if !mem::replace(&mut self.is_counted, true) {
            self.count();
        }
        match &self.drawn {
            Drawn::Nothing => panic!("a transaction is drawn before it runs"),
            Drawn::NewOrder => self.runner.new_order(connection, &self.new_order),
            Drawn::Payment(input) => self.runner.payment(connection, input),
            Drawn::OrderStatus(input) => self.runner.order_status(connection, input),
            Drawn::Delivery(input) => {
                let skipped = self.runner.delivery(connection, input)?;
                self.counts.delivered(skipped);
                Ok(Outcome::Committed)
            }
            Drawn::StockLevel(input) => self.runner.stock_level(connection, input),
            Drawn::Report(_, input) => self.runner.report(connection, input),
        }
    }

    fn audit(&self) -> Audit {
        let Inputs {
            constants,
            warehouses,
            ..
        } = &self.inputs;
        self.counts.audit(constants, *warehouses, &self.mix)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::refusing::RefusingConnection;

    fn terminals(warehouses: u32, index: u32, clients: u32) -> Terminals {
        let workload = Tpcc::new(warehouses, Seed::new(1)).unwrap();
        Terminals::new(&workload, Seed::new(2), index, clients)
    }

    #[test]
    fn clients_share_out_all_terminals() {
        for (warehouses, clients) in [(2, 1), (2, 3), (1, 10), (3, 16)] {
            let mut owners = BTreeMap::new();
            for index in 0..clients {
                let mut own = terminals(warehouses, index, clients);
                for _ in 0..2000 {
                    let terminal = own.terminal();
                    let key = (terminal.warehouse, terminal.district);
                    assert_eq!(*owners.entry(key).or_insert(index), index);
                }
            }
            assert_eq!(owners.len(), warehouses as usize * 10);
        }
        // More clients than terminals: the eleventh works at the first's.
        let terminal = terminals(1, 10, 12).terminal();
        assert_eq!((terminal.warehouse, terminal.district), (1, 1));
    }

    #[test]
    fn operators_keep_one_terminal_and_are_spread_evenly() {
        for (warehouses, operators) in [(1, 1), (2, 2), (3, 7), (7, 3), (2, 20), (3, 31), (1, 25)] {
            let workload = Tpcc::new(warehouses, Seed::new(1)).unwrap();
            let mut manned = BTreeMap::new();
            for index in 0..operators {
                let mut own = Terminals::of_operator(&workload, Seed::new(2), index, operators);
                let home = own.terminal();
                for _ in 0..46 {
                    own.draw();
                    let warehouse = match &own.drawn {
                        Drawn::Nothing => panic!("something was drawn"),
                        Drawn::NewOrder => own.new_order.warehouse,
                        Drawn::Payment(input) => input.warehouse,
                        Drawn::OrderStatus(input) => input.warehouse,
                        Drawn::Delivery(input) => input.warehouse,
                        Drawn::StockLevel(input) => {
                            assert_eq!(input.district, home.district);
                            input.warehouse
                        }
                        Drawn::Report(..) => panic!("its mix has no reports"),
                    };
                    assert_eq!(warehouse, home.warehouse);
                }
                *manned.entry((home.warehouse, home.district)).or_insert(0) += 1;
            }
            let places = |of: fn(&(i64, i64)) -> i64, all: i64| {
                let at = |place| manned.iter().filter(move |(key, _)| of(key) == place);
                (1..=all)
                    .map(|place| at(place).map(|(_, operators)| operators).sum())
                    .collect::<Vec<u32>>()
            };
            for counts in [
                manned.values().copied().collect(),
                places(|key| key.0, i64::from(warehouses)),
                places(|key| key.1, 10),
            ] {
                // Surplus operators begin with the first warehouse again.
                let surplus = operators % (warehouses * 10);
                let difference = match operators > warehouses * 10 {
                    true => surplus.min(10),
                    false => 1,
                };
                let spread = counts.iter().max().unwrap() - counts.iter().min().unwrap();
                assert!(spread <= difference, "{warehouses} {operators}: {counts:?}");
            }
            assert_eq!(manned.len() as u32, operators.min(warehouses * 10));
        }
        // Two operators of one terminal enter different things.
        let sequence = |index| {
            let workload = Tpcc::new(1, Seed::new(1)).unwrap();
            let mut own = Terminals::of_operator(&workload, Seed::new(2), index, 20);
            assert_eq!(own.terminal(), Terminal::at(3));
            (0..100).map(|_| own.draw()).collect::<Vec<_>>()
        };
        assert_ne!(sequence(3), sequence(13));
    }

    #[test]
    fn only_what_was_tried_is_counted_and_once() {
        let mut own = terminals(2, 0, 1);
        for _ in 0..200 {
            own.draw();
        }
        assert_eq!(own.audit(), terminals(2, 0, 1).audit());
        let mut tried = [0; 5];
        for _ in 0..200 {
            own.draw();
            tried[own.draw()] += 1;
            assert!(own.run(&mut RefusingConnection).is_err());
            let audit = own.audit();
            assert!(own.run(&mut RefusingConnection).is_err());
            assert_eq!(own.audit(), audit);
        }
        let lines = &own.audit().lines[..5];
        let counts: Vec<u64> = lines.iter().map(|line| line.count).collect();
        assert_eq!(counts, tried);
    }

    #[test]
    fn tried_shares_are_those_of_the_specification() {
        let mut audit = Audit::default();
        for index in 0..2 {
            let mut own = terminals(4, index, 2);
            for _ in 0..46_000 {
                own.draw();
                assert!(own.run(&mut RefusingConnection).is_err());
            }
            audit.merge(&own.audit());
        }
        assert_eq!(audit.lines[0].total, 92_000);
        for line in &audit.lines {
            if line.name == "districts that Deliveries skipped" {
                assert_eq!(line.total, 0, "nothing was committed");
                continue;
            }
            assert!(line.total >= 4000, "{line:?}");
            let share = line.count as f64 / line.total as f64;
            let binomial = line.wanted * (1.0 - line.wanted) / line.total as f64;
            // The number of lines is uniform over 5 to 15, with three times
            // the variance of 15 independent choices.
            let variance = match line.name.starts_with("lines of") {
                true => 3.0 * binomial,
                false => binomial,
            };
            let difference = (share - line.wanted).abs();
            assert!(difference < 4.0 * variance.sqrt(), "{line:?}");
        }
        for distribution in &audit.distributions {
            assert_eq!(distribution.counts.len(), 16);
            assert!(distribution.counts.iter().sum::<u64>() > 20_000);
            // 15 degrees of freedom: above 44 once in 10,000 seeds.
            let chi_square = distribution.chi_square();
            assert!(chi_square < 44.0, "{chi_square}: {distribution:?}");
        }
    }

    #[test]
    fn one_seed_gives_one_sequence_and_another_client_another() {
        let sequence = |index| {
            let mut own = terminals(2, index, 2);
            (0..100)
                .map(|_| format!("{} {:?} {:?}", own.draw(), own.drawn, own.new_order))
                .collect::<Vec<_>>()
        };
        assert_eq!(sequence(0), sequence(0));
        assert_ne!(sequence(0), sequence(1));
    }
}
