//! The service's requests and responses.

use crate::answer::Database;

/// The longest body that any request has beside queries, bytes.
pub const SMALL_BODY: usize = 1_024;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// `GET /v1/epochs`: entry of the log (8) ‖ signed head, for each epoch that is served.
    Epochs,
    /// `GET /v1/log/head`: a tree head, signed now.
    LogHead,
    /// `GET /v1/log/leaves`: all leaf hashes.
    LogLeaves,
    /// `GET /v1/log/recent/SIZE`: the last entries of the log of SIZE entries ([`crate::recent`]).
    LogRecent {
        /// How many entries it had.
        size: u64,
    },
    /// `GET /v1/log/inclusion/INDEX/SIZE`: hashes.
    LogInclusion {
        /// Of which entry.
        index: u64,
        /// In the tree of how many.
        size: u64,
    },
    /// `GET /v1/log/consistency/OLD/SIZE`: hashes. For auditors: a subscriber who asked with the size that
    /// he saw last would be known by it.
    LogConsistency {
        /// From the tree of how many.
        old: u64,
        /// To the tree of how many.
        size: u64,
    },
    /// `GET /v1/log/entry/INDEX`: an entry.
    LogEntry {
        /// Which.
        index: u64,
    },
    /// `GET /v1/epoch/N/top`: the top of the directory.
    Top {
        /// Of which epoch.
        epoch: u64,
    },
    /// `GET /v1/epoch/N/{table,directory}/hint`: a retrieval hint.
    Hint {
        /// Of which epoch.
        epoch: u64,
        /// Of which database.
        database: Database,
    },
    /// `GET /v1/epoch/N/{table,directory}`: all rows, or all keys.
    Whole {
        /// Of which epoch.
        epoch: u64,
        /// Which database.
        database: Database,
    },
    /// `POST /v1/epoch/N/{table,directory}`: a query; a signed answer comes back.
    Retrieve {
        /// Of which epoch.
        epoch: u64,
        /// From which database.
        database: Database,
    },
    /// `POST /v1/enrol`: a request for a row; a receipt comes back.
    Enrol,
    /// `POST /v1/login/begin`: nothing; x1 comes back.
    LoginBegin,
    /// `POST /v1/login/finish`: the client's proof; the server's comes back.
    LoginFinish,
}

impl Route {
    /// The path of this route.
    pub fn path(&self) -> String {
        let name = |database: &Database| match database {
            Database::Table => "table",
            Database::Directory => "directory",
        };
        match self {
            Route::Epochs => "/v1/epochs".into(),
            Route::LogHead => "/v1/log/head".into(),
            Route::LogLeaves => "/v1/log/leaves".into(),
            Route::LogRecent { size } => format!("/v1/log/recent/{size}"),
            Route::LogInclusion { index, size } => format!("/v1/log/inclusion/{index}/{size}"),
            Route::LogConsistency { old, size } => format!("/v1/log/consistency/{old}/{size}"),
            Route::LogEntry { index } => format!("/v1/log/entry/{index}"),
            Route::Top { epoch } => format!("/v1/epoch/{epoch}/top"),
            Route::Hint { epoch, database } => {
                format!("/v1/epoch/{epoch}/{}/hint", name(database))
            }
            Route::Whole { epoch, database } | Route::Retrieve { epoch, database } => {
                format!("/v1/epoch/{epoch}/{}", name(database))
            }
            Route::Enrol => "/v1/enrol".into(),
            Route::LoginBegin => "/v1/login/begin".into(),
            Route::LoginFinish => "/v1/login/finish".into(),
        }
    }

