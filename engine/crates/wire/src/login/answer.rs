//! A plugin's first answer to a scramble, of the few lengths there are.

use super::report::{AuthPath, AuthPlugin};
use crate::authentication::{Scramble, caching_sha2_answer, native_answer};

/// The longest: `caching_sha2_password`'s.
const MAX_LEN: usize = 32;

/// The answer's bytes, and the way that the login takes if the server says OK to them.
pub(super) struct Answer {
    bytes: [u8; MAX_LEN],
    len: usize,
    pub(super) path: AuthPath,
}

impl Answer {
    /// What `plugin` answers to `scramble` before anything else is asked. A client without a
    /// password answers nothing, with `caching_sha2_password` one NUL. The clear-text plugin has
    /// no such answer and is answered with nothing.
    pub(super) fn new(plugin: AuthPlugin, password: &str, scramble: &Scramble) -> Self {
        let password = password.as_bytes();
        match plugin {
            AuthPlugin::CachingSha2 if password.is_empty() => Self::of(&[0], AuthPath::Empty),
            _ if password.is_empty() => Self::of(&[], AuthPath::Empty),
            AuthPlugin::Native => Self::of(&native_answer(password, scramble), AuthPath::Native),
            AuthPlugin::CachingSha2 => {
                Self::of(&caching_sha2_answer(password, scramble), AuthPath::Direct)
            }
            AuthPlugin::Clear => Self::of(&[], AuthPath::Clear),
        }
    }

    fn of(answer: &[u8], path: AuthPath) -> Self {
        let mut bytes = [0; MAX_LEN];
        let len = answer.len().min(MAX_LEN);
        bytes[..len].copy_from_slice(&answer[..len]);
        Self { bytes, len, path }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
