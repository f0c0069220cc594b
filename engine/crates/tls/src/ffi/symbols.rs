//! The functions that are looked up in libssl and libcrypto, by their C names and types.

use std::ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};

use libloading::os::unix::Library;

macro_rules! opaque {
    ($($name:ident),*) => {
        $(
            #[allow(clippy::upper_case_acronyms, non_camel_case_types)]
            #[doc = concat!("OpenSSL's `", stringify!($name), "`, only ever behind a pointer.")]
            pub(super) enum $name {}
        )*
    };
}

opaque!(
    SSL,
    SSL_CTX,
    SSL_METHOD,
    SSL_SESSION,
    SSL_CIPHER,
    BIO,
    X509,
    X509_STORE,
    STACK,
    VERIFY_PARAM,
    EVP_PKEY,
    EVP_PKEY_CTX,
    EVP_MD,
    EVP_MD_CTX,
    BIO_METHOD,
    EC_KEY,
    EC_GROUP,
    ENGINE
);

pub(super) type NewSessionCallback = unsafe extern "C" fn(*mut SSL, *mut SSL_SESSION) -> c_int;
pub(super) type KeyLogCallback = unsafe extern "C" fn(*const SSL, *const c_char);
pub(super) type PasswordCallback =
    unsafe extern "C" fn(*mut c_char, c_int, c_int, *mut c_void) -> c_int;
pub(super) type SecurityCallback = unsafe extern "C" fn(
    *const SSL,
    *const SSL_CTX,
    c_int,
    c_int,
    c_int,
    *mut c_void,
    *mut c_void,
) -> c_int;
pub(super) type MessageCallback =
    unsafe extern "C" fn(c_int, c_int, c_int, *const c_void, usize, *mut SSL, *mut c_void);

pub(super) type BioCallback = unsafe extern "C" fn(
    *mut BIO,
    c_int,
    *const c_char,
    usize,
    c_int,
    c_long,
    c_int,
    *mut usize,
) -> c_long;

/// Declares the table: a function that every supported version has, perhaps under an older name
/// (`name | old_name`), and those that only some have.
macro_rules! symbol_table {
    (
        required { $(fn $name:ident $(| $old:ident)? ($($arg:ty),*) $(-> $result:ty)?;)* }
        optional { $(fn $extra:ident ($($extra_arg:ty),*) $(-> $extra_result:ty)?;)* }
    ) => {
        #[allow(non_snake_case)]
        pub(super) struct Symbols {
            $(pub(super) $name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
            $(
                pub(super) $extra:
                    Option<unsafe extern "C" fn($($extra_arg),*) $(-> $extra_result)?>,
            )*
        }

        impl Symbols {
            /// Looks every function up; `Err` is the name of the first that is missing.
            ///
            /// # Safety
            /// `library` must be OpenSSL's libssl of a version from 1.1.1 on, and must stay loaded
            /// for as long as the table is used.
            pub(super) unsafe fn find(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $(
                        // SAFETY: the caller vouches for the library; the type is the one in its
                        // public headers, the same for both names.
                        $name: unsafe {
                            function(library, &[stringify!($name) $(, stringify!($old))?])
                        }
                        .ok_or(stringify!($name))?,
                    )*
                    $(
                        // SAFETY: as above.
                        $extra: unsafe { function(library, &[stringify!($extra)]) },
                    )*
                })
            }
        }
    };
}

/// The function that has one of these names in `library` or in a library that it needs.
///
/// # Safety
/// `T` must be the function's type, and the library must stay loaded for as long as it is used.
unsafe fn function<T: Copy>(library: &Library, names: &[&str]) -> Option<T> {
    names.iter().find_map(|name| {
        // SAFETY: the caller vouches for the type.
        unsafe { library.get::<T>(name.as_bytes()) }
            .ok()
            .map(|symbol| *symbol)
    })
}

