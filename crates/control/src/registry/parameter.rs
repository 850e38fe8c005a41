//! What a controller's parameters are: each is declared once, and the reader, its errors and `slackwater explain` go by that.

/// What stands where a parameter is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// A number, in the parameter's unit.
    Number(f64),
    /// One of its words.
    Word(&'static str),
    /// Something that is no value of it, said in words: `the flow's initial window`.
    Said(&'static str),
}

/// One parameter of a controller: `g` of `rule:g=2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The key before `=`.
    pub key: &'static str,
    /// What it sets, with its source.
    pub about: &'static str,
    /// What stands where it is left out.
    pub default: Preset,
    /// Least and greatest number, where it takes numbers.
    pub range: Option<(f64, f64)>,
    /// Numbers are whole.
    pub whole: bool,
    /// Unit of the numbers; empty for none. It may stand after a number: `q=8ms`.
    pub unit: &'static str,
    /// Words that it takes, in place of a number or alone.
    pub words: &'static [&'static str],
    /// The value stands without its key: `fixed:20`.
    pub bare: bool,
}

impl Parameter {
    const NOTHING: Self = Self {
        key: "",
        about: "",
        default: Preset::Said("none"),
        range: None,
        whole: false,
        unit: "",
        words: &[],
        bare: false,
    };

    /// One that takes a number from `least` to `most`, in `unit`.
    pub const fn number(
        key: &'static str,
        default: f64,
        (least, most): (f64, f64),
        unit: &'static str,
        about: &'static str,
    ) -> Self {
        Self {
            key,
            about,
            default: Preset::Number(default),
            range: Some((least, most)),
            unit,
            ..Self::NOTHING
        }
    }

    /// One that takes a word.
    pub const fn word(
        key: &'static str,
        default: &'static str,
        words: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        Self {
            key,
            about,
            default: Preset::Word(default),
            words,
            ..Self::NOTHING
        }
    }

    /// One that is `on` or `off`.
    pub const fn switch(key: &'static str, on: bool, about: &'static str) -> Self {
        let default = if on { "on" } else { "off" };
        Self::word(key, default, &["on", "off"], about)
    }

    /// The same, and the word `off` stands for 0, which is its name where 0 is the default.
    #[must_use]
    pub const fn or_off(self) -> Self {
        let default = match self.default {
            Preset::Number(0.0) => Preset::Word("off"),
            other => other,
        };
        Self {
            words: &["off"],
            default,
            ..self
        }
    }

    /// The same for whole numbers.
    #[must_use]
    pub const fn whole(self) -> Self {
        Self {
            whole: true,
            ..self
        }
    }

    /// The same without its key.
    #[must_use]
    pub const fn bare(self) -> Self {
        Self { bare: true, ..self }
    }

    /// The same with a default that is no value of it.
    #[must_use]
    pub const fn without(self, said: &'static str) -> Self {
        Self {
            default: Preset::Said(said),
            ..self
        }
    }

    /// The default as it could be written.
    pub fn default_text(&self) -> String {
        match self.default {
            Preset::Number(n) => n.to_string(),
            Preset::Word(text) | Preset::Said(text) => text.to_owned(),
        }
    }

    /// What it takes, as errors say it: `a number from 0 to 100 (ms), or off`.
    pub fn expected(&self) -> String {
        let words = match self.words {
            [] => String::new(),
            [one] => (*one).to_owned(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        };
        let Some((least, most)) = self.range else {
            return words;
        };
        let whole = if self.whole { "whole " } else { "" };
        let unit = match self.unit {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        let or = if words.is_empty() { "" } else { ", or " };
        format!("a {whole}number from {least} to {most}{unit}{or}{words}")
    }

    /// How it stands in a controller's name: `theta=3`.
    pub fn example(&self) -> String {
        let value = match self.default {
            Preset::Number(n) => n.to_string(),
            Preset::Word(word) => word.to_owned(),
            Preset::Said(_) => match (self.range, self.words) {
                (Some((least, _)), _) => least.max(1.0).to_string(),
                (None, words) => words.first().copied().unwrap_or_default().to_owned(),
            },
        };
        if self.bare {
            value
        } else {
            format!("{}={value}", self.key)
        }
    }

    /// The number that `value` stands for; `off` is 0.
    ///
    /// # Errors
    /// Where it is none, or out of range.
    pub fn read(&self, value: &str) -> Result<f64, String> {
        if value == "off" && self.words.contains(&"off") {
            return Ok(0.0);
        }
        let plain = match self.unit {
            "" => value,
            unit => value.strip_suffix(unit).map_or(value, str::trim_end),
        };
        let number = plain.parse::<f64>().ok();
        let (least, most) = self.range.unwrap_or((f64::MIN, f64::MAX));
        number
            .filter(|n| (least..=most).contains(n))
            .filter(|n| !self.whole || n.fract() == 0.0)
            .ok_or_else(|| self.wrong(value))
    }

    /// The word that `value` is.
    ///
    /// # Errors
    /// Where it is none of [`Parameter::words`].
    pub fn pick(&self, value: &str) -> Result<&'static str, String> {
        let mut words = self.words.iter().copied();
        words.find(|w| *w == value).ok_or_else(|| self.wrong(value))
    }

    fn wrong(&self, value: &str) -> String {
        format!(
            "{}: found \"{value}\", expected {}",
            self.key,
            self.expected()
        )
    }

    /// The one of `all` with this key.
    ///
    /// # Errors
    /// Where there is none: which there are.
    pub fn of<'a>(all: &'a [Self], key: &str, value: &str) -> Result<&'a Self, String> {
        all.iter().find(|p| p.key == key).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|p| p.key).collect();
            format!(
                "{key}: found \"{value}\", expected one of {}",
                known.join(", ")
            )
        })
    }
}
