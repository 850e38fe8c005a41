//! What an emulation tells the page of `slackwater serve` while it runs.
//!
//! Files are written by a thread of their own: the loop that moves packets must not wait for a disk.

use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use slackwater_lab::beacon::Beacon;

use crate::privilege::Caller;

/// Numbers of one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Seconds since the start.
    pub at: f64,
    /// Share of the time that is over, where there is a limit.
    pub share: Option<f64>,
    /// Mbit/s to the UEs and from them.
    pub rates: [f64; 2],
    /// Largest queue delay, ms.
    pub queue: f64,
}

/// A hand on the file that tells what runs; dropping it takes the file away.
#[derive(Debug)]
pub(crate) struct Teller {
    moments: Option<SyncSender<Moment>>,
    thread: Option<JoinHandle<()>>,
}

impl Teller {
    /// Begins to tell in `folder`. To be called before the thread that calls gets a real-time priority, which its threads
    /// would inherit. The file belongs to `who`, where that is somebody.
    pub(crate) fn start(folder: &Path, name: &str, who: Option<Caller>) -> Self {
        let (moments, heard) = sync_channel::<Moment>(4);
        let (folder, name) = (folder.to_owned(), name.to_owned());
        let tell = move || {
            if let Some(who) = who {
                who.own_files();
            }
            let mut beacon = Beacon::light(&folder, "emulation", &name);
            for m in heard {
                let [down, up] = m.rates;
                beacon.point("throughput, down", "Mbit/s", m.at, down);
                beacon.point("throughput, up", "Mbit/s", m.at, up);
                beacon.point("largest queue delay", "ms", m.at, m.queue);
                if let Some(share) = m.share {
                    beacon.share(share);
                }
            }
        };
        let thread = std::thread::Builder::new().name("teller".to_owned());
        Self {
            moments: Some(moments),
            // Without a thread nothing is told, and the emulation goes on.
            thread: thread.spawn(tell).ok(),
        }
    }

    /// Tells a moment; forgets it where the disk is behind.
    pub(crate) fn tell(&self, moment: Moment) {
        if let Some(moments) = &self.moments {
            let _ignored = moments.try_send(moment);
        }
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.moments = None;
        if let Some(thread) = self.thread.take() {
            let _ignored = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use slackwater_lab::beacon::{FILE, read};

    use super::*;

    #[test]
    fn an_emulation_is_seen_until_it_ends() {
        let folder = std::env::temp_dir().join(format!("slackwater-teller-{}", std::process::id()));
        let teller = Teller::start(&folder.join("x"), "a cell", None);
        for k in 0..3 {
            teller.tell(Moment {
                at: f64::from(k),
                share: Some(f64::from(k) / 10.0),
                rates: [12.0, 0.5],
                queue: 30.0,
            });
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        let file = folder.join("x").join(FILE);
        let live = read(&file).expect("it is under way");
        assert_eq!(live.kind, "emulation");
        assert_eq!(live.curves.len(), 3);
        assert_eq!(live.curves[0].y[0], 12.0);
        drop(teller);
        assert!(read(&file).is_none());
        let _ = std::fs::remove_dir_all(&folder);
    }
}
