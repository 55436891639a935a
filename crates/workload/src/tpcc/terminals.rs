//! The terminals of one client.
//!
//! Each keeps its home warehouse and, for Stock-Level, its district. A turn
//! goes to any of them with equal chance; what it enters is dealt from one
//! deck a client. The dates that a transaction writes come from a clock that
//! advances with each draw, so that one seed gives one outcome.

use octavo_units::Seed;

use super::{
    POPULATION_DATE, Tpcc,
    audit::Counts,
    inputs::{Deck, Delivery, Inputs, Kind, NewOrder, OrderStatus, Payment, StockLevel, Terminal},
    schema::DISTRICTS,
    transactions::{NewOrderReply, Runner},
};
use crate::{Audit, Client, Connection, ConnectionError, Mix, Outcome, random::Draws};

/// Microseconds from one draw of a client to its next on its clock.
const TICK: i64 = 1000;

/// A client's terminals: those whose index leaves the client's when divided
/// by the number of clients. Where there are more clients than terminals, the
/// surplus clients share.
#[derive(Debug)]
pub struct Terminals {
    client: u64,
    clients: u64,
    /// Terminals of all clients.
    all: u64,
    inputs: Inputs,
    deck: Deck,
    mix: Mix,
    clock: i64,
    drawn: Drawn,
    /// Kept apart from [`Drawn`] for its lines.
    new_order: NewOrder,
    runner: Runner,
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
}

impl Terminals {
    /// The terminals of client `index` out of `clients`, of which there is at
    /// least one.
    pub(super) fn new(workload: &Tpcc, seed: Seed, index: u32, clients: u32) -> Self {
        Self {
            client: u64::from(index),
            clients: u64::from(clients.max(1)),
            all: u64::from(workload.warehouses) * DISTRICTS.unsigned_abs(),
            inputs: Inputs {
                draws: Draws::new(seed.derive("client", u64::from(index))),
                constants: workload.constants,
                warehouses: i64::from(workload.warehouses),
            },
            deck: Deck::new(&workload.mix),
            mix: workload.mix.clone(),
            clock: POPULATION_DATE,
            drawn: Drawn::Nothing,
            new_order: NewOrder::default(),
            runner: Runner::default(),
            counts: Counts::default(),
        }
    }

    /// What the New-Order that ran last showed on its terminal.
    pub fn new_order_reply(&self) -> &NewOrderReply {
        &self.runner.new_order
    }

    /// A terminal of this client's, each as likely as another.
    fn terminal(&mut self) -> Terminal {
        let first = self.client % self.all;
        let own = (self.all - first).div_ceil(self.clients);
        let turn = self.inputs.draws.uniform(0, own as i64 - 1);
        Terminal::at(first + self.clients * turn.unsigned_abs())
    }
}

impl Client for Terminals {
    fn draw(&mut self) -> usize {
        let kind = self.deck.deal(&mut self.inputs.draws);
        let home = self.terminal();
        self.clock += TICK;
        let date = self.clock;
        let constants = self.inputs.constants;
        self.counts.drawn(kind);
        self.drawn = match kind {
            Kind::NewOrder => {
                self.inputs.new_order(home, date, &mut self.new_order);
                self.counts.new_order(&self.new_order, &constants);
                Drawn::NewOrder
            }
            Kind::Payment => {
                let input = self.inputs.payment(home, date);
                self.counts.payment(&input, &constants);
                Drawn::Payment(input)
            }
            Kind::OrderStatus => {
                let input = self.inputs.order_status(home);
                self.counts.order_status(&input, &constants);
                Drawn::OrderStatus(input)
            }
            Kind::Delivery => Drawn::Delivery(self.inputs.delivery(home, date)),
            Kind::StockLevel => Drawn::StockLevel(self.inputs.stock_level(home)),
        };
        kind as usize
    }

    /// # Panics
    /// When nothing was drawn.
    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome, ConnectionError> {
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
    fn drawn_shares_are_those_of_the_specification() {
        let mut audit = Audit::default();
        for index in 0..2 {
            let mut own = terminals(4, index, 2);
            for _ in 0..46_000 {
                own.draw();
            }
            audit.merge(&own.audit());
        }
        assert_eq!(audit.lines[0].total, 92_000);
        for line in &audit.lines {
            if line.name == "districts that Deliveries skipped" {
                assert_eq!(line.total, 0, "nothing has run");
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
