//! The way between subscriber and operator: HTTP/2 or HTTP/1.1 over TLS 1.3, certificates by the
//! operator's own authority, which its invitations carry.

mod body;
pub mod client;
mod connection;
mod patience;
mod places;
pub mod server;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use slyfi_link::{Error, ErrorKind, Result};

/// How long an authority and its certificate are good.
const VALID: Duration = Duration::from_secs(10 * 365 * 86_400);

/// RFC 9266's label: what both ends of one channel can compute, and nobody between two channels.
const BINDING_LABEL: &[u8] = b"EXPORTER-Channel-Binding";

/// HTTP/2's name (RFC 9113 §3.2), and HTTP/1.1's.
const H2: &[u8] = b"h2";
const H1: &[u8] = b"http/1.1";

/// What both ends speak, the better first.
fn protocols() -> Vec<Vec<u8>> {
    vec![H2.to_vec(), H1.to_vec()]
}

/// An authority, and a server's certificate by it, as PEM.
pub struct Certificates {
    /// What subscribers trust.
    pub authority: String,
    /// What signs further certificates.
    pub authority_key: String,
    /// What the server shows.
    pub server: String,
    /// Its key.
    pub server_key: String,
}

impl Certificates {
    /// Makes an authority for this operator alone, and a certificate for `names`.
    pub fn generate(names: &[String], now: u64) -> Result<Self> {
        let made = || -> std::result::Result<Self, rcgen::Error> {
            let (ca_key, key) = (KeyPair::generate()?, KeyPair::generate()?);
            // A day back: clocks differ.
            let begin =
                rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(now.saturating_sub(86_400));
            let params = |names: &[String], name: &str| {
                let mut params = CertificateParams::new(names)?;
                params.distinguished_name.push(DnType::CommonName, name);
                (params.not_before, params.not_after) = (begin, begin + VALID);
                Ok::<_, rcgen::Error>(params)
            };
            let mut authority = params(&[], "slyfi tracedge operator")?;
            authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            let certificate = authority.self_signed(&ca_key)?;
            let (authority_key, authority_pem) = (ca_key.serialize_pem(), certificate.pem());
            let issuer = Issuer::new(authority, ca_key);
            let server = params(names, "slyfi tracedge")?.signed_by(&key, &issuer)?;
            Ok(Certificates {
                authority: authority_pem,
                authority_key,
                server: server.pem(),
                server_key: key.serialize_pem(),
            })
        };
        made().map_err(|e| {
            let names = names.join(" ");
            Error::new(ErrorKind::Usage, format!("a certificate for {names}: {e}"), "see --host")
        })
    }
}

/// What a server shows and can prove.
///
/// There are no session tickets: a client that came back with one would be known again.
pub fn server_config(certificate: &[u8], key: &[u8]) -> Result<Arc<ServerConfig>> {
    let bad = |e: &dyn std::fmt::Display| {
        let mend = "put a certificate and its key there as PEM, or `init` anew elsewhere";
        Error::new(ErrorKind::Usage, format!("the server's certificate: {e}"), mend)
    };
    let chain: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(certificate).collect();
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| bad(&e))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| bad(&e))?
        .with_no_client_auth()
        .with_single_cert(chain.map_err(|e| bad(&e))?, key)
        .map_err(|e| bad(&e))?;
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.alpn_protocols = protocols();
    Ok(Arc::new(config))
}

/// Trusts `authority` (PEM) and nobody else, and asks for no resumption.
pub fn client_config(authority: &[u8]) -> Result<Arc<ClientConfig>> {
    let bad = |e: &dyn std::fmt::Display| {
        let cause = format!("the operator's certificate in the invitation: {e}");
        Error::new(ErrorKind::Invite, cause, "ask the operator for a new invitation")
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority) {
        roots.add(certificate.map_err(|e| bad(&e))?).map_err(|e| bad(&e))?;
    }
    if roots.is_empty() {
        return Err(bad(&"there is none"));
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|e| bad(&e))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.alpn_protocols = protocols();
    Ok(Arc::new(config))
}
