use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use slyfi_link::{Error, ErrorKind, Result};
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::subscriber::Transport;

use super::http::Messages;
use super::wire::Wire;
use super::{BINDING_LABEL, client_config};

const CONNECT: Duration = Duration::from_secs(10);
/// The longest hint and the longest of any other response, bytes.
const LONGEST_HINT: usize = 1 << 30;
const LONGEST: usize = 64 << 20;

/// Splits `https://HOST:PORT` (RFC 3986) into host, without brackets, and port.
fn split(url: &str) -> Option<(&str, u16)> {
    let authority = url.strip_prefix("https://")?;
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (authority, 443),
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = bare.unwrap_or(host);
    let odd = |c: char| !(c.is_ascii_alphanumeric() || "-.:".contains(c));
    (!host.is_empty() && !host.contains(odd)).then_some((host, port))
}

/// Refuses what is no address of an operator.
pub fn check_url(url: &str) -> Result<()> {
    parse(url).map(|_| ())
}

fn parse(url: &str) -> Result<(&str, u16, ServerName<'static>)> {
    let parsed = split(url)
        .and_then(|(host, port)| Some((host, port, ServerName::try_from(host.to_owned()).ok()?)));
    parsed.ok_or_else(|| {
        let cause = format!("`{url}` is no address of an operator");
        Error::new(ErrorKind::Usage, cause, "give https://HOST:PORT")
    })
}

/// A connection to an operator.
pub struct Https {
    url: String,
    host: String,
    messages: Messages<StreamOwned<ClientConnection, Wire>>,
    binding: [u8; 32],
}

impl Https {
    /// Connects, and makes sure that it is the operator whose authority (PEM) was given.
    pub fn connect(url: &str, authority: &str) -> Result<Self> {
        let (host, port, name) = parse(url)?;
        let config = client_config(authority.as_bytes())?;
        let unreachable = |e: std::io::Error| {
            let mend = "is the network up, and does the operator's `slyfi tracedge serve` run?";
            Error::new(ErrorKind::NoLink, format!("{url}: {e}"), mend)
        };
        let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
        let mut socket = None;
        for address in (host, port).to_socket_addrs().map_err(unreachable)? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(connected) => {
                    socket = Some(connected);
                    break;
                }
                Err(e) => last = e,
            }
        }
        let socket = socket.ok_or(last).map_err(unreachable)?;
        let mut wire = Wire::new(socket).map_err(unreachable)?;
        let another = |e: &dyn std::fmt::Display| {
            let cause = format!("{url} does not prove that it is the operator who invited: {e}");
            let mend = "somebody is in between, or the operator has a new certificate: ask it";
            Error::new(ErrorKind::NoLink, cause, mend)
        };
        let mut tls = ClientConnection::new(config, name).map_err(|e| another(&e))?;
        while tls.is_handshaking() {
            tls.complete_io(&mut wire).map_err(|e| another(&e))?;
        }
        let binding =
            tls.export_keying_material([0; 32], BINDING_LABEL, None).map_err(|e| another(&e))?;
        let messages = Messages::new(StreamOwned::new(tls, wire));
        Ok(Https { url: url.to_owned(), host: host.to_owned(), messages, binding })
    }
}

impl Transport for Https {
    type Error = Error;

    fn call(&mut self, route: Route, body: &[u8]) -> Result<(u16, Vec<u8>)> {
        let most = if matches!(route, Route::Hint { .. }) { LONGEST_HINT } else { LONGEST };
        let failed = |e: &dyn std::fmt::Display| {
            Error::new(ErrorKind::NoLink, format!("{}: {e}", self.url), "try again")
        };
        let asked = self.messages.ask(route.method(), &self.host, &route.path(), body);
        asked.map_err(|e| failed(&e))?;
        self.messages.response(most).map_err(|e| failed(&e))
    }

    fn binding(&self) -> Vec<u8> {
        self.binding.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_addresses_and_nothing_else() {
        assert_eq!(split("https://example.org:8443"), Some(("example.org", 8443)));
        assert_eq!(split("https://example.org/"), Some(("example.org", 443)));
        assert_eq!(split("https://[::1]:1"), Some(("::1", 1)));
        for wrong in ["http://a:1", "https://", "https://a:x", "https://a/b", "https://a\r\nb:1"] {
            assert_eq!(split(wrong), None, "{wrong}");
        }
    }
}
