//! `config`: every setting, its value, and where it came from.

use std::process::ExitCode;

use serde_json::{Map, json};

use super::json;
use super::place::Place;
use crate::store::config::commented_defaults;
use crate::store::settings::KEYS;

/// Options of `config`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print a commented file with the built-in values, to start from
    #[arg(long)]
    defaults: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, place: &Place) -> anyhow::Result<ExitCode> {
    if args.defaults {
        say!("{}", commented_defaults().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    // Outside a project the built-in and the user's settings are still worth seeing.
    let root = place.root().ok();
    let config = place.config(root.as_ref())?;
    if args.json {
        let settings: Map<String, serde_json::Value> = KEYS
            .iter()
            .map(|key| {
                (
                    key.name.to_owned(),
                    json!({"value": (key.show)(&config.policy), "from": config.source(key.name)}),
                )
            })
            .collect();
        let value = json!({"v": 1, "settings": settings, "alerts": config.policy.alerts.len()});
        say!("{}", json::line(&value));
        return Ok(ExitCode::SUCCESS);
    }
    let mut section = "";
    for key in KEYS {
        let (head, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if head != section {
            say!("{}[{head}]", if section.is_empty() { "" } else { "\n" });
            section = head;
        }
        say!("{name} = {}   # {}", (key.show)(&config.policy), config.source(key.name));
    }
    for alert in &config.policy.alerts {
        say!("\n[[alert]]   # {}\non = {:?}\nrun = {:?}", config.source("alert"), alert.on, alert.run);
    }
    Ok(ExitCode::SUCCESS)
}
