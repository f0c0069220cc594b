//! A secret that both sides derive.

use tlstax_tls::{KeyExchange, Library, Negotiated, Role, TlsError};

use crate::sides::Sides;
use crate::subject::{Subject, in_a_row};

/// Longer than any group's secret: that of P-521 has 66 bytes.
const LONGEST_BYTES: usize = 128;

/// Key exchanges of one group.
pub struct Exchange {
    keys: KeyExchange,
    in_a_row: u64,
}

impl Exchange {
    /// Makes the keys.
    pub fn new(library: Library, group: &str) -> Result<Self, TlsError> {
        let mut keys = KeyExchange::new(library, group)?;
        let mut secret = [0; LONGEST_BYTES];
        let in_a_row = in_a_row(|| keys.derive(Role::Client, &mut secret).map(drop))?;
        Ok(Self { keys, in_a_row })
    }
}

impl Subject for Exchange {
    fn work(&mut self, sides: &mut Sides) -> Result<u64, TlsError> {
        let (keys, in_a_row) = (&mut self.keys, self.in_a_row);
        let (mut client, mut server) = ([0; LONGEST_BYTES], [0; LONGEST_BYTES]);
        sides.client(|| derive(keys, in_a_row, Role::Client, &mut client))?;
        sides.server(|| derive(keys, in_a_row, Role::Server, &mut server))?;
        if client == server {
            return Ok(in_a_row);
        }
        Err(TlsError::Library {
            operation: "EVP_PKEY_derive",
            reason: "the two sides have different secrets".to_owned(),
        })
    }

    fn negotiated(&self) -> Option<&Negotiated> {
        None
    }
}

fn derive(
    keys: &mut KeyExchange,
    times: u64,
    side: Role,
    secret: &mut [u8],
) -> Result<(), TlsError> {
    (0..times).try_for_each(|_| keys.derive(side, secret).map(drop))
}