symbol_table! {
    required {
        fn OPENSSL_init_ssl(u64, *const c_void) -> c_int;

        fn ERR_clear_error();
        fn ERR_peek_error() -> c_ulong;
        fn ERR_reason_error_string(c_ulong) -> *const c_char;

        fn TLS_client_method() -> *const SSL_METHOD;
        fn SSL_CTX_new(*const SSL_METHOD) -> *mut SSL_CTX;
        fn SSL_CTX_free(*mut SSL_CTX);
        fn SSL_CTX_ctrl(*mut SSL_CTX, c_int, c_long, *mut c_void) -> c_long;
        fn SSL_CTX_set_options(*mut SSL_CTX, u64) -> u64;
        fn SSL_CTX_set_security_level(*mut SSL_CTX, c_int);
        fn SSL_CTX_get_security_callback(*const SSL_CTX) -> Option<SecurityCallback>;
        fn SSL_CTX_set_security_callback(*mut SSL_CTX, SecurityCallback);
        fn SSL_CTX_set_cipher_list(*mut SSL_CTX, *const c_char) -> c_int;
        fn SSL_CTX_set_ciphersuites(*mut SSL_CTX, *const c_char) -> c_int;
        fn SSL_CTX_set_alpn_protos(*mut SSL_CTX, *const c_uchar, c_uint) -> c_int;
        fn SSL_CTX_set_verify(*mut SSL_CTX, c_int, *const c_void);
        fn SSL_CTX_load_verify_locations(*mut SSL_CTX, *const c_char, *const c_char) -> c_int;
        fn SSL_CTX_set_default_verify_paths(*mut SSL_CTX) -> c_int;
        fn SSL_CTX_use_certificate_chain_file(*mut SSL_CTX, *const c_char) -> c_int;
        fn SSL_CTX_use_PrivateKey_file(*mut SSL_CTX, *const c_char, c_int) -> c_int;
        fn SSL_get_peer_cert_chain(*const SSL) -> *const STACK;
        fn SSL_CTX_get_cert_store(*const SSL_CTX) -> *mut X509_STORE;
        fn X509_STORE_get0_objects(*const X509_STORE) -> *const STACK;
        fn OPENSSL_sk_num(*const STACK) -> c_int;
        fn SSL_CTX_check_private_key(*const SSL_CTX) -> c_int;
        fn SSL_CTX_set_default_passwd_cb(*mut SSL_CTX, PasswordCallback);
        fn SSL_CTX_sess_set_new_cb(*mut SSL_CTX, NewSessionCallback);
        fn SSL_CTX_set_keylog_callback(*mut SSL_CTX, KeyLogCallback);
        fn SSL_CTX_set_ex_data(*mut SSL_CTX, c_int, *mut c_void) -> c_int;
        fn SSL_CTX_get_ex_data(*const SSL_CTX, c_int) -> *mut c_void;

        fn SSL_new(*mut SSL_CTX) -> *mut SSL;
        fn SSL_free(*mut SSL);
        fn SSL_get_SSL_CTX(*const SSL) -> *mut SSL_CTX;
        fn SSL_ctrl(*mut SSL, c_int, c_long, *mut c_void) -> c_long;
        fn SSL_set_fd(*mut SSL, c_int) -> c_int;
        fn SSL_set_connect_state(*mut SSL);
        fn SSL_set_ex_data(*mut SSL, c_int, *mut c_void) -> c_int;
        fn SSL_get_ex_data(*const SSL, c_int) -> *mut c_void;
        fn SSL_set_msg_callback(*mut SSL, Option<MessageCallback>);
        fn SSL_set1_host(*mut SSL, *const c_char) -> c_int;
        fn SSL_set_hostflags(*mut SSL, c_uint);
        fn SSL_get0_param(*mut SSL) -> *mut VERIFY_PARAM;
        fn X509_VERIFY_PARAM_set1_ip_asc(*mut VERIFY_PARAM, *const c_char) -> c_int;
        fn SSL_set_session(*mut SSL, *mut SSL_SESSION) -> c_int;
        fn SSL_get1_session(*mut SSL) -> *mut SSL_SESSION;
        fn SSL_session_reused(*const SSL) -> c_int;
        fn SSL_SESSION_up_ref(*mut SSL_SESSION) -> c_int;
        fn SSL_SESSION_free(*mut SSL_SESSION);
        fn SSL_SESSION_is_resumable(*const SSL_SESSION) -> c_int;

        fn SSL_do_handshake(*mut SSL) -> c_int;
        fn SSL_read_ex(*mut SSL, *mut c_void, usize, *mut usize) -> c_int;
        fn SSL_write_ex(*mut SSL, *const c_void, usize, *mut usize) -> c_int;
        fn SSL_get_error(*const SSL, c_int) -> c_int;
        fn SSL_pending(*const SSL) -> c_int;
        fn SSL_has_pending(*const SSL) -> c_int;
        fn SSL_shutdown(*mut SSL) -> c_int;
        fn SSL_set_shutdown(*mut SSL, c_int);
        fn SSL_get_rbio(*const SSL) -> *mut BIO;
        fn BIO_set_callback_ex(*mut BIO, Option<BioCallback>);
        // C calls the argument a `char *`.
        fn BIO_set_callback_arg(*mut BIO, *mut c_void);
        fn BIO_get_callback_arg(*const BIO) -> *mut c_void;
        fn BIO_set_flags(*mut BIO, c_int);
        fn BIO_number_read(*mut BIO) -> u64;
        fn BIO_number_written(*mut BIO) -> u64;

        fn SSL_get0_alpn_selected(*const SSL, *mut *const c_uchar, *mut c_uint);
        fn SSL_version(*const SSL) -> c_int;
        fn SSL_get_version(*const SSL) -> *const c_char;
        fn SSL_get_current_cipher(*const SSL) -> *const SSL_CIPHER;
        fn SSL_CIPHER_get_name(*const SSL_CIPHER) -> *const c_char;
        fn SSL_alert_desc_string_long(c_int) -> *const c_char;
        fn SSL_get_verify_result(*const SSL) -> c_long;
        fn X509_verify_cert_error_string(c_long) -> *const c_char;
        fn OBJ_nid2sn(c_int) -> *const c_char;

        fn SSL_get1_peer_certificate | SSL_get_peer_certificate(*const SSL) -> *mut X509;
        fn X509_free(*mut X509);
        fn X509_get0_pubkey(*const X509) -> *mut EVP_PKEY;
        fn X509_digest(*const X509, *const EVP_MD, *mut c_uchar, *mut c_uint) -> c_int;
        fn X509_get_signature_info(*mut X509, *mut c_int, *mut c_int, *mut c_int, *mut u32) -> c_int;
        fn EVP_sha256() -> *const EVP_MD;
        fn EVP_get_digestbyname(*const c_char) -> *const EVP_MD;

        fn TLS_server_method() -> *const SSL_METHOD;
        fn SSL_set_accept_state(*mut SSL);
        fn SSL_set_bio(*mut SSL, *mut BIO, *mut BIO);
        fn BIO_s_mem() -> *const BIO_METHOD;
        fn BIO_new(*const BIO_METHOD) -> *mut BIO;
        fn BIO_up_ref(*mut BIO) -> c_int;

        fn EVP_PKEY_free(*mut EVP_PKEY);
        fn EVP_PKEY_get_id | EVP_PKEY_id(*const EVP_PKEY) -> c_int;
        fn EVP_PKEY_get_bits | EVP_PKEY_bits(*const EVP_PKEY) -> c_int;
        fn EVP_PKEY_CTX_new(*mut EVP_PKEY, *mut ENGINE) -> *mut EVP_PKEY_CTX;
        fn EVP_PKEY_CTX_free(*mut EVP_PKEY_CTX);
        fn EVP_PKEY_CTX_ctrl_str(*mut EVP_PKEY_CTX, *const c_char, *const c_char) -> c_int;
        fn EVP_PKEY_encrypt_init(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_encrypt(*mut EVP_PKEY_CTX, *mut c_uchar, *mut usize, *const c_uchar, usize)
            -> c_int;
        fn BIO_new_mem_buf(*const c_void, c_int) -> *mut BIO;
        fn BIO_free(*mut BIO) -> c_int;
        fn PEM_read_bio_PUBKEY(*mut BIO, *mut *mut EVP_PKEY, Option<PasswordCallback>, *mut c_void)
            -> *mut EVP_PKEY;
        fn PEM_read_bio_PrivateKey(*mut BIO, *mut *mut EVP_PKEY, Option<PasswordCallback>,
            *mut c_void) -> *mut EVP_PKEY;

        fn EVP_PKEY_sign_init(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_sign(*mut EVP_PKEY_CTX, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
        fn EVP_PKEY_verify_init(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_verify(*mut EVP_PKEY_CTX, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
        fn EVP_MD_CTX_new() -> *mut EVP_MD_CTX;
        fn EVP_MD_CTX_free(*mut EVP_MD_CTX);
        fn EVP_DigestSignInit(*mut EVP_MD_CTX, *mut *mut EVP_PKEY_CTX, *const EVP_MD, *mut ENGINE,
            *mut EVP_PKEY) -> c_int;
        fn EVP_DigestSign(*mut EVP_MD_CTX, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
        fn EVP_DigestVerifyInit(*mut EVP_MD_CTX, *mut *mut EVP_PKEY_CTX, *const EVP_MD, *mut ENGINE,
            *mut EVP_PKEY) -> c_int;
        fn EVP_DigestVerify(*mut EVP_MD_CTX, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
        fn EVP_PKEY_CTX_new_id(c_int, *mut ENGINE) -> *mut EVP_PKEY_CTX;
        fn EVP_PKEY_keygen_init(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_keygen(*mut EVP_PKEY_CTX, *mut *mut EVP_PKEY) -> c_int;
        fn EVP_PKEY_derive_init(*mut EVP_PKEY_CTX) -> c_int;
        fn EVP_PKEY_derive_set_peer(*mut EVP_PKEY_CTX, *mut EVP_PKEY) -> c_int;
        fn EVP_PKEY_derive(*mut EVP_PKEY_CTX, *mut c_uchar, *mut usize) -> c_int;
    }
    optional {
        fn SSL_get_signature_type_nid(*const SSL, *mut c_int) -> c_int;
        // 3.0 and later.
        fn ERR_get_error_all(*mut *const c_char, *mut c_int, *mut *const c_char,
            *mut *const c_char, *mut c_int) -> c_ulong;
        fn EVP_PKEY_get0_type_name(*const EVP_PKEY) -> *const c_char;
        fn EVP_PKEY_get_group_name(*const EVP_PKEY, *mut c_char, usize, *mut usize) -> c_int;
        // 3.2 and later.
        fn SSL_get0_group_name(*mut SSL) -> *const c_char;
        // What 1.1.1 has in their place.
        fn ERR_get_error_line_data(*mut *const c_char, *mut c_int, *mut *const c_char, *mut c_int)
            -> c_ulong;
        fn EVP_PKEY_get0_EC_KEY(*mut EVP_PKEY) -> *mut EC_KEY;
        fn EC_KEY_get0_group(*const EC_KEY) -> *const EC_GROUP;
        fn EC_GROUP_get_curve_name(*const EC_GROUP) -> c_int;
    }
}
