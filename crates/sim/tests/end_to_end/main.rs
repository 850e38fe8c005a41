//! The whole engine at once: hosts, lanes, links and cells, watched from outside.

mod audit;
mod blocks;
mod conservation;
mod counters;
mod determinism;
mod edge;
mod fairness;
mod finish;
mod media;
mod performance;
mod rtt_oracle;
mod worlds;
