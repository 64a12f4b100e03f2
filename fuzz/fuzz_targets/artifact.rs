//! `tests/fuzz 60 artifact` runs this; what must hold stands in `../lib.rs`.

#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| watchdog_fuzz::artifact(bytes));
