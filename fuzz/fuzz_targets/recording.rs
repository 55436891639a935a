#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| octavo_hostile::read("recording", bytes));
