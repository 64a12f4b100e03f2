//! What a diagnosis rests on, in words: facts with their times, no commands, no bodies.

use super::cause::{Cause, Confidence, Diagnosis};
use super::chain::{End, Hold, View};
use super::diagnosis::printed;
use super::graph::Graph;
use super::idle::Why;
use super::judge::LEAD;
use super::moment::Millis;
use super::node::{Mail, Node, Raced, Run, ToAndFro, Wait};
use super::task::{BLOCKED, Task};
use super::wording::{clock, plain};

/// The longest list of names in one sentence.
const MOST_NAMES: usize = 6;
/// Waits of a circle that are named one by one.
const MOST_LINKS: usize = 8;

/// One wait on a line: who, for whom, what, since when.
pub fn wait(graph: &Graph, view: &View<'_>, wait: &Wait) -> String {
    let call = |name: &str| plain(&graph.display(view.session, name), 60);
    format!(
        "{} waits for {}: {} since {}",
        call(&wait.from),
        call(wait.debtor()),
        plain(wait.what(), 60),
        clock(wait.since)
    )
}

/// What a diagnosis says in one sentence.
pub fn sentence(graph: &Graph, view: &View<'_>, end: &End<'_>, cause: Cause, root: &str) -> String {
    let call = |name: &str| plain(&graph.display(view.session, name), 60);
    let wait = end.wait;
    let (from, to, what) = (call(&wait.from), call(wait.debtor()), plain(wait.what(), 60));
    match cause {
        Cause::CircularWait => {
            let mut names: Vec<String> =
                end.circle.iter().take(MOST_LINKS).map(|wait| call(&wait.from)).collect();
            if end.circle.len() > MOST_LINKS {
                names.push("…".to_owned());
            }
            names.extend(end.circle.first().map(|wait| call(&wait.from)));
            format!("They wait for each other: {}; {} has owed longest.", names.join(" → "), call(root))
        }
        Cause::Misaddressed => {
            let (by, what, to) =
                match wait.stray.as_ref().filter(|stray| stray.by == root && root != wait.from) {
                    Some(stray) => (call(&stray.by), stray.what(), stray.to.as_str()),
                    None => (from, wait.what(), wait.to.as_str()),
                };
            format!(
                "{by} sent {} to \"{}\", a name that nobody has had in this session.",
                plain(what, 60),
                plain(to, 60)
            )
        }
        Cause::Misrouted => match wait.stray.as_ref().filter(|stray| stray.by == root && root != wait.from) {
            Some(stray) => {
                let awaited =
                    if stray.head.is_empty() { format!("an answer to {what}") } else { "it".to_owned() };
                format!(
                    "{} sent {} to {} while {from} waits for {awaited}.",
                    call(&stray.by),
                    plain(stray.what(), 60),
                    call(&stray.to)
                )
            }
            None => format!(
                "{from} sent {what} to {to}; by the table it belongs to {}.",
                meant(graph, view, wait)
            ),
        },
        Cause::PrintedNotSent => {
            let head = printed(graph.rules(), view, wait).unwrap_or_default();
            format!(
                "{to} printed {} at the end of its turn and sent no message; {from} waits for it.",
                plain(head, 60)
            )
        }
        Cause::WaitsForGone => format!("{from} waits for {to}, which has ended or never began."),
        Cause::NoReplyDue => {
            format!("{from} waits for {to} after {what}, which nobody answers by the table.")
        }
        Cause::Unread => format!("{to} has had no turn since {what} of {from} was delivered."),
        _ => format!("{to} owes {from} an answer to {what}."),
    }
}

/// Who plays the roles that the table names.
fn meant(graph: &Graph, view: &View<'_>, wait: &Wait) -> String {
    let rules = graph.rules();
    let table = rules.tables.iter().find(|table| table.name == wait.table);
    let row = rules.row(&wait.table, &wait.row);
    let (Some(table), Some(row)) = (table, row) else { return "another agent".to_owned() };
    let names: Vec<String> = view
        .team
        .alive(rules)
        .filter(|name| table.plays_any(view.team.known(name), &row.to))
        .take(MOST_NAMES)
        .map(|name| plain(&graph.display(view.session, name), 60))
        .collect();
    names.join(", ")
}

