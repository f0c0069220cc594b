//! Lets libFuzzer look for an input that breaks the property `pg_commands`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tlstax_properties::pg_commands(data));
