//! Radio access technology.

use slackwater_schema::choice;

choice! {
    /// Radio access technology.
    pub enum Rat {
        /// LTE (36 series).
        Lte = "lte",
        /// NR (38 series).
        Nr = "nr",
    }
}
