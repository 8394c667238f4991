//! Orders to a running `serve`, which holds the store: over a socket in the operator's directory,
//! which nobody else may enter.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use slyfi_link::{Error, ErrorKind, Result};

/// The longest order or answer, bytes.
const LONGEST: u64 = 4_096;
/// How long an order may take to come.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an operator can be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Make an invitation.
    Invite {
        /// For how long, seconds.
        valid_s: u64,
    },
    /// Make a row vacant from the next epoch on.
    Revoke {
        /// Which.
        row: u64,
    },
    /// Build the epoch that comes.
    Build,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// An invitation.
    Invited {
        /// As hexadecimal digits.
        invitation: String,
        /// Until when it is good, Unix seconds.
        until: u64,
    },
    /// The row is vacant.
    Revoked {
        /// From this epoch on.
        from_epoch: u64,
    },
    /// The epoch was built.
    Built {
        /// Its number.
        epoch: u64,
        /// When it begins, Unix seconds.
        not_before: u64,
        /// When it ends, Unix seconds.
        not_after: u64,
        /// How many rows are somebody's.
        subscribed: u64,
    },
    /// Nothing: why, and what mends it.
    Failed {
        /// The stable name of the failure's kind.
        kind: String,
        /// Why.
        cause: String,
        /// What mends it.
        mend: String,
    },
}

impl From<Result<Answer>> for Answer {
    fn from(result: Result<Answer>) -> Self {
        result.unwrap_or_else(|e| Answer::Failed {
            kind: e.kind.name().to_owned(),
            cause: e.cause,
            mend: e.mend,
        })
    }
}

impl Answer {
    /// Failures as failures.
    pub fn into_result(self) -> Result<Answer> {
        match self {
            Answer::Failed { kind, cause, mend } => {
                Err(Error::new(ErrorKind::from_name(&kind), cause, mend))
            }
            done => Ok(done),
        }
    }
}

/// Where the socket of an operator's directory is.
pub fn path(dir: &Path) -> PathBuf {
    dir.join("control")
}

/// Gives an order to the `serve` of this directory; `None` if none runs.
pub fn ask(dir: &Path, order: &Order) -> Result<Option<Answer>> {
    let path = path(dir);
    let failed = |e: &dyn std::fmt::Display| {
        let cause = format!("{}: {e}", path.display());
        Error::new(ErrorKind::NoDaemon, cause, "is `slyfi tracedge serve` of this version?")
    };
    let mut socket = match UnixStream::connect(&path) {
        Ok(socket) => socket,
        Err(e) => {
            use std::io::ErrorKind::{ConnectionRefused, NotFound};
            return match e.kind() {
                ConnectionRefused | NotFound => Ok(None),
                _ => Err(Error::system(path.display(), &e)),
            };
        }
    };
    let mut line = serde_json::to_vec(order).map_err(|e| failed(&e))?;
    line.push(b'\n');
    socket.write_all(&line).map_err(|e| failed(&e))?;
    // No deadline here: building takes its time.
    read(&socket)
        .and_then(|line| Ok(serde_json::from_slice(&line)?))
        .map_err(|e| failed(&e))
        .map(Some)
}

fn read(socket: &UnixStream) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(socket.take(LONGEST)).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// Listens in this directory, whose store the caller holds: so a socket that is there is a dead one's.
pub fn listen(dir: &Path) -> Result<UnixListener> {
    let path = path(dir);
    let failed = |e| Error::system(path.display(), &e);
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
        _ => (),
    }
    UnixListener::bind(&path).map_err(failed)
}

/// Takes orders, one after the other, until `ending` is set and [`end`] has said so.
pub fn run(
    listener: &UnixListener,
    ending: &AtomicBool,
    carry_out: impl Fn(&Order) -> Result<Answer>,
) {
    let one = |mut socket: UnixStream| -> std::io::Result<()> {
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let done = match serde_json::from_slice(&read(&socket)?) {
            Ok(order) => carry_out(&order),
            Err(e) => {
                let mend = "use the slyfi command that `serve` was started with";
                Err(Error::new(ErrorKind::Usage, format!("no order: {e}"), mend))
            }
        };
        let mut line = serde_json::to_vec(&Answer::from(done))?;
        line.push(b'\n');
        socket.write_all(&line)
    };
    for socket in listener.incoming() {
        if ending.load(Ordering::Acquire) {
            break;
        }
        // Whoever gave the order and went away is not told; the order was carried out.
        let told = socket.and_then(one);
        if told.is_err() {
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
}

/// Wakes [`run`], so that it sees that it is to end, and takes the socket away.
pub fn end(dir: &Path) {
    let path = path(dir);
    // If it cannot be reached it does not wait either; a socket that stays is a dead one's.
    let _ = UnixStream::connect(&path);
    let _ = std::fs::remove_file(&path);
}
