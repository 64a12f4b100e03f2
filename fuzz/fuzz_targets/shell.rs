//! `tests/fuzz 60 shell` runs this; what must hold stands in `../lib.rs`.

#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| watchdog_fuzz::shell(bytes));
