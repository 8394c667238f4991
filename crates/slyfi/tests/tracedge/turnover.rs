//! Epochs that follow each other while `serve` runs, by a clock that leaps.

use std::time::Duration;

use serde_json::Value;

use crate::world::{Clock, Serve, TempDir, World, failed, ok, succeeded};

/// Tries until it succeeds: what `serve` does by the clock it does when it looks at it.
fn soon<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..240 {
        if let Some(done) = attempt() {
            return done;
        }
        std::thread::sleep(Duration::from_millis(250));
    }
    panic!("{what}");
}

#[test]
fn the_next_epoch_is_built_meanwhile_and_takes_over() {
    let dir = TempDir::new("turnover");
    let Some(clock) = Clock::new(&dir) else { return };
    let operator = dir.path("operator");
    ok(&["init", "--dir", &operator, "--rows", "300", "--epoch-minutes", "10", "--scheme", "lwe"]);
    let serve = Serve::start_as(clock.slyfi(), &operator, 0);
    let world = World { dir, operator, serve };
    let (ann, bob) = (world.subscribe("ann"), world.subscribe("bob"));
    world.build();
    let run = |args: &[&str]| clock.tracedge(args);
    let fetch = |dir: &str, more: &[&str]| -> Option<u64> {
        let out = run(&[&["fetch", "--json", "--dir", dir][..], more].concat());
        let json: Value = serde_json::from_slice(&out.stdout).ok()?;
        json["epoch"].as_u64()
    };
    let prove = |dir: &str| {
        let args = ["prove", "--json", "--dir", dir];
        let json: Value = serde_json::from_str(&succeeded(&args, run(&args))).unwrap();
        json["epoch"].as_u64().unwrap()
    };
    assert_eq!((fetch(&ann, &[]), fetch(&bob, &[])), (Some(0), Some(0)));
    assert_eq!(fetch(&ann, &["--next"]), None, "it is not due");

    // The middle: the next one is built while this one serves.
    clock.set(310);
    let built = soon("the next epoch is not built", || {
        assert_eq!(prove(&bob), 0);
        fetch(&ann, &["--next"])
    });
    assert_eq!(built, 1);
    assert_eq!(prove(&ann), 0, "it has not begun");

    // It begins. Who has its key logs on with it, who has not may use the old one for a while.
    clock.set(620);
    assert_eq!((prove(&ann), prove(&bob)), (1, 0));
    assert_eq!(fetch(&bob, &[]), Some(1));

    // The old one is over, its table gone and its K in the log; the one after is built.
    clock.set(940);
    let ask = |path: &str| {
        world.send(format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n").as_bytes())
    };
    soon("the old epoch is not ended", || {
        ask("/v1/epoch/0/top").starts_with("HTTP/1.1 404").then_some(())
    });
    assert!(ask("/v1/epoch/1/top").starts_with("HTTP/1.1 200"));
    let query =
        b"POST /v1/epoch/0/table HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc";
    assert!(world.send(query).starts_with("HTTP/1.1 413"), "nobody asks an old table");
    assert_eq!(soon("no third epoch", || fetch(&ann, &["--next"])), 2);
    assert_eq!((prove(&ann), prove(&bob)), (1, 1));

    // Who was away has an old key, is told so, and gets the new one.
    clock.set(1_600);
    soon("the second epoch is not ended", || {
        ask("/v1/epoch/1/top").starts_with("HTTP/1.1 404").then_some(())
    });
    let args = ["prove", "--dir", &bob];
    let old = failed(6, &args, run(&args));
    assert!(old.contains("no key of this epoch (that of epoch 1 ended"), "{old}");
    assert!(old.contains("slyfi tracedge fetch"), "{old}");
    assert_eq!(prove(&ann), 2, "she had fetched ahead");
    assert_eq!(fetch(&bob, &[]), Some(2));
    assert_eq!(prove(&bob), 2);
}
