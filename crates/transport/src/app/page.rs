//! Web pages: a document, then the objects that it names, over one or several connections.

use std::collections::VecDeque;

use slackwater_core::{Bytes, Draw, Duration, Instant};

/// A page and how it is fetched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageConfig {
    /// Connections that a browser opens to the server; browsers open six over HTTP/1.1.
    pub connections: u32,
    /// Objects beside the document.
    pub objects: u32,
    /// Bytes of document and objects together.
    pub size: Bytes,
    /// Bytes of the document.
    pub document: Bytes,
    /// Standard deviation of the logarithm of object sizes; zero makes them equal.
    pub sigma: f64,
    /// Bytes of a request.
    pub request: Bytes,
    /// All requests leave at once when the document is there (HTTP/2, HTTP/3), in place of one after the other on each
    /// connection.
    pub multiplexed: bool,
    /// From the end of one page to the start of the next.
    pub gap: Duration,
    /// How many pages; `None` for no end.
    pub count: Option<u32>,
}

/// An object that the browser asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// On which of its connections.
    pub connection: u32,
    /// The connection is to be opened first.
    pub opens: bool,
    /// Bytes of the object.
    pub bytes: u64,
}

/// A page that is there in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// When the browser began.
    pub start: Instant,
    /// Bytes of all objects.
    pub bytes: Bytes,
}

/// Loads one page after the other, each on new connections.
#[derive(Clone, Debug)]
pub struct Browser {
    config: PageConfig,
    draw: Draw,
    stop: Instant,
    pages: u32,
    /// When the next page is asked for; `None` while one loads.
    next: Option<Instant>,
    start: Instant,
    /// Sizes of objects not asked for.
    waiting: VecDeque<u64>,
    /// Objects asked for and not there.
    open: u32,
    document: bool,
}

/// Keys of the draws of one page.
const PER_PAGE: u64 = 1 << 20;

impl Browser {
    /// A browser that asks for its first page at `start` and for none after `stop`.
    pub const fn new(config: PageConfig, start: Instant, stop: Instant, draw: Draw) -> Self {
        Self {
            config,
            draw,
            stop,
            pages: 0,
            next: Some(start),
            start,
            waiting: VecDeque::new(),
            open: 0,
            document: false,
        }
    }

    /// When the next page is due; `None` while one loads, or where none will come.
    pub fn next_timer(&self) -> Option<Instant> {
        let more = self.config.count.is_none_or(|n| self.pages < n);
        self.next.filter(|t| *t < self.stop && more)
    }

