//! An operator of the library's parts that is not as honest as `slyfi tracedge serve`: what it answers
//! goes through a test's hands, and its clock is the test's.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};
use slyfi_linux::OsRandom;
use slyfi_tracedge::SchemeId;
use slyfi_tracedge::epoch::{EpochKey, EpochSecret};
use slyfi_tracedge::operator::{Schemes, Serving, build_table};
use slyfi_tracedge::pieces::Work;
use slyfi_tracedge::service::api::Response;
use slyfi_tracedge::service::store::Store;
use slyfi_tracedge::service::{Connection, Request, Service};
use slyfi_tracedge::table;

use crate::world::{TempDir, ok};

/// What a request's answer is made into.
type Tamper = Box<dyn FnMut(&Service, &Request<'_>, Response) -> Response + Send>;

/// What the threads share.
struct Shared {
    service: Service,
    /// How far its clock is ahead, seconds.
    ahead: AtomicI64,
    tamper: Mutex<Option<Tamper>>,
    /// Every request's head, as it came.
    heads: Mutex<Vec<String>>,
    /// How each connection's keys were agreed on.
    handshakes: Mutex<Vec<HandshakeKind>>,
    ending: AtomicBool,
}

/// An operator in this process.
pub struct Operator {
    /// `None` once it was closed.
    dir: Option<TempDir>,
    pub port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

fn clock() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

impl Operator {
    /// Made by `init`, run here.
    pub fn new(name: &str) -> Self {
        let dir = TempDir::new(name);
        ok(&["init", "--dir", &dir.path("operator"), "--rows", "300"]);
        Self::run(dir, 0)
    }

    /// Runs what is in this directory.
    pub fn run(dir: TempDir, port: u16) -> Self {
        let operator = dir.path("operator");
        let pem = |name: &str| fs::read(format!("{operator}/{name}")).unwrap();
        let chain =
            CertificateDer::pem_slice_iter(&pem("server.pem")).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(&pem("server.key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let store = Store::open(format!("{operator}/operator.redb").as_ref()).unwrap();
        let service = Service::new(store, NonZeroUsize::new(2).unwrap()).unwrap();
        let shared = Arc::new(Shared {
            service,
            ahead: AtomicI64::new(0),
            tamper: Mutex::default(),
            heads: Mutex::default(),
            handshakes: Mutex::default(),
            ending: AtomicBool::new(false),
        });
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (config, sharing) = (Arc::new(config), Arc::clone(&shared));
        // One connection after the other: commands come so.
        let thread = std::thread::spawn(move || {
            for socket in listener.incoming() {
                if sharing.ending.load(Ordering::Acquire) {
                    return;
                }
                // Whoever goes away in the middle is the test's business.
                let _ = attend(&sharing, Arc::clone(&config), socket.unwrap());
            }
        });
        Operator { dir: Some(dir), port, shared, thread: Some(thread) }
    }

    /// Its directory, with what is in it.
    pub fn dir(&self) -> &TempDir {
        self.dir.as_ref().unwrap()
    }

    /// Ends it, and leaves its directory.
    pub fn close(mut self) -> TempDir {
        self.dir.take().unwrap()
    }

    pub fn service(&self) -> &Service {
        &self.shared.service
    }

    pub fn id(&self) -> String {
        self.service().keys().id().to_string()
    }

    /// Its time, Unix seconds.
    pub fn now(&self) -> u64 {
        self.shared.now()
    }

    /// Sets its clock ahead (or back).
    pub fn set_ahead(&self, seconds: i64) {
        self.shared.ahead.store(seconds, Ordering::Release);
    }

    /// From now on answers go through `tamper`.
    pub fn tamper(
        &self,
        tamper: impl FnMut(&Service, &Request<'_>, Response) -> Response + Send + 'static,
    ) {
        *self.shared.tamper.lock().unwrap() = Some(Box::new(tamper));
    }

    /// The requests that came so far, and how many connections there were.
    pub fn seen(&self) -> (Vec<String>, Vec<HandshakeKind>) {
        let take = std::mem::take::<Vec<String>>;
        let heads = take(&mut self.shared.heads.lock().unwrap());
        (heads, std::mem::take(&mut *self.shared.handshakes.lock().unwrap()))
    }

    /// An invitation, as a file.
    pub fn invite(&self, name: &str) -> String {
        let until = self.now() + 3_600;
        let made = self.service().with_store(|store| store.invite(until, &mut OsRandom)).unwrap();
        let invitation: String = made.iter().map(|byte| format!("{byte:02x}")).collect();
        let authority = fs::read_to_string(self.dir().path("operator/authority.pem")).unwrap();
        let url = format!("https://127.0.0.1:{}", self.port);
        let file = self.dir().path(&format!("{name}.invite"));
        let json = serde_json::json!({
            "url": url,
            "operator": self.id(),
            "authority": authority,
            "invitation": invitation,
            "until": until,
        });
        fs::write(&file, json.to_string()).unwrap();
        file
    }

    /// Subscribes somebody, whose directory comes back.
    pub fn subscribe(&self, name: &str) -> String {
        let dir = self.dir().path(name);
        ok(&["subscribe", &self.invite(name), "--dir", &dir]);
        dir
    }

    /// K and list of keys of the epoch that comes.
    pub fn next_epoch(&self) -> (EpochSecret, Vec<u8>) {
        let now = self.now();
        let read = |store: &mut Store| (store.next_epoch(now).unwrap(), store.directory().unwrap());
        let (epoch, directory) = self.service().with_store(read);
        (EpochSecret::derive(&epoch, EpochKey::generate(&mut OsRandom)), directory)
    }

    /// The honest table.
    pub fn table(&self, secret: &EpochSecret, directory: &[u8]) -> Vec<u8> {
        let rows = Mutex::new(Vec::new());
        build_table(self.service().keys(), secret, directory, &rows, &Work::quiet()).unwrap();
        rows.into_inner().unwrap()
    }

    /// Serves this table under a head that commits to it.
    pub fn serving(
        &self,
        secret: &EpochSecret,
        directory: &[u8],
        rows: &[u8],
        scheme: SchemeId,
    ) -> Serving {
        let (keys, tree) = (self.service().keys(), table::tree(rows));
        let (schemes, work) = (Schemes::both(scheme), Work::quiet());
        Serving::prepare(keys, secret, directory, rows, &tree, schemes, &work).unwrap()
    }

    /// Publishes an epoch of this table.
    pub fn publish(&self, secret: &EpochSecret, directory: &[u8], rows: &[u8], scheme: SchemeId) {
        let serving = self.serving(secret, directory, rows, scheme);
        self.service().publish(serving, secret.key().clone(), None).unwrap();
    }

    /// Publishes an honest epoch.
    pub fn build(&self, scheme: SchemeId) -> EpochSecret {
        let (secret, directory) = self.next_epoch();
        self.publish(&secret, &directory, &self.table(&secret, &directory), scheme);
        secret
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Release);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            // What went wrong there the test has seen from its side.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn now(&self) -> u64 {
        (clock() + self.ahead.load(Ordering::Acquire)) as u64
    }
}

/// HTTP/1.1 as `slyfi`'s own client speaks it, and no more.
fn attend(
    shared: &Shared,
    config: Arc<ServerConfig>,
    mut socket: TcpStream,
) -> std::io::Result<()> {
    let mut tls = ServerConnection::new(config).unwrap();
    while tls.is_handshaking() {
        tls.complete_io(&mut socket)?;
    }
    shared.handshakes.lock().unwrap().push(tls.handshake_kind().unwrap());
    let binding = tls.export_keying_material([0; 32], b"EXPORTER-Channel-Binding", None).unwrap();
    let mut stream = StreamOwned::new(tls, socket);
    let mut connection = Connection::default();
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        stream.read_exact(&mut body)?;
        let mut words = head.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let request = Request { method, path, body: &body };
        let now = shared.now();
        let mut response =
            shared.service.handle(&mut connection, request, &binding, now, &mut OsRandom);
        if let Some(tamper) = &mut *shared.tamper.lock().unwrap() {
            response = tamper(&shared.service, &request, response);
        }
        shared.heads.lock().unwrap().push(head.clone());
        let length = response.body.len();
        let head = format!("HTTP/1.1 {} X\r\nContent-Length: {length}\r\n\r\n", response.status);
        stream.write_all(head.as_bytes())?;
        stream.write_all(&response.body)?;
        stream.flush()?;
    }
}
