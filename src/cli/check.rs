//! `check`: one judgement, by the wall clock and what the daemon remembers.

use std::process::ExitCode;

use serde_json::json;

use super::json;
use super::place::Place;
use super::view::{View, reason_words};
use crate::daemon::act::{Outcome, Scene, act};
use crate::model::judge::Verdict;
use crate::model::pipeline::Effect;
use crate::model::policy::Mode;

/// Options of `check`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Carry the verdict out: stage the nudge, write the flag
    #[arg(long)]
    act: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    let view = View::of(place)?;
    let effect = match view.verdict {
        Verdict::Nudge { n, idle } => Some(Effect::Nudge { n, idle }),
        Verdict::Escalate { nudges, idle } => Some(Effect::Escalate { nudges, idle, cause: "no_recovery" }),
        Verdict::Quiet { .. } => None,
    };
    let mut done = None;
    if args.act
        && view.policy.daemon.mode == Mode::Act
        && let Some(effect) = &effect
    {
        let scene = Scene {
            root: &view.root,
            sight: &view.sight,
            ledger: &view.ledger,
            policy: &view.policy,
            now: view.now,
        };
        done = Some(act(scene, effect)?);
    }
    let words = words(&view, done.as_ref());
    if args.json {
        let verdict = json!({
            "v": 1, "verdict": view.verdict.word(), "reason": view.verdict.reason_word(), "words": words,
            "done": matches!(done, Some(Outcome::Done | Outcome::Uncounted(_))),
        });
        say!("{}", json::line(&verdict));
    } else {
        say!("{}: {words}", view.verdict.word());
    }
    let escalated = matches!((&effect, done), (Some(Effect::Escalate { .. }), Some(Outcome::Done)));
    Ok(if escalated { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn words(view: &View, done: Option<&Outcome>) -> String {
    let result = match done {
        Some(Outcome::Done) => "; done",
        Some(Outcome::Uncounted(_)) => "; staged, but its counter could not be stored",
        Some(Outcome::Overtaken) => "; not done: somebody has written meanwhile",
        None => "",
    };
    match &view.verdict {
        Verdict::Quiet { reason, until } => reason_words(reason, *until, view.now.wall),
        Verdict::Nudge { n, idle } => {
            format!("silent for {} s; nudge {n} of {}{result}", idle.as_secs(), view.policy.rule.max_nudges)
        }
        Verdict::Escalate { nudges, idle } => {
            format!("silent for {} s after {nudges} nudges; the flag{result}", idle.as_secs())
        }
    }
}
