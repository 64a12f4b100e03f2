//! Why a pipeline is silent: the cause, the one agent whose move would free it, and the evidence.

use super::cause::{Cause, Confidence, Diagnosis};
use super::chain::{Chains, End, Hold, View, views};
use super::evidence;
use super::graph::Graph;
use super::judge::{Facts, LEAD};
use super::moment::Millis;
use super::node::{Duty, Node, Wait};
use super::signals::Rules;
use super::silence;

/// Calls in a row that make a livelock.
pub const SAME_CALLS: u32 = 8;
/// Messages that make a livelock: six to and six fro.
pub const SAME_HEADS: u32 = 12;

/// Finds the cause of a silence.
pub fn diagnose(facts: &Facts<'_>, now: Millis) -> Diagnosis {
    let graph = &facts.ledger.graph;
    let views = views(facts, now);
    let chains: Vec<Chains<'_>> = views.iter().map(View::chains).collect();
    let mut ends: Vec<Place<'_>> = (views.iter().zip(&chains))
        .flat_map(|(view, chains)| chains.ends.iter().map(move |end| Place { view, chains, end }))
        .filter(|at| !at.is_of_another())
        .collect();
    // The one agent whose move frees the most; among equals the latest chain, since older ones did not stop the work.
    ends.sort_by(|a, b| {
        let key = |at: &Place<'_>| (at.end.strength(), at.end.waiters, at.latest());
        let order = |at: &Place<'_>| (at.end.wait.since, at.view.session.to_owned(), at.end.wait.key());
        key(b).cmp(&key(a)).then_with(|| order(a).cmp(&order(b)))
    });
    let best = ends.first();
    let found = match best {
        Some(at) if at.end.strength() > Duty::Free => {
            raced(graph, &views, Some((at.view, at.end))).or_else(|| Some(at_end(graph, at, now)))
        }
        // A track that should move and does not says more than what is only likely to be owed.
        _ if silence::worst(facts, now).is_some() => silence::worst(facts, now),
        Some(at) => {
            let likely = at_end(graph, at, now);
            // What is only likely to be owed says less than a message that was never seen: the debtor's own, or
            // one that came when the debtor's part was done.
            let unseen = || match likely.cause {
                Cause::ReplyOwed => unread_mail(graph, &[at.view], Some(at.end.wait.debtor()), Millis::MIN)
                    .or_else(|| unread_mail(graph, &[at.view], None, at.latest())),
                _ => None,
            };
            raced(graph, &views, None).or_else(unseen).or(Some(likely))
        }
        None => raced(graph, &views, None).or_else(|| {
            let all: Vec<&View<'_>> = views.iter().collect();
            unread_mail(graph, &all, None, Millis::MIN)
        }),
    };
    let mut diagnosis = found
        .or_else(|| held(graph, &views, now))
        .or_else(|| silence::blocked(facts, now))
        .unwrap_or_else(|| nobody_waits(facts, now));
    let others = ends.iter().skip(1).filter(|at| at.end.wait.duty == Duty::Due).take(3);
    diagnosis
        .evidence
        .extend(others.map(|at| format!("also open: {}", evidence::wait(graph, at.view, at.end.wait))));
    diagnosis.evidence.extend(evidence::beside(graph, &views, &diagnosis));
    diagnosis
}

/// Finds what is wrong with one wait: what an overdue answer is told with. The chains are those of the view.
pub fn diagnose_wait(
    graph: &Graph,
    view: &View<'_>,
    chains: &Chains<'_>,
    wait: &Wait,
    now: Millis,
) -> Diagnosis {
    if let Some(end) = chains.end_of(wait) {
        return at_end(graph, &Place { view, chains, end }, now);
    }
    // Whoever waits is held by something else, or waits more for something else.
    let alone = Chains::default();
    at_end(graph, &Place { view, chains: &alone, end: &End::of(wait) }, now)
}

/// Where a chain ends, in its team.
struct Place<'a> {
    view: &'a View<'a>,
    chains: &'a Chains<'a>,
    end: &'a End<'a>,
}

