use super::{ClientTimes, Failure, ServerTimes, Settings};
use core::fmt;

/// One line of JSON about a run, which is what the measuring program reads.
#[derive(Debug)]
pub struct Report<'a, E> {
    /// `"bare"` or `"linux"`.
    pub system: &'a str,
    /// The AES kernels in use.
    pub aes: &'a str,
    /// The run.
    pub settings: &'a Settings,
    /// How it went.
    pub outcome: Outcome<E>,
}

/// How a run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<E> {
    /// This end was the server.
    Served(ServerTimes),
    /// This end was the client.
    Received(ClientTimes),
    /// There is no result.
    Failed(Failure<E>),
}

impl<E: fmt::Debug> fmt::Display for Report<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { size, burst, run, .. } = self.settings;
        let (system, aes) = (self.system, self.aes);
        write!(f, "{{\"system\":\"{system}\",\"aes\":\"{aes}\",\"run\":{run},")?;
        write!(f, "\"n\":{size},\"m\":{burst},")?;
        match &self.outcome {
            Outcome::Served(times) => {
                let ServerTimes { clear_ns, sealed_ns, clear_wait_ns, sealed_wait_ns, refused } =
                    times;
                write!(f, "\"role\":\"server\",\"d2\":{clear_ns},\"d3\":{sealed_ns},")?;
                write!(f, "\"w2\":{clear_wait_ns},\"w3\":{sealed_wait_ns},")?;
                write!(f, "\"refused\":{refused}}}")
            }
            Outcome::Received(ClientTimes { clear_ns, sealed_ns, refused }) => {
                write!(f, "\"role\":\"client\",\"d0\":{clear_ns},\"d1\":{sealed_ns},")?;
                write!(f, "\"refused\":{refused}}}")
            }
            Outcome::Failed(failure) => match failure {
                Failure::Network(e) => write!(f, "\"failure\":\"network\",\"why\":\"{e:?}\"}}"),
                Failure::NoPeer => write!(f, "\"failure\":\"no peer\"}}"),
                Failure::NotVerified { refused } => {
                    write!(f, "\"failure\":\"not verified\",\"refused\":{refused}}}")
                }
                Failure::Lost { received, refused } => write!(
                    f,
                    "\"failure\":\"lost\",\"received\":{received},\"refused\":{refused}}}"
                ),
            },
        }
    }
}
