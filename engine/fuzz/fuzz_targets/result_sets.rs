//! Lets libFuzzer look for an input that breaks the property `result_sets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tlstax_properties::result_sets(data));
