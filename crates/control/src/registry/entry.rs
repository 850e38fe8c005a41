//! What a controller's module says of itself: all that the registry, scenarios, lists and figures know of it.

use super::{AnyController, AnyMedia, Config, Parameter, Preset};

/// What a controller steers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP and QUIC, by ACKs.
    Transport,
    /// An encoder, by reports about each packet.
    Media,
}

impl Kind {
    /// What is wrong where one of this kind was wanted and the other found.
    pub(super) fn instead(self) -> String {
        let (wanted, found) = match self {
            Self::Transport => ("TCP", "media"),
            Self::Media => ("media", "TCP"),
        };
        format!("found a controller of {found}, expected one of {wanted}")
    }
}

/// Which reports of the radio network a controller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// None.
    None,
    /// The fair rate and the queue's delay, from the base station ([`PathReport::Share`](crate::PathReport::Share)).
    Share,
    /// Transport blocks, from the phone (`PathReport::TransportBlocks`).
    Blocks,
    /// What the base station counts of the flow (`PathReport::Counters`).
    Counters,
}

/// Whose marks a controller goes by. Without them it has losses alone, or nothing, to obey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Nobody's: it may answer marks, and does without them.
    None,
    /// Those of any queue that marks ECN-capable packets.
    Queue,
    /// Those of a queue under this law alone, which mean something else than congestion.
    Law(&'static str),
}

/// Builds a controller. An error says what is wrong with the parameters: key, found, expected.
pub type Make<C> = fn(&Config, Parameters<'_>) -> Result<C, String>;

/// A built-in controller, of TCP and QUIC or of media. Its module exports one for each name; the families' tables list the
/// modules.
#[derive(Clone, Copy, Debug)]
pub struct Entry<C = AnyController> {
    /// The name in scenarios: unique, without `:`.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// How text and figures call it: `cubic` is CUBIC.
    pub title: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// What it steers.
    pub kind: Kind,
    /// Which reports it asks for, without parameters.
    pub reports: Reports,
    /// Which queue it goes by.
    pub marks: Marks,
    /// Names of the states that `mode` in its [`Controller::snapshot`](crate::Controller::snapshot) counts through.
    pub modes: Option<&'static [&'static str]>,
    /// What may follow `:` in its name.
    pub parameters: &'static [Parameter],
    /// Builds it.
    pub make: Make<C>,
}

impl Entry<AnyController> {
    /// What most controllers of TCP and QUIC have in common; each fills in the rest.
    pub(crate) const TRANSPORT: Self = Self {
        name: "",
        aliases: &[],
        title: "",
        about: "",
        kind: Kind::Transport,
        reports: Reports::None,
        marks: Marks::None,
        modes: None,
        parameters: &[],
        make: |_, _| Err("no controller".to_owned()),
    };
}

impl Entry<AnyMedia> {
    /// The same for controllers of media.
    pub(crate) const MEDIA: Self = Self {
        name: "",
        aliases: &[],
        title: "",
        about: "",
        kind: Kind::Media,
        reports: Reports::None,
        marks: Marks::None,
        modes: None,
        parameters: &[],
        make: |_, _| Err("no controller".to_owned()),
    };
}

impl<C> Entry<C> {
    /// What is known of it without building it.
    pub(super) const fn listed(&self) -> Listed {
        Listed {
            name: self.name,
            aliases: self.aliases,
            title: self.title,
            about: self.about,
            kind: self.kind,
            reports: self.reports,
            marks: self.marks,
            modes: self.modes,
            parameters: self.parameters,
        }
    }
}

/// What is known of a built-in controller without building it: an [`Entry`] of either kind.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// As [`Entry::name`].
    pub name: &'static str,
    /// As [`Entry::aliases`].
    pub aliases: &'static [&'static str],
    /// As [`Entry::title`].
    pub title: &'static str,
    /// As [`Entry::about`].
    pub about: &'static str,
    /// As [`Entry::kind`].
    pub kind: Kind,
    /// As [`Entry::reports`].
    pub reports: Reports,
    /// As [`Entry::marks`].
    pub marks: Marks,
    /// As [`Entry::modes`].
    pub modes: Option<&'static [&'static str]>,
    /// As [`Entry::parameters`].
    pub parameters: &'static [Parameter],
}

/// What follows `:` in a controller's name: `g=2` of `rule:g=2`. Empty where nothing does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters<'a>(pub &'a str);

impl<'a> Parameters<'a> {
    /// As they stand.
    pub const fn text(self) -> &'a str {
        self.0
    }

    /// The controller takes none.
    ///
    /// # Errors
    /// Where there are some.
    pub fn none(self) -> Result<(), String> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(format!("found \"{}\", expected no parameters", self.0))
        }
    }

    /// `read` makes something of them; `none` stands where there are none.
    ///
    /// # Errors
    /// What `read` finds wrong.
    pub fn read<T, E: ToString>(
        self,
        none: T,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        if self.0.is_empty() {
            Ok(none)
        } else {
            read(self.0).map_err(|wrong| wrong.to_string())
        }
    }

    /// Numbers as `key=value` pairs with commas between; what is left out has its default.
    ///
    /// # Errors
    /// Where a pair has another form, its key is none of these or its value is out of range.
    pub fn numbers<const N: usize>(self, known: &[Parameter; N]) -> Result<[f64; N], String> {
        let mut values = known.map(|p| match p.default {
            Preset::Number(n) => n,
            Preset::Word(_) | Preset::Said(_) => 0.0,
        });
        if self.0.is_empty() {
            return Ok(values);
        }
        for pair in self.0.split(',') {
            let (key, found) = pair
                .split_once('=')
                .ok_or_else(|| format!("found \"{pair}\", expected key=value"))?;
            let (key, found) = (key.trim(), found.trim());
            let parameter = Parameter::of(known, key, found)?;
            let i = known.iter().position(|p| p.key == parameter.key);
            values[i.expect("just found")] = parameter.read(found)?;
        }
        Ok(values)
    }
}
