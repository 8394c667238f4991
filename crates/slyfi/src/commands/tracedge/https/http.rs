//! HTTP/1.1 (RFC 9112) as far as the service needs it: one request, one response, lengths known
//! beforehand. What else a request may be is refused.

use std::io::{self, Read as _};

use super::wire::Patient;

/// The longest head of a message, bytes.
const LONGEST_HEAD: usize = 8_192;
/// The most header fields of a message.
const MOST_FIELDS: usize = 32;

/// Why there is no message.
#[derive(Debug)]
pub enum HttpError {
    /// The peer has closed between two messages.
    Closed,
    /// It is no message that is understood here.
    Malformed,
    /// It is longer than it may be.
    TooLong,
    /// The connection failed, or the peer took too long.
    Io(io::Error),
}

impl From<io::Error> for HttpError {
    fn from(e: io::Error) -> Self {
        HttpError::Io(e)
    }
}

impl std::fmt::Display for HttpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HttpError::Closed => f.write_str("the connection was closed"),
            HttpError::Malformed => f.write_str("what came is not HTTP/1.1"),
            HttpError::TooLong => f.write_str("what came is longer than it may be"),
            HttpError::Io(e) => e.fmt(f),
        }
    }
}

/// A request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// Its body.
    pub body: Vec<u8>,
    /// Whether it is the last of its connection.
    pub close: bool,
}

/// A connection's stream and what was read of it too early.
pub struct Messages<S> {
    /// The stream.
    pub stream: S,
    early: Vec<u8>,
}

impl<S: Patient> Messages<S> {
    /// Nothing was read yet.
    pub fn new(stream: S) -> Self {
        Messages { stream, early: Vec::new() }
    }

    /// Reads a request, of whose body `most` says how long it may be.
    pub fn request(
        &mut self,
        most: impl FnOnce(&str, &str) -> usize,
    ) -> Result<Request, HttpError> {
        let head = self.head()?;
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        let whole = parsed.parse(&head).is_ok_and(|status| status.is_complete());
        let (Some(method), Some(path), true) = (parsed.method, parsed.path, whole) else {
            return Err(HttpError::Malformed);
        };
        if parsed.version != Some(1) {
            return Err(HttpError::Malformed);
        }
        let length = length(parsed.headers)?.unwrap_or(0);
        let close = parsed.headers.iter().any(|field| {
            field.name.eq_ignore_ascii_case("connection")
                && field.value.eq_ignore_ascii_case(b"close")
        });
        let body = self.body(length, most(method, path))?;
        Ok(Request { method: method.to_owned(), path: path.to_owned(), body, close })
    }

    /// Reads a response of `most` bytes at most: status and body.
    pub fn response(&mut self, most: usize) -> Result<(u16, Vec<u8>), HttpError> {
        let head = self.head()?;
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut parsed = httparse::Response::new(&mut fields);
        let whole = parsed.parse(&head).is_ok_and(|status| status.is_complete());
        let (Some(code), true) = (parsed.code, whole) else { return Err(HttpError::Malformed) };
        let length = length(parsed.headers)?.ok_or(HttpError::Malformed)?;
        Ok((code, self.body(length, most)?))
    }

    /// Sends a request.
    pub fn ask(&mut self, method: &str, host: &str, path: &str, body: &[u8]) -> io::Result<()> {
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n");
        self.send(head.as_bytes(), body)
    }

    /// Sends a response.
    pub fn answer(&mut self, status: u16, body: &[u8]) -> io::Result<()> {
        let reason = match status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            413 => "Content Too Large",
            503 => "Service Unavailable",
            _ => "Error",
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: application/octet-stream\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        self.send(head.as_bytes(), body)
    }

    fn send(&mut self, head: &[u8], body: &[u8]) -> io::Result<()> {
        self.stream.allow(body.len());
        self.stream.write_all(head)?;
        self.stream.write_all(body)?;
        self.stream.flush()
    }

