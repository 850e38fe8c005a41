//! Which papers have figures on real packets.

use super::{Case, Live};
use crate::study::{Options, StudyError};

impl Live {
    /// The live figures of the paper `name`, each run of `seconds`; `None` where it has none.
    ///
    /// # Errors
    /// Where a scenario of the paper is broken.
    pub fn of(name: &str, seconds: u32, options: &Options) -> Result<Option<Self>, StudyError> {
        let live = match name {
            "vaqm" => crate::vaqm::live(seconds)?,
            "cecc" => crate::cecc::live(seconds)?,
            "al4s" => crate::al4s::live(seconds)?,
            _ => return Ok(None),
        };
        let wanted = |case: &Case| {
            options.only.is_empty() || options.only.iter().any(|o| case.id.starts_with(o.as_str()))
        };
        let known: Vec<&str> = live.cases.iter().map(|c| c.id.as_str()).collect();
        let nobodys = |o: &&String| !known.iter().any(|id| id.starts_with(o.as_str()));
        if let Some(found) = options.only.iter().find(nobodys) {
            return Err(StudyError::NoFigure {
                found: found.clone(),
                known: known.join(", "),
            });
        }
        let cases = live.cases.into_iter().filter(wanted).collect();
        Ok(Some(Self { cases, ..live }))
    }
}
