//! Laws from outside of this workspace.

use core::fmt;
use std::sync::Arc;

use slackwater_core::Draw;

use crate::Law;

/// Builds a law from what it may leave to chance and what follows `:` in its name (nothing: empty).
type Make = Arc<dyn Fn(Draw, &str) -> Result<Box<dyn Law>, String> + Send + Sync>;

/// A queue law that a program adds, under a name.
#[derive(Clone)]
pub struct OwnLaw {
    name: String,
    about: String,
    /// What follows `:` in the name.
    parameters: String,
    make: Make,
}

impl OwnLaw {
    /// A law: its name in scenarios, one line about it, and what builds one for each queue. `make` is given what follows `:`
    /// in `name:limit=20`, and says what is wrong with it.
    pub fn new(
        name: &str,
        about: &str,
        make: impl Fn(Draw, &str) -> Result<Box<dyn Law>, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            about: about.to_owned(),
            parameters: String::new(),
            make: Arc::new(make),
        }
    }

    /// Its name, without parameters.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The line about it.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The same law with parameters.
    ///
    /// # Errors
    /// What the law says is wrong with them.
    pub fn with_parameters(&self, parameters: &str) -> Result<Self, String> {
        (self.make)(Draw::new(0), parameters)?;
        Ok(Self {
            parameters: parameters.to_owned(),
            ..self.clone()
        })
    }

    /// A law in its initial state.
    ///
    /// # Panics
    /// Where the law refuses parameters that it took before.
    pub fn build(&self, draw: Draw) -> Box<dyn Law> {
        let law = (self.make)(draw, &self.parameters);
        law.unwrap_or_else(|e| panic!("{}: {e}, after these parameters were taken", self.name))
    }
}

impl fmt::Debug for OwnLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnLaw({:?}:{:?})", self.name, self.parameters)
    }
}

impl PartialEq for OwnLaw {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make) && self.parameters == other.parameters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::NoLaw;

    #[test]
    fn laws_are_the_same_with_the_same_maker_and_parameters() {
        let law = || OwnLaw::new("own", "A law of the program's.", |_, _| Ok(Box::new(NoLaw)));
        let (one, other) = (law(), law());
        let with = |p: &str| one.with_parameters(p).expect("it takes any");
        assert_eq!(with("limit=20"), with("limit=20"));
        assert_ne!(with("limit=20"), with("limit=21"));
        // Another maker may build something else under the same name.
        assert_ne!(one, other);
        assert_eq!(with("limit=20").about(), "A law of the program's.");
    }
}
