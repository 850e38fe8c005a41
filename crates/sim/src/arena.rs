//! Arenas: vectors whose indices have the type of what they lead to.
//!
//! A world holds its lanes, links, cells and edge functions in one arena each. An [`Idx`] made by an arena's `push` names an
//! element of that kind, so that what follows an index never has to ask which kind it found.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// The place of a `T` in its [`Arena`].
pub(crate) struct Idx<T> {
    at: u32,
    kind: PhantomData<fn() -> T>,
}

impl<T> Idx<T> {
    const fn new(at: usize) -> Self {
        Self {
            at: at as u32,
            kind: PhantomData,
        }
    }
}

// By hand: a derive would want the same of `T`.
impl<T> Clone for Idx<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Idx<T> {}

impl<T> fmt::Debug for Idx<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.at.fmt(f)
    }
}

/// Elements of one kind, which stay where they were put.
pub(crate) struct Arena<T>(Vec<T>);

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Arena<T> {
    /// Adds an element.
    pub(crate) fn push(&mut self, element: T) -> Idx<T> {
        self.0.push(element);
        Idx::new(self.0.len() - 1)
    }

    /// The places of all elements, in the order in which they were added.
    pub(crate) fn indices(&self) -> impl Iterator<Item = Idx<T>> + use<T> {
        (0..self.0.len()).map(Idx::new)
    }

    /// All elements, in the order in which they were added.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

impl<T> Index<Idx<T>> for Arena<T> {
    type Output = T;
    #[inline]
    fn index(&self, idx: Idx<T>) -> &T {
        &self.0[idx.at as usize]
    }
}

impl<T> IndexMut<Idx<T>> for Arena<T> {
    #[inline]
    fn index_mut(&mut self, idx: Idx<T>) -> &mut T {
        &mut self.0[idx.at as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_finds_what_was_pushed() {
        let mut arena = Arena::default();
        let places = ["a", "b", "c"].map(|s| arena.push(s.to_owned()));
        arena[places[1]].push('!');
        let all: Vec<&str> = arena.indices().map(|i| arena[i].as_str()).collect();
        assert_eq!(all, ["a", "b!", "c"]);
        for element in arena.iter_mut() {
            element.clear();
        }
        assert!(places.iter().all(|&p| arena[p].is_empty()));
    }
}
