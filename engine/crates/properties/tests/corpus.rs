//! Replays what the fuzzer found worth keeping, and the recordings it began with.

use tlstax_properties::{TARGETS, corpus, seeds};

const CORPORA: [(&str, &[u8]); 11] = [
    ("auth", include_bytes!("../../../fuzz/packed/auth")),
    ("commands", include_bytes!("../../../fuzz/packed/commands")),
    (
        "compressed",
        include_bytes!("../../../fuzz/packed/compressed"),
    ),
    ("folded", include_bytes!("../../../fuzz/packed/folded")),
    ("greeting", include_bytes!("../../../fuzz/packed/greeting")),
    ("job", include_bytes!("../../../fuzz/packed/job")),
    (
        "pg_answers",
        include_bytes!("../../../fuzz/packed/pg_answers"),
    ),
    (
        "pg_commands",
        include_bytes!("../../../fuzz/packed/pg_commands"),
    ),
    ("pg_login", include_bytes!("../../../fuzz/packed/pg_login")),
    ("prepare", include_bytes!("../../../fuzz/packed/prepare")),
    (
        "result_sets",
        include_bytes!("../../../fuzz/packed/result_sets"),
    ),
];

/// Where an input says how it is cut.
const CUTS: std::ops::Range<usize> = 1..7;

/// With the cuts that it has, in one piece, and byte by byte.
fn check(target: &str, input: &[u8]) {
    let (_, property) = TARGETS
        .iter()
        .find(|(name, _)| *name == target)
        .expect("a target");
    // A test that fails shows the last input.
    println!("{target}: {}", input.escape_ascii());
    property(input);
    for cut in [0, 1] {
        let mut input = input.to_vec();
        if let Some(cuts) = input.get_mut(CUTS) {
            cuts.fill(cut);
        }
        property(&input);
    }
}

#[test]
fn the_corpus_holds_every_property() {
    assert_eq!(CORPORA.map(|(name, _)| name), TARGETS.map(|(name, _)| name));
    for (name, packed) in CORPORA {
        let inputs = corpus::unpack(packed).expect("what was packed");
        assert!(inputs.len() > 20, "{name} has a corpus of {}", inputs.len());
        for input in &inputs {
            check(name, input);
        }
        assert_eq!(corpus::pack(inputs), packed);
    }
}

#[test]
fn recordings_hold_every_property_even_when_damaged() {
    let all = seeds::from_recordings();
    for (name, _) in TARGETS {
        let has_any = all.iter().any(|(target, _)| *target == name);
        assert!(has_any, "no recording is an input of {name}");
    }
    for (target, input) in all {
        check(target, &input);
        for place in (0..input.len()).step_by(11) {
            let mut damaged = input.clone();
            damaged[place] ^= 1 << (place % 8);
            check(target, &damaged);
            check(target, &input[..place]);
        }
    }
}