impl Place<'_> {
    fn is_of_another(&self) -> bool {
        self.end.circle.is_empty() && self.view.is_of_another(self.end.wait)
    }

    /// The latest that is known of this chain. A task goes on for as long as its agent has turns.
    fn latest(&self) -> Millis {
        let wait = self.end.wait;
        let turn = || self.view.node(wait.debtor()).and_then(|node| node.turn.ended);
        if wait.spawn { turn().unwrap_or_default().max(self.end.latest) } else { self.end.latest }
    }
}

/// Names the cause at the end of a chain, in the list's order.
fn at_end(graph: &Graph, at: &Place<'_>, now: Millis) -> Diagnosis {
    let rules = graph.rules();
    let Place { view, chains, end } = *at;
    let wait = end.wait;
    let call = |name: &str| graph.display(view.session, name);
    let (cause, root) = if end.circle.is_empty() {
        cause_of(rules, view, wait)
    } else {
        (Cause::CircularWait, wait.debtor())
    };
    let mut proof = match cause {
        Cause::CircularWait => evidence::circle(graph, view, &end.circle),
        _ => evidence::of_wait(graph, view, wait, cause, now),
    };
    let waiters = chains.waiters(end);
    let chain = waiters.iter().filter(|name| **name != wait.from);
    let above = chain.flat_map(|name| view.waits_of(name)).filter(|above| !std::ptr::eq(*above, wait));
    let above = above
        .filter(|above| end.circle.is_empty() || !end.circle.iter().any(|own| std::ptr::eq(*own, *above)));
    let mut above: Vec<&Wait> = above.filter(|above| waiters.contains(above.debtor())).collect();
    above.sort_by_key(|wait| (std::cmp::Reverse(wait.duty), wait.since, wait.key()));
    proof.extend(
        above.into_iter().take(5).map(|above| format!("behind it: {}", evidence::wait(graph, view, above))),
    );
    Diagnosis {
        cause,
        root: call(root),
        session: view.session.to_owned(),
        confidence: confidence(cause, wait),
        words: evidence::sentence(graph, view, end, cause, root),
        evidence: proof,
    }
}

fn confidence(cause: Cause, wait: &Wait) -> Confidence {
    match (cause, wait.duty) {
        // Words without a head may be no answer at all.
        (Cause::Misrouted, _) if wait.stray.as_ref().is_some_and(|stray| stray.head.is_empty()) => {
            Confidence::Medium
        }
        (Cause::Misaddressed | Cause::Misrouted, _) => Confidence::High,
        (_, Duty::Free) => Confidence::Low,
        (Cause::PrintedNotSent | Cause::NoReplyDue, _) => Confidence::Medium,
        _ => Confidence::High,
    }
}

/// Names the cause of one wait at the end of its chain, and the agent whose move would end it.
pub fn cause_of<'a>(rules: &Rules, view: &View<'a>, wait: &'a Wait) -> (Cause, &'a str) {
    let (team, debtor) = (view.team, wait.debtor());
    if let Some(hold) = view.holds.get(debtor) {
        let cause = match hold {
            Hold::Api { .. } => Cause::ApiDead,
            Hold::Person { .. } => Cause::WaitsForPerson,
            Hold::Tool { .. } => Cause::LongTool,
        };
        return (cause, debtor);
    }
    let stray = wait.stray.as_ref();
    if (!wait.delivered || wait.unconfirmed) && !team.was_alive(rules, &wait.to) {
        return (Cause::Misaddressed, &wait.from);
    }
    if let Some(stray) = stray.filter(|stray| !stray.delivered && !team.was_alive(rules, &stray.to)) {
        return (Cause::Misaddressed, &stray.by);
    }
    if view.is_misrouted(wait) {
        return (Cause::Misrouted, &wait.from);
    }
    if let Some(stray) = stray.filter(|stray| team.is_alive(rules, &wait.from) && stray.to != wait.from) {
        return (Cause::Misrouted, &stray.by);
    }
    if printed(rules, view, wait).is_some() {
        return (Cause::PrintedNotSent, debtor);
    }
    if is_gone(rules, view, wait) {
        return (Cause::WaitsForGone, &wait.from);
    }
    if wait.duty == Duty::Never {
        return (Cause::NoReplyDue, &wait.from);
    }
    let had_turn = !wait.passed.is_empty()
        || wait.operator
        || view.node(debtor).is_some_and(|node| node.had_turn_since(wait.seen_from));
    if had_turn { (Cause::ReplyOwed, debtor) } else { (Cause::Unread, debtor) }
}

