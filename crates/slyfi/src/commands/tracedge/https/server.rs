use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use slyfi_linux::OsRandom;
use slyfi_tracedge::service::{Connection, Request, Service};

use super::BINDING_LABEL;
use super::http::{HttpError, Messages};
use super::wire::Wire;
use crate::commands::tracedge::now_s;

/// Gives its place back when the connection ends, however it ends.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Attends to every connection on a thread of its own, `most` of them at a time; who comes then is
/// closed upon. Nothing about a connection is written down. Never ends.
pub fn run(service: &Service, listener: &TcpListener, config: &Arc<ServerConfig>, most: usize) {
    let open = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for socket in listener.incoming() {
            let Ok(socket) = socket else {
                // Out of descriptors, most likely: let connections end.
                std::thread::park_timeout(Duration::from_millis(50));
                continue;
            };
            let before = open.fetch_add(1, Ordering::Acquire);
            let place = Place(&open);
            if before >= most {
                continue;
            }
            let config = Arc::clone(config);
            let attend = move || {
                let _place = place;
                // Whatever went wrong was this peer's business, and goes with it.
                let _ = attend(service, config, socket);
            };
            // Without a thread the peer is closed upon, as when there are too many.
            let _ = std::thread::Builder::new().spawn_scoped(scope, attend);
        }
    });
}

fn attend(
    service: &Service,
    config: Arc<ServerConfig>,
    socket: TcpStream,
) -> Result<(), HttpError> {
    let failed = |e: rustls::Error| HttpError::Io(std::io::Error::other(e));
    let mut wire = Wire::new(socket)?;
    let mut tls = ServerConnection::new(config).map_err(failed)?;
    while tls.is_handshaking() {
        tls.complete_io(&mut wire)?;
    }
    let binding = tls.export_keying_material([0; 32], BINDING_LABEL, None).map_err(failed)?;
    let mut messages = Messages::new(StreamOwned::new(tls, wire));
    let mut connection = Connection::default();
    loop {
        let request = match messages.request(|method, path| service.longest_body(method, path)) {
            Ok(request) => request,
            Err(HttpError::TooLong) => break messages.answer(413, &[])?,
            Err(HttpError::Malformed) => break messages.answer(400, &[])?,
            Err(e) => return Err(e),
        };
        let asked = Request { method: &request.method, path: &request.path, body: &request.body };
        let response = service.handle(&mut connection, asked, &binding, now_s(), &mut OsRandom);
        messages.answer(response.status, &response.body)?;
        if request.close {
            break;
        }
    }
    messages.stream.conn.send_close_notify();
    std::io::Write::flush(&mut messages.stream)?;
    Ok(())
}
