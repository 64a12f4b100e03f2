//! What a message does to a team's waits: it answers some, goes astray, passes a duty on, and opens others.

use std::collections::{BTreeMap, BTreeSet};

use super::diagnosis::SAME_HEADS;
use super::event::{Message, WORKER};
use super::judge::LEAD;
use super::moment::{Millis, millis};
use super::node::{Duty, Mail, Raced, Sent, Stray, ToAndFro, Wait};
use super::signals::{Reply, Rules, Signal, Table};
use super::team::{Team, fro_key};

/// Messages of one turn that are remembered.
const MOST_SENT: usize = 64;

/// A message on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Letter<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    pub(super) message: &'a Message,
    pub(super) at: Millis,
}

impl Team {
    pub(super) fn send(&mut self, rules: &Rules, from: &str, message: &Message, at: Millis) {
        self.resume(from, at);
        if matches!(message.to.as_str(), "*" | "all") {
            return self.broadcast(rules, from, message, at);
        }
        // What the client did not deliver went to the name as it was written.
        let is_exact = self.nodes.contains_key(&message.to) || self.ids.contains_key(&message.to);
        let is_literal = !message.delivered && !is_exact && message.to != LEAD;
        let to = if is_literal { message.to.clone() } else { self.resolve(rules, &message.to) };
        let letter = Letter { from, to: &to, message, at };
        if to == from {
            return;
        }
        self.break_off(from, &to);
        if let Some(node) = self.nodes.get_mut(from) {
            node.raced = None;
        }
        let (answers, strays) = self.answer(rules, letter);
        let acknowledges = self.mind_message(rules, from, &to, message, at);
        self.learn(rules, letter);
        self.supersede(rules, letter);
        let found = rules.find(&message.head, message.operator, self.known(from), self.known(&to));
        let duty = match found {
            Some((_, row)) if row.reply == Reply::Due => Duty::Due,
            Some((_, row)) if row.reply == Reply::Never => Duty::Never,
            // Its sender is done only if it went where it belongs.
            Some((table, row)) if !strays && self.is_misplaced(rules, table, row, letter) => Duty::Free,
            Some(_) => Duty::None,
            None if answers || acknowledges || strays => Duty::None,
            None => Duty::Free,
        };
        self.deliver(letter, duty);
        self.record(letter, duty, found);
        if message.operator && self.subctl.is_empty() {
            "team".clone_into(&mut self.subctl);
        }
        if let (Duty::Due, Some((table, row))) = (duty, found) {
            self.open_due(rules, letter, table, row);
        }
        // A report is no work that is given.
        if duty == Duty::Due && !answers {
            self.give_work(from, &to);
        }
        self.count_exchange(letter);
        if message.head == "shutdown_response" && message.approve == Some(true) && from != LEAD {
            self.retire(from, at);
        }
    }

    /// To everybody: it answers whoever waited for it, and asks nobody in particular.
    fn broadcast(&mut self, rules: &Rules, from: &str, message: &Message, at: Millis) {
        let everybody: Vec<String> =
            self.alive(rules).filter(|name| *name != from).map(ToOwned::to_owned).collect();
        for to in everybody {
            let letter = Letter { from, to: &to, message, at };
            self.answer(rules, letter);
            self.deliver(letter, Duty::None);
        }
    }

    /// Closes what the message answers. Returns whether it answered anything, and whether it
    /// was meant to and went elsewhere.
    fn answer(&mut self, rules: &Rules, letter: Letter<'_>) -> (bool, bool) {
        let of = |index: &BTreeMap<String, BTreeSet<String>>, name: &str| {
            index.get(name).cloned().unwrap_or_default()
        };
        // What the sender owes, what the recipient waits for, and what the recipient owes, which may pass on.
        let mut keys = of(&self.owed, letter.from);
        keys.extend(of(&self.out, letter.to));
        keys.extend(of(&self.owed, letter.to));
        let mut answered = self.answer_early(letter);
        let (mut astray, mut settled) = (Vec::new(), false);
        for key in keys {
            let Some(wait) = self.waits.get(&key) else { continue };
            match self.effect(rules, wait, letter) {
                Effect::Answers => {
                    answered = true;
                    settled |= wait.duty == Duty::Due;
                    self.answered(&key, letter);
                }
                Effect::Passes => {
                    if let Some(wait) = self.waits.get_mut(&key) {
                        letter.from.clone_into(&mut wait.passed);
                    }
                }
                Effect::Strays => astray.push(key),
                Effect::Nothing => {}
            }
        }
        // An answer that somebody waited for went where it belongs.
        if !settled {
            self.go_astray(&astray, letter);
        }
        // What is said to an agent after it was answered in the same turn belongs to the answer.
        let strays = !settled && !astray.is_empty();
        let Some(node) = self.nodes.get_mut(letter.from) else { return (answered, strays) };
        let before = node.turn.answered.iter().any(|who| who == letter.to);
        if answered && !before {
            node.turn.answered.push(letter.to.to_owned());
        }
        (answered || before, strays)
    }

