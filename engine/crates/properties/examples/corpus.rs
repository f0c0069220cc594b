//! `unpack` writes the committed inputs and the recordings where cargo-fuzz looks for them, `pack`
//! commits what became of them there.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use tlstax_properties::{TARGETS, corpus, seeds};

fn main() -> io::Result<()> {
    match env::args().nth(1).as_deref() {
        Some("unpack") => unpack(),
        Some("pack") => pack(),
        _ => Err(io::Error::other("say `unpack` or `pack`")),
    }
}

/// A target's inputs, one a file, as cargo-fuzz has them.
fn loose(target: &str) -> PathBuf {
    in_fuzz("corpus").join(target)
}

/// A target's inputs as they are committed.
fn packed(target: &str) -> PathBuf {
    in_fuzz("packed").join(target)
}

fn in_fuzz(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz")
        .join(name)
}

fn unpack() -> io::Result<()> {
    let mut inputs = seeds::from_recordings();
    for (target, _) in TARGETS {
        fs::create_dir_all(loose(target))?;
        let unpacked = corpus::unpack(&fs::read(packed(target))?)
            .ok_or_else(|| io::Error::other("what is committed is cut off"))?;
        inputs.extend(unpacked.into_iter().map(|input| (target, input)));
    }
    for (number, (target, input)) in inputs.into_iter().enumerate() {
        fs::write(loose(target).join(number.to_string()), input)?;
    }
    Ok(())
}

fn pack() -> io::Result<()> {
    for (target, _) in TARGETS {
        let inputs = fs::read_dir(loose(target))?.map(|entry| fs::read(entry?.path()));
        fs::write(
            packed(target),
            corpus::pack(inputs.collect::<io::Result<_>>()?),
        )?;
    }
    Ok(())
}
