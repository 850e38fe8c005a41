//! Browsers: which connection asks for what, and when a page is there.

use slackwater_core::{Draw, FlowId, Instant, Recorder};
use slackwater_transport::app::{Browser, Fetch, Loaded, PageConfig};

use super::World;
use crate::flow::Host;

/// A browser whose connections are flows that follow one another.
pub(super) struct Page {
    browser: Browser,
    first: FlowId,
    fetches: Vec<Fetch>,
}

impl Page {
    pub(super) fn new(
        first: FlowId,
        config: PageConfig,
        start: Instant,
        stop: Instant,
        draw: Draw,
    ) -> Self {
        Self {
            browser: Browser::new(config, start, stop, draw),
            first,
            fetches: Vec::new(),
        }
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.browser.next_timer()
    }
}

impl<R: Recorder> World<R> {
    /// The browser of page `n` begins.
    pub(super) fn begin_page(&mut self, now: Instant, n: usize) {
        let page = &mut self.pages[n];
        page.browser.on_timer(now, &mut page.fetches);
        self.ask(now, n);
    }

    /// Objects that `flow` carried are there.
    #[cold]
    pub(super) fn take_objects(&mut self, now: Instant, flow: usize) {
        let objects = core::mem::take(&mut self.host_events.objects);
        let Some(n) = self.flows[flow].page.map(|n| n as usize) else {
            return;
        };
        let page = &mut self.pages[n];
        let connection = flow as u32 - page.first.0;
        for _ in 0..objects {
            let loaded = page.browser.on_object(now, connection, &mut page.fetches);
            if let Some(Loaded { start, bytes }) = loaded {
                self.recorder.transfer(now, page.first, start, bytes);
            }
        }
        self.ask(now, n);
    }

    /// Sends what the browser of page `n` asks for.
    fn ask(&mut self, now: Instant, n: usize) {
        let mut fetches = core::mem::take(&mut self.pages[n].fetches);
        let first = self.pages[n].first.index();
        for fetch in fetches.drain(..) {
            let flow = first + fetch.connection as usize;
            let [Host::PageServer(server), Host::PageClient(client)] = &mut self.flows[flow].hosts
            else {
                unreachable!("a page's connections have a page's hosts")
            };
            server.expect(fetch.bytes);
            client.fetch(now, &fetch, &mut self.packets);
            self.after_host(now, flow, 1);
        }
        let page = &mut self.pages[n];
        page.fetches = fetches;
        self.kernel.arm(self.first_page + n, page.next_timer());
    }
}
