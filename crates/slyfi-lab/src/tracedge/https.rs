//! The service over TLS 1.3 on a shaped link, with heads of HTTP/1.1: the round trips and, within some
//! bytes, the lengths that `slyfi tracedge fetch` and `prove` have.

use super::link::{End, LinkShape};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};
use slyfi_tracedge::random::SeededRandom;
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::service::{Connection, Request, Service};
use slyfi_tracedge::subscriber::Transport;
use std::io::{self, Read, Write};
use std::sync::Arc;

const HOST: &str = "operator.example";
/// RFC 9266.
const BINDING_LABEL: &[u8] = b"EXPORTER-Channel-Binding";

/// What both ends of a channel are set up with: a certificate of the operator's own, which the
/// subscriber has from its invitation, and no session tickets.
pub struct Configurations {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Configurations {
    /// Makes a certificate.
    ///
    /// # Errors
    /// What rustls or rcgen said.
    pub fn generate() -> io::Result<Self> {
        let made =
            rcgen::generate_simple_self_signed(vec![HOST.to_owned()]).map_err(io::Error::other)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone()).map_err(io::Error::other)?;
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .map_err(io::Error::other)?;
        server.send_tls13_tickets = 0;
        Ok(Configurations { client: Arc::new(client), server: Arc::new(server) })
    }
}

/// The subscriber's end of a connection.
pub struct Https {
    stream: StreamOwned<ClientConnection, End>,
    binding: [u8; 32],
}

impl Https {
    /// Connects over a link of this shape; the server's end is attended to on another thread, until
    /// this one is dropped. `now` is Unix time, seconds.
    ///
    /// # Errors
    /// If the channel does not come about.
    pub fn connect<'scope>(
        scope: &'scope std::thread::Scope<'scope, '_>,
        shape: LinkShape,
        configurations: &Configurations,
        service: &'scope Service,
        now: u64,
    ) -> io::Result<Self> {
        let (client, server) = shape.connect();
        let config = Arc::clone(&configurations.server);
        // How it ended is the client's to say: it sees the connection close.
        scope.spawn(move || attend(service, config, server, now));
        let name = ServerName::try_from(HOST).map_err(io::Error::other)?;
        let mut end = client;
        let mut tls = ClientConnection::new(Arc::clone(&configurations.client), name)
            .map_err(io::Error::other)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut end)?;
        }
        let exported = tls.export_keying_material([0; 32], BINDING_LABEL, None);
        let binding = exported.map_err(io::Error::other)?;
        Ok(Https { stream: StreamOwned::new(tls, end), binding })
    }

    /// Bytes sent and received so far, TLS included.
    pub fn bytes(&self) -> (u64, u64) {
        self.stream.sock.carried()
    }
}

impl Transport for Https {
    type Error = io::Error;

    fn call(&mut self, route: Route, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let (method, path, length) = (route.method(), route.path(), body.len());
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {length}\r\n\r\n");
        self.stream.write_all(head.as_bytes())?;
        self.stream.write_all(body)?;
        self.stream.flush()?;
        let (line, body) = message(&mut self.stream)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        Ok((status.ok_or(io::ErrorKind::InvalidData)?, body))
    }

    fn binding(&self) -> Vec<u8> {
        self.binding.to_vec()
    }
}

/// The operator's end: requests are the service's, one after another.
fn attend(service: &Service, config: Arc<ServerConfig>, mut end: End, now: u64) -> io::Result<()> {
    let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
    while tls.is_handshaking() {
        tls.complete_io(&mut end)?;
    }
    let exported = tls.export_keying_material([0; 32], BINDING_LABEL, None);
    let binding = exported.map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(tls, end);
    let mut connection = Connection::default();
    let rng = &mut SeededRandom::new(binding);
    loop {
        let (line, body) = message(&mut stream)?;
        let mut words = line.split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let request = Request { method, path, body: &body };
        let response = service.handle(&mut connection, request, &binding, now, rng);
        let head = format!(
            "HTTP/1.1 {} OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n",
            response.status,
            response.body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&response.body)?;
        stream.flush()?;
    }
}

/// Reads a message: its first line and its body. Both ends are this module, so what comes is as it was
/// sent: one head, a length, a body.
fn message(stream: &mut impl Read) -> io::Result<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        // What is read is in memory already: rustls hands out of what it has decrypted.
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).map_err(io::Error::other)?;
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let length: usize =
        length.and_then(|text| text.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((head.lines().next().unwrap_or_default().to_owned(), body))
}
