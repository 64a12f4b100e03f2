//! `tests/fuzz 60 plan_queue` runs this; what must hold stands in `../lib.rs`.

#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| watchdog_fuzz::plan_queue(bytes));
