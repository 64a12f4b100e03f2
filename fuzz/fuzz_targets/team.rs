//! `tests/fuzz 60 team` runs this; what must hold stands in `../lib.rs`.

#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| watchdog_fuzz::team(bytes));
