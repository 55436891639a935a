//! Requests of every format, and what is refused.

use octavo_units::PageSize;

use super::*;

fn given(format: Format) -> Given {
    Given {
        format: Some(format),
        ..Given::default()
    }
}

fn read_as(text: &[u8], given: &Given) -> Result<(Format, Vec<Request>), String> {
    let requests = Requests::new("t", text, given).map_err(|error| error.to_string())?;
    let format = requests.format();
    let all: Result<Vec<Request>, TraceFileError> = requests.collect();
    Ok((format, all.map_err(|error| error.to_string())?))
}

fn read(text: &str) -> Result<(Format, Vec<Request>), String> {
    read_as(text.as_bytes(), &Given::default())
}

#[track_caller]
fn refused(text: &str, given: &Given, words: &[&str]) {
    let error = read_as(text.as_bytes(), given).unwrap_err();
    for word in words {
        assert!(error.contains(word), "{error}");
    }
    assert_eq!(error.lines().count(), 1);
}

fn pages(request: Request, size: u32) -> Vec<u64> {
    request.pages(PageSize::new(size).unwrap()).collect()
}

/// A record of `oracleGeneral`.
fn record(id: u64, size: u32, next: i64) -> Vec<u8> {
    let mut record = 7_u32.to_le_bytes().to_vec();
    record.extend(id.to_le_bytes());
    record.extend(size.to_le_bytes());
    record.extend(next.to_le_bytes());
    record
}

#[test]
fn oracle_general_has_ids_and_sizes() {
    let bytes = [
        record(u64::MAX, 4096, 2),
        record(1, 0, -1),
        record(u64::MAX, u32::MAX, i64::MAX),
    ]
    .concat();
    let (format, requests) = read_as(&bytes, &Given::default()).unwrap();
    assert_eq!(format, Format::OracleGeneral);
    let found: Vec<(Place, u64)> = requests.iter().map(|of| (of.place, of.length)).collect();
    let id = Place::Object;
    assert_eq!(
        found,
        [
            (id(u64::MAX), 4096),
            (id(1), 0),
            (id(u64::MAX), u64::from(u32::MAX))
        ]
    );
    assert_eq!(pages(requests[2], 512), [u64::MAX]);
    assert_eq!(pages(requests[1], 512), [0; 0]);
    for cut in [25, 47] {
        let error = read_as(&bytes[..cut], &Given::default()).unwrap_err();
        assert!(
            error.contains("record 2") && error.contains("(head -c 24)"),
            "{error}"
        );
    }
    // Another binary file names requests behind their own at random.
    let late = [record(1, 1, -1), record(2, 1, -1)].concat();
    let unsorted = [&[9; 4], &late[4..]].concat();
    assert!(read_as(&late, &Given::default()).is_ok());
    assert!(read_as(&unsorted, &Given::default()).is_err());
    let other = record(1, 1, -5);
    assert!(
        read_as(&other, &Given::default())
            .unwrap_err()
            .contains("--format")
    );
    assert!(read_as(&other, &given(Format::OracleGeneral)).is_ok());
}

#[test]
fn lis_has_blocks_of_512_bytes() {
    let (format, requests) = read("110765 64 0 0\r\n\r\n0 1 0 1\n").unwrap();
    assert_eq!((format, requests.len()), (Format::Lis, 2));
    assert_eq!(
        requests[0].place,
        Place::Address {
            device: 0,
            offset: 110_765 * 512
        }
    );
    assert_eq!(
        pages(requests[0], 512),
        (110_765..110_829).collect::<Vec<_>>()
    );
    // Not aligned: 64 blocks are 8 pages of 4 KiB, and 9 are touched.
    assert_eq!(pages(requests[0], 4096).len(), 9);
    refused(
        "1 1 0 0\n1 2 3\n",
        &Given::default(),
        &["t:2: ", "lis has 4 fields, not 3"],
    );
    let huge = format!("1 1 0 0\n{} 1 0 1\n", u64::MAX);
    refused(&huge, &Given::default(), &["t:2: ", "beyond 2^64"]);
    refused(
        "1 1 0 0\n1 99999999 0 1",
        &Given::default(),
        &["t:2", "1 GiB"],
    );
    refused("1 1 0 0\n-1 1 0 1", &Given::default(), &["block '-1'"]);
}