/// What is known of a wait at the end of its chain.
pub fn of_wait(graph: &Graph, view: &View<'_>, wait: &Wait, cause: Cause, now: Millis) -> Vec<String> {
    let call = |name: &str| plain(&graph.display(view.session, name), 60);
    let asked = asked(call, wait);
    if let Some(hold) = view.holds.get(wait.debtor()) {
        return vec![self::hold(&call(wait.debtor()), hold, now).1, asked];
    }
    let mut proof = vec![asked];
    if let Some((state, at)) = wait.decided {
        proof.push(format!("the request was {} at {}", state.word(), clock(at)));
    }
    if let Some(task) = view.team.tasks.get(&wait.request).filter(|_| wait.row == BLOCKED.1) {
        proof = vec![blocked(&call(&task.owner), &wait.request, task)];
    }
    if let Some(stray) = &wait.stray {
        let arrived = if stray.delivered { "delivered" } else { "not delivered" };
        let head = plain(stray.what(), 60);
        proof.push(format!(
            "{} sent {head} to {} at {} ({arrived})",
            call(&stray.by),
            call(&stray.to),
            clock(stray.at)
        ));
    }
    if cause == Cause::Misaddressed {
        let to =
            wait.stray.as_ref().filter(|stray| !stray.delivered).map_or(wait.to.as_str(), |stray| &stray.to);
        proof.push(format!("names that exist, nearest first: {}", nearest(graph, view, to).join(", ")));
    }
    if !wait.passed.is_empty() {
        proof.push(format!("the duty passed from {} to {}", call(&wait.to), call(&wait.passed)));
    }
    match view.node(wait.debtor()) {
        Some(node) => proof.extend(standing(&call(wait.debtor()), node, wait, now)),
        None if cause != Cause::Misaddressed => proof.push(format!("{} was never seen", call(wait.debtor()))),
        None => {}
    }
    if let Some(head) = printed(graph.rules(), view, wait).filter(|_| cause == Cause::PrintedNotSent) {
        proof.push(format!("its last text holds {}; no message followed", plain(head, 60)));
    }
    if !wait.went_on.is_empty() {
        proof.push(format!(
            "{} went on with {} in the same turn",
            call(&wait.from),
            plain(&wait.went_on, 60)
        ));
    }
    proof
}

/// What was asked of whom, and whether it arrived.
fn asked(call: impl Fn(&str) -> String, wait: &Wait) -> String {
    if wait.spawn {
        format!("{} began {} at {}", call(&wait.from), call(&wait.to), clock(wait.since))
    } else {
        let arrived = match (wait.delivered, wait.unconfirmed) {
            (true, true) => "delivery not confirmed",
            (true, false) => "delivered",
            (false, _) => "not delivered",
        };
        format!(
            "{} sent {} to {} at {} ({arrived})",
            call(&wait.from),
            plain(wait.what(), 60),
            call(&wait.to),
            clock(wait.asked)
        )
    }
}

/// A task that its worker has set to blocked.
pub fn blocked(owner: &str, id: &str, task: &Task) -> String {
    let by =
        if task.blocker.is_empty() { "nothing says by what".to_owned() } else { plain(&task.blocker, 200) };
    format!("task {} of {owner} has been blocked since {}: {by}", plain(id, 40), clock(task.since))
}

/// What else stands still in the teams: blocked tasks, and workers that are left idle.
pub fn beside(graph: &Graph, views: &[View<'_>], why: &Diagnosis) -> Vec<String> {
    let tasks = views.iter().flat_map(|view| {
        let call = |name: &str| plain(&graph.display(view.session, name), 60);
        view.team.blocked().into_iter().map(move |(id, task)| blocked(&call(&task.owner), id, task))
    });
    let idle = views.iter().flat_map(|view| {
        let left = view.team.nodes.iter().filter(|(name, node)| {
            view.team.is_idle(name) && node.idle.as_ref().is_some_and(|idle| !idle.leaving)
        });
        left.filter_map(|(name, _)| Some(parked(graph, view, name)?.1.evidence.swap_remove(0)))
    });
    tasks.filter(|line| !why.evidence.contains(line)).take(3).chain(idle.take(3)).collect()
}

/// A worker that is idle after its task and was not asked to shut down, since when.
pub fn parked(graph: &Graph, view: &View<'_>, name: &str) -> Option<(Millis, Diagnosis)> {
    let idle = view.node(name)?.idle.as_ref()?;
    let call = |name: &str| plain(&graph.display(view.session, name), 60);
    let who = call(name);
    let why = match idle.why {
        Why::Acknowledged => "its task is completed and acknowledged",
        Why::Ready => "it said that it is ready for its next task",
    };
    let diagnosis = Diagnosis {
        cause: Cause::Parked,
        words: format!("{who} is idle and has neither a task nor a shutdown_request."),
        evidence: vec![format!("{who} has been idle since {}: {why}", clock(idle.since))],
        session: view.session.to_owned(),
        confidence: Confidence::High,
        root: call(LEAD),
    };
    Some((idle.since, diagnosis))
}

/// Names of the team, the most alike first.
pub fn nearest(graph: &Graph, view: &View<'_>, to: &str) -> Vec<String> {
    let mut names: Vec<String> =
        view.team.alive(graph.rules()).map(|name| plain(&graph.display(view.session, name), 60)).collect();
    let to = to.to_lowercase();
    let likeness =
        |name: &String| similar::TextDiff::from_chars(name.to_lowercase().as_str(), to.as_str()).ratio();
    names.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)).then_with(|| a.cmp(b)));
    names.truncate(MOST_NAMES);
    names
}

