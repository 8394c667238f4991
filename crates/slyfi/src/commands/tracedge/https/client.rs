use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::header::{HOST, HeaderValue};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use slyfi_link::{Error, ErrorKind, Result};
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::subscriber::Transport;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::body::{Unread, Whole, read};
use super::patience::{PATIENCE, time_for};
use super::{BINDING_LABEL, H2, client_config};

const CONNECT: Duration = Duration::from_secs(10);
/// The longest hint and the longest of any other response, bytes.
const LONGEST_HINT: usize = 1 << 30;
const LONGEST: usize = 64 << 20;
/// What may come that was not read yet, bytes: a hint over a long way.
const WINDOW: u32 = 4 << 20;

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

type Body = Whole<()>;

/// What requests are handed to.
enum Requests {
    Http1(http1::SendRequest<Body>),
    Http2(http2::SendRequest<Body>),
}

/// A connection to an operator.
///
/// A fresh one for each command, with nothing in it that another one had: no session is resumed, and
/// requests carry method, path, host and length, and no more.
pub struct Https {
    url: String,
    /// `None` once it is closed.
    open: Option<Open>,
    binding: [u8; 32],
}

struct Open {
    requests: Requests,
    /// Runs while somebody waits for a response.
    runtime: Runtime,
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
        socket.set_nodelay(true).map_err(unreachable)?;
        socket.set_nonblocking(true).map_err(unreachable)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(unreachable)?;
        let another = |e: &dyn std::fmt::Display| {
            let cause = format!("{url} does not prove that it is the operator who invited: {e}");
            let mend = "somebody is in between, or the operator has a new certificate: ask it";
            Error::new(ErrorKind::NoLink, cause, mend)
        };
        let (requests, binding) = runtime.block_on(async {
            let socket = tokio::net::TcpStream::from_std(socket).map_err(unreachable)?;
            let tls = TlsConnector::from(config).connect(name, socket);
            let late = |_| unreachable(std::io::ErrorKind::TimedOut.into());
            let tls = timeout(PATIENCE, tls).await.map_err(late)?.map_err(|e| another(&e))?;
            let (_, session) = tls.get_ref();
            let binding = session
                .export_keying_material([0; 32], BINDING_LABEL, None)
                .map_err(|e| another(&e))?;
            let h2 = session.alpn_protocol() == Some(H2);
            let failed = |e: hyper::Error| unreachable(std::io::Error::other(e));
            let requests = shake_hands(TokioIo::new(tls), h2).await.map_err(failed)?;
            Ok::<_, Error>((requests, binding))
        })?;
        Ok(Https { url: url.to_owned(), open: Some(Open { requests, runtime }), binding })
    }
}

async fn shake_hands<S>(stream: S, h2: bool) -> hyper::Result<Requests>
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    // The connection's own task: what goes wrong in it, the request that is under way is told.
    if h2 {
        let (requests, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .handshake(stream)
            .await?;
        tokio::spawn(connection);
        Ok(Requests::Http2(requests))
    } else {
        let (requests, connection) = http1::handshake(stream).await?;
        tokio::spawn(connection);
        Ok(Requests::Http1(requests))
    }
}

/// A request of this route, the same whoever asks.
fn request(url: &str, h2: bool, route: Route, body: &[u8]) -> Option<Request<Body>> {
    let origin = url.strip_suffix('/').unwrap_or(url);
    let (authority, path) = (origin.strip_prefix("https://")?, route.path());
    let mut request = Request::new(Whole::new(Bytes::copy_from_slice(body), ()));
    *request.method_mut() = route.method().parse().ok()?;
    if h2 {
        *request.uri_mut() = format!("{origin}{path}").parse().ok()?;
    } else {
        *request.uri_mut() = path.parse().ok()?;
        request.headers_mut().insert(HOST, HeaderValue::from_str(authority).ok()?);
    }
    Some(request)
}

impl Transport for Https {
    type Error = Error;

    fn call(&mut self, route: Route, body: &[u8]) -> Result<(u16, Vec<u8>)> {
        let most = if matches!(route, Route::Hint { .. }) { LONGEST_HINT } else { LONGEST };
        let url = &self.url;
        let failed = |e: &dyn std::fmt::Display| {
            Error::new(ErrorKind::NoLink, format!("{url}: {e}"), "try again")
        };
        let late = |_| failed(&"the operator takes too long");
        let closed = || failed(&"the connection was closed");
        let Open { requests, runtime } = self.open.as_mut().ok_or_else(closed)?;
        runtime.block_on(async {
            let h2 = matches!(requests, Requests::Http2(_));
            let request = request(url, h2, route, body).ok_or_else(|| failed(&"no request"))?;
            let response = async {
                match requests {
                    Requests::Http1(requests) => {
                        requests.ready().await?;
                        requests.send_request(request).await
                    }
                    Requests::Http2(requests) => {
                        requests.ready().await?;
                        requests.send_request(request).await
                    }
                }
            };
            // The time of the request's way there, and of the response's first word.
            let response = timeout(time_for(body.len()) + PATIENCE, response).await;
            let response = response.map_err(late)?.map_err(|e| failed(&e))?;
            let status = response.status().as_u16();
            let mut body: Incoming = response.into_body();
            let announced = hyper::body::Body::size_hint(&body).lower();
            let announced = usize::try_from(announced).unwrap_or(usize::MAX).min(most);
            let body = timeout(time_for(announced), read(&mut body, most)).await;
            let body = body.map_err(late)?.map_err(|e| match e {
                Unread::TooLong => failed(&"what came is longer than it may be"),
                Unread::Broken => failed(&"the response did not come whole"),
            })?;
            Ok((status, body))
        })
    }

    fn binding(&self) -> Vec<u8> {
        self.binding.to_vec()
    }

    fn rest(&mut self) {
        self.open = None;
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
