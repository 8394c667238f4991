//! One connection: what HTTP/1.1 (RFC 9112) and HTTP/2 (RFC 9113) may cost here, and the way from a
//! request to its response.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue, TRANSFER_ENCODING};
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
use slyfi_linux::OsRandom;
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::service::{self, Service};
use tokio::net::TcpStream;
use tokio::sync::{OwnedMutexGuard, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio_rustls::TlsAcceptor;

use super::body::{Unread, Whole, discard, read};
use super::patience::{Patience, Suspended};
use super::places::Source;
use super::turns::Turns;
use super::{BINDING_LABEL, H2};
use crate::commands::tracedge::now_s;

/// The longest head of a request, bytes, and the most fields in it.
const LONGEST_HEAD: u16 = 8_192;
const MOST_FIELDS: usize = 32;
/// What HTTP/1.1 may buffer of a connection, each way, bytes.
const BUFFER: usize = 65_536;
/// Requests that may be under way on one connection. They are answered one after the other; the next
/// ones can come meanwhile.
const STREAMS: u32 = 4;
/// What a peer may send of a request that nobody reads yet, bytes. A connection's window has room for
/// all its streams': else one that waits could keep the one that is read from coming.
const WINDOW: u32 = 128 * 1_024;
/// Streams that a peer has opened and reset before they were looked at (CVE-2023-44487), and those that
/// were reset here because of what the peer did: with more the connection ends.
const RESETS: usize = 8;
/// How long a request may wait for a worker; a client would not wait much longer.
const QUEUE: Duration = Duration::from_secs(20);
/// How much of a body that is too long is thrown away, so that its sender hears why.
const LEFT_OVER: usize = 65_536;

/// What all connections have in common.
pub struct Shared {
    /// The service.
    pub service: Arc<Service>,
    /// Whose query is answered now: a core each.
    pub queries: Arc<Turns>,
    /// Whose other request is: these take no time, and do not wait behind queries.
    pub others: Arc<Turns>,
}

struct Peer {
    shared: Arc<Shared>,
    source: Source,
    binding: [u8; 32],
    patience: Arc<Patience>,
    /// Locked from a request's first byte to its response's last: a connection has one of each.
    state: Arc<tokio::sync::Mutex<service::Connection>>,
}

/// What is held until a response is sent.
struct Sending {
    _state: Option<OwnedMutexGuard<service::Connection>>,
    patience: Arc<Patience>,
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.patience.allow(0);
    }
}

type Reply = Response<Whole<Sending>>;

