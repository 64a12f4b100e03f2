//! Whatever is written is read back as what was meant.

use proptest::prelude::*;

use super::*;
use crate::protocol::worker_probe::{self, Code, Found, Question};
use crate::protocol::worker_terminal::{Contract, Shelf};

/// Paths and things that are no path, as contract files name them.
const NAMED: [&str; 9] = [
    "artifacts/no-change-report.md",
    "./artifacts/no-change-report.md",
    "artifacts/./no-change-report.md",
    "artifacts/report.md",
    "artifacts/learnings.md",
    "././a b\n.md",
    "artifacts/recipe.json",
    "../x",
    "",
];

fn contracts() -> impl Strategy<Value = Value> {
    let path = || proptest::sample::select(NAMED.map(Value::from).to_vec());
    let list = || proptest::collection::vec(path(), 0..4).prop_map(Value::from);
    let none = || Just(Value::Null);
    let command = (prop_oneof![none(), path()], prop_oneof![1 => none(), 3 => list()])
        .prop_map(|(report, artifacts)| json!({"report": report, "artifacts": artifacts}));
    let commands = proptest::collection::btree_map(
        proptest::sample::select(vec!["complete".to_owned(), "no-change".to_owned(), "blocked".to_owned()]),
        prop_oneof![9 => command, 1 => none()],
        0..4,
    );
    let rules = prop_oneof![
        none(),
        (path(), list()).prop_map(|(path, also)| json!([{"path": path, "alsoRequire": also}]))
    ];
    (commands, rules).prop_map(|(commands, rules)| json!({"commands": commands, "whenPresent": rules}))
}

proptest! {
    #[test]
    fn whatever_a_contract_file_says_what_is_written_is_read_back_as_that(
        file in contracts(),
        there in proptest::sample::subsequence(NAMED.to_vec(), 0..=NAMED.len()),
        ending in proptest::sample::select(vec![Ending::Complete, Ending::NoChange, Ending::Blocked]),
        (already_fixed, skip_learnings) in any::<(bool, bool)>(),
    ) {
        let (contract, faults) = Contract::read(file.to_string().as_bytes(), Some("fix"));
        let same = |a: &str, b: &str| a.split('/').filter(|part| *part != ".").eq(b.split('/').filter(|part| *part != "."));
        let look = |path: &str| if there.iter().any(|known| same(known, path)) { Shelf::Full } else { Shelf::Absent };
        let audit = contract.audit(ending, skip_learnings, look);
        prop_assert!(ending != Ending::Blocked || audit.lacks.is_empty());
        if audit.lacks.is_empty() {
            let end = End { reason: "why".to_owned(), already_fixed, skip_learnings, ..end(ending) };
            let value = written(&Command::End(end), "TASK.md", &json!({}), None, audit.report.as_deref());
            let found = Found::Bytes(value.to_string().into_bytes());
            // A contract that is broken is never used, but for who is blocked.
            let contract = if faults.is_empty() || ending != Ending::Blocked { Ok(contract) } else { Err(faults.concat()) };
            let answer = worker_probe::probe(&found, &Question::default(), &contract, look);
            prop_assert_eq!(answer.code, Code::Ready, "{}", answer.message);
            let signal = answer.reading.signal.unwrap();
            let wanted = match ending {
                Ending::Complete => Disposition::Fixed,
                Ending::NoChange if already_fixed => Disposition::AlreadyFixed,
                Ending::NoChange => Disposition::NotReproducible,
                Ending::Blocked => Disposition::Blocked,
            };
            prop_assert_eq!(signal.disposition, Some(wanted));
        }
    }
}

fn texts(most: usize) -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec!["a", "\"", "\u{1}", "ä", "🦀"]);
    (piece, 0..most).prop_map(|(piece, length)| piece.repeat(length / piece.len()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn whatever_was_there_before_what_is_written_can_be_read_again(
        [role, context, attempt, step, source] in [(); 5].map(|()| texts(2 * LONGEST_CARRIED)),
        (label, events) in (texts(300), 0..1500_usize),
        (one_long, reason) in (prop_oneof![Just(String::new()), texts(200_000)], texts(LONGEST_REASON)),
        number in 1..3_usize,
    ) {
        let event = |label: &str| json!({"stepNumber": 7, "label": label, "checkedAt": "2026-06-25T10:05:00Z"});
        let mut all = vec![event(&label); events];
        all.insert(events / 2, event(&one_long));
        let before = json!({
            "role": role, "contextId": context, "attemptId": attempt, "step": step,
            "checklistTiming": {"source": source, "events": all},
        });
        let items = checklist::items(format!("- [ ] {}\n- [ ] b\n", "ü\"".repeat(200)).as_bytes());
        let item = &items[number - 1];
        let blocked = End { reason, mark_last: true, ..end(Ending::Blocked) };
        for command in [Command::Start, Command::Step(number), Command::End(blocked)] {
            let item = Some(item).filter(|_| command != Command::Start);
            let value = written(&command, "TASK.md", &before, item, None);
            prop_assert!(text(&value).len() <= LARGEST, "{}", text(&value).len());
            let found = value["checklistTiming"]["events"].as_array().unwrap();
            prop_assert!(item.is_none_or(|item| found.last().unwrap()["stepNumber"] == json!(item.number)));
            // No more than is needed goes, and the oldest first.
            let kept = found.len() - usize::from(item.is_some());
            prop_assert_eq!(&found[..kept], &all[all.len() - kept..]);
            let next = all.len().checked_sub(kept + 1).map_or(0, |place| 100 + text(&all[place]).len());
            prop_assert!(next == 0 || text(&value).len() + next > LARGEST, "{kept} of {}", all.len());
        }
    }
}
