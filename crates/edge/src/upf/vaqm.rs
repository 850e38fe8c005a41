//! Virtual active queue management: the radio's bottleneck, moved to where its packets can be queued.