/// Attends to a connection until it ends, the peer takes too long, or `stop` says so and what is under
/// way is done. Whatever goes wrong is this peer's business, and goes with it.
pub async fn attend(
    shared: Arc<Shared>,
    tls: TlsAcceptor,
    socket: TcpStream,
    source: Source,
    patience: Arc<Patience>,
    stop: watch::Receiver<bool>,
) {
    let mut talk = pin!(talk(shared, tls, socket, source, Arc::clone(&patience), stop));
    let mut over = pin!(patience.over());
    poll_fn(|cx| {
        let ends = talk.as_mut().poll(cx).is_ready() || over.as_mut().poll(cx).is_ready();
        if ends { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

async fn talk(
    shared: Arc<Shared>,
    tls: TlsAcceptor,
    socket: TcpStream,
    source: Source,
    patience: Arc<Patience>,
    stop: watch::Receiver<bool>,
) {
    let Ok(stream) = tls.accept(socket).await else { return };
    let (_, session) = stream.get_ref();
    let Ok(binding) = session.export_keying_material([0; 32], BINDING_LABEL, None) else { return };
    let h2 = session.alpn_protocol() == Some(H2);
    patience.allow(0);
    let state = Arc::new(tokio::sync::Mutex::new(service::Connection::default()));
    let peer = Arc::new(Peer { shared, source, binding, patience, state });
    let answer = service_fn(move |request| Arc::clone(&peer).answer(request));
    let stream = TokioIo::new(stream);
    if h2 {
        let streams = Streams(Arc::default());
        let _ends = EndsWith(streams.clone());
        let connection = http2::Builder::new(streams)
            .max_concurrent_streams(STREAMS)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW * STREAMS)
            .adaptive_window(false)
            .max_frame_size(16_384)
            .max_header_list_size(u32::from(LONGEST_HEAD))
            .header_table_size(0)
            .max_pending_accept_reset_streams(RESETS)
            .max_local_error_reset_streams(RESETS)
            .max_send_buf_size(BUFFER)
            .auto_date_header(false)
            .serve_connection(stream, answer);
        until_stopped(pin!(connection), stop, http2::Connection::graceful_shutdown).await;
    } else {
        let connection = http1::Builder::new()
            .max_headers(MOST_FIELDS)
            .max_header_size(usize::from(LONGEST_HEAD))
            .max_buf_size(BUFFER)
            // [`Patience`] sees to slow heads, and needs no second clock.
            .header_read_timeout(None)
            .half_close(false)
            .auto_date_header(false)
            .serve_connection(stream, answer);
        until_stopped(pin!(connection), stop, http1::Connection::graceful_shutdown).await;
    }
}

/// Drives a connection to its end, which is near once `stop` has come.
async fn until_stopped<C: Future>(
    mut connection: Pin<&mut C>,
    mut stop: watch::Receiver<bool>,
    shut_down: impl Fn(Pin<&mut C>),
) {
    let mut stopped = pin!(stop.wait_for(|stop| *stop));
    let mut told = false;
    poll_fn(|cx| {
        if !told && stopped.as_mut().poll(cx).is_ready() {
            told = true;
            shut_down(connection.as_mut());
        }
        connection.as_mut().poll(cx).map(drop)
    })
    .await;
}

/// Runs the streams of an HTTP/2 connection.
#[derive(Clone)]
struct Streams(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while streams.try_join_next().is_some() {}
        streams.spawn(stream);
    }
}

/// Ends all streams with their connection.
struct EndsWith(Streams);

impl Drop for EndsWith {
    fn drop(&mut self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

impl Peer {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Reply, Infallible> {
        let state = Arc::clone(&self.state).lock_owned().await;
        let (head, mut body) = request.into_parts();
        let version = head.version;
        // What HTTP/1.1 does not send with its length announced is refused, as its elders are.
        let odd = version < Version::HTTP_11 || head.headers.contains_key(TRANSFER_ENCODING);
        if odd {
            return Ok(self.refuse(StatusCode::BAD_REQUEST, version, state));
        }
        // With its query part, which no route has.
        let path = head.uri.path_and_query().map_or("", |path| path.as_str()).to_owned();
        let method = head.method;
        let most = self.shared.service.longest_body(method.as_str(), &path);
        self.patience.allow(most);
        let body = match read(&mut body, most).await {
            Ok(body) => body,
            Err(Unread::TooLong) => {
                // A stream that is reset while its peer still sends may take the answer with it: some
                // clients (curl) report the reset and not the status. HTTP/1.1 closes instead.
                if version >= Version::HTTP_2 {
                    discard(&mut body, LEFT_OVER).await;
                }
                return Ok(self.refuse(StatusCode::PAYLOAD_TOO_LARGE, version, state));
            }
            Err(Unread::Broken) => {
                return Ok(self.refuse(StatusCode::BAD_REQUEST, version, state));
            }
        };
        let waits = self.patience.suspend();
        if let Some(whole) = self.shared.service.download(method.as_str(), &path) {
            return Ok(self.reply(200, Bytes::from_owner(whole), Some(state), waits));
        }
        let query = matches!(Route::parse(method.as_str(), &path), Some(Route::Retrieve { .. }));
        let turns = if query { &self.shared.queries } else { &self.shared.others };
        let turn = tokio::time::timeout(QUEUE, turns.take(self.source)).await;
        let Ok(Some(turn)) = turn else {
            let busy = service::api::Response::BUSY;
            return Ok(self.reply(busy.status, Bytes::new(), Some(state), waits));
        };
        let me = Arc::clone(&self);
        let work = spawn_blocking(move || {
            let mut state = state;
            let asked = service::Request { method: method.as_str(), path: &path, body: &body };
            let response =
                me.shared.service.handle(&mut state, asked, &me.binding, now_s(), &mut OsRandom);
            drop(turn);
            (response, state)
        });
        Ok(match work.await {
            Ok((response, state)) => {
                self.reply(response.status, response.body.into(), Some(state), waits)
            }
            // It is the service that failed: this connection's login is lost with it.
            Err(_) => self.reply(500, Bytes::new(), None, waits),
        })
    }

    fn reply(
        &self,
        status: u16,
        body: Bytes,
        state: Option<OwnedMutexGuard<service::Connection>>,
        waits: Suspended,
    ) -> Reply {
        drop(waits);
        self.patience.allow(body.len());
        let sending = Sending { _state: state, patience: Arc::clone(&self.patience) };
        let mut reply = Response::new(Whole::new(body, sending));
        *reply.status_mut() =
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let octets = HeaderValue::from_static("application/octet-stream");
        reply.headers_mut().insert(CONTENT_TYPE, octets);
        reply
    }

    /// Refuses a request whose body was not read: over HTTP/1.1 nothing can follow it.
    fn refuse(
        self: &Arc<Self>,
        status: StatusCode,
        version: Version,
        state: OwnedMutexGuard<service::Connection>,
    ) -> Reply {
        let waits = self.patience.suspend();
        let mut reply = self.reply(status.as_u16(), Bytes::new(), Some(state), waits);
        if version < Version::HTTP_2 {
            reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        reply
    }
}
