use super::*;
use crate::testing::TempDir;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

/// Answers requests until the last connection is closed.
fn serve(mut server: Server, mut reply: impl FnMut(Result<Request, Error>) -> Response) {
    let mut open = Vec::new();
    let started = std::time::Instant::now();
    while started.elapsed().as_secs() < 10 {
        if let Some((id, _)) = server.accept() {
            open.push(id);
        }
        for id in open.clone() {
            for incoming in server.read(id) {
                let response = reply(incoming.request);
                server.answer(incoming.connection, &response);
            }
        }
        if !open.is_empty() && open.iter().all(|id| server.connection(*id).is_none()) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("the connection was never closed");
}

fn done(_: Result<Request, Error>) -> Response {
    Response::Ok(Answer::Done)
}

#[test]
fn a_request_reaches_the_daemon_and_its_answer_comes_back() {
    let dir = TempDir::new("control");
    let path = dir.path().join("control.sock");
    let server = Server::bind(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let thread = std::thread::spawn(move || {
        serve(server, |request| match request {
            Ok(Request::Metrics) => Response::Ok(Answer::Metrics("x 1\n".to_owned())),
            Ok(_) => {
                let e = Error::new(ErrorKind::Invite, "cause", "mend");
                Response::Error(e.into())
            }
            Err(e) => Response::Error(e.into()),
        });
    });
    let mut client = Client::connect(&path).unwrap().unwrap();
    assert_eq!(client.ask(&Request::Metrics), Ok(Answer::Metrics("x 1\n".to_owned())));
    let refused = client.ask(&Request::Roam).unwrap_err();
    assert_eq!(refused, Error::new(ErrorKind::Invite, "cause", "mend"));
    drop(client);
    thread.join().unwrap();
    assert!(!path.exists(), "the socket goes with its daemon");
}

#[test]
fn nobody_listening_is_no_daemon_and_no_error() {
    let dir = TempDir::new("control");
    let path = dir.path().join("control.sock");
    assert!(Client::connect(&path).unwrap().is_none());
    // A killed daemon leaves its socket behind.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    assert!(Client::connect(&path).unwrap().is_none());
    assert!(Server::bind(&path).is_ok());
}

#[test]
fn a_file_in_the_way_is_not_removed_and_a_listening_daemon_not_replaced() {
    let dir = TempDir::new("control");
    let path = dir.path().join("control.sock");
    std::fs::write(&path, "precious").unwrap();
    assert_eq!(Server::bind(&path).unwrap_err().kind, ErrorKind::Usage);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    let path = dir.path().join("other.sock");
    let _first = Server::bind(&path).unwrap();
    assert!(Server::bind(&path).unwrap_err().cause.contains("another daemon"));
}

#[test]
fn what_is_no_request_is_refused_and_the_connection_goes_on() {
    let dir = TempDir::new("control");
    let path = dir.path().join("control.sock");
    let server = Server::bind(&path).unwrap();
    let thread = std::thread::spawn(move || {
        serve(server, |request| match request {
            Ok(_) => Response::Ok(Answer::Done),
            Err(e) => Response::Error(e.into()),
        });
    });
    let mut stream = UnixStream::connect(&path).unwrap();
    let lines = "nonsense\n{\"request\":\"fly\"}\n{\"request\":\"pair\"}\n{\"request\":\"roam\"}\n";
    stream.write_all(lines.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    thread.join().unwrap();
    let answers: Vec<Response> =
        answers.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(answers.len(), 4);
    assert!(answers[..3].iter().all(|a| matches!(a, Response::Error(_))));
    assert_eq!(answers[3], Response::Ok(Answer::Done));
}

#[test]
fn an_endless_line_ends_the_connection() {
    let dir = TempDir::new("control");
    let path = dir.path().join("control.sock");
    let server = Server::bind(&path).unwrap();
    let thread = std::thread::spawn(move || serve(server, done));
    let mut stream = UnixStream::connect(&path).unwrap();
    // Refused at some point: the daemon stops reading and closes.
    let outcome = (0..1024).try_for_each(|_| stream.write_all(&[b'x'; 1024]));
    thread.join().unwrap();
    assert!(outcome.is_err() || stream.read(&mut [0; 1]).is_ok_and(|n| n == 0));
}

#[test]
fn requests_and_answers_keep_their_form() {
    for (request, json) in [
        (Request::Status, r#"{"request":"status"}"#),
        (
            Request::Pair { label: "laptop".to_owned(), valid_s: 600 },
            r#"{"request":"pair","label":"laptop","valid_s":600}"#,
        ),
        (Request::Dismiss { link: 3 }, r#"{"request":"dismiss","link":3}"#),
        (Request::Revoke { id: "ab".to_owned() }, r#"{"request":"revoke","id":"ab"}"#),
    ] {
        assert_eq!(serde_json::to_string(&request).unwrap(), json);
        assert_eq!(serde_json::from_str::<Request>(json).unwrap(), request);
    }
    let done = serde_json::to_string(&Response::Ok(Answer::Done)).unwrap();
    assert_eq!(done, r#"{"ok":"done"}"#);
}
