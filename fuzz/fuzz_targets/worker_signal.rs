//! `tests/fuzz 60 worker_signal` runs this; what must hold stands in `../lib.rs`.

#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| watchdog_fuzz::worker_signal(bytes));
