//! Each walk against the plain way that takes the square of the time.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{all_leading, all_reached, circles, components, greatest, leading, on_circle, owners};

/// All places that a way of at least one step leads to.
fn reached(next: &[Vec<usize>], from: usize) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut open = next[from].clone();
    while let Some(place) = open.pop() {
        if seen.insert(place) {
            open.extend(&next[place]);
        }
    }
    seen
}

fn leads(next: &[Vec<usize>], from: usize, to: usize) -> bool {
    from == to || reached(next, from).contains(&to)
}

fn graph() -> impl Strategy<Value = Vec<Vec<usize>>> {
    (1_usize..12).prop_flat_map(|size| {
        proptest::collection::vec(proptest::collection::vec(0..size, 0..4), size..=size)
    })
}

proptest! {
    #[test]
    fn components_are_what_leads_to_each_other_each_after_what_it_leads_to(next in graph()) {
        let found = components(&next);
        let mut places: Vec<usize> = found.iter().flatten().copied().collect();
        places.sort_unstable();
        prop_assert_eq!(places, (0..next.len()).collect::<Vec<_>>());
        for (rank, component) in found.iter().enumerate() {
            for place in component {
                for other in 0..next.len() {
                    let mutual = leads(&next, *place, other) && leads(&next, other, *place);
                    prop_assert_eq!(component.contains(&other), mutual);
                    if !mutual && leads(&next, *place, other) {
                        prop_assert!(found[..rank].iter().flatten().any(|before| *before == other));
                    }
                }
            }
        }
    }

    #[test]
    fn walks_agree_with_the_plain_way(next in graph(), values in proptest::collection::vec(0_u8..50, 12)) {
        let size = next.len();
        for to in 0..size {
            let plain: Vec<bool> = (0..size).map(|from| leads(&next, from, to)).collect();
            prop_assert_eq!(&leading(&next, |place| place == to), &plain);
            let all: Vec<usize> = (0..size).filter(|from| plain[*from]).collect();
            prop_assert_eq!(all_leading(&next, to), all.clone());
            prop_assert_eq!(all_reached(&next, to), (0..size).filter(|place| leads(&next, to, *place)).collect());
            prop_assert_eq!(Some(greatest(&next, &values[..size])[to]), all.iter().map(|from| values[*from]).max());
            let owner: Vec<usize> = values[..size].iter().map(|value| usize::from(*value) % 3).collect();
            let owned: BTreeSet<usize> = all.iter().map(|from| owner[*from]).collect();
            prop_assert_eq!(owners(&next, &owner, &vec![to; 70]), vec![owned.len(); 70]);
        }
        let on: Vec<bool> = (0..size).map(|place| reached(&next, place).contains(&place)).collect();
        prop_assert_eq!(on_circle(&next), on);
    }

    #[test]
    fn circles_are_circles_and_every_component_with_one_shows_one(next in graph()) {
        let found = circles(&next);
        for circle in &found {
            for (place, to) in circle.iter().zip(circle.iter().cycle().skip(1)) {
                prop_assert!(next[*place].contains(to), "{:?}", circle);
            }
            prop_assert_eq!(circle.iter().collect::<BTreeSet<_>>().len(), circle.len());
        }
        let on = on_circle(&next);
        for component in components(&next).iter().filter(|component| on[component[0]]) {
            prop_assert!(found.iter().any(|circle| component.contains(&circle[0])));
        }
    }
}

#[test]
fn a_chain_of_a_hundred_thousand_is_walked() {
    let mut next: Vec<Vec<usize>> = (1..100_000).map(|to| vec![to]).collect();
    next.push(Vec::new());
    assert_eq!(components(&next).len(), 100_000);
    assert!(leading(&next, |place| place == 99_999).into_iter().all(|leads| leads));
    assert!(circles(&next).is_empty());
    next[99_999].push(0);
    assert_eq!(circles(&next)[0].len(), 100_000);
}
