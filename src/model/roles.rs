//! Who may answer what, who is meant, and which roles and work signals give: the tables as a team meets them.

use super::judge::LEAD;
use super::moment::Millis;
use super::node::Wait;
use super::signals::{Answer, Known, Rules, Signal, Table};
use super::team::Team;
use super::traffic::Letter;

impl Team {
    /// Tells whether a signal went to another agent than its table names, while one that the table names is alive.
    pub fn is_misrouted(&self, rules: &Rules, table: &Table, row: &Signal, to: &str) -> bool {
        row.head != "*"
            && !row.to.is_empty()
            && table.knows(self.known(to))
            && self.was_alive(rules, to)
            && !table.plays_any(self.known(to), &row.to)
            && self.alive(rules).any(|name| table.plays_any(self.known(name), &row.to))
    }

    /// Tells whether an agent is one whose answer counts.
    pub(super) fn may_answer(&self, table: &Table, wait: &Wait, answer: &Answer, who: &str) -> bool {
        answer.from.iter().any(|word| match word.as_str() {
            "recipient" => who == wait.to,
            "sender" => who == wait.from,
            "anyone" => true,
            "pair" => match self.pairs.get(&wait.to) {
                Some(pair) => who == pair,
                None => who != wait.to && who != wait.from && table.plays(self.known(who), "reviewer"),
            },
            role => table.plays(self.known(who), role),
        })
    }

    pub(super) fn is_addressed(&self, table: &Table, wait: &Wait, answer: &Answer, to: &str) -> bool {
        answer.to.iter().any(|word| match word.as_str() {
            "recipient" => to == wait.to,
            "sender" => to == wait.from,
            "anyone" => true,
            role => table.plays(self.known(to), role),
        })
    }

    /// Words that no table knows, from an agent that has seen what it was asked, to one who asked it nothing and to whom
    /// answers go by mistake.
    pub(super) fn is_mistaken(
        &self,
        rules: &Rules,
        table: &Table,
        wait: &Wait,
        answer: &Answer,
        letter: Letter<'_>,
    ) -> bool {
        let Letter { from, to, message, .. } = letter;
        let is_one = !answer.astray.is_empty() && table.plays_any(self.known(to), &answer.astray);
        let Some(node) = self.nodes.get(from).filter(|_| is_one && to != wait.from) else { return false };
        let has_asked = node.mail.as_ref().is_some_and(|mail| mail.from == to)
            || self.waits_of(to).any(|wait| wait.debtor() == from && !wait.spawn);
        let is_known =
            || rules.find(&message.head, message.operator, self.known(from), self.known(to)).is_some();
        node.turn.began >= wait.seen_from && !has_asked && !is_known()
    }

    /// Takes the roles and pairs that a signal names.
    pub(super) fn learn(&mut self, rules: &Rules, letter: Letter<'_>) {
        let Letter { from, to, message, .. } = letter;
        let Some((table, row)) =
            rules.find(&message.head, message.operator, self.known(from), self.known(to))
        else {
            return;
        };
        let mut named: Vec<(&String, &str)> = Vec::new();
        for (key, name) in &message.names {
            if let Some(role) = table.role_named(key) {
                named.push((name, role));
            }
        }
        for (name, role) in &named {
            self.given.insert((*name).clone(), (*role).to_owned());
        }
        if let [(builder, "builder"), (reviewer, "reviewer")]
        | [(reviewer, "reviewer"), (builder, "builder")] = named.as_slice()
        {
            self.pairs.insert((*builder).clone(), (*reviewer).clone());
        }
        if !row.pairs || !message.delivered {
            return;
        }
        for (who, roles) in [(from, &row.from), (to, &row.to)] {
            if let [role] = roles.as_slice()
                && !table.knows(self.known(who))
            {
                self.given.insert(who.to_owned(), role.clone());
            }
        }
        if table.plays_any(self.known(to), &row.to) {
            self.pairs.insert(from.to_owned(), to.to_owned());
        }
    }

    /// An agent is asked for work by another.
    pub(super) fn give_work(&mut self, by: &str, to: &str) {
        if by != LEAD
            && let Some(node) = self.nodes.get_mut(to)
        {
            node.serves = true;
        }
    }

    /// An agent begins a turn: that is what some waits are for. Whoever asked for it gives it its work.
    pub(super) fn started(&mut self, rules: &Rules, name: &str, at: Millis) {
        let keys: Vec<String> = self.starting.iter().cloned().collect();
        for key in keys {
            let is_worker = ["builder", "reviewer"].iter().any(|role| {
                rules
                    .tables
                    .iter()
                    .any(|table| table.roles.contains_key(*role) && table.plays(self.known(name), role))
            });
            let Some(wait) = self.waits.get_mut(&key).filter(|wait| at >= wait.since) else { continue };
            let named = !wait.starts.is_empty();
            let is_named = wait.starts.iter().any(|start| start == name);
            wait.starts.retain(|start| start != name);
            let is_last = wait.starts.is_empty() && (named || is_worker);
            let answers =
                rules.row(&wait.table, &wait.row).is_some_and(Signal::is_answered_by_starts) && is_last;
            let by = wait.from.clone();
            if is_named {
                self.give_work(&by, name);
            }
            if answers {
                self.close(&key);
            }
        }
    }

    /// The heads that an agent would answer a wait with.
    pub(super) fn awaited<'a>(&self, rules: &'a Rules, wait: &Wait, debtor: &str) -> Vec<&'a str> {
        let Some(table) = rules.tables.iter().find(|table| table.name == wait.table) else {
            return self.usual(rules, debtor, &wait.from);
        };
        let Some(row) = rules.row(&wait.table, &wait.row) else { return Vec::new() };
        let answers = row.answers.iter().filter(|answer| self.may_answer(table, wait, answer, debtor));
        answers.flat_map(|answer| answer.heads.iter().map(String::as_str)).collect()
    }

    /// The heads that the tables let one agent send to the other.
    fn usual<'a>(&self, rules: &'a Rules, from: &str, to: &str) -> Vec<&'a str> {
        let (from, to): (Known<'_>, Known<'_>) = (self.known(from), self.known(to));
        let rows = rules.tables.iter().flat_map(|table| table.signals.iter().map(move |row| (table, row)));
        rows.filter(|(table, row)| {
            row.head != "*"
                && (!row.from.is_empty() || !row.to.is_empty())
                && table.plays_any(from, &row.from)
                && table.plays_any(to, &row.to)
        })
        .map(|(_, row)| row.head.as_str())
        .collect()
    }
}
