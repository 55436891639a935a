//! Files of requests in all formats, with the curves that are drawn of them.

use std::ops::ControlFlow;

use octavo_buffer::{
    Keep, NamedPolicy, Room,
    trace_curves::{Collector, TraceCurves, TraceFile},
    trace_file::{Given, Requests},
};
use octavo_units::{ByteCount, PageSize, Seed};

use crate::reader::{Reader, refuse, render};

pub(crate) const TRACE: Reader = Reader {
    name: "trace",
    sound,
    read,
    cost: 1,
};

/// References at most. Few, so that a long damaged request costs little.
const ROOM: Room = Room {
    references: 1 << 12,
    pages: 1 << 10,
};

/// A short file of each format.
fn sound() -> Vec<Vec<u8>> {
    let lis = include_str!("../../../docs/example/trace.lis");
    let lis: Vec<&str> = lis.split_inclusive('\n').take(100).collect();
    let mut records = Vec::new();
    for (place, id) in [7_u64, 3, 7, u64::MAX].into_iter().enumerate() {
        records.extend(1_u32.to_le_bytes());
        records.extend(id.to_le_bytes());
        records.extend(4096_u32.to_le_bytes());
        records.extend(if place == 0 { 2_i64 } else { -1 }.to_le_bytes());
    }
    vec![
        lis.concat().into_bytes(),
        records,
        b"time,id,size\n1,7,4096\n2,a b,0\n3,7,1\n".to_vec(),
        b"op;lbn;size\nR;16;4096\nW;24;512\n".to_vec(),
        b"128166372003061629,usr,0,Read,7014609920,24576,41286\n\
          128166372016382155,usr,1,Write,4096,4096,1963\n"
            .to_vec(),
        b"  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n\
          8,0    3        2     0.000001829   697  C   W 223490 + 8 [0]\n\
          CPU0 (8,0):\n"
            .to_vec(),
    ]
}

fn read(bytes: &[u8]) -> bool {
    let mut requests = match Requests::new("trace", bytes, &Given::default()) {
        Ok(requests) => requests,
        Err(error) => return refuse(&error),
    };
    let mut collector = Collector::new(PageSize::kib(4), Keep::Fitting, ROOM, Seed::new(1));
    for request in &mut requests {
        match request {
            Err(error) => return refuse(&error),
            Ok(request) => {
                if let Err(error) = collector.add(request) {
                    return refuse(&error);
                }
            }
        }
    }
    let collected = collector.finish();
    let mut memories = collected.doubling(ByteCount::kib(4));
    memories.truncate(24);
    let mut on = |_, _| ControlFlow::Continue(());
    let curves = collected.curves(&memories, &NamedPolicy::ALL, &mut on);
    let found = TraceCurves {
        files: vec![TraceFile {
            name: String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned(),
            format: requests.format().name(),
        }],
        has_addresses: requests.has_addresses(),
        has_writes: requests.has_writes(),
        requested: collected.requested(),
        memories,
        page_sizes: curves.into_iter().collect(),
    };
    render(&octavo_report::curve(&found));
    assert!(!octavo_report::curve_json(&found).is_empty());
    true
}
