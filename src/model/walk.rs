//! Walks over a graph of numbered places, each in time that grows with the graph and not with its square, and without
//! recursion, so that no length of a chain can hurt.

use std::collections::BTreeSet;

/// Returns the components of a graph (places that lead to each other), each after all that it leads to.
pub fn components(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let mut found = Vec::new();
    let (mut number, mut low) = (vec![NEW; next.len()], vec![0; next.len()]);
    let (mut stack, mut is_open) = (Vec::new(), vec![false; next.len()]);
    let mut count = 0;
    for start in 0..next.len() {
        let mut path = if number[start] == NEW { vec![(start, 0)] } else { Vec::new() };
        while let Some((at, turn)) = path.last_mut() {
            let at = *at;
            if *turn == 0 {
                (number[at], low[at]) = (count, count);
                count += 1;
                stack.push(at);
                is_open[at] = true;
            }
            if let Some(to) = next[at].get(*turn).copied() {
                *turn += 1;
                if number[to] == NEW {
                    path.push((to, 0));
                } else if is_open[to] {
                    low[at] = low[at].min(number[to]);
                }
                continue;
            }
            path.pop();
            if let Some((before, _)) = path.last() {
                low[*before] = low[*before].min(low[at]);
            }
            if low[at] == number[at] {
                let from = stack.iter().rposition(|place| *place == at).unwrap_or_default();
                let component = stack.split_off(from);
                for place in &component {
                    is_open[*place] = false;
                }
                found.push(component);
            }
        }
    }
    found
}

/// Tells of each place whether it leads to one that is wanted, or is wanted itself.
pub fn leading(next: &[Vec<usize>], is_wanted: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut leads = vec![false; next.len()];
    for component in components(next) {
        let found =
            component.iter().any(|place| is_wanted(*place) || next[*place].iter().any(|to| leads[*to]));
        for place in component {
            leads[place] = found;
        }
    }
    leads
}

/// Tells of each place whether a way leads from it back to itself.
pub fn on_circle(next: &[Vec<usize>]) -> Vec<bool> {
    let mut on = vec![false; next.len()];
    for component in components(next) {
        let is_circle = component.len() > 1 || component.iter().any(|place| next[*place].contains(place));
        for place in component {
            on[place] = is_circle;
        }
    }
    on
}

/// Returns for each place the greatest value of all that lead to it, its own among them.
pub fn greatest<T: Copy + Ord>(next: &[Vec<usize>], values: &[T]) -> Vec<T> {
    let mut best = values.to_vec();
    for component in components(next).iter().rev() {
        let Some(most) = component.iter().map(|place| best[*place]).max() else { continue };
        for place in component {
            best[*place] = most;
            for to in &next[*place] {
                best[*to] = best[*to].max(most);
            }
        }
    }
    best
}

/// Counts for each of some places how many owners have a place that leads to it; the place's own owner is one.
pub fn owners(next: &[Vec<usize>], owner: &[usize], of: &[usize]) -> Vec<usize> {
    let components = components(next);
    let owners = owner.iter().max().map_or(0, |most| most + 1);
    let mut counts = Vec::with_capacity(of.len());
    // A bit for each place that is asked for: as many at once as a word has bits.
    for some in of.chunks(64) {
        let mut mask = vec![0_u64; next.len()];
        for (bit, place) in some.iter().enumerate() {
            mask[*place] |= 1 << bit;
        }
        for component in &components {
            let reached = component
                .iter()
                .map(|place| next[*place].iter().fold(mask[*place], |mask_of, to| mask_of | mask[*to]))
                .fold(0, |a, b| a | b);
            for place in component {
                mask[*place] = reached;
            }
        }
        let mut by_owner = vec![0_u64; owners];
        for (place, owner) in owner.iter().enumerate() {
            by_owner[*owner] |= mask[place];
        }
        counts
            .extend((0..some.len()).map(|bit| by_owner.iter().filter(|mask| *mask >> bit & 1 == 1).count()));
    }
    counts
}

/// Returns all places from which a way leads to this one, and the place itself, in order.
pub fn all_leading(next: &[Vec<usize>], to: usize) -> Vec<usize> {
    leading(next, |place| place == to)
        .into_iter()
        .enumerate()
        .filter_map(|(place, leads)| leads.then_some(place))
        .collect()
}

/// Returns all places that a way leads to from this one, and the place itself.
pub fn all_reached(next: &[Vec<usize>], from: usize) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(place) = open.pop() {
        if seen.insert(place) {
            open.extend(&next[place]);
        }
    }
    seen
}

/// Finds circles: at least one of every component that has any.
pub fn circles(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let mut done = vec![false; next.len()];
    let mut place_on_path = vec![None; next.len()];
    for start in 0..next.len() {
        let mut path: Vec<(usize, usize)> = if done[start] { Vec::new() } else { vec![(start, 0)] };
        while let Some((at, turn)) = path.last_mut() {
            let at = *at;
            let Some(to) = next[at].get(*turn).copied() else {
                done[at] = true;
                place_on_path[at] = None;
                path.pop();
                continue;
            };
            *turn += 1;
            place_on_path[at] = Some(path.len() - 1);
            match place_on_path[to] {
                Some(place) => found.push(path[place..].iter().map(|(on, _)| *on).collect()),
                None if done[to] => {}
                None => path.push((to, 0)),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
