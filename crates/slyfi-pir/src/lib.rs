//! Private information retrieval: reading a row of a public table without telling which.