/// What a debtor stands at.
fn standing(name: &str, node: &Node, wait: &Wait, now: Millis) -> Option<String> {
    if let Some(gone) = node.gone {
        return Some(format!("{name} ended at {}", clock(gone)));
    }
    if !wait.to_id.is_empty() && !node.id.is_empty() && node.id != wait.to_id && wait.passed.is_empty() {
        return Some(format!("{name} was begun anew at {}; who was asked is gone", clock(node.since)));
    }
    let state = turn(name, node, now)?;
    let seen = if node.had_turn_since(wait.seen_from) { "a turn" } else { "no turn" };
    Some(format!("{state}; it has had {seen} since"))
}

/// The state of an agent's turn.
pub fn turn(name: &str, node: &Node, _now: Millis) -> Option<String> {
    match node.turn.ended {
        Some(ended) => Some(format!("{name}'s turn ended at {}", clock(ended))),
        None if node.turn.began > 0 => {
            Some(format!("{name}'s turn has gone on since {}", clock(node.turn.began)))
        }
        None if name == LEAD => None,
        None => Some(format!("no turn of {name} has been seen")),
    }
}

/// A circle, wait by wait.
pub fn circle(graph: &Graph, view: &View<'_>, circle: &[&Wait]) -> Vec<String> {
    let mut proof: Vec<String> = circle.iter().take(MOST_LINKS).map(|own| wait(graph, view, own)).collect();
    if circle.len() > MOST_LINKS {
        proof.push(format!("and {} more waits of the same circle", circle.len() - MOST_LINKS));
    }
    proof
}

/// An answer that came too early.
pub fn raced(graph: &Graph, view: &View<'_>, name: &str, raced: &Raced) -> Vec<String> {
    let call = |name: &str| plain(&graph.display(view.session, name), 60);
    let answer = if raced.head.is_empty() { "a message" } else { raced.head.as_str() };
    vec![
        format!(
            "{} went on with {} after sending {}",
            call(name),
            plain(&raced.tool, 60),
            plain(&raced.asked, 60)
        ),
        format!(
            "{} answered with {} at {}, before that turn ended",
            call(&raced.by),
            plain(answer, 60),
            clock(raced.at)
        ),
    ]
}

/// A message that nobody has seen.
pub fn mail(graph: &Graph, view: &View<'_>, name: &str, mail: &Mail) -> Vec<String> {
    let call = |name: &str| plain(&graph.display(view.session, name), 60);
    let head = if mail.head.is_empty() { "a message" } else { mail.head.as_str() };
    let mut proof = vec![format!(
        "{} sent {} to {} at {} (delivered)",
        call(&mail.from),
        plain(head, 60),
        call(name),
        clock(mail.at)
    )];
    proof.extend(view.node(name).and_then(|node| turn(&call(name), node, mail.at)));
    proof
}

/// What holds an agent, and the cause that it is.
pub fn hold(name: &str, hold: &Hold, _now: Millis) -> (Cause, String) {
    match hold {
        Hold::Tool { tool, since } => {
            (Cause::LongTool, format!("{name}: {} has been running since {}", plain(tool, 60), clock(*since)))
        }
        Hold::Person { what, since } => (
            Cause::WaitsForPerson,
            format!("{name} has asked a person for {} since {}", plain(what, 60), clock(*since)),
        ),
        Hold::Api { error, since } => (
            Cause::ApiDead,
            format!("the API ended {name}'s turn at {} with {}", clock(*since), plain(error, 60)),
        ),
    }
}

/// The same call again and again.
pub fn run(name: &str, run: &Run) -> String {
    let tool = plain(&run.tool, 60);
    format!(
        "{name} has called {tool} with the same input {} times in a row since {}",
        run.count,
        clock(run.since)
    )
}

/// The same heads to and fro.
pub fn fro(graph: &Graph, view: &View<'_>, pair: &str, fro: &ToAndFro) -> String {
    let other = pair.split(' ').find(|name| *name != fro.last).unwrap_or(pair);
    let call = |name: &str| plain(&graph.display(view.session, name), 60);
    format!(
        "{} and {} have sent each other {} and {}, and nothing else, {} times since {}",
        call(other),
        call(&fro.last),
        plain(&fro.next_head, 60),
        plain(&fro.last_head, 60),
        fro.count / 2,
        clock(fro.since)
    )
}
