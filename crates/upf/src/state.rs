//! The state file: sessions that outlive the process (docs/design/0042).
//!
//! A file is a journal: a header, then records, each with its length and checksum. A record replaces what an earlier one said
//! of the same thing. What changed is in [`Upf::take_journal`] before the answer that confirms it leaves: whoever writes the
//! journal first and sends then has told nobody of a session that the file lacks. A journal whose last record is cut short
//! was written by a process that ended in the middle of it; that record confirmed nothing.

mod record;

use slackwater_core::Instant;
use slackwater_wire::gtpu::Ntp;

use crate::n4::kept::AnswerNote;
use crate::sessions::Seid;
use crate::upf::{Config, Upf};
use record::{Record, Records};

/// Why a state is not taken up. The function then begins without sessions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("state file, octet {at}: found {found}, expected {expected}")]
pub struct StateError {
    /// Where.
    pub at: usize,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: &'static str,
}

impl StateError {
    fn new(at: usize, found: impl Into<String>, expected: &'static str) -> Self {
        Self {
            at,
            found: found.into(),
            expected,
        }
    }
}

/// Whose state it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Time zero of the function's clock. It goes on in a function that takes the state up: times in it stay valid, and the
    /// recovery time stamp is the one from before (TS 29.244, 8.2.65), since no session was lost.
    pub clock: Ntp,
    /// Which run of the machine it belongs to. What is written reaches the disk in its own time: after the machine went
    /// down the file may lack what was confirmed.
    pub boot: String,
}

impl Origin {
    /// Reads the header of a state file.
    ///
    /// # Errors
    /// It is no state file, or one of another version.
    pub fn read(octets: &[u8]) -> Result<Self, StateError> {
        Records::new(octets).map(|(origin, _)| origin)
    }
}

impl Upf {
    /// Keeps a journal from now on.
    pub fn keep_journal(&mut self) {
        self.sessions.keep_touched();
        self.usage.keep_reported();
        self.node.keep_answers();
        self.associations = Some(Vec::new());
    }

    /// The whole state, as a file: what a journal begins with.
    pub fn snapshot(&mut self, origin: &Origin) -> Vec<u8> {
        let mut out = Vec::new();
        record::header(origin, &mut out);
        let associations = self.node.kept_associations();
        Record::Associations(associations.clone()).write(&mut out);
        let all: Vec<Seid> = self.sessions.iter().map(|s| s.seid).collect();
        for seid in all {
            self.write_session(seid, &mut out);
        }
        for answer in self.node.all_answers() {
            Record::Answer(answer).write(&mut out);
        }
        // All of it is written.
        let _ = (self.sessions.take_touched(), self.usage.take_reported());
        let _ = self.node.take_answers();
        if let Some(before) = &mut self.associations {
            *before = associations;
        }
        out
    }

    /// What changed since the last call, for the end of the file. To be written before what [`Upf::poll`] gave leaves.
    pub fn take_journal(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let Some(before) = &self.associations else {
            return out;
        };
        let associations = self.node.kept_associations();
        if *before != associations {
            Record::Associations(associations.clone()).write(&mut out);
            self.associations = Some(associations);
        }
        let mut touched = self.sessions.take_touched();
        touched.extend(self.usage.take_reported());
        for seid in touched {
            self.write_session(seid, &mut out);
        }
        for note in self.node.take_answers() {
            match note {
                AnswerNote::Given(answer) => Record::Answer(answer).write(&mut out),
                AnswerNote::Forgotten(address, port) => {
                    Record::Forgotten(address, port).write(&mut out);
                }
            }
        }
        out
    }

    /// Puts what was counted since into the journal. A function that is killed loses what was counted since the last time.
    pub fn note_usage(&mut self) {
        for seid in self.usage.take_counted() {
            self.sessions.touch(seid);
        }
    }

    fn write_session(&mut self, seid: Seid, out: &mut Vec<u8>) {
        let Some(session) = self.sessions.get(seid) else {
            Record::Gone(seid).write(out);
            return;
        };
        if !self.node.owns(session) {
            // Of the configuration, not of a control plane.
            return;
        }
        match self.node.kept_session(session) {
            Some(request) => {
                let usage = self.usage.kept(seid);
                Record::Session {
                    seid,
                    usage,
                    request,
                }
                .write(out);
            }
            None => Record::Lacking.write(out),
        }
    }

    /// A function with the sessions of a state file. All of them, or it is an error: the recovery time stamp of before promises
    /// the control plane that none is lost.
    ///
    /// # Errors
    /// The file is of another version, damaged, or lacks something; or the configuration no longer allows what it holds.
    pub fn restored(config: Config, now: Instant, octets: &[u8]) -> Result<Self, StateError> {
        let (_, mut records) = Records::new(octets)?;
        let mut last = record::Last::default();
        while let Some((at, record)) = records.next()? {
            last.take(at, record)?;
        }
        let mut upf = Self::new(config);
        for (at, association) in last.associations {
            if !upf.node.take_up(now, association.clone()) {
                let found = format!("an association of {}", association.from);
                return Err(StateError::new(at, found, "one that n4.peers allows"));
            }
        }
        for (at, usage, request) in last.sessions.into_values() {
            let taken = upf.node.take_up_session(now, &request, &mut upf.sessions);
            let seid = taken.map_err(|why| {
                StateError::new(
                    at,
                    format!("a session with {why}"),
                    "one that may be ordered now",
                )
            })?;
            let rules = upf.sessions.get(seid).map(|s| s.rules.urrs.clone());
            for urr in rules.unwrap_or_default() {
                upf.usage.create(now, seid, &urr);
            }
            upf.usage.take_up(seid, &usage);
        }
        for answer in last.answers {
            upf.node.take_up_answer(answer);
        }
        let Self {
            sessions,
            user,
            usage,
            ..
        } = &mut upf;
        user.follow(now, sessions, usage);
        Ok(upf)
    }
}

#[cfg(test)]
mod tests;
