//! What OpenSSL asks before it takes a key or an algorithm, and an answer more lenient than its own.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use super::process_api;
use super::symbols::{SSL, SSL_CTX, SecurityCallback};

/// `SSL_SECOP_TMP_DH`: whether the Diffie-Hellman group of a handshake is large enough.
const OPERATION_TMP_DH: c_int = 7 | (4 << 16);

/// OpenSSL's own judgement; a process runs one OpenSSL, and it has one.
static OWN_JUDGEMENT: OnceLock<SecurityCallback> = OnceLock::new();

/// Keeps what OpenSSL had set, for all other questions.
pub(super) fn keep_judgement(own: SecurityCallback) {
    OWN_JUDGEMENT.get_or_init(|| own);
}

/// OpenSSL's security callback (`man SSL_CTX_set_security_callback`); 1 allows.
///
/// # Safety
/// Called by OpenSSL only, which vouches for the arguments.
pub(super) unsafe extern "C" fn on_security_question(
    ssl: *const SSL,
    context: *const SSL_CTX,
    operation: c_int,
    bits: c_int,
    number: c_int,
    other: *mut c_void,
    extra: *mut c_void,
) -> c_int {
    if operation == OPERATION_TMP_DH {
        if let Some(api) = process_api() {
            // OpenSSL 3.5 calls it an error that it cannot say how secure 512 bits are; left in the
            // queue, it would be taken for the reason why the handshake waits.
            // SAFETY: takes nothing; the handshake began with an empty queue.
            unsafe { (api.symbols.ERR_clear_error)() };
        }
        return 1;
    }
    // SAFETY: OpenSSL's own callback, with the arguments that OpenSSL gave.
    OWN_JUDGEMENT.get().map_or(0, |own| unsafe {
        own(ssl, context, operation, bits, number, other, extra)
    })
}
