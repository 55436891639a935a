//! Drawing and running transactions takes no memory: a client that did would
//! be measured along with the database.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use octavo_units::Seed;
use octavo_workload::{
    Connection, ConnectionError, Mix, Pgbench, Workload,
    connection::{Access, Row, RowVisitor, StatementId, Value},
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting by thread.
struct Counting;

// SAFETY: every call is handed to the system's allocator as it is; the count
// is a plain number of the thread, which neither allocates nor is dropped.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract for both.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract for both.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Zero;

impl Row for Zero {
    fn value(&self, _column: usize) -> Value<'_> {
        Value::Integer(0)
    }
}

/// Answers everything at once.
struct Ready;

impl Connection for Ready {
    fn begin(&mut self, _access: Access) -> Result<(), ConnectionError> {
        Ok(())
    }

    fn commit(&mut self) -> Result<(), ConnectionError> {
        Ok(())
    }

    fn rollback(&mut self) -> Result<(), ConnectionError> {
        Ok(())
    }

    fn execute(
        &mut self,
        _statement: StatementId,
        _parameters: &[Value<'_>],
    ) -> Result<u64, ConnectionError> {
        Ok(1)
    }

    fn query(
        &mut self,
        _statement: StatementId,
        _parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Result<u64, ConnectionError> {
        visit(&Zero);
        Ok(1)
    }
}

#[test]
fn transactions_allocate_nothing() {
    let workload = Pgbench::new(4, Seed::new(1)).unwrap();
    let workload = workload.with_mix(Mix::new(&[1, 1, 1]));
    let mut client = workload.clients(Seed::new(2), 1).remove(0);
    let before = ALLOCATIONS.get();
    let mut drawn = [0; 3];
    for _ in 0..1000 {
        drawn[client.draw()] += 1;
        client.run(&mut Ready).unwrap();
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert!(drawn.iter().all(|count| *count > 0), "{drawn:?}");
    assert!(before > 0, "the allocator counts");
}
