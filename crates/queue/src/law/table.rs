//! What follows from the table of laws: a law's parameters by name, and any law without a pointer in between.

macro_rules! laws {
    ($($(#[doc = $doc:literal])+ $variant:ident($parameters:ty)),+ $(,)?) => {
        /// Which law, with its parameters.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub enum LawConfig {
            /// No law.
            #[default]
            None,
            $($(#[doc = $doc])+ $variant($parameters),)+
            /// A law from outside of this workspace.
            Own(OwnLaw),
        }

        /// Any of the laws, without a virtual call for the built-in ones.
        #[derive(Debug)]
        pub enum AnyLaw {
            /// No law.
            None(NoLaw),
            $($(#[doc = $doc])+ $variant(<$parameters as Parameters>::Law),)+
            /// A law from outside of this workspace.
            Own(Box<dyn Law>),
        }

        impl LawConfig {
            /// The names that [`LawConfig::from_name`] knows.
            pub const NAMES: &'static [&'static str] =
                &["none", $(<$parameters as Parameters>::NAME),+];

            /// The built-in law of that name with its default parameters.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    "none" => Some(Self::None),
                    $(<$parameters as Parameters>::NAME => {
                        Some(Self::$variant(<$parameters>::default()))
                    })+
                    _ => None,
                }
            }

            /// The law's name.
            pub fn name(&self) -> &str {
                match self {
                    Self::None => "none",
                    $(Self::$variant(_) => <$parameters as Parameters>::NAME,)+
                    Self::Own(law) => law.name(),
                }
            }

            /// One line about the law.
            pub fn about(&self) -> &str {
                match self {
                    Self::None => "None: the limit alone drops (drop-tail).",
                    $(Self::$variant(_) => <$parameters as Parameters>::ABOUT,)+
                    Self::Own(law) => law.about(),
                }
            }

            /// Its keys with their values.
            pub fn settings(&self) -> Vec<Setting> {
                match self {
                    Self::None | Self::Own(_) => Vec::new(),
                    $(Self::$variant(c) => parameters::settings(c),)+
                }
            }

            /// Sets a key; false where the law has no such key, or the value is of another kind. The range is the caller's
            /// to check.
            pub fn set(&mut self, key: &str, value: Value) -> bool {
                match self {
                    Self::None | Self::Own(_) => false,
                    $(Self::$variant(c) => parameters::set(c, key, value),)+
                }
            }

            /// Checks what holds between keys.
            ///
            /// # Errors
            /// What was found and what was expected.
            pub fn check(&self) -> Result<(), Mismatch> {
                match self {
                    Self::None | Self::Own(_) => Ok(()),
                    $(Self::$variant(c) => c.check(),)+
                }
            }

            /// A law in its initial state; `draw` decides what it leaves to chance.
            pub fn build(&self, draw: Draw) -> AnyLaw {
                match self {
                    Self::None => AnyLaw::None(NoLaw),
                    $(Self::$variant(c) => AnyLaw::$variant(c.build(draw)),)+
                    Self::Own(law) => AnyLaw::Own(law.build(draw)),
                }
            }
        }

        macro_rules! each {
            ($self:expr, $law:ident => $call:expr) => {
                match $self {
                    AnyLaw::None($law) => $call,
                    $(AnyLaw::$variant($law) => $call,)+
                    AnyLaw::Own($law) => $call,
                }
            };
        }
    };
}
pub(super) use laws;
