//! The lists of runs and of arenas as JSON, which all open pages share.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::body::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};
use slackwater_lab::arena::MEASURES;
use slackwater_report::palette;
use slackwater_report::shelf::{self, Arena, Entry, Glance, Group, Page, Shelf};
use slackwater_results::metrics::table::{Better, METRICS};

/// Writes a list.
type Make = fn(&Shelf) -> serde_json::Result<Vec<u8>>;

/// A list as it was last given. It is made again where the folder changed, and once for all who wait: twenty pages load it at the same
/// moment when a run ends.
#[derive(Debug)]
pub(super) struct List {
    make: Make,
    last: Mutex<Option<Made>>,
}

/// A list that was made.
#[derive(Debug)]
struct Made {
    /// When the folder was last looked at for it.
    looked: Instant,
    /// What was there.
    glance: Glance,
    /// The list.
    body: Bytes,
}

impl List {
    pub(super) const fn new(make: Make) -> Self {
        Self {
            make,
            last: Mutex::new(None),
        }
    }

    /// The list for a page whose request arrived at `arrived`: no older than that. Looks at the folder, or takes what another page's look
    /// found that began later than the request.
    pub(super) fn body(&self, shelf: &Shelf, arrived: Instant) -> serde_json::Result<Bytes> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = last.as_ref().filter(|made| made.looked >= arrived) {
            return Ok(made.body.clone());
        }
        let looked = Instant::now();
        // Before the files are read: what comes meanwhile differs from this, and is read for the next page.
        let glance = shelf.glance().0;
        if let Some(made) = last.as_mut().filter(|made| made.glance == glance) {
            made.looked = looked;
            return Ok(made.body.clone());
        }

        let body = Bytes::from((self.make)(shelf)?);
        *last = Some(Made {
            looked,
            glance,
            body: body.clone(),
        });
        Ok(body)
    }
}

/// The runs, with what their metrics are and the colours of their controllers.
pub(super) fn runs(shelf: &Shelf) -> serde_json::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Runs<'a> {
        root: String,
        version: &'static str,
        metrics: Vec<Value>,
        colours: Map<String, Value>,
        most: usize,
        groups: Vec<Group>,
        entries: &'a [Entry],
        pages: Vec<Page>,
    }

    let entries = shelf.entries();
    let metrics = METRICS.iter().map(|m| {
        json!({
            "key": m.key, "label": m.label, "unit": m.unit, "decimals": m.decimals, "help": m.help,
            "better": direction(m.better),
        })
    });
    serde_json::to_vec(&Runs {
        root: shelf.root().display().to_string(),
        version: env!("CARGO_PKG_VERSION"),
        metrics: metrics.collect(),
        colours: colours(entries.iter().flat_map(|e| &e.controllers)),
        most: shelf::MAX_RUNS,
        groups: Group::of(&entries),
        entries: &entries,
        pages: shelf.pages(),
    })
}

/// The arenas, with what their measures are and the colours of their systems.
pub(super) fn arenas(shelf: &Shelf) -> serde_json::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Tables<'a> {
        measures: Vec<Value>,
        colours: Map<String, Value>,
        arenas: &'a [Arena],
    }

    let arenas = shelf.arenas();
    let cells = arenas.iter().flat_map(|a| &a.table.cells);
    let names = cells.flat_map(|c| &c.systems).map(|s| &s.controller);
    let measures = MEASURES.iter().map(|m| {
        json!({
            "key": m.key, "label": m.label, "unit": m.unit, "decimals": m.decimals, "help": m.help,
            "better": direction(m.better),
        })
    });
    serde_json::to_vec(&Tables {
        measures: measures.collect(),
        colours: colours(names),
        arenas: &arenas,
    })
}

const fn direction(better: Better) -> Option<&'static str> {
    match better {
        Better::Higher => Some("higher"),
        Better::Lower => Some("lower"),
        Better::Neither => None,
    }
}

fn colours<'a>(names: impl Iterator<Item = &'a String>) -> Map<String, Value> {
    let mut all = Map::new();
    for name in names {
        if !all.contains_key(name) {
            let paint = palette::controller(name);
            let value = json!({ "light": paint.light, "dark": paint.dark });
            all.insert(name.clone(), value);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    /// How often the list of this test was made.
    static MADE: AtomicU8 = AtomicU8::new(0);

    #[expect(
        clippy::unnecessary_wraps,
        reason = "lists are made by functions that may fail"
    )]
    fn counted(_: &Shelf) -> serde_json::Result<Vec<u8>> {
        Ok(vec![MADE.fetch_add(1, Ordering::Relaxed)])
    }

    #[test]
    fn a_list_is_made_again_where_the_folder_changed_after_a_request() {
        let own = format!("slackwater-lists-{}", std::process::id());
        let folder = std::env::temp_dir().join(own);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let (shelf, list) = (Shelf::new(&folder), List::new(counted));
        let body = |arrived| list.body(&shelf, arrived).expect("a list")[0];

        let before = Instant::now();
        assert_eq!(body(before), 0);
        // Nothing changed, so a later request has the same.
        assert_eq!(body(Instant::now()), 0);

        std::fs::write(folder.join("page.html"), "").expect("a file");
        // A look that began after this request holds for it; a later request has one of its own.
        assert_eq!(body(before), 0);
        assert_eq!(body(Instant::now()), 1);
        std::fs::remove_dir_all(&folder).expect("a folder");
    }
}