/// The head that stands in the debtor's last text and was not sent.
pub fn printed<'a>(rules: &Rules, view: &View<'a>, wait: &Wait) -> Option<&'a str> {
    let node = view.node(wait.debtor())?;
    let ended = node.turn.ended.filter(|ended| *ended >= wait.seen_from)?;
    debug_assert!(ended >= wait.seen_from);
    let awaited = view.team.awaited(rules, wait, wait.debtor());
    let fits = |head: &&String| {
        awaited.iter().any(|pattern| *pattern != "*" && super::signals::matches(pattern, head))
    };
    let any = |head: &&String| {
        let is_open = wait.duty == Duty::Free || awaited.contains(&"*");
        is_open
            && !matches!(
                head.as_str(),
                "NOTE" | "TODO" | "FIXME" | "WARNING" | "ERROR" | "SUMMARY" | "HTTP" | "URL"
            )
    };
    let head = node.printed.iter().find(fits).or_else(|| node.printed.iter().find(any))?;
    Some(head)
}

/// The awaited agent ended, was replaced, or never was.
fn is_gone(rules: &Rules, view: &View<'_>, wait: &Wait) -> bool {
    let debtor = wait.debtor();
    match view.node(debtor) {
        None => !view.team.was_alive(rules, debtor),
        Some(node) => {
            let replaced =
                debtor == wait.to && !wait.to_id.is_empty() && !node.id.is_empty() && node.id != wait.to_id;
            node.gone.is_some() || replaced || !wait.delivered
        }
    }
}