#[test]
fn the_last_block_below_2_to_the_64_is_one() {
    let last = u64::MAX / 512 - 1;
    let (_, requests) = read(&format!("{last} 1 0 0\n")).unwrap();
    assert_eq!(pages(requests[0], 512), [last]);
    assert_eq!(pages(requests[0], 65536).len(), 1);
}

#[test]
fn msr_keeps_disks_apart() {
    let text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                128166372003061629,usr,0,Read,7014609920,24576,41286\r\n\
                128166372016382155,usr,1,Write,7014609920,0,1963\n\
                128166372026382245,usr,1,write,8192,512,1963\n";
    let (format, requests) = read(text).unwrap();
    assert_eq!((format, requests.len()), (Format::Msr, 3));
    assert_eq!(pages(requests[0], 8192).len(), 4);
    assert_eq!(pages(requests[1], 8192).len(), 0);
    let accesses = requests.iter().map(|of| of.access.is_change());
    assert_eq!(accesses.collect::<Vec<_>>(), [false, true, true]);
    let devices = requests.iter().map(|of| match of.place {
        Place::Address { device, .. } => device,
        Place::Object(_) => 0,
    });
    let devices: Vec<u64> = devices.collect();
    assert!(devices[0] != devices[1] && devices[1] == devices[2]);
    let short = "1,usr,0,Read,0,512,1\n1,usr,0,Read,0,512";
    refused(
        short,
        &Given::default(),
        &["t:2", "msr has 7 fields, not 6"],
    );
    let kind = "1,usr,0,Read,0,512,1\n1,usr,0,Trim,0,512,1";
    refused(kind, &Given::default(), &["t:2", "'Trim'", "Read"]);
    let end = format!("1,usr,0,Read,{},512,1", u64::MAX);
    refused(&end, &given(Format::Msr), &["t:1", "beyond 2^64"]);
}

#[test]
fn csv_has_columns_by_their_names() {
    let (format, requests) = read("time,obj_id,size\n1,abc,10\n2,7,0\n3,abc,5\n").unwrap();
    assert_eq!((format, requests.len()), (Format::Csv, 3));
    assert_eq!(requests[0].place, requests[2].place);
    assert_eq!(requests[1].place, Place::Object(7));
    assert_eq!(requests[1].length, 0);
    // Addresses in sectors, as libCacheSim's own example has them.
    let (_, requests) = read("version,time,op,size,lbn\r\n1,33898,W,6656,40409911\r\n").unwrap();
    assert_eq!(
        requests[0].place,
        Place::Address {
            device: 0,
            offset: 40_409_911 * 512
        }
    );
    assert!(requests[0].access.is_change());
    assert_eq!(pages(requests[0], 512).len(), 13);
    let (_, requests) = read("op,lbn\n2a,1\n28,1\nget,1\nWrite,1\n").unwrap();
    let changes = requests.iter().map(|of| of.access.is_change());
    assert_eq!(changes.collect::<Vec<_>>(), [true, false, false, true]);
    let (_, requests) = read("offset;id\n512;3\n").unwrap();
    assert_eq!((pages(requests[0], 512), requests.len()), (vec![1], 1));
    refused(
        "time,id,size\n1,2\n",
        &Given::default(),
        &["t:2", "more fields, not 2"],
    );
    refused(
        "time,id,size\n1,2,x\n",
        &Given::default(),
        &["t:2", "size 'x'"],
    );
    refused(
        "time,id,size\n1,,4\n",
        &Given::default(),
        &["t:2", "id is empty"],
    );
    refused("1,2,3\n", &Given::default(), &["--columns"]);
    refused(
        "1,2,3\n",
        &given(Format::Csv),
        &["t:1", "--columns time,id,size"],
    );
}

