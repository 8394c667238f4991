//! The answering end of the control socket, for the event loop: nothing here blocks.

use super::{MAX_REQUEST, Request, Response};
use crate::error::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Connections at once; more are turned away.
const MAX_CONNECTIONS: usize = 16;

/// A listening control socket and its connections.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    /// What file the socket is, so that only this one is removed in the end.
    inode: (u64, u64),
    connections: BTreeMap<u64, Connection>,
    next: u64,
}

#[derive(Debug)]
struct Connection {
    stream: UnixStream,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
}

/// A request and the connection to answer it on.
#[derive(Debug)]
pub struct Incoming {
    /// The connection.
    pub connection: u64,
    /// The request, or why the line was none.
    pub request: Result<Request>,
}

impl Server {
    /// Listens at `path`, mode 0600. The caller holds the store's lock, so a socket that is there
    /// already was left by a daemon that was killed.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] when something else is there, or the system's.
    pub fn bind(path: &Path) -> Result<Server> {
        let failed = |e: io::Error| Error::system(path.display(), &e);
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.file_type().is_socket() => {
                if UnixStream::connect(path).is_ok() {
                    return Err(Error::new(
                        ErrorKind::Usage,
                        format!("another daemon listens on {}", path.display()),
                        "stop it, or set another [control] path",
                    ));
                }
                fs::remove_file(path).map_err(failed)?;
            }
            Ok(_) => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("{} exists and is no socket", path.display()),
                    "move it away, or set another [control] path",
                ));
            }
            Err(_) => {}
        }
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        // Nothing is accepted before the mode is right: the loop has not started.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let meta = fs::metadata(path).map_err(failed)?;
        let inode = (meta.dev(), meta.ino());
        Ok(Server { listener, path: path.to_owned(), inode, connections: BTreeMap::new(), next: 0 })
    }

    /// Gives the socket to the user whom the daemon becomes.
    ///
    /// # Errors
    /// The system's.
    pub fn give_to(&self, uid: u32, gid: u32) -> Result<()> {
        chown(&self.path, Some(uid), Some(gid)).map_err(|e| Error::system(self.path.display(), &e))
    }

    /// Returns what to poll for new connections.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Accepts one connection; `None` when there is none or no room for it.
    pub fn accept(&mut self) -> Option<(u64, BorrowedFd<'_>)> {
        let (stream, _) = self.listener.accept().ok()?;
        if self.connections.len() >= MAX_CONNECTIONS || stream.set_nonblocking(true).is_err() {
            return None;
        }
        let id = self.next;
        self.next += 1;
        let connection = Connection { stream, incoming: Vec::new(), outgoing: Vec::new() };
        let connection = self.connections.entry(id).or_insert(connection);
        Some((id, connection.stream.as_fd()))
    }

    /// Reads what a connection has sent and returns its requests. A connection that was closed, or
    /// sends more than a request's length without a line's end, is dropped.
    pub fn read(&mut self, id: u64) -> Vec<Incoming> {
        let Some(connection) = self.connections.get_mut(&id) else { return Vec::new() };
        let mut open = true;
        let mut buf = [0; MAX_REQUEST];
        loop {
            match connection.stream.read(&mut buf) {
                Ok(0) => {
                    open = false;
                    break;
                }
                Ok(n) => connection.incoming.extend_from_slice(&buf[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    open = false;
                    break;
                }
            }
            // The rest waits in the socket: one connection must not fill the memory.
            if connection.incoming.len() > MAX_REQUEST {
                break;
            }
        }
        let mut requests = Vec::new();
        while let Some(end) = connection.incoming.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = connection.incoming.drain(..=end).collect();
            requests.push(Incoming { connection: id, request: parse(&line) });
        }
        let endless = connection.incoming.len() > MAX_REQUEST;
        // A peer that only closed its writing half still waits for the answer to its last line.
        if endless || (!open && requests.is_empty()) {
            self.connections.remove(&id);
        }
        requests
    }

    /// Answers; returns whether everything is on its way, `false` meaning that the connection has to
    /// be polled for writing and [`Server::write`] called.
    pub fn answer(&mut self, id: u64, response: &Response) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return true };
        // Serialising these types cannot fail: they have no maps with keys that are not strings.
        if let Ok(line) = serde_json::to_vec(response) {
            connection.outgoing.extend_from_slice(&line);
            connection.outgoing.push(b'\n');
        }
        self.write(id)
    }

    /// Goes on sending; returns whether everything is on its way.
    pub fn write(&mut self, id: u64) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return true };
        while !connection.outgoing.is_empty() {
            match connection.stream.write(&connection.outgoing) {
                Ok(n) => {
                    connection.outgoing.drain(..n);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return false,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.connections.remove(&id);
                    return true;
                }
            }
        }
        true
    }

    /// Returns what to poll a connection by, while it exists.
    pub fn connection(&self, id: u64) -> Option<BorrowedFd<'_>> {
        self.connections.get(&id).map(|c| c.stream.as_fd())
    }
}

fn parse(line: &[u8]) -> Result<Request> {
    serde_json::from_slice(line).map_err(|e| {
        let mend = "use the slyfi command of the same version";
        Error::new(ErrorKind::Usage, format!("not a request: {e}"), mend)
    })
}

impl Drop for Server {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|meta| (meta.dev(), meta.ino()) == self.inode);
        if ours {
            // Without the right to, it stays, and the next daemon finds that nobody listens there.
            let _ = fs::remove_file(&self.path);
        }
    }
}
