//! tracedge-2015's numbers.

/// The size of everything in the paper (Table 2).
pub const ROWS: u64 = 10_000_000;

/// Table 3: log₂ q, and the least number of additions before a failure in 10⁸ repetitions.
pub const TABLE3: [(u32, f64); 11] = [
    (11, 2.0),
    (12, 47.0),
    (13, 250.0),
    (14, 951.0),
    (15, 4_408.0),
    (16, 18_087.0),
    (17, 73_047.0),
    (18, 367_865.0),
    (19, 1.12e6),
    (20, 7.01e6),
    (21, 2.21e7),
];
/// Repetitions of Table 3.
pub const TABLE3_REPETITIONS: f64 = 1e8;

/// Table 5: server, seconds with sect163k1, seconds with sect131r1 (Table 4 has the machines).
pub const TABLE5: [(&str, f64, f64); 4] = [
    ("quad 3.0 GHz", 1160.0, 3424.0),
    ("quad 2.5 GHz", 1190.0, 3211.0),
    ("two 8-core Xeons", 261.0, 751.0),
    ("8-core Xeon", 1105.0, 2997.0),
];

/// Table 6: phone, microseconds for an encryption, seconds for a query.
pub const TABLE6: [(&str, f64, f64); 2] = [("Galaxy SII", 159.3, 1.86), ("HTC One", 173.4, 1.98)];

/// Table 7: phone, microseconds for a decryption, milliseconds for an extraction, seconds of latency.
pub const TABLE7: [(&str, f64, f64, f64); 2] =
    [("Galaxy SII", 63.7, 45.3, 1.41), ("HTC One", 78.6, 55.9, 1.42)];

/// §6.2: an answer on one GPU, which the latency includes, milliseconds.
pub const ONE_GPU_MS: f64 = 350.0;
/// §7: an answer on eight GTX780, milliseconds.
pub const EIGHT_GPUS_MS: f64 = 43.9;
/// §6.3: authentications a second on one GPU, and on eight.
pub const RATES: [(&str, f64); 2] = [("one GPU", 2.3), ("eight GPUs", 60.0)];
/// §6.3: dollars for an authentication a second.
pub const DOLLARS: f64 = 83.33;
/// §6.3: dollars for each of the four hosts without their eight GPUs at $380, of $4000 to $5000.
pub const HOST_DOLLARS: (f64, f64) = ((4_000.0 - 3_040.0) / 4.0, (5_000.0 - 3_040.0) / 4.0);

/// §6.1: the query that it states, bytes.
pub const QUERY_BYTES: f64 = 12.6e3;
/// §6.2: the response, bytes.
pub const RESPONSE_BYTES: f64 = 1.25e6;
/// §6.1: the table, bytes.
pub const TABLE_BYTES: f64 = 410e6;
