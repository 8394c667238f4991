//! What goes wrong says what to do.

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;

use rustls::HandshakeKind;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use slyfi_tracedge::SchemeId;
use slyfi_tracedge::service::api::{Response, Route};

use crate::cheat::Operator;
use crate::world::{Clock, TempDir, failed, fails, json, ok, succeeded};

const DAY: i64 = 86_400;

#[test]
fn who_is_not_subscribed_is_told_how_to() {
    let dir = TempDir::new("nobody");
    for command in ["fetch", "prove", "status", "complete"] {
        let told = fails(4, &[command, "--dir", &dir.path("nobody")]);
        assert!(told.contains("not subscribed"), "{told}");
        assert!(told.contains("slyfi tracedge subscribe INVITATION"), "{told}");
    }
}

#[test]
fn an_operator_that_was_never_made_is_told_how_to() {
    let dir = TempDir::new("never");
    for command in ["serve", "build"] {
        let told = fails(4, &[command, "--dir", &dir.path("operator")]);
        assert!(told.contains("slyfi tracedge init"), "{told}");
    }
}

#[test]
fn a_key_of_another_epoch_is_told_to_be_fetched_anew() {
    let operator = Operator::new("stale");
    let ann = operator.subscribe("ann");
    operator.build(SchemeId::Lwe);
    ok(&["fetch", "--dir", &ann]);
    ok(&["prove", "--dir", &ann]);
    // To the operator the epoch is over, and another has begun.
    operator.set_ahead(3_600 + 310);
    operator.service().retire(operator.now()).unwrap();
    operator.build(SchemeId::Lwe);
    let refused = fails(6, &["prove", "--dir", &ann]);
    assert!(refused.contains("the login was refused"), "{refused}");
    assert!(refused.contains("fetch the key of this epoch: slyfi tracedge fetch"), "{refused}");
}

#[test]
fn clocks_that_differ_are_told_by_how_much() {
    for (ahead, told) in [(4 * 3_600, "clock is 4 h behind"), (-4 * 3_600, "clock is 4 h ahead of")]
    {
        let operator = Operator::new(&format!("clock{ahead}"));
        let ann = operator.subscribe("ann");
        operator.set_ahead(ahead);
        operator.build(SchemeId::Lwe);
        let off = fails(6, &["fetch", "--dir", &ann]);
        // The operator's clock may be some seconds further.
        let almost = told.replace("4 h", "3 h");
        assert!(off.contains(told) || off.contains(&almost), "{off}");
        assert!(off.contains("wrong epoch") && off.contains("set the clock"), "{off}");
    }
}

#[test]
fn an_epoch_that_ends_while_it_is_asked_about_is_followed_by_the_next() {
    let operator = Operator::new("ends");
    let ann = operator.subscribe("ann");
    operator.build(SchemeId::Lwe);
    operator.build(SchemeId::Lwe);
    // It ends before the first query: the head that the subscriber holds is an old one by then.
    let mut ended = false;
    operator.tamper(move |_, request, response| {
        let route = Route::parse(request.method, request.path);
        let first = matches!(route, Some(Route::Retrieve { .. })) && !ended;
        ended |= first;
        if first { Response::NOT_FOUND } else { response }
    });
    // It asks for a fresh head and goes on with that.
    assert_eq!(json(&["fetch", "--dir", &ann, "--json"])["epoch"], 0);
    // If it stays away, that is said.
    operator.tamper(|_, request, response| {
        let route = Route::parse(request.method, request.path);
        if matches!(route, Some(Route::Retrieve { .. })) { Response::NOT_FOUND } else { response }
    });
    let gone = fails(6, &["fetch", "--dir", &ann]);
    assert!(gone.contains("the epoch has just ended, or not begun"), "{gone}");
    assert!(gone.contains("try again in a minute"), "{gone}");
    // So is an operator that is busy.
    operator.tamper(|_, request, response| {
        let route = Route::parse(request.method, request.path);
        if matches!(route, Some(Route::Retrieve { .. })) { Response::BUSY } else { response }
    });
    let busy = fails(6, &["fetch", "--dir", &ann]);
    assert!(busy.contains("busy") && busy.contains("try again in a few seconds"), "{busy}");
}

#[test]
fn who_was_away_for_a_week_comes_back_and_catches_up() {
    let dir = TempDir::new("week");
    let Some(clock) = Clock::new(&dir) else { return };
    clock.set(-7 * DAY);
    let made = dir.path("operator");
    let init = ["init", "--dir", &made, "--rows", "300", "--epoch-minutes", "720"];
    succeeded(&init, clock.tracedge(&init));
    let operator = Operator::run(dir, 0);
    let set = |ahead: i64| {
        clock.set(ahead);
        operator.set_ahead(ahead);
    };
    set(-7 * DAY);
    let ann = operator.subscribe("ann");
    operator.build(SchemeId::Lwe);
    let fetch = ["fetch", "--dir", &ann];
    succeeded(&fetch, clock.tracedge(&fetch));
    let prove = ["prove", "--dir", &ann];
    succeeded(&prove, clock.tracedge(&prove));
    // The operator goes on, twice a day.
    for half_days in 1..=14 {
        set(-7 * DAY + half_days * DAY / 2);
        operator.service().retire(operator.now()).unwrap();
        operator.build(SchemeId::Lwe);
    }
    let old = failed(6, &prove, clock.tracedge(&prove));
    assert!(
        old.contains("there is no key of this epoch (that of epoch 0 ended 6 days ago)"),
        "{old}"
    );
    assert!(old.contains("slyfi tracedge fetch"), "{old}");
    let fetched = clock.tracedge(&["fetch", "--dir", &ann, "--json"]);
    let fetched: serde_json::Value = serde_json::from_str(&succeeded(&fetch, fetched)).unwrap();
    assert_eq!(fetched["epoch"], 14);
    succeeded(&prove, clock.tracedge(&prove));
    let status = json(&["status", "--dir", &ann, "--json"]);
    assert_eq!(status["keys"], serde_json::json!([14]), "old keys are not kept");
}

