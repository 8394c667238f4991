use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustls::{ClientConnection, ServerConnection, StreamOwned};
use slyfi_linux::Clock;

/// What a message may take at least, and the slowest that its bytes may come: 256 kb/s.
const PATIENCE: Duration = Duration::from_secs(30);
const BYTES_PER_S: u64 = 32_768;

/// A socket whose peer has until a deadline, however many small pieces it sends.
pub struct Wire {
    socket: TcpStream,
    /// Microseconds of the monotonic clock.
    deadline: u64,
}

fn mono_us() -> u64 {
    Clock::new().now().mono.as_micros()
}

impl Wire {
    /// Gives the peer the time of a short message.
    pub fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let mut wire = Wire { socket, deadline: 0 };
        wire.allow(0);
        Ok(wire)
    }

    fn left(&self) -> io::Result<Duration> {
        match self.deadline.saturating_sub(mono_us()) {
            0 => Err(io::ErrorKind::TimedOut.into()),
            us => Ok(Duration::from_micros(us)),
        }
    }
}

impl Read for Wire {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(self.left()?))?;
        self.socket.read(out)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(self.left()?))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// A stream that a deadline can be set for.
pub trait Patient: Read + Write {
    /// From now on the peer has the time that a message of `bytes` may take.
    fn allow(&mut self, bytes: usize);
}

impl Patient for Wire {
    fn allow(&mut self, bytes: usize) {
        let more = Duration::from_secs(bytes as u64 / BYTES_PER_S);
        // A deadline fits: a message of 2^64 bytes would, at this speed, take 2^49 seconds.
        self.deadline = mono_us().saturating_add((PATIENCE + more).as_micros() as u64);
    }
}

impl Patient for StreamOwned<ServerConnection, Wire> {
    fn allow(&mut self, bytes: usize) {
        self.sock.allow(bytes);
    }
}

impl Patient for StreamOwned<ClientConnection, Wire> {
    fn allow(&mut self, bytes: usize) {
        self.sock.allow(bytes);
    }
}
