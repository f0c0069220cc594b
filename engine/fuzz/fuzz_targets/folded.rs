//! Lets libFuzzer look for an input that breaks the property `folded`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tlstax_properties::folded(data));
