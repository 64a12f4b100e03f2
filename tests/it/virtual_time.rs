//! The daemon's loop and its pipeline in virtual time: the files and processes around them are values, and hours
//! pass in milliseconds.

mod clocks;
mod episodes;
mod machine;
mod quiet;
mod week;