#[test]
fn csv_without_a_header_has_columns_that_are_given() {
    let given = Given {
        columns: Some("time,id,size".parse().unwrap()),
        ..Given::default()
    };
    for text in [
        "1,2,3\n4,5,6\n",
        "1  2 3\n4 5 6",
        "1\t2\t3\n4\t5\t6",
        "time,id,size\n1,2,3\n4,5,6",
    ] {
        let (_, requests) = read_as(text.as_bytes(), &given).unwrap();
        let places: Vec<Place> = requests.iter().map(|of| of.place).collect();
        assert_eq!(places, [Place::Object(2), Place::Object(5)], "{text}");
    }
    assert!("time,size".parse::<Columns>().is_err());
}

/// Two requests of blkparse(1), a discard, a flush, a message, and the summary.
const BLKPARSE: &str = "Input file sda.blktrace.0 added\n\
  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n\
  8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]\n\
  8,0    3        0     0.000004000     0  m   N cfq697 insert_request\n\
  8,0    3        3     0.000010000   697  Q  RM 223498 + 16 [cat]\n\
  8,0    3        4     0.000011000   697  Q  DS 0 + 2048 [fstrim]\n\
  8,0    3        5     0.000012000   697  Q FWS [dm]\n\
  8,0    3        6     0.000013000     0  C   W 223490 + 8 [0]\n\
CPU0 (8,0):\n Reads Queued:           1,        8KiB\n";

#[test]
fn blkparse_counts_one_action() {
    let (format, requests) = read(BLKPARSE).unwrap();
    assert_eq!((format, requests.len()), (Format::Blkparse, 2));
    assert_eq!(requests[0].length, 4096);
    assert!(requests[0].access.is_change() && !requests[1].access.is_change());
    let of = |action: &str| Given {
        action: action.into(),
        ..Given::default()
    };
    assert_eq!(read_as(BLKPARSE.as_bytes(), &of("C")).unwrap().1.len(), 1);
    refused(
        BLKPARSE,
        &of("D"),
        &["no events of action D", "C (1)", "Q (4)", "--action"],
    );
    let broken = BLKPARSE.replace("8,0    3        6", "what 6");
    refused(
        &broken,
        &Given::default(),
        &["t:8", "'what 6", "not an event"],
    );
    let broken = BLKPARSE.replace("223498", "x");
    refused(&broken, &Given::default(), &["t:5", "sector 'x'"]);
}

#[test]
fn what_is_no_trace_is_refused_with_a_remedy() {
    refused("", &Given::default(), &["t is empty"]);
    refused("", &given(Format::Csv), &["t is empty"]);
    refused("hello\n", &Given::default(), &["--format"]);
    let compressed = b"\x28\xb5\x2f\xfd\0\0";
    for given in [Given::default(), given(Format::OracleGeneral)] {
        let error = read_as(compressed, &given).unwrap_err();
        assert!(error.contains("zstd -d,"), "{error}");
    }
    let error = read_as(b"\x1f\x8b\x08", &Given::default()).unwrap_err();
    assert!(error.contains("unpack it with gunzip -k,"), "{error}");
    let long = format!("1 1 0 0\n{}", "1".repeat(70_000));
    refused(&long, &Given::default(), &["t:2", "longer than 64 KiB"]);
    let error = read_as(b"1 1 0 0\n\xff\xff\n", &Given::default()).unwrap_err();
    assert!(error.contains("t:2: the line is not UTF-8"), "{error}");
}

#[test]
fn nothing_is_read_after_an_error() {
    let mut requests =
        Requests::new("t", &b"1 1 0 0\nx\n1 1 0 0\n"[..], &Given::default()).unwrap();
    assert!(requests.next().unwrap().is_ok());
    assert!(requests.next().unwrap().is_err());
    assert!(requests.next().is_none());
    assert_eq!(requests.position(), 10);
}
