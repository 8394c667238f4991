//! What the access points of one network tell each other (slyfi-2008 §3.5, roaming).

use super::{put_run, run};
use crate::{Malformed, NoSpace, Reader, Writer};
use slyfi_base::MacAddress;

/// Names a session between access points; random, never on the air.
pub type SessionId = [u8; 8];

/// A message between access points, inside the backhaul's own sealing.
///
/// # Layout
/// One type byte, then the fields in the order of declaration; byte runs as a 16-bit length and the
/// bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BackhaulMessage<'a> {
    /// Type 1: a member of mine may come to you.
    Handover {
        /// The session.
        session: SessionId,
        /// The member's pairing.
        pairing: [u8; 8],
        /// The member's pseudonym.
        pseudonym: MacAddress,
        /// The secret that session keys with another access point come from.
        secret: [u8; 32],
        /// The keys under which the member will probe for you, in the form of a stored pairing.
        probe: &'a [u8],
    },
    /// Type 2: this session is over.
    Ended {
        /// The session.
        session: SessionId,
    },
    /// Type 3: this session is mine now.
    Moved {
        /// The session.
        session: SessionId,
    },
    /// Type 4: the network has a new pairing.
    Paired {
        /// The pairing as it is stored.
        pairing: &'a [u8],
    },
    /// Type 5: this pairing is void.
    Revoked {
        /// Its id.
        pairing: [u8; 8],
    },
}

impl core::fmt::Debug for BackhaulMessage<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            BackhaulMessage::Handover { .. } => "Handover(<hidden>)",
            BackhaulMessage::Ended { .. } => "Ended(<hidden>)",
            BackhaulMessage::Moved { .. } => "Moved(<hidden>)",
            BackhaulMessage::Paired { .. } => "Paired(<hidden>)",
            BackhaulMessage::Revoked { .. } => "Revoked(<hidden>)",
        })
    }
}

impl<'a> BackhaulMessage<'a> {
    /// Parses a whole message.
    ///
    /// # Errors
    /// [`Malformed`] when it is not exactly one message.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let message = match r.u8()? {
            1 => BackhaulMessage::Handover {
                session: r.array()?,
                pairing: r.array()?,
                pseudonym: MacAddress(r.array()?),
                secret: r.array()?,
                probe: run(&mut r)?,
            },
            2 => BackhaulMessage::Ended { session: r.array()? },
            3 => BackhaulMessage::Moved { session: r.array()? },
            4 => BackhaulMessage::Paired { pairing: run(&mut r)? },
            5 => BackhaulMessage::Revoked { pairing: r.array()? },
            _ => return Err(Malformed::Value { offset: 0 }),
        };
        r.finish()?;
        Ok(message)
    }

    /// Returns the length of the message, in bytes.
    pub const fn buffer_len(&self) -> usize {
        match self {
            BackhaulMessage::Handover { probe, .. } => 57 + probe.len(),
            BackhaulMessage::Ended { .. }
            | BackhaulMessage::Moved { .. }
            | BackhaulMessage::Revoked { .. } => 9,
            BackhaulMessage::Paired { pairing } => 3 + pairing.len(),
        }
    }

    /// Writes the message and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `out` is too small.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, NoSpace> {
        let mut w = Writer::new(out, self.buffer_len())?;
        match *self {
            BackhaulMessage::Handover { session, pairing, pseudonym, secret, probe } => {
                w.u8(1);
                w.put(&session);
                w.put(&pairing);
                w.put(&pseudonym.0);
                w.put(&secret);
                put_run(&mut w, probe);
            }
            BackhaulMessage::Ended { session } => {
                w.u8(2);
                w.put(&session);
            }
            BackhaulMessage::Moved { session } => {
                w.u8(3);
                w.put(&session);
            }
            BackhaulMessage::Paired { pairing } => {
                w.u8(4);
                put_run(&mut w, pairing);
            }
            BackhaulMessage::Revoked { pairing } => {
                w.u8(5);
                w.put(&pairing);
            }
        }
        Ok(w.finish())
    }
}
