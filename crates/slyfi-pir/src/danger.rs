//! Retrieval that does not hide what is retrieved. It is here to be measured and compared.
//!
//! | what | broken by |
//! |---|---|
//! | [`ntru_2015`] | adding up a ciphertext's coefficients; and by lattice reduction of block size 129 |
//!
//! The attacks are this crate's tests (`tests/attacks_*.rs`).

pub mod ntru_2015;