#[test]
fn requests_look_the_same_whoever_asks_and_no_session_is_resumed() {
    let operator = Operator::new("same");
    let (ann, bob) = (operator.subscribe("ann"), operator.subscribe("bob"));
    operator.build(SchemeId::Hintless);
    operator.seen();
    let mut views = Vec::new();
    for (dir, rounds) in [(&ann, 1), (&bob, 2)] {
        for _ in 0..rounds {
            ok(&["fetch", "--dir", dir, "--audits", "2"]);
            ok(&["prove", "--dir", dir]);
            let (mut heads, handshakes) = operator.seen();
            assert_eq!(handshakes, [HandshakeKind::Full; 2], "a fresh connection each");
            heads.sort();
            views.push(heads);
        }
    }
    assert!(views.iter().all(|heads| heads == &views[0]), "{views:?}");
    for head in &views[0] {
        for field in head.lines().skip(1).filter(|line| !line.is_empty()) {
            let (name, _) = field.split_once(": ").unwrap();
            assert!(["host", "content-length"].contains(&name), "{field}");
        }
    }
}

#[test]
fn what_others_wrote_does_not_command_the_terminal() {
    let clean = |told: &str| assert!(!told.contains(char::is_control), "{told:?}");
    let operator = Operator::new("escape");
    let (ann, invite) = (operator.subscribe("ann"), operator.invite("bob"));
    let (bob, heads) = (operator.dir().path("bob"), operator.dir().path("heads"));
    operator.build(SchemeId::Lwe);
    ok(&["fetch", "--dir", &ann]);
    ok(&["heads", "--dir", &ann, "--export", &heads]);
    let read = |path: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    // To clear the screen, in the ways of seven and of eight bits, and to turn the text around.
    let escape = "\u{1b}[2J\u{9b}2J\u{202e}";
    let shown = "\\u{1b}[2J\\u{9b}2J\\u{202e}";
    let mut shown_by_another = read(&heads);
    shown_by_another["url"] = format!("https://a{escape}").into();
    std::fs::write(&heads, shown_by_another.to_string()).unwrap();
    let told = fails(5, &["heads", "--dir", &ann, "--compare", &heads]);
    clean(&told);
    assert!(told.contains(shown), "{told}");
    let invited = read(&invite);
    for field in ["url", "operator", "authority", "invitation", escape] {
        let mut changed = invited.clone();
        changed[field] = format!("https://a{escape}:1").into();
        std::fs::write(&invite, changed.to_string()).unwrap();
        let out = crate::world::tracedge(&["subscribe", &invite, "--dir", &bob]);
        assert!(!out.status.success() && out.stdout.is_empty());
        let told = String::from_utf8(out.stderr).unwrap();
        clean(told.trim_end());
        assert!(!["url", escape].contains(&field) || told.contains(shown), "{told}");
    }
    // Nor what a server answers with.
    std::fs::write(&invite, invited.to_string()).unwrap();
    for status in [200, 403, 404, 500, 503] {
        operator.tamper(move |_, _, _| Response { status, body: escape.as_bytes().to_vec() });
        for command in [&["fetch", "--dir", &ann][..], &["subscribe", &invite, "--dir", &bob]] {
            let out = crate::world::tracedge(command);
            assert!(!out.status.success() && out.stdout.is_empty());
            clean(String::from_utf8(out.stderr).unwrap().trim_end());
        }
    }
}

#[test]
fn http_2_is_spoken_where_the_operator_offers_it() {
    let operator = Operator::new("offers");
    let invite = operator.invite("ann");
    let dir = operator.close();
    let pem = |name: &str| std::fs::read(dir.path(&format!("operator/{name}"))).unwrap();
    let chain = CertificateDer::pem_slice_iter(&pem("server.pem")).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(&pem("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut state: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&invite).unwrap()).unwrap();
    state["url"] = format!("https://127.0.0.1:{port}").into();
    std::fs::write(&invite, state.to_string()).unwrap();
    let preface = std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let tls = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = rustls::StreamOwned::new(tls, socket);
        let mut preface = [0; 24];
        stream.read_exact(&mut preface).unwrap();
        preface
    });
    // It closes then, which is said.
    let told = fails(6, &["subscribe", &invite, "--dir", &dir.path("ann")]);
    assert!(told.contains(&format!("https://127.0.0.1:{port}")), "{told}");
    assert_eq!(&preface.join().unwrap(), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
}

#[test]
fn a_plan_from_a_debug_build_says_that_it_means_nothing() {
    let args =
        ["plan", "--subscribers", "1e6", "--logins-per-s", "10", "--scheme", "lwe", "--json"];
    let out = crate::world::tracedge(&args);
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    let plan: serde_json::Value = serde_json::from_str(&succeeded(&args, out)).unwrap();
    assert_eq!(plan["release"], !cfg!(debug_assertions));
    let warned = err.contains("debug build") && err.contains("cargo run --release");
    assert_eq!(warned, cfg!(debug_assertions), "{err}");
}
