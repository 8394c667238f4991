//! Probe and authentication messages (slyfi-2008 Figure 1, first two exchanges).

use super::{AccessPointId, RequestId, put_run, run};
use crate::{Malformed, NoSpace, Reader, Writer};

/// A message under Tryst.
///
/// # Layout
/// ```text
///   0      kind: 1 probe request, 2 probe response, 3 authentication request, 4 response
///   1..9   request: random, echoed by the response
///   9..17  time: the sender's civil time, microseconds since 1970
///  17..25  access point               (all but the probe request)
///  25      load (probe response) or status (authentication response)
///  25/26.. agreement, 16-bit length first (both authentications)
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrystMessage<'a> {
    /// Is a network that I am paired with here?
    ProbeRequest {
        /// Names this probe.
        request: RequestId,
        /// The client's civil time in microseconds since 1970.
        time: u64,
    },
    /// It is.
    ProbeResponse {
        /// The probe that is answered.
        request: RequestId,
        /// The access point's civil time in microseconds since 1970.
        time: u64,
        /// Which of the network's access points answers.
        access_point: AccessPointId,
        /// How many of 255 parts of its session table are taken.
        load: u8,
    },
    /// Let us make session keys.
    AuthRequest {
        /// Names this authentication.
        request: RequestId,
        /// The client's civil time in microseconds since 1970.
        time: u64,
        /// The access point that is meant.
        access_point: AccessPointId,
        /// The client's half of the key agreement; its form is the suite's.
        agreement: &'a [u8],
    },
    /// The answer to it.
    AuthResponse {
        /// The authentication that is answered.
        request: RequestId,
        /// The access point's civil time in microseconds since 1970.
        time: u64,
        /// Which access point answers.
        access_point: AccessPointId,
        /// Whether a session was made.
        status: AuthStatus,
        /// The access point's half of the key agreement; empty unless accepted.
        agreement: &'a [u8],
    },
}

/// What became of an authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthStatus {
    /// Session keys are made.
    Accepted,
    /// No room for another session.
    Full,
    /// The invite was used before, or has expired.
    InviteSpent,
}

impl AuthStatus {
    const fn code(self) -> u8 {
        match self {
            AuthStatus::Accepted => 0,
            AuthStatus::Full => 1,
            AuthStatus::InviteSpent => 2,
        }
    }

    const fn from_code(c: u8) -> Option<Self> {
        match c {
            0 => Some(AuthStatus::Accepted),
            1 => Some(AuthStatus::Full),
            2 => Some(AuthStatus::InviteSpent),
            _ => None,
        }
    }
}

/// Of suite `2008` the agreement is the session's keys.
impl core::fmt::Debug for TrystMessage<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            TrystMessage::ProbeRequest { .. } => "ProbeRequest(<hidden>)",
            TrystMessage::ProbeResponse { .. } => "ProbeResponse(<hidden>)",
            TrystMessage::AuthRequest { .. } => "AuthRequest(<hidden>)",
            TrystMessage::AuthResponse { .. } => "AuthResponse(<hidden>)",
        })
    }
}

impl<'a> TrystMessage<'a> {
    /// Parses a whole Tryst payload.
    ///
    /// # Errors
    /// [`Malformed`] when it is not exactly one message.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let kind = r.u8()?;
        let request = r.array()?;
        let time = r.u64_be()?;
        let message = match kind {
            1 => TrystMessage::ProbeRequest { request, time },
            2 => TrystMessage::ProbeResponse {
                request,
                time,
                access_point: r.array()?,
                load: r.u8()?,
            },
            3 => TrystMessage::AuthRequest {
                request,
                time,
                access_point: r.array()?,
                agreement: run(&mut r)?,
            },
            4 => TrystMessage::AuthResponse {
                request,
                time,
                access_point: r.array()?,
                status: AuthStatus::from_code(r.u8()?).ok_or(Malformed::Value { offset: 25 })?,
                agreement: run(&mut r)?,
            },
            _ => return Err(Malformed::Value { offset: 0 }),
        };
        r.finish()?;
        Ok(message)
    }

    /// Returns the length of the message, in bytes.
    pub const fn buffer_len(&self) -> usize {
        match self {
            TrystMessage::ProbeRequest { .. } => 17,
            TrystMessage::ProbeResponse { .. } => 26,
            TrystMessage::AuthRequest { agreement, .. } => 27 + agreement.len(),
            TrystMessage::AuthResponse { agreement, .. } => 28 + agreement.len(),
        }
    }

    /// Writes the message and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `out` is too small.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, NoSpace> {
        let mut w = Writer::new(out, self.buffer_len())?;
        let (kind, request, time) = match *self {
            TrystMessage::ProbeRequest { request, time } => (1, request, time),
            TrystMessage::ProbeResponse { request, time, .. } => (2, request, time),
            TrystMessage::AuthRequest { request, time, .. } => (3, request, time),
            TrystMessage::AuthResponse { request, time, .. } => (4, request, time),
        };
        w.u8(kind);
        w.put(&request);
        w.u64_be(time);
        match *self {
            TrystMessage::ProbeRequest { .. } => {}
            TrystMessage::ProbeResponse { access_point, load, .. } => {
                w.put(&access_point);
                w.u8(load);
            }
            TrystMessage::AuthRequest { access_point, agreement, .. } => {
                w.put(&access_point);
                put_run(&mut w, agreement);
            }
            TrystMessage::AuthResponse { access_point, status, agreement, .. } => {
                w.put(&access_point);
                w.u8(status.code());
                put_run(&mut w, agreement);
            }
        }
        Ok(w.finish())
    }
}
