//! What follows from the table of schedulers.

macro_rules! schedulers {
    ($($(#[doc = $doc:literal])+ $variant:ident($scheduler:ty)),+ $(,)?) => {
        /// Which scheduler a cell runs.
        #[derive(Clone, Debug, PartialEq)]
        pub enum SchedulerKind {
            $($(#[doc = $doc])+ $variant,)+
            /// A scheduler from outside of this workspace.
            Own(OwnScheduler),
        }

        impl SchedulerKind {
            /// The names that [`SchedulerKind::from_name`] knows.
            pub const NAMES: &'static [&'static str] = &[$(<$scheduler as Built>::NAME),+];

            /// The built-in scheduler of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $(<$scheduler as Built>::NAME => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The scheduler's name.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant => <$scheduler as Built>::NAME,)+
                    Self::Own(own) => own.name(),
                }
            }

            /// One line about it.
            pub fn about(&self) -> &str {
                match self {
                    $(Self::$variant => <$scheduler as Built>::ABOUT,)+
                    Self::Own(own) => own.about(),
                }
            }

            /// A scheduler in its initial state.
            pub fn build(&self, setup: &Setup) -> Box<dyn Scheduler> {
                match self {
                    $(Self::$variant => Box::new(<$scheduler as Built>::new(setup)),)+
                    Self::Own(own) => own.build(setup),
                }
            }
        }
    };
}
pub(super) use schedulers;
