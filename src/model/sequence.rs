//! Numbers that are given one after the other by writers that know nothing of each other: which of them were given
//! before, in little memory.

use serde::{Deserialize, Serialize};

/// Gaps that are remembered at most; of older ones it is only known that their numbers are smaller than later ones.
const MOST: usize = 32;

/// What is known of the numbers so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sequence {
    /// The greatest number.
    #[serde(default)]
    top: u64,
    /// Numbers below it that were not given: first and last of each stretch, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<(u64, u64)>,
    /// Up to here nothing is known any more.
    #[serde(default)]
    floor: u64,
}

/// What one more number is to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Greater than all.
    Next,
    /// Given before.
    Duplicate,
    /// Smaller than one before it, and not given before as far as is known.
    Decreasing,
}

impl Sequence {
    /// Takes one more number.
    pub fn note(&mut self, number: u64) -> Order {
        if number > self.top || self.top == 0 {
            if number > self.top + 1 {
                self.gaps.push((self.top + 1, number - 1));
                self.forget();
            }
            self.top = number;
            return Order::Next;
        }
        let Some(place) = self.gaps.iter().position(|(first, last)| (*first..=*last).contains(&number))
        else {
            return if number <= self.floor { Order::Decreasing } else { Order::Duplicate };
        };
        let (first, last) = self.gaps.remove(place);
        let rest = [(first, number.saturating_sub(1)), (number.saturating_add(1), last)];
        for (offset, gap) in rest.into_iter().filter(|(first, last)| first <= last).enumerate() {
            self.gaps.insert(place + offset, gap);
        }
        self.forget();
        Order::Decreasing
    }

    fn forget(&mut self) {
        while self.gaps.len() > MOST {
            self.floor = self.gaps.remove(0).1;
        }
    }

    /// The greatest number so far; 0 = none.
    pub fn top(&self) -> u64 {
        self.top
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::Order::{Decreasing as Less, Duplicate as Twice, Next};
    use super::{MOST, Order, Sequence};

    #[test]
    fn writers_that_race_are_seen() {
        let mut sequence = Sequence::default();
        let orders: Vec<Order> =
            [1, 2, 2, 5, 4, 4, 3, 6, 1].iter().map(|number| sequence.note(*number)).collect();
        assert_eq!(orders, [Next, Next, Twice, Next, Less, Twice, Less, Next, Twice]);
        assert_eq!(sequence.top(), 6);
    }

    #[test]
    fn the_ends_of_the_numbers_do_no_harm() {
        let mut sequence = Sequence::default();
        assert_eq!(sequence.note(0), Order::Next, "there is none before it");
        assert_eq!(sequence.note(u64::MAX), Order::Next);
        assert_eq!(sequence.note(u64::MAX - 1), Order::Decreasing);
        assert_eq!(sequence.note(1), Order::Decreasing);
        assert_eq!(sequence.note(u64::MAX), Order::Duplicate);
    }

    proptest! {
        #[test]
        fn what_is_remembered_is_true_and_little(numbers in proptest::collection::vec(1..500_u64, 0..400)) {
            let mut sequence = Sequence::default();
            let mut seen = BTreeSet::new();
            for number in numbers {
                let top = seen.last().copied().unwrap_or(0);
                let order = sequence.note(number);
                prop_assert_eq!(order == Order::Next, number > top);
                if order == Order::Duplicate {
                    prop_assert!(seen.contains(&number));
                }
                if number > sequence.floor && number <= top {
                    prop_assert_eq!(order == Order::Duplicate, seen.contains(&number));
                }
                seen.insert(number);
                prop_assert!(sequence.gaps.len() <= MOST);
            }
        }
    }
}
