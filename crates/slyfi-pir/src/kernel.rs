//! Products of byte tables with vectors of words.
