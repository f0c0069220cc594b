//! SCRAM with a server that does not know the password, or does not keep to RFC 5802.

use std::io;

use tlstax_contract::{ErrorKind, Fault};

use super::{
    CLEARTEXT, Expected, LET_IN, MD5, READY, SCRAM, error, heard, in_the_clear, request, scripts,
};
use crate::engine::run;
use crate::server::{Peer, Server};

const SALT: &str = "c2FsdHNhbHRzYWx0";
/// 32 bytes that are no signature of anything.
const FORGED: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// A list of mechanisms as the server offers them.
fn offer(mechanisms: impl AsRef<[u8]>) -> Vec<u8> {
    request(10, mechanisms)
}

fn offered(said: Vec<u8>, expected: Expected) {
    expected.ends(&heard(said, |peer| peer.read_opening().map(drop), expected));
}

const fn lacking(words: &'static str) -> Expected {
    Expected::of(ErrorKind::AccessDenied, Fault::Client, words)
}

scripts! { offered:
    a_list_of_nothing: offer(b"") => Expected::broken("cut short");
    a_list_of_no_mechanism: offer(b"\0") => lacking("SASL");
    a_list_without_an_end: offer(b"SCRAM-SHA-256\0") => Expected::broken("cut short");
    a_mechanism_without_an_end: offer(b"SCRAM-SHA-256") => Expected::broken("cut short");
    more_behind_the_list: offer(b"SCRAM-SHA-256\0\0more") => Expected::broken("too many");
    a_mechanism_that_the_client_lacks: offer(b"OAUTHBEARER\0\0") => lacking("OAUTHBEARER");
    a_mechanism_that_steers_a_terminal: offer(b"\x1b[2J\0\0") => lacking("[2J");
    a_list_of_thousands: offer([&b"PLAIN\0".repeat(9000)[..], b"\0"].concat()) => lacking("PLAIN");
    a_channel_bound_that_there_is_not: offer(b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0")
        => Expected::broken("without TLS");
}

/// The client's first message of SCRAM, of which the nonce is what follows `r=`.
fn nonce_of(first: &[u8]) -> String {
    let text = String::from_utf8_lossy(first);
    let (_, nonce) = text.split_once(",r=").unwrap();
    nonce.to_owned()
}

/// Offers SCRAM and reads the client's first message.
fn begin(peer: &mut Peer) -> io::Result<()> {
    peer.read_opening()?;
    peer.send(SCRAM)?;
    peer.read_message().map(drop)
}

/// A server that says this in place of its first message.
fn said_first(said: impl Into<Vec<u8>>, expected: Expected) {
    expected.ends(&heard(said, begin, expected));
}

scripts! { said_first:
    a_letting_in_before_its_first_message: [LET_IN, READY].concat()
        => Expected::broken("let the account in before SCRAM had ended");
    its_last_message_before_its_first: request(12, format!("v={FORGED}")) => Expected::broken("came where");
    another_offer: SCRAM => Expected::broken("came where");
    a_change_to_md5: MD5 => Expected::broken("came where");
    a_change_to_the_password_itself: CLEARTEXT => Expected::broken("came where");
    readiness_before_its_first_message: READY => Expected::broken("came where");
    an_error_before_its_first_message: error("FATAL", "28P01", "no")
        => Expected::of(ErrorKind::AccessDenied, Fault::Server, "28P01");
    a_first_message_of_nothing: request(11, b"") => Expected::broken("nonce");
    a_nonce_of_somebody_else: request(11, format!("r=somebody,s={SALT},i=4096"))
        => Expected::broken("not an answer to the client's");
    an_extension_that_must_be_known: request(11, format!("m=x,r=a,s={SALT},i=4096"))
        => Expected::broken("nonce");
    a_first_message_of_many_kilobytes: request(11, "r=".repeat(4000)) => Expected::broken("too long");
    silence_instead_of_its_first_message: b"" => Expected::silent();
}

/// A server whose first message is `NONCE` in place of the client's nonce, and the rest as it is here.
fn said_of_the_nonce(first: impl Into<String>, expected: Expected) {
    let first = first.into();
    let server = Server::start(move |peer| {
        peer.read_opening()?;
        peer.send(SCRAM)?;
        let nonce = nonce_of(&peer.read_message()?.1);
        peer.send(&request(11, first.replace("NONCE", &nonce)))?;
        peer.fall_silent()
    });
    expected.ends(&expected.run(in_the_clear(&server)));
}

scripts! { said_of_the_nonce:
    a_nonce_without_one_of_its_own: "r=NONCE,s=c2FsdA==,i=4096" => Expected::broken("nothing of the server's");
    a_nonce_with_bytes_that_none_has: "r=NONCE\u{7f}x,s=c2FsdA==,i=4096" => Expected::broken("bytes that none");
    no_salt: "r=NONCEx,i=4096" => Expected::broken("no salt");
    a_salt_that_is_not_base64: "r=NONCEx,s=!!!!,i=4096" => Expected::broken("not base64");
    a_salt_cut_short: "r=NONCEx,s=c2Fsd,i=4096" => Expected::broken("not base64");
    a_salt_of_kilobytes: format!("r=NONCEx,s={},i=4096", "AAAA".repeat(500)) => Expected::broken("salt");
    no_iterations: "r=NONCEx,s=c2FsdA==" => Expected::broken("no iterations");
    iterations_0: "r=NONCEx,s=c2FsdA==,i=0" => Expected::broken("iterations are none");
    iterations_below_0: "r=NONCEx,s=c2FsdA==,i=-1" => Expected::broken("no number");
    iterations_of_nothing: "r=NONCEx,s=c2FsdA==,i=" => Expected::broken("no number");
    iterations_with_a_sign: "r=NONCEx,s=c2FsdA==,i=+4096" => Expected::broken("no number");
    iterations_with_a_rest: "r=NONCEx,s=c2FsdA==,i=4096 " => Expected::broken("no number");
    iterations_of_words: "r=NONCEx,s=c2FsdA==,i=many" => Expected::broken("no number");
    a_hundred_million_iterations: "r=NONCEx,s=c2FsdA==,i=100000000" => Expected::too_much("100000000");
    iterations_of_31_bits: "r=NONCEx,s=c2FsdA==,i=2147483648" => Expected::too_much("2147483648");
    iterations_of_32_bits: "r=NONCEx,s=c2FsdA==,i=4294967295" => Expected::too_much("4294967295");
    iterations_of_33_bits: "r=NONCEx,s=c2FsdA==,i=4294967297" => Expected::too_much("4294967297");
    iterations_beyond_64_bits: "r=NONCEx,s=c2FsdA==,i=99999999999999999999999"
        => Expected::too_much("iterations");
    an_extension_at_the_end: "r=NONCEx,s=c2FsdA==,i=4096,x=y" => Expected::broken("extensions");
    silence_instead_of_its_last_message: "r=NONCEx,s=c2FsdA==,i=1" => Expected::silent();
}

/// Goes through SCRAM as a server that does not know the password, up to the client's proof; then it says this.
fn said_last(said: impl Into<Vec<u8>>, expected: Expected) {
    let said = said.into();
    let server = Server::start(move |peer| {
        peer.read_opening()?;
        peer.send(SCRAM)?;
        let nonce = nonce_of(&peer.read_message()?.1);
        peer.send(&request(11, format!("r={nonce}hostile,s={SALT},i=1")))?;
        peer.read_message()?;
        peer.send(&said)?;
        peer.fall_silent()
    });
    expected.ends(&expected.run(in_the_clear(&server)));
}

const NOT_PROVEN: Expected = Expected::broken("did not prove");

scripts! { said_last:
    a_signature_of_something_else: [&request(12, format!("v={FORGED}"))[..], LET_IN, READY].concat()
        => NOT_PROVEN;
    a_signature_of_nothing: request(12, b"v=") => NOT_PROVEN;
    a_signature_of_three_bytes: request(12, b"v=AAAA") => NOT_PROVEN;
    a_signature_of_kilobytes: request(12, format!("v={}", "AAAA".repeat(1000))) => Expected::broken("signature");
    a_signature_that_is_not_base64: request(12, b"v=!!!!") => Expected::broken("not base64");
    no_signature: request(12, b"x=AAAA") => Expected::broken("no signature");
    a_last_message_of_nothing: request(12, b"") => Expected::broken("no signature");
    an_error_of_its_own: request(12, b"e=invalid-proof")
        => Expected::of(ErrorKind::AccessDenied, Fault::Server, "invalid-proof");
    an_error_of_its_own_that_steers_a_terminal: request(12, b"e=\x1b[2J\r\n.")
        => Expected::of(ErrorKind::AccessDenied, Fault::Server, "[2J");
    a_letting_in_without_a_signature: [LET_IN, READY].concat()
        => Expected::broken("let the account in before SCRAM had ended");
    its_first_message_again: request(11, format!("r=a,s={SALT},i=4096")) => Expected::broken("came where");
    an_offer_after_the_proof: SCRAM => Expected::broken("came where");
    the_password_itself_after_the_proof: CLEARTEXT => Expected::broken("came where");
    readiness_after_the_proof: READY => Expected::broken("came where");
}

#[test]
fn a_hang_up_before_its_first_message() {
    let server = Server::start(|peer| {
        begin(peer)?;
        peer.hang_up()
    });
    Expected::closed().ends(&run(&in_the_clear(&server)));
}