    /// Begins the page that is due: asks for its document.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<Fetch>) {
        if self.next_timer().is_none_or(|t| t > now) {
            return;
        }
        self.next = None;
        self.start = now;
        self.waiting = self.sizes();
        self.pages += 1;
        self.document = true;
        self.open = 1;
        out.push(Fetch {
            connection: 0,
            opens: true,
            bytes: self.document_bytes(),
        });
    }

    /// An object asked for on `connection` is there in full. Returns the page that it completes.
    pub fn on_object(
        &mut self,
        now: Instant,
        connection: u32,
        out: &mut Vec<Fetch>,
    ) -> Option<Loaded> {
        self.open -= 1;
        if core::mem::take(&mut self.document) {
            self.after_document(out);
        } else if !self.config.multiplexed {
            self.fetch(connection, false, out);
        }
        if self.open > 0 {
            return None;
        }
        self.next = Some(now + self.config.gap);
        Some(Loaded {
            start: self.start,
            bytes: self.config.size.max(self.config.document),
        })
    }

    fn after_document(&mut self, out: &mut Vec<Fetch>) {
        let connections = self.config.connections.max(1);
        if self.config.multiplexed {
            for k in 0..self.waiting.len() as u32 {
                let connection = k % connections;
                self.fetch(connection, connection > 0 && k < connections, out);
            }
        } else {
            for connection in 0..connections {
                self.fetch(connection, connection > 0, out);
            }
        }
    }

    fn fetch(&mut self, connection: u32, opens: bool, out: &mut Vec<Fetch>) {
        if let Some(bytes) = self.waiting.pop_front() {
            self.open += 1;
            out.push(Fetch {
                connection,
                opens,
                bytes,
            });
        }
    }

    fn document_bytes(&self) -> u64 {
        if self.config.objects == 0 {
            self.config.size.get().max(self.config.document.get())
        } else {
            self.config.document.get()
        }
        .max(1)
    }

    /// Sizes of the page's objects: log-normal shares of what the document leaves, which sum up to it.
    fn sizes(&self) -> VecDeque<u64> {
        let c = &self.config;
        let total = c.size.get().saturating_sub(c.document.get());
        let key = u64::from(self.pages) * PER_PAGE;
        let shares: Vec<f64> = (0..u64::from(c.objects))
            .map(|i| libm::exp(c.sigma * self.draw.normal(key + i)))
            .collect();
        let sum: f64 = shares.iter().sum();
        shares
            .into_iter()
            .map(|s| ((total as f64 * s / sum) as u64).max(1))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: PageConfig = PageConfig {
        connections: 3,
        objects: 7,
        size: Bytes(100_000),
        document: Bytes(20_000),
        sigma: 1.0,
        request: Bytes(400),
        multiplexed: false,
        gap: Duration::from_secs(2),
        count: Some(2),
    };

    fn browser(config: PageConfig) -> Browser {
        Browser::new(config, Instant::from_millis(5), Instant::MAX, Draw::new(3))
    }

    #[test]
    fn the_document_comes_first_and_objects_share_the_connections() {
        let mut b = browser(CONFIG);
        let mut out = vec![];
        assert_eq!(b.next_timer(), Some(Instant::from_millis(5)));
        b.on_timer(Instant::from_millis(5), &mut out);
        assert_eq!(b.next_timer(), None);
        let document = Fetch {
            connection: 0,
            opens: true,
            bytes: 20_000,
        };
        assert_eq!(out, [document]);
        out.clear();
        assert_eq!(b.on_object(Instant::from_millis(50), 0, &mut out), None);
        let places: Vec<(u32, bool)> = out.iter().map(|f| (f.connection, f.opens)).collect();
        assert_eq!(places, [(0, false), (1, true), (2, true)]);
        let mut bytes: u64 = out.drain(..).map(|f| f.bytes).sum();
        for k in 0..6 {
            assert_eq!(b.on_object(Instant::from_millis(60 + k), 1, &mut out), None);
        }
        assert_eq!(out.len(), 4);
        assert!(out.iter().all(|f| (f.connection, f.opens) == (1, false)));
        bytes += out.iter().map(|f| f.bytes).sum::<u64>();
        assert!((79_990..=80_000).contains(&bytes), "{bytes}");
        let loaded = b.on_object(Instant::from_millis(80), 2, &mut out);
        let page = Loaded {
            start: Instant::from_millis(5),
            bytes: Bytes(100_000),
        };
        assert_eq!(loaded, Some(page));
        assert_eq!(b.next_timer(), Some(Instant::from_millis(2_080)));
    }

    #[test]
    fn a_multiplexed_page_is_asked_for_at_once_and_the_last_page_ends_it() {
        let mut b = browser(PageConfig {
            multiplexed: true,
            connections: 1,
            count: Some(1),
            ..CONFIG
        });
        let mut out = vec![];
        b.on_timer(Instant::from_millis(5), &mut out);
        out.clear();
        b.on_object(Instant::from_millis(50), 0, &mut out);
        assert_eq!(out.len(), 7);
        assert!(out.iter().all(|f| (f.connection, f.opens) == (0, false)));
        let ends: Vec<bool> = (0..7)
            .map(|k| {
                b.on_object(Instant::from_millis(60 + k), 0, &mut Vec::new())
                    .is_some()
            })
            .collect();
        assert_eq!(ends, [false, false, false, false, false, false, true]);
        assert_eq!(b.next_timer(), None);
    }

    #[test]
    fn a_page_of_one_document_is_there_with_it() {
        let mut b = browser(PageConfig {
            objects: 0,
            ..CONFIG
        });
        let mut out = vec![];
        b.on_timer(Instant::from_millis(5), &mut out);
        assert_eq!(out[0].bytes, 100_000);
        assert!(b.on_object(Instant::from_millis(9), 0, &mut out).is_some());
        assert_eq!(out.len(), 1);
    }
}