    /// It reached nobody, or another agent than its table names.
    fn is_misplaced(&self, rules: &Rules, table: &Table, row: &Signal, letter: Letter<'_>) -> bool {
        let is_lost = !letter.message.delivered && !self.was_alive(rules, letter.to);
        is_lost || self.is_misrouted(rules, table, row, letter.to)
    }

    fn go_astray(&mut self, keys: &[String], letter: Letter<'_>) {
        for key in keys {
            if let Some(wait) = self.waits.get_mut(key) {
                wait.stray = Some(Stray {
                    by: letter.from.to_owned(),
                    head: letter.message.head.clone(),
                    to: letter.to.to_owned(),
                    at: letter.at,
                    delivered: letter.message.delivered,
                });
            }
        }
    }

    fn answered(&mut self, key: &str, letter: Letter<'_>) {
        let Some(wait) = self.close(key) else { return };
        let Some(waiter) = self.nodes.get_mut(&wait.from) else { return };
        if wait.went_on.is_empty() || waiter.turn.ended.is_some() || wait.asked < waiter.turn.began {
            return;
        }
        waiter.raced = Some(Raced {
            asked: wait.what().to_owned(),
            tool: wait.went_on,
            by: letter.from.to_owned(),
            head: letter.message.head.clone(),
            at: letter.at,
        });
    }

    /// An answer to a message of a turn that still goes on.
    fn answer_early(&mut self, letter: Letter<'_>) -> bool {
        if !letter.message.delivered {
            return false;
        }
        let began = self.nodes.get(letter.from).map_or(0, |node| node.turn.began);
        let Some(node) = self.nodes.get_mut(letter.to) else { return false };
        let mut answered = false;
        for sent in &mut node.turn.sent {
            if sent.to == letter.from && sent.duty == Duty::Free && sent.delivered && began >= sent.seen_from
            {
                answered |= !sent.answered;
                sent.answered = true;
            }
        }
        answered
    }

    fn effect(&self, rules: &Rules, wait: &Wait, letter: Letter<'_>) -> Effect {
        if wait.duty != Duty::Due {
            let began = self.nodes.get(letter.from).map_or(0, |node| node.turn.began);
            let answers = wait.duty == Duty::Free
                && wait.to == letter.from
                && wait.from == letter.to
                && letter.message.delivered
                && wait.delivered
                && began >= wait.seen_from;
            return if answers { Effect::Answers } else { Effect::Nothing };
        }
        let Some(row) = rules.row(&wait.table, &wait.row) else { return Effect::Nothing };
        let Some(table) = rules.tables.iter().find(|table| table.name == wait.table) else {
            return Effect::Nothing;
        };
        let head = letter.message.head.as_str();
        let mut strays = false;
        for answer in row.answers.iter().filter(|answer| answer.has_head(head)) {
            let id = letter.message.request_id.as_str();
            let is_same =
                !answer.same_request || wait.request.is_empty() || id.is_empty() || id == wait.request;
            if !is_same || !self.may_answer(table, wait, answer, letter.from) {
                continue;
            }
            let is_elsewhere = !self.is_addressed(table, wait, answer, letter.to);
            if letter.message.delivered && !is_elsewhere {
                return Effect::Answers;
            }
            strays |= answer.heads.iter().all(|pattern| pattern != "*")
                || self.is_mistaken(rules, table, wait, answer, letter);
        }
        let passes = row.passes.iter().any(|answer| {
            answer.has_head(head)
                && letter.message.delivered
                && self.may_answer(table, wait, answer, letter.from)
                && self.is_addressed(table, wait, answer, letter.to)
        });
        match (passes, strays) {
            (true, _) => Effect::Passes,
            (false, true) => Effect::Strays,
            (false, false) => Effect::Nothing,
        }
    }

    /// The same signal sent once more, to one who can answer it, takes the place of the one that could not arrive.
    fn supersede(&mut self, rules: &Rules, letter: Letter<'_>) {
        let Letter { from, to, message, .. } = letter;
        if !message.delivered {
            return;
        }
        let stale: Vec<String> = self
            .waits_of(from)
            .filter(|wait| wait.to != to)
            .filter(|wait| {
                let is_wrong =
                    rules.tables.iter().find(|table| table.name == wait.table).is_some_and(|table| {
                        let row = rules.row(&wait.table, &wait.row);
                        row.is_some_and(|row| !table.plays_any(self.known(&wait.to), &row.to))
                    });
                let is_same = wait.head == message.head && !wait.head.is_empty();
                match wait.duty {
                    Duty::Due => is_same && (!wait.delivered || is_wrong),
                    Duty::Free if !wait.delivered => wait.head == message.head || wait.hash == message.hash,
                    Duty::Free => is_same && is_wrong,
                    _ => false,
                }
            })
            .map(Wait::key)
            .collect();
        for key in stale {
            self.close(&key);
        }
        if let Some(node) = self.nodes.get_mut(from) {
            for sent in node.turn.sent.iter_mut().filter(|sent| {
                !sent.delivered
                    && (sent.hash == message.hash || (sent.head == message.head && sent.duty == Duty::Free))
            }) {
                sent.answered = true;
            }
        }
    }

