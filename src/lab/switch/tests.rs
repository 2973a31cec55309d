//! Tests that the answers of the switches are read by the program's own parsers, that every trouble shows, and that the two
//! ends feel it.
