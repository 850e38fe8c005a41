//! Each rule with the numbers of a 34 Mbit/s cell.
