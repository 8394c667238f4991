//! The asking end of the control socket.

use super::{Answer, MAX_LINE, Request, Response};
use crate::error::{Error, ErrorKind, Result};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to a daemon.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects; `None` when no daemon listens there.
    ///
    /// # Errors
    /// [`ErrorKind::Privileges`] when this user may not talk to the daemon.
    pub fn connect(path: &Path) -> Result<Option<Client>> {
        let stream = match UnixStream::connect(path) {
            Ok(stream) => stream,
            // Refused: the socket of a daemon that was killed.
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                ) =>
            {
                return Ok(None);
            }
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                return Err(Error::new(
                    ErrorKind::Privileges,
                    format!("the control socket {} is not this user's", path.display()),
                    "run the command as root or as the daemon's user",
                ));
            }
            Err(e) => return Err(Error::system(path.display(), &e)),
        };
        let failed = |e| Error::system(path.display(), &e);
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        Ok(Some(Client { stream: BufReader::new(stream) }))
    }

    /// Asks and waits for the answer.
    ///
    /// # Errors
    /// The daemon's refusal, or [`ErrorKind::NoDaemon`] when it does not answer.
    pub fn ask(&mut self, request: &Request) -> Result<Answer> {
        let silent = |why: String| {
            let mend = "see its log, or restart it";
            Error::new(ErrorKind::NoDaemon, format!("the daemon does not answer ({why})"), mend)
        };
        let mut line = serde_json::to_vec(request).map_err(|e| silent(e.to_string()))?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).map_err(|e| silent(e.to_string()))?;
        let mut answer = zeroize::Zeroizing::new(String::new());
        let mut limited = (&mut self.stream).take(MAX_LINE as u64);
        let n = limited.read_line(&mut answer).map_err(|e| silent(e.to_string()))?;
        if n == 0 {
            return Err(silent("it closed the connection".to_owned()));
        }
        match serde_json::from_str(&answer).map_err(|e| silent(e.to_string()))? {
            Response::Ok(answer) => Ok(answer),
            Response::Error(refusal) => Err(refusal.into()),
        }
    }
}
