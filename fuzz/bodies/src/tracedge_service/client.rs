//! Clients and their ways to the service.

use crate::Choices;
use crate::seeded::Seeded;
use crate::spoil::spoil;
use slyfi_tracedge::service::api::Route;
use slyfi_tracedge::service::{Connection, Request, Service};
use slyfi_tracedge::subscriber::Transport;
use std::convert::Infallible;

/// One connection, and what its client knows of it.
pub(super) struct Client {
    pub(super) connection: Connection,
    pub(super) rng: Seeded,
    pub(super) binding: Vec<u8>,
    /// The share of a login that has begun and was not answered, and when it did.
    pub(super) begun: Option<([u8; 32], u64)>,
    /// Messages that were sent, to be sent again.
    pub(super) proofs: Vec<Vec<u8>>,
}

impl Client {
    pub(super) fn new(number: u64) -> Self {
        Client {
            connection: Connection::default(),
            rng: Seeded(1_000 + number),
            binding: number.to_be_bytes().to_vec(),
            begun: None,
            proofs: Vec::new(),
        }
    }
}

/// A way that changes what comes back as the choices say.
pub(super) struct Way<'a, 'c> {
    service: &'a Service,
    connection: &'a mut Connection,
    now: u64,
    rng: Seeded,
    hostile: Option<&'a mut Choices<'c>>,
    /// Earlier responses, to be given out again.
    heard: Vec<Vec<u8>>,
    /// Whether anything was changed.
    pub(super) changed: bool,
    /// Requests that the service refused as such.
    pub(super) junk: u64,
    pub(super) answers: u64,
    pub(super) logins: u64,
    pub(super) refused: u64,
}

impl<'a, 'c> Way<'a, 'c> {
    pub(super) fn honest(
        service: &'a Service,
        connection: &'a mut Connection,
        now: u64,
        rng: Seeded,
    ) -> Self {
        Way {
            service,
            connection,
            now,
            rng,
            hostile: None,
            heard: Vec::new(),
            changed: false,
            junk: 0,
            answers: 0,
            logins: 0,
            refused: 0,
        }
    }

    pub(super) fn hostile(mut self, c: &'a mut Choices<'c>) -> Self {
        self.hostile = Some(c);
        self
    }
}

impl Transport for Way<'_, '_> {
    type Error = Infallible;

    fn call(&mut self, route: Route, body: &[u8]) -> Result<(u16, Vec<u8>), Infallible> {
        let path = route.path();
        let mut body = body.to_vec();
        if let Some(c) = &mut self.hostile
            && !c.is_empty()
            && c.byte() % 8 == 1
        {
            spoil(&mut body, c, &self.heard);
            self.changed = true;
        }
        let request = Request { method: route.method(), path: &path, body: &body };
        let response =
            self.service.handle(self.connection, request, b"way", self.now, &mut self.rng);
        self.junk += u64::from(matches!(response.status, 400 | 404));
        let is_retrieval = matches!(route, Route::Retrieve { .. });
        self.answers += u64::from(is_retrieval && response.status == 200);
        let is_login = route == Route::LoginFinish;
        self.logins += u64::from(is_login && response.status == 200);
        self.refused += u64::from(is_login && response.status == 403);
        let (mut status, mut answer) = (response.status, response.body);
        if let Some(c) = &mut self.hostile
            && !c.is_empty()
        {
            let genuine = answer.clone();
            match c.byte() % 6 {
                1 => spoil(&mut answer, c, &self.heard),
                2 => answer = c.run().to_vec(),
                3 => {
                    if let Some(earlier) = self.heard.get(c.below(self.heard.len())) {
                        answer = earlier.clone();
                    }
                }
                4 => status = [200, 400, 403, 404, 500, 503, c.short()][c.below(7)],
                _ => {}
            }
            self.changed |= answer != genuine || status != response.status;
            if genuine.len() < 1 << 16 {
                self.heard.push(genuine);
            }
        }
        Ok((status, answer))
    }

    fn binding(&self) -> Vec<u8> {
        b"way".to_vec()
    }
}
