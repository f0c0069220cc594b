//! Lets libFuzzer look for an input that breaks the property `prepare`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tlstax_properties::prepare(data));
