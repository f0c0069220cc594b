//! Lets libFuzzer look for an input that breaks the property `compressed`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tlstax_properties::compressed(data));