/// An agent that went on after asking, while the answer came.
fn raced(graph: &Graph, views: &[View<'_>], end: Option<(&View<'_>, &End<'_>)>) -> Option<Diagnosis> {
    let all =
        views.iter().flat_map(|view| view.team.nodes.iter().map(move |(name, node)| (view, name, node)));
    let (view, name, raced) = all
        .filter(|(view, name, node)| {
            node.gone.is_none()
                && end
                    .is_none_or(|(at, end)| at.session == view.session && end.wait.debtor() == name.as_str())
        })
        .filter_map(|(view, name, node)| Some((view, name, node.raced.as_ref()?)))
        .max_by_key(|(_, name, raced)| (raced.at, (*name).clone()))?;
    let root = graph.display(view.session, name);
    Some(Diagnosis {
        cause: Cause::WentOn,
        words: format!(
            "{root} asked {} for an answer to {}, went on with {} in the same turn, and has had no turn since the answer came.",
            graph.display(view.session, &raced.by),
            raced.asked,
            raced.tool
        ),
        evidence: evidence::raced(graph, view, name, raced),
        session: view.session.to_owned(),
        confidence: Confidence::Medium,
        root,
    })
}

/// A message, later than a time, that its recipient has had no turn to see.
fn unread_mail(
    graph: &Graph,
    views: &[&View<'_>],
    only: Option<&str>,
    later_than: Millis,
) -> Option<Diagnosis> {
    let all =
        views.iter().flat_map(|view| view.team.nodes.iter().map(move |(name, node)| (view, name, node)));
    let (view, name, mail) = all
        .filter(|(view, name, node)| {
            let is_free = node.gone.is_none()
                && node.idle.is_none()
                && !node.is_at_work()
                && !view.holds.contains_key(name.as_str());
            is_free && only.is_none_or(|only| only == name.as_str())
        })
        .filter_map(|(view, name, node)| Some((view, name, node.unread()?)))
        .filter(|(_, _, mail)| mail.at > later_than)
        .filter(|(_, _, mail)| !matches!(mail.head.as_str(), "shutdown_response" | "idle_notification"))
        .max_by_key(|(_, name, mail)| (mail.at, (*name).clone()))?;
    let root = graph.display(view.session, name);
    Some(Diagnosis {
        cause: Cause::Unread,
        words: format!(
            "{root} has had no turn since a message of {} was delivered.",
            graph.display(view.session, &mail.from)
        ),
        evidence: evidence::mail(graph, view, name, mail),
        session: view.session.to_owned(),
        confidence: Confidence::Medium,
        root,
    })
}

/// Somebody is held by something outside, or does the same again and again.
fn held(graph: &Graph, views: &[View<'_>], now: Millis) -> Option<Diagnosis> {
    let holds = views.iter().flat_map(|view| view.holds.iter().map(move |(name, hold)| (view, *name, hold)));
    let found = holds.min_by_key(|(_, name, hold)| {
        let (rank, since) = match hold {
            Hold::Api { since, .. } => (0, *since),
            Hold::Person { since, .. } => (1, *since),
            Hold::Tool { since, .. } => (2, *since),
        };
        (rank, since, (*name).to_owned())
    });
    if let Some((view, name, hold)) = found {
        return Some(by_hold(graph, view, name, hold, now));
    }
    views.iter().find_map(|view| livelocks(graph, view).into_iter().next().map(|(.., diagnosis)| diagnosis))
}

/// Names what holds an agent.
pub fn by_hold(graph: &Graph, view: &View<'_>, name: &str, hold: &Hold, now: Millis) -> Diagnosis {
    let root = graph.display(view.session, name);
    let (cause, proof) = evidence::hold(&root, hold, now);
    Diagnosis {
        cause,
        words: format!("{proof}."),
        evidence: vec![proof],
        session: view.session.to_owned(),
        confidence: Confidence::High,
        root,
    }
}

/// Finds agents that do the same again and again, each with the key under which the lead is told once, and since when.
pub fn livelocks(graph: &Graph, view: &View<'_>) -> Vec<(String, Millis, Diagnosis)> {
    let make = |name: &str, proof: String| {
        let root = graph.display(view.session, name);
        Diagnosis {
            cause: Cause::Livelock,
            words: format!("{proof}."),
            evidence: vec![proof],
            session: view.session.to_owned(),
            confidence: Confidence::High,
            root,
        }
    };
    let mut found = Vec::new();
    for (name, node) in &view.team.nodes {
        if let Some(run) = node.run.as_ref().filter(|run| run.count >= SAME_CALLS && !run.noted) {
            let proof = evidence::run(&graph.display(view.session, name), run);
            found.push((format!("run {name}"), run.since, make(name, proof)));
        }
    }
    for (pair, fro) in &view.team.fro {
        if fro.count >= SAME_HEADS && !fro.noted {
            let proof = evidence::fro(graph, view, pair, fro);
            found.push((format!("heads {pair}"), fro.since, make(&fro.last, proof)));
        }
    }
    found
}

/// Nothing is outstanding: the lead's move is next.
fn nobody_waits(facts: &Facts<'_>, now: Millis) -> Diagnosis {
    let graph = &facts.ledger.graph;
    let session = facts.ledger.lead_session(|id| !facts.dead.contains(id)).unwrap_or_default();
    let root = graph.display(session, LEAD);
    let lead = graph.teams.get(session).and_then(|team| team.nodes.get(LEAD));
    let mut proof = vec!["no answer, tool, person or API is waited for".to_owned()];
    proof.extend(lead.and_then(|node| evidence::turn(&root, node, now)));
    Diagnosis {
        cause: Cause::NobodyWaits,
        words: format!("Nobody waits for anything; the next move is {root}'s."),
        evidence: proof,
        session: session.to_owned(),
        confidence: if lead.is_some_and(Node::is_at_work) { Confidence::Low } else { Confidence::Medium },
        root,
    }
}
