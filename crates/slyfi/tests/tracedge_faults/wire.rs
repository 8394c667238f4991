//! A subscriber's connection within the test: TLS and HTTP/1.1 by hand.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use slyfi_tracedge::answer::Database;
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::subscriber::Transport;

/// Trusts the operator in `dir`, and speaks HTTP/1.1.
pub fn config(dir: &str) -> Arc<ClientConfig> {
    let authority = std::fs::read(format!("{dir}/authority.pem")).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&authority).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = rustls::client::Resumption::disabled();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// A connection.
pub struct Wire {
    stream: StreamOwned<ClientConnection, TcpStream>,
    binding: [u8; 32],
    early: Vec<u8>,
    /// Path and lengths of every request and response, in their order.
    pub seen: Vec<(String, usize, u16, usize)>,
    /// The last query of the table.
    pub query: Vec<u8>,
}

impl Wire {
    pub fn connect(config: &Arc<ClientConfig>, to: SocketAddr) -> io::Result<Self> {
        let name = "127.0.0.1".try_into().unwrap();
        let mut tls = ClientConnection::new(Arc::clone(config), name).unwrap();
        let mut socket = TcpStream::connect(to)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(Duration::from_secs(120)))?;
        while tls.is_handshaking() {
            tls.complete_io(&mut socket)?;
        }
        let binding = tls
            .export_keying_material([0; 32], b"EXPORTER-Channel-Binding", None)
            .map_err(io::Error::other)?;
        let stream = StreamOwned::new(tls, socket);
        Ok(Wire { stream, binding, early: Vec::new(), seen: Vec::new(), query: Vec::new() })
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// Sends a request.
    pub fn ask(&mut self, method: &str, path: &str, body: &[u8]) -> io::Result<()> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.send(&[head.as_bytes(), body].concat())
    }

    /// Reads a response.
    pub fn response(&mut self) -> io::Result<(u16, Vec<u8>)> {
        let mut bytes = std::mem::take(&mut self.early);
        loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&bytes[..at]).to_ascii_lowercase();
                let status = head.get(9..12).and_then(|code| code.parse().ok());
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.and_then(|n| n.parse().ok()).unwrap_or(0);
                if bytes.len() >= at + 4 + length {
                    self.early = bytes.split_off(at + 4 + length);
                    bytes.drain(..at + 4);
                    let status = status.ok_or(io::ErrorKind::InvalidData)?;
                    return Ok((status, bytes));
                }
            }
            let mut some = [0; 16_384];
            match self.stream.read(&mut some)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => bytes.extend_from_slice(&some[..n]),
            }
        }
    }
}

impl Transport for Wire {
    type Error = io::Error;

    fn call(&mut self, route: Route, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let path = route.path();
        if matches!(route, Route::Retrieve { database: Database::Table, .. }) {
            self.query = body.to_vec();
        }
        self.ask(route.method(), &path, body)?;
        let (status, answer) = self.response()?;
        self.seen.push((path, body.len(), status, answer.len()));
        Ok((status, answer))
    }

    fn binding(&self) -> Vec<u8> {
        self.binding.to_vec()
    }
}