    /// The method of this route.
    pub const fn method(&self) -> &'static str {
        match self {
            Route::Retrieve { .. } | Route::Enrol | Route::LoginBegin | Route::LoginFinish => {
                "POST"
            }
            _ => "GET",
        }
    }

    /// Finds the route of a request; `None` if there is none.
    pub fn parse(method: &str, path: &str) -> Option<Self> {
        let number = |text: &str| {
            // Digits only: `parse` takes a sign too.
            text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u64>().ok())?
        };
        let database = |text: &str| match text {
            "table" => Some(Database::Table),
            "directory" => Some(Database::Directory),
            _ => None,
        };
        let mut parts = [""; 7];
        let mut count = 0;
        for part in path.split('/') {
            *parts.get_mut(count)? = part;
            count += 1;
        }
        let route = match (method, &parts[..count]) {
            ("GET", ["", "v1", "epochs"]) => Route::Epochs,
            ("GET", ["", "v1", "log", "head"]) => Route::LogHead,
            ("GET", ["", "v1", "log", "leaves"]) => Route::LogLeaves,
            ("GET", ["", "v1", "log", "recent", size]) => Route::LogRecent { size: number(size)? },
            ("GET", ["", "v1", "log", "inclusion", index, size]) => {
                Route::LogInclusion { index: number(index)?, size: number(size)? }
            }
            ("GET", ["", "v1", "log", "consistency", old, size]) => {
                Route::LogConsistency { old: number(old)?, size: number(size)? }
            }
            ("GET", ["", "v1", "log", "entry", index]) => Route::LogEntry { index: number(index)? },
            ("GET", ["", "v1", "epoch", epoch, "top"]) => Route::Top { epoch: number(epoch)? },
            ("GET", ["", "v1", "epoch", epoch, of, "hint"]) => {
                Route::Hint { epoch: number(epoch)?, database: database(of)? }
            }
            ("GET", ["", "v1", "epoch", epoch, of]) => {
                Route::Whole { epoch: number(epoch)?, database: database(of)? }
            }
            ("POST", ["", "v1", "epoch", epoch, of]) => {
                Route::Retrieve { epoch: number(epoch)?, database: database(of)? }
            }
            ("POST", ["", "v1", "enrol"]) => Route::Enrol,
            ("POST", ["", "v1", "login", "begin"]) => Route::LoginBegin,
            ("POST", ["", "v1", "login", "finish"]) => Route::LoginFinish,
            _ => return None,
        };
        Some(route)
    }
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status (RFC 9110 §15).
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// It makes no sense.
    pub const BAD_REQUEST: Response = Response { status: 400, body: Vec::new() };
    /// It is refused.
    pub const FORBIDDEN: Response = Response { status: 403, body: Vec::new() };
    /// There is no such thing.
    pub const NOT_FOUND: Response = Response { status: 404, body: Vec::new() };
    /// The operator's store failed.
    pub const FAILED: Response = Response { status: 500, body: Vec::new() };
    /// Come back later.
    pub const BUSY: Response = Response { status: 503, body: Vec::new() };

    /// Here it is.
    pub const fn ok(body: Vec<u8>) -> Self {
        Response { status: 200, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_route_is_found_by_its_path() {
        let database = Database::Directory;
        for route in [
            Route::Epochs,
            Route::LogHead,
            Route::LogLeaves,
            Route::LogRecent { size: 70 },
            Route::LogInclusion { index: 3, size: 9 },
            Route::LogConsistency { old: 4, size: u64::MAX },
            Route::LogEntry { index: 0 },
            Route::Top { epoch: 7 },
            Route::Hint { epoch: 7, database: Database::Table },
            Route::Whole { epoch: 7, database },
            Route::Retrieve { epoch: 7, database },
            Route::Enrol,
            Route::LoginBegin,
            Route::LoginFinish,
        ] {
            assert_eq!(Route::parse(route.method(), &route.path()), Some(route));
            assert_eq!(Route::parse("PUT", &route.path()), None);
        }
        for wrong in ["", "/", "/v1", "/v1/epoch/+7/top", "/v1/epoch//top", "/v1/epochs/"] {
            assert_eq!(Route::parse("GET", wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_path_panics(method in "GET|POST|.*", path in "(/(v1|epoch|log|table|[0-9]*|.*)){0,9}") {
            let _ = Route::parse(&method, &path);
        }
    }
}
