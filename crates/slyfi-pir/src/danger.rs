//! Retrieval that does not hide what is retrieved. It is here to be measured and compared.

pub mod ntru_2015;