    /// Reads up to the empty line.
    fn head(&mut self) -> Result<Vec<u8>, HttpError> {
        self.stream.allow(0);
        loop {
            if let Some(at) = self.early.windows(4).position(|four| four == b"\r\n\r\n") {
                let rest = self.early.split_off(at + 4);
                return Ok(std::mem::replace(&mut self.early, rest));
            }
            if self.early.len() >= LONGEST_HEAD {
                return Err(HttpError::TooLong);
            }
            let mut some = [0; 2_048];
            let none = self.early.is_empty();
            match self.stream.read(&mut some) {
                Ok(0) if none => return Err(HttpError::Closed),
                Ok(0) => return Err(HttpError::Malformed),
                Ok(n) => self.early.extend_from_slice(&some[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => (),
                // Peers leave without TLS's farewell as well.
                Err(e) if none && e.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(HttpError::Closed);
                }
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Reads a body. Memory is taken as bytes come, not as they are announced.
    fn body(&mut self, length: usize, most: usize) -> Result<Vec<u8>, HttpError> {
        if length > most {
            return Err(HttpError::TooLong);
        }
        self.stream.allow(length);
        let rest = self.early.split_off(length.min(self.early.len()));
        let mut body = std::mem::replace(&mut self.early, rest);
        let missing = (length - body.len()) as u64;
        io::Read::take(&mut self.stream, missing).read_to_end(&mut body)?;
        if body.len() == length { Ok(body) } else { Err(HttpError::Malformed) }
    }
}

/// The length of the body that follows; a body of unknown length is refused, as is a doubtful one.
fn length(fields: &[httparse::Header<'_>]) -> Result<Option<usize>, HttpError> {
    let mut found = None;
    for field in fields {
        if field.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(HttpError::Malformed);
        }
        if field.name.eq_ignore_ascii_case("content-length") {
            let digits = std::str::from_utf8(field.value).ok();
            // Digits only: `parse` takes a sign too.
            let digits = digits.filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
            let number = digits.and_then(|text| text.parse().ok()).ok_or(HttpError::Malformed)?;
            if found.replace(number).is_some() {
                return Err(HttpError::Malformed);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes one at a time, as a slow peer does.
    struct Slow(std::collections::VecDeque<u8>);

    impl io::Read for Slow {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match (self.0.pop_front(), out.first_mut()) {
                (Some(byte), Some(place)) => {
                    *place = byte;
                    Ok(1)
                }
                _ => Ok(0),
            }
        }
    }

    impl io::Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Patient for Slow {
        fn allow(&mut self, _bytes: usize) {}
    }

    fn messages(bytes: &[u8]) -> Messages<Slow> {
        Messages::new(Slow(bytes.iter().copied().collect()))
    }

    fn read(bytes: &[u8]) -> Result<Request, HttpError> {
        messages(bytes).request(|_, _| 5)
    }

    #[test]
    fn what_is_sent_is_what_is_read() {
        let mut both = messages(b"");
        both.ask("POST", "host", "/v1/enrol", b"body").unwrap();
        both.ask("GET", "host", "/v1/epochs", b"").unwrap();
        let first = both.request(|_, _| 5).unwrap();
        assert_eq!((first.path.as_str(), &first.body[..]), ("/v1/enrol", &b"body"[..]));
        assert_eq!(both.request(|_, _| 0).unwrap().path, "/v1/epochs");
        assert!(matches!(both.request(|_, _| 0), Err(HttpError::Closed)));
        both.answer(503, b"later").unwrap();
        assert_eq!(both.response(5).unwrap(), (503, b"later".to_vec()));
        both.answer(200, b"longer").unwrap();
        assert!(matches!(both.response(5), Err(HttpError::TooLong)));
    }

    #[test]
    fn refuses_bodies_of_doubtful_length() {
        let with =
            |fields: &str| read(format!("POST /x HTTP/1.1\r\n{fields}\r\n\r\n12345").as_bytes());
        assert!(with("Content-Length: 5").is_ok());
        assert!(matches!(with("Content-Length: 6"), Err(HttpError::TooLong)));
        for wrong in [
            "Content-Length: +5",
            "Content-Length: 5, 5",
            "Content-Length: 5\r\nContent-Length: 5",
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Content-Length: 99999999999999999999999",
            "no field",
        ] {
            assert!(matches!(with(wrong), Err(HttpError::Malformed)), "{wrong}");
        }
        let cut = read(b"POST /x HTTP/1.1\r\nContent-Length: 5\r\n\r\n1234");
        assert!(matches!(cut, Err(HttpError::Malformed)));
        assert!(matches!(read(b"GET /x HTTP/1.0\r\n\r\n"), Err(HttpError::Malformed)));
    }

    #[test]
    fn refuses_heads_without_end() {
        assert!(matches!(read(&[b'a'; 20_000]), Err(HttpError::TooLong)));
        assert!(matches!(read(b"GET /x HTTP/1.1\r\n"), Err(HttpError::Malformed)));
        let many = format!("GET /x HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(40));
        assert!(matches!(read(many.as_bytes()), Err(HttpError::Malformed)));
    }
}
