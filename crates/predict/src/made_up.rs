//! A database for tests, which no registry has by itself: a heap whose rows lie in order,
//! read and written page by page without a buffer or a log.

use std::sync::Arc;

use octavo_buffer::Page;
use octavo_database::{
    Advice, Change, ChangePlace, DatabaseKind, Defaults, OnlyModeled, OptionKind, Options,
    PageSizes, ValueKind, buffer_is_all,
};
use octavo_device::Request;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Workload, touch::Touch};

use crate::{
    arriving::Arriving,
    description::{Comparison, KindCost, ModeledKind, ProcessorCosts, Timing},
    engine::{Engine, EngineError, Modeled, Opening, Referred},
    io::{Io, Purpose},
    pages::ObjectPages,
};

/// The database, as it would be registered.
pub static PILE: ModeledKind = ModeledKind {
    database: &DATABASE,
    model: |options: &Options, _| {
        Ok(Arc::new(Pile {
            rows_a_page: options.get("rows-a-page"),
        }))
    },
    processor: ProcessorCosts::Measured(&[KindCost::new(
        ["pgbench", "simple-update"],
        [70.0, 0.01, 0.0],
    )]),
    timing: Timing::ReadsAndLog,
    worth_measuring: 0.5,
    misses_off: [0.0; 2],
    comparison: Comparison::Never,
};

static DATABASE: DatabaseKind = DatabaseKind {
    name: "pile",
    aliases: &["heap-of-rows"],
    title: "Pile",
    is_server: true,
    has_threads: false,
    merges_files: false,
    writes_between_checkpoints: false,
    own_sizes: None,
    options: &[OptionKind::new(
        "rows-a-page",
        ValueKind::Number(1..=1000),
        Some("50"),
        "rows of a page",
    )],
    page_sizes: PageSizes {
        smallest: PageSize::kib(4),
        largest: PageSize::kib(16),
        default: PageSize::kib(8),
    },
    defaults: Defaults::of_server(&[PageSize::kib(8)]),
    advice: Advice {
        page_size: NO_CHANGE,
        buffer: NO_CHANGE,
        buffer_size: buffer_is_all,
        session_buffers: None,
        rebuild: None,
    },
    make: |_| {
        Ok(Box::new(OnlyModeled {
            kind: &DATABASE,
            version: "1 (modeled)",
        }))
    },
};

const NO_CHANGE: Change = Change {
    place: ChangePlace::Shell,
    lines: &[],
    costs: &[],
};

#[derive(Debug)]
struct Pile {
    rows_a_page: u64,
}

impl Pile {
    fn pages(&self, workload: &dyn Workload) -> u64 {
        let partitions = workload.population().partitions();
        let rows: u64 = partitions.iter().map(|part| part.rows_about).sum();
        rows.div_ceil(self.rows_a_page)
    }
}

impl Modeled for Pile {
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Engine>, EngineError> {
        let Opening {
            workload,
            page_size,
            memory,
            ..
        } = *opening;
        EngineError::check_size(workload, page_size)?;
        Ok(Box::new(PileEngine {
            page: page_size.get(),
            pages: u32::try_from(self.pages(workload)).unwrap_or(u32::MAX),
            frames: memory.get() / u64::from(page_size.get()),
            next: 0,
            arriving: Arriving::default(),
        }))
    }

    fn sizes(&self, workload: &dyn Workload, _page_size: PageSize) -> Vec<ObjectPages> {
        vec![ObjectPages {
            name: "pile".to_owned(),
            pages: self.pages(workload),
            inner: 0,
        }]
    }
}

struct PileEngine {
    page: u32,
    pages: u32,
    frames: u64,
    /// The page that is touched next.
    next: u32,
    arriving: Arriving,
}

impl Engine for PileEngine {
    fn transaction(
        &mut self,
        _client: usize,
        touches: &[Touch],
        _is_committed: bool,
        ios: &mut Vec<Io>,
    ) -> Referred {
        for _ in touches {
            let offset = u64::from(self.next) * u64::from(self.page);
            let read = Request::read(offset, self.page);
            self.arriving.miss(Page::new(self.next), read, ios);
            ios.push(Io {
                purpose: Purpose::Checkpoint,
                request: Request::write(offset, self.page),
            });
            self.next = (self.next + 1) % self.pages;
        }
        Referred {
            misses: touches.len() as u64,
            ..Referred::default()
        }
    }

    fn arriving(&mut self) -> &mut Arriving {
        &mut self.arriving
    }

    fn frames(&self) -> u64 {
        self.frames
    }

    fn pages(&self) -> u64 {
        self.pages.into()
    }

    fn size(&self) -> ByteCount {
        ByteCount::new(self.pages() * u64::from(self.page))
    }
}
