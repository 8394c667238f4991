use std::future::poll_fn;
use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rustls::ServerConfig;
use slyfi_tracedge::service::Service;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::connection::{self, Shared};
use super::patience::Patience;
use super::places::{Places, Source};
use super::turns::Turns;

/// Threads for everything that is not a query: logins, heads, the log.
const OTHERS: usize = 2;
/// Threads that wait for the network.
const NETWORK: usize = 2;
/// How long a peer may take to agree on keys.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long what is under way may take when the server is to end.
const GRACE: Duration = Duration::from_secs(10);

/// Serves at most `most` connections at a time, until `stop` says so;
/// then finishes what is under way. Nothing about a connection is written down.
///
/// # Errors
/// The system's, if it refuses threads or the socket.
pub fn run(
    service: Arc<Service>,
    listener: TcpListener,
    config: Arc<ServerConfig>,
    most: usize,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    // Most of them wait for a pass that answers them together with others.
    let answering = service.most_answering();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(NETWORK)
        .max_blocking_threads(answering + OTHERS)
        .thread_name("https")
        .enable_io()
        .enable_time()
        .build()?;
    let queries = Turns::new(answering);
    let shared = Arc::new(Shared { service, queries, others: Turns::new(OTHERS) });
    listener.set_nonblocking(true)?;
    let served = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        accept(shared, &listener, TlsAcceptor::from(config), &Places::new(most), stop).await;
        Ok(())
    });
    runtime.shutdown_timeout(GRACE);
    served
}

async fn accept(
    shared: Arc<Shared>,
    listener: &tokio::net::TcpListener,
    tls: TlsAcceptor,
    places: &Arc<Places>,
    stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let mut until = stop.clone();
    let mut stopped = pin!(until.wait_for(|stop| *stop));
    loop {
        let next = poll_fn(|cx| {
            if stopped.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            listener.poll_accept(cx).map(Some)
        });
        let Some(accepted) = next.await else { break };
        while connections.try_join_next().is_some() {}
        let Ok((socket, peer)) = accepted else {
            // Out of descriptors, most likely: let connections end.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let source = Source::of(peer.ip());
        let patience = Arc::new(Patience::new(HANDSHAKE));
        // Who finds no place is closed upon.
        let Some(place) = places.take(source, Arc::clone(&patience)) else { continue };
        // Without it answers are late, not wrong.
        let _ = socket.set_nodelay(true);
        let (shared, tls, stop) = (Arc::clone(&shared), tls.clone(), stop.clone());
        connections.spawn(async move {
            let _place = place;
            connection::attend(shared, tls, socket, source, patience, stop).await;
        });
    }
    let all = async { while connections.join_next().await.is_some() {} };
    // Who is not done by then is not waited for.
    let _ = tokio::time::timeout(GRACE, all).await;
}
