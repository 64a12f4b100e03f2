//! The rows of subctl's table that the model's own tests need; `protocol::tables` holds the whole table against them.

use std::time::Duration;

use super::super::signals::{Answer, Reply, Rules, Signal, Table};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn answer(head: &str, same_request: bool) -> Vec<Answer> {
    let (from, to) = (words(&["recipient"]), words(&["sender"]));
    vec![Answer { heads: words(&[head]), from, to, same_request, ..Answer::default() }]
}

fn row(head: &str, answers: Vec<Answer>) -> Signal {
    Signal {
        head: head.to_owned(),
        name: head.to_owned(),
        from: Vec::new(),
        to: Vec::new(),
        only_to: Vec::new(),
        operator: false,
        reply: if answers.is_empty() { Reply::None } else { Reply::Due },
        answers,
        passes: Vec::new(),
        within: None,
        log: false,
        retired: false,
        pairs: false,
    }
}

/// The table.
pub(crate) fn table() -> Table {
    let lead = words(&["lead"]);
    // Its answer counts whomever it names.
    let agreed = answer("shutdown_response", true)
        .into_iter()
        .map(|answer| Answer { to: words(&["anyone"]), ..answer })
        .collect();
    let signals = vec![
        Signal { from: lead.clone(), ..row("shutdown_request", agreed) },
        row("shutdown_response", Vec::new()),
        Signal {
            to: lead.clone(),
            operator: true,
            within: Some(Duration::from_secs(3600)),
            ..row("plan_approval_request", answer("plan_approval_response", true))
        },
        Signal { from: lead.clone(), ..row("plan_approval_response", Vec::new()) },
        Signal { to: lead, ..row("task_blocked", answer("*", false)) },
        row("progress", Vec::new()),
    ];
    Table { name: "subctl".to_owned(), signals, ..Table::default() }
}

/// Rules with that table alone.
pub(crate) fn rules() -> Rules {
    Rules { tables: vec![table().into()], ..Rules::default() }
}