    fn deliver(&mut self, letter: Letter<'_>, duty: Duty) {
        if !letter.message.delivered {
            return;
        }
        let Some(node) = self.nodes.get_mut(letter.to) else { return };
        node.run = None;
        self.loops.remove(&format!("run {}", letter.to));
        if duty != Duty::Never {
            let (from, head) = (letter.from.to_owned(), letter.message.head.clone());
            node.mail = Some(Mail { from, head, at: letter.at });
        }
    }

    fn record(&mut self, letter: Letter<'_>, duty: Duty, found: Option<(&Table, &Signal)>) {
        let Some(node) = self.nodes.get_mut(letter.from) else { return };
        node.turn.tail = true;
        if node.turn.sent.len() >= MOST_SENT {
            node.turn.sent.remove(0);
        }
        node.turn.sent.push(Sent {
            to: letter.to.to_owned(),
            head: letter.message.head.clone(),
            hash: letter.message.hash.clone(),
            at: letter.at,
            seen_from: letter.at,
            delivered: letter.message.delivered,
            unconfirmed: letter.message.unconfirmed,
            duty,
            spawn: false,
            answered: false,
            table: found.map(|(table, _)| table.name.clone()).unwrap_or_default(),
            row: found.map(|(_, row)| row.name.clone()).unwrap_or_default(),
        });
    }

    fn open_due(&mut self, rules: &Rules, letter: Letter<'_>, table: &Table, row: &Signal) {
        let Letter { from, to, message, at } = letter;
        let by_request = row.answers.iter().any(|answer| answer.same_request);
        let (starts, is_starting) = starts(row, message);
        let wait = Wait {
            from: from.to_owned(),
            to: to.to_owned(),
            to_id: self.nodes.get(to).map(|node| node.id.clone()).unwrap_or_default(),
            duty: Duty::Due,
            table: table.name.clone(),
            row: row.name.clone(),
            head: message.head.clone(),
            request: if by_request { message.request_id.clone() } else { String::new() },
            hash: message.hash.clone(),
            since: at,
            asked: at,
            seen_from: at,
            delivered: message.delivered,
            unconfirmed: message.unconfirmed,
            due: Some(at + millis(row.within.unwrap_or(rules.reply_after))),
            operator: row.operator && message.operator,
            starts,
            ..Wait::default()
        };
        let key = wait.key();
        self.open(wait);
        if is_starting {
            self.starting.insert(key);
        }
    }

    /// A teammate that asks to go ahead with its plan waits for the lead.
    pub(super) fn ask_for_plan(&mut self, rules: &Rules, name: &str, at: Millis) {
        let head = "plan_approval_request".to_owned();
        let message = Message { to: LEAD.to_owned(), delivered: true, head, ..Message::default() };
        self.send(rules, name, &message, at);
    }

    /// Counts the same heads to and fro.
    fn count_exchange(&mut self, letter: Letter<'_>) {
        let Letter { from, to, message, at } = letter;
        let key = fro_key(from, to);
        if message.head.is_empty() || !message.delivered || !self.nodes.contains_key(to) {
            self.fro.remove(&key);
            self.loops.remove(&format!("heads {key}"));
            return;
        }
        self.break_off(to, from);
        for (name, partner) in [(from, to), (to, from)] {
            if let Some(node) = self.nodes.get_mut(name) {
                partner.clone_into(&mut node.partner);
            }
        }
        let fro = self.fro.entry(key.clone()).or_default();
        let alternates = fro.last == to && (fro.next_head.is_empty() || fro.next_head == message.head);
        if !alternates {
            *fro = ToAndFro { since: at, ..ToAndFro::default() };
            self.loops.remove(&format!("heads {key}"));
        }
        fro.count += 1;
        fro.next_head = std::mem::replace(&mut fro.last_head, message.head.clone());
        from.clone_into(&mut fro.last);
        if fro.count >= SAME_HEADS && !fro.noted {
            self.loops.insert(format!("heads {key}"));
        }
    }
}

/// The agents whose turns a signal is for, and whether it has to be looked at when an agent begins one.
fn starts(row: &Signal, message: &Message) -> (Vec<String>, bool) {
    let is_awaited = |key: &String| row.answers.iter().any(|answer| answer.started.contains(key));
    let named = message.names.iter().filter(|(key, _)| is_awaited(key) || key.starts_with(WORKER));
    let starts: Vec<String> = named.map(|(_, name)| name.clone()).collect();
    let is_starting = row.is_answered_by_starts() || !starts.is_empty();
    (starts, is_starting)
}

/// What a message does to a wait.
enum Effect {
    Answers,
    Passes,
    Strays,
    Nothing,
}
