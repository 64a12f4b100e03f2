//! Every reason to stay quiet with its end, which comes before which, and that without reasons the rule decides.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use super::{Facts, Reason, Verdict, judge, name_of, person};
use crate::model::activity::Activity;
use crate::model::event::{Event, What};
use crate::model::ledger::Ledger;
use crate::model::moment::Moment;
use crate::model::policy::Policy;
use crate::model::rule::Times;

/// Unix seconds of the moment that is judged.
const NOW: i64 = 1_800_000_000;

/// A pipeline that has been silent for long enough, with nothing that explains it.
struct Scene {
    stage: Option<&'static str>,
    activity: Option<Activity>,
    ledger: Ledger,
    flagged: bool,
    settling: Option<Duration>,
    dead: BTreeSet<String>,
    /// Milliseconds after [`NOW`].
    late: i64,
}

impl Scene {
    fn stalled(idle: i64) -> Self {
        let activity = Activity {
            last_activity_ts: NOW - idle,
            last_activity_source: "PostToolUse:Read".to_owned(),
            pipeline_phase: "build".to_owned(),
            ..Activity::default()
        };
        Self {
            stage: Some("build"),
            activity: Some(activity),
            ledger: Ledger::default(),
            flagged: false,
            settling: None,
            dead: BTreeSet::new(),
            late: 0,
        }
    }

    /// Something happened `ago` seconds before now.
    fn then(mut self, ago: i64, agent: &str, what: What) -> Self {
        let (session, name) = ("s1".to_owned(), if agent.is_empty() { "" } else { "coder" });
        self.ledger.apply(&Event {
            session,
            agent: agent.to_owned(),
            name: name.to_owned(),
            ..Event::of_root((NOW - ago) * 1000, what)
        });
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn facts(&self) -> Facts<'_> {
        let seconds = NOW + self.late.div_euclid(1000);
        let none = Times { idle: Duration::ZERO, since_nudge: None };
        Facts {
            stage: self.stage,
            activity: self.activity.as_ref(),
            ledger: &self.ledger,
            flagged: self.flagged,
            times: self.activity.as_ref().map_or(none, |activity| Times::by_wall(activity, seconds)),
            settling: self.settling,
            dead: &self.dead,
        }
    }

    fn verdict(&self) -> Verdict {
        let wall = NOW * 1000 + self.late;
        judge(&self.facts(), &Policy::default(), Moment { wall, awake: Duration::ZERO, boot: Duration::ZERO })
    }

    /// The verdict in one line: what, and seconds from [`NOW`] to its end.
    fn said(&self) -> String {
        match self.verdict() {
            Verdict::Quiet { reason, until } => {
                let until = until.map(|until| format!(" for {} s", (until - NOW * 1000) / 1000));
                let held = match &reason {
                    Reason::ToolRunning(held) | Reason::WaitsForPerson(held) | Reason::ApiHold(held) => {
                        format!(" ({}: {} since {} s ago)", held.who, held.what, NOW - held.since / 1000)
                    }
                    Reason::ExemptPhase(phase) => format!(" ({phase})"),
                    _ => String::new(),
                };
                format!("{}{held}{}", reason.word(), until.unwrap_or_default())
            }
            Verdict::Nudge { n, idle } => format!("nudge {n} after {} s", idle.as_secs()),
            Verdict::Escalate { nudges, idle } => format!("escalate after {nudges} and {} s", idle.as_secs()),
        }
    }

    /// The same a number of milliseconds later.
    fn said_after(mut self, milliseconds: i64) -> String {
        self.late = milliseconds;
        self.said()
    }
}

fn tool(name: &str, timeout_ms: Option<u64>) -> What {
    What::ToolStart { tool: name.to_owned(), id: format!("{name}-1"), timeout_ms, hash: String::new() }
}

fn end(name: &str) -> What {
    What::ToolEnd { tool: name.to_owned(), id: format!("{name}-1"), failed: false, message: None }
}

fn permission(name: &str) -> What {
    What::Permission { tool: name.to_owned() }
}

fn limit(reset_at: Option<i64>) -> What {
    What::ApiError { error: "rate_limit".to_owned(), holds: true, reset_at }
}

#[test]
fn a_stall_that_nothing_explains_is_a_nudge_and_then_a_flag() {
    assert_eq!(Scene::stalled(301).said(), "nudge 1 after 301 s");
    let nudged = |count: u32| {
        Scene::stalled(2200).with(|scene| {
            let activity = scene.activity.as_mut().unwrap();
            (activity.nudge_count, activity.last_nudge_ts) = (count, NOW - 601);
        })
    };
    assert_eq!(nudged(2).said(), "nudge 3 after 2200 s");
    assert_eq!(nudged(3).said(), "escalate after 3 and 2200 s");
    assert_eq!((nudged(2).verdict().word(), nudged(2).verdict().reason_word()), ("nudge", "stalled"));
    assert_eq!((nudged(3).verdict().word(), nudged(3).verdict().reason_word()), ("escalate", "stalled"));
    assert_eq!(Scene::stalled(0).verdict().word(), "quiet");
}

#[test]
fn no_pipeline_and_a_complete_one_are_quiet_until_that_changes() {
    assert_eq!(Scene::stalled(400).with(|scene| scene.stage = None).said(), "no-pipeline");
    assert_eq!(Scene::stalled(400).with(|scene| scene.stage = Some("complete")).said(), "complete");
}

#[test]
fn a_flag_is_quiet_until_it_is_gone() {
    assert_eq!(Scene::stalled(400).with(|scene| scene.flagged = true).said(), "flagged");
}

#[test]
fn a_pause_is_quiet_until_its_time() {
    let paused = || Scene::stalled(400).then(9, "", What::Paused { until: NOW * 1000 + 60_000 });
    assert_eq!(paused().said(), "paused for 60 s");
    assert_eq!(paused().said_after(59_999), "paused for 60 s");
    assert_eq!(paused().said_after(60_000), "nudge 1 after 460 s");
    assert_eq!(paused().then(5, "", What::Unpaused).said(), "nudge 1 after 400 s");
}

#[test]
fn a_phase_is_quiet_until_it_changes_and_is_named_by_the_file_it_stands_in() {
    assert_eq!(Scene::stalled(400).with(|scene| scene.stage = Some("idle")).said(), "exempt-phase (idle)");
    let told = Scene::stalled(400)
        .with(|scene| "awaiting_user".clone_into(&mut scene.activity.as_mut().unwrap().pipeline_phase));
    assert_eq!(told.said(), "exempt-phase (awaiting_user)");
}

#[test]
fn work_is_quiet_until_the_limit_is_passed() {
    assert_eq!(Scene::stalled(290).said(), "active for 11 s");
    // The end is a whole second, as stamps are; a judgement just before it is quiet, at it is not.
    assert_eq!(Scene::stalled(290).said_after(10_999), "active for 11 s");
    assert_eq!(Scene::stalled(290).said_after(11_000), "nudge 1 after 301 s");
    assert_eq!(Scene::stalled(290).with(|scene| scene.activity = None).said(), "active");
}

#[test]
fn a_nudge_is_quiet_until_the_next_is_due() {
    let nudged = Scene::stalled(900).with(|scene| {
        let activity = scene.activity.as_mut().unwrap();
        (activity.nudge_count, activity.last_nudge_ts) = (1, NOW - 590);
    });
    assert_eq!(nudged.said(), "debounce for 11 s");
    assert_eq!(nudged.said_after(11_000), "nudge 2 after 911 s");
}

#[test]
fn settling_is_quiet_until_it_is_over() {
    let settling = Scene::stalled(400).with(|scene| scene.settling = Some(Duration::from_secs(60)));
    assert_eq!(settling.said(), "settling for 60 s");
    // It is a reason not to act; that there is nothing to do comes first.
    assert_eq!(settling.with(|scene| *scene = Scene::stalled(10)).said(), "active for 291 s");
}

#[test]
fn a_running_tool_is_quiet_until_its_limit() {
    let running = || Scene::stalled(1200).then(1200, "", tool("Bash", None));
    assert_eq!(running().said(), "tool-running (team-lead: Bash since 1200 s ago) for 600 s");
    assert_eq!(running().said_after(599_999), "tool-running (team-lead: Bash since 1200 s ago) for 600 s");
    assert_eq!(running().said_after(600_000), "nudge 1 after 1800 s");
    assert_eq!(running().then(1100, "", end("Bash")).said(), "nudge 1 after 1200 s");
    let patient = Scene::stalled(1200).then(1200, "a1", tool("Bash", Some(3_600_000)));
    assert_eq!(patient.said(), "tool-running (coder: Bash since 1200 s ago) for 2460 s");
    // Of several, the one that explains the silence for longest.
    let both = running().then(1000, "a1", tool("Read", None));
    assert_eq!(both.said(), "tool-running (coder: Read since 1000 s ago) for 800 s");
    // Three hours without an end protect nobody any more.
    assert_eq!(Scene::stalled(10_800).then(10_800, "", tool("Bash", None)).said(), "nudge 1 after 10800 s");
}

#[test]
fn a_person_is_waited_for_until_the_answer() {
    let asked = || Scene::stalled(7200).then(7201, "", tool("Bash", None)).then(7200, "", permission("Bash"));
    assert_eq!(asked().said(), "waits-for-person (team-lead: permission: Bash since 7200 s ago) for 36000 s");
    assert_eq!(asked().then(7000, "", end("Bash")).said(), "nudge 1 after 7200 s");
    assert_eq!(asked().then(7000, "", tool("Read", None)).said(), "nudge 1 after 7200 s");
    let ended = What::SessionEnd { reason: "other".to_owned() };
    assert_eq!(asked().then(7000, "", ended).said(), "nudge 1 after 7200 s");
    assert_eq!(asked().with(|scene| scene.dead.extend(["s1".to_owned()])).said(), "nudge 1 after 7200 s");
    let question = Scene::stalled(1800).then(1800, "", tool("AskUserQuestion", None));
    assert_eq!(question.said(), "waits-for-person (team-lead: an answer since 1800 s ago) for 41400 s");
    // Of several, the one that has waited longest.
    let both = asked().then(7100, "a1", permission("Write")).then(7000, "", tool("ExitPlanMode", None));
    assert_eq!(both.said(), "waits-for-person (coder: permission: Write since 7100 s ago) for 36100 s");
}

#[test]
fn in_an_interactive_phase_a_lead_whose_turn_is_over_waits_for_its_person() {
    let brainstorm = |ends: Option<What>| {
        let mut scene = Scene::stalled(1800).with(|scene| scene.stage = Some("brainstorm"));
        scene = scene.then(1900, "", What::Prompt { wake: false });
        ends.into_iter().fold(scene, |scene, what| scene.then(1800, "", what))
    };
    let waits =
        "waits-for-person (team-lead: the next prompt of an interactive phase since 1800 s ago) for 41400 s";
    assert_eq!(brainstorm(Some(What::TurnEnd)).said(), waits);
    assert_eq!(brainstorm(None).said(), "nudge 1 after 1800 s");
    // After Stop the client says that it is idle: in another phase that is a stall.
    let idle = What::Notice { kind: "idle_prompt".to_owned() };
    assert_eq!(brainstorm(Some(What::TurnEnd)).then(1740, "", idle.clone()).said(), waits);
    let build = Scene::stalled(1800).then(1800, "", What::TurnEnd).then(1740, "", idle);
    assert_eq!(build.said(), "nudge 1 after 1800 s");
    let told = |scene: &Scene| person(&scene.facts(), &Policy::default(), "brainstorm").map(|(_, told)| told);
    let over = brainstorm(Some(What::TurnEnd));
    assert_eq!(told(&over), Some(false));
    assert_eq!(told(&over.then(1000, "", What::PersonTold)), Some(true));
}

#[test]
fn that_the_operator_was_told_of_a_question_is_known() {
    let asked = Scene::stalled(600).then(601, "", tool("Bash", None)).then(600, "", permission("Bash"));
    let told = |scene: &Scene| person(&scene.facts(), &Policy::default(), "build").map(|(_, told)| told);
    assert_eq!(told(&asked), Some(false));
    assert_eq!(told(&asked.then(300, "", What::PersonTold)), Some(true));
    assert_eq!(told(&Scene::stalled(600)), None);
}

#[test]
fn an_api_that_said_wait_is_quiet_until_its_reset() {
    let limited = || Scene::stalled(400).then(400, "", limit(None));
    assert_eq!(limited().said(), "api-hold (team-lead: rate_limit since 400 s ago) for 200 s");
    assert_eq!(limited().said_after(200_000), "nudge 1 after 600 s");
    let reset = Scene::stalled(400).then(400, "", limit(Some((NOW + 3600) * 1000)));
    assert_eq!(reset.said(), "api-hold (team-lead: rate_limit since 400 s ago) for 3600 s");
    assert_eq!(
        limited().then(390, "", tool("Read", None)).then(389, "", end("Read")).said(),
        "nudge 1 after 400 s"
    );
    // A teammate that the same limit ends proves no answer.
    let both = limited().then(399, "a1", What::AgentStop);
    assert_eq!(both.said(), "api-hold (team-lead: rate_limit since 400 s ago) for 200 s");
    let failed = What::ApiError { error: "server_error".to_owned(), holds: false, reset_at: None };
    assert_eq!(Scene::stalled(400).then(400, "", failed).said(), "nudge 1 after 400 s");
}

/// What takes a reason away.
type Change = fn(&mut Scene);

/// All reasons at once; taking away the first shows the next.
#[test]
fn reasons_have_an_order() {
    let mut scene = Scene::stalled(100)
        .then(900, "a1", tool("Read", None))
        .then(800, "", limit(Some((NOW + 500) * 1000)))
        .then(700, "a2", permission("Bash"))
        .then(600, "", What::Paused { until: NOW * 1000 + 60_000 });
    scene.flagged = true;
    scene.settling = Some(Duration::from_secs(30));
    let activity = scene.activity.as_mut().unwrap();
    "idle".clone_into(&mut activity.pipeline_phase);
    (activity.nudge_count, activity.last_nudge_ts) = (1, NOW - 400);
    let take_away: [(&str, Change); 11] = [
        ("no-pipeline", |scene| scene.stage = Some("complete")),
        ("complete", |scene| scene.stage = Some("build")),
        ("flagged", |scene| scene.flagged = false),
        ("paused", |scene| scene.ledger.paused_until = None),
        ("exempt-phase", |scene| "build".clone_into(&mut scene.activity.as_mut().unwrap().pipeline_phase)),
        ("active", |scene| scene.activity.as_mut().unwrap().last_activity_ts = NOW - 301),
        ("debounce", |scene| scene.activity.as_mut().unwrap().last_nudge_ts = NOW - 601),
        ("settling", |scene| scene.settling = None),
        ("waits-for-person", |scene| scene.ledger.sessions.get_mut("s1").unwrap().agents.clear()),
        ("api-hold", |scene| scene.ledger.api = None),
        ("stalled", |_| ()),
    ];
    scene.stage = None;
    for (reason, take) in take_away {
        assert_eq!(scene.verdict().reason_word(), reason);
        take(&mut scene);
    }
    let running = Scene::stalled(400).then(400, "", limit(None)).then(395, "a1", tool("Read", None));
    assert_eq!(running.verdict().reason_word(), "tool-running");
}

#[test]
fn agents_are_called_by_their_name_the_lead_by_its_own() {
    let agent = |name: &str| crate::model::ledger::Agent { name: name.to_owned(), ..Default::default() };
    assert_eq!(name_of("", &agent("")), "team-lead");
    assert_eq!(name_of("a1", &agent("")), "a1");
    assert_eq!(name_of("a1", &agent("rakim")), "rakim");
}

/// The documented rule over plain integers, for an active pipeline.
fn rule_alone(idle: i64, since_nudge: Option<i64>, count: u32, phase: &str) -> String {
    let exempt = ["idle", "awaiting_user", "complete"].contains(&phase);
    let due = since_nudge.is_none_or(|since| since > 600);
    if exempt || idle <= 300 || !due {
        return "quiet".to_owned();
    }
    let fresh = since_nudge.is_some_and(|since| since - idle > 1800);
    match if fresh { 0 } else { count } {
        so_far @ 0..3 => format!("nudge {}", so_far + 1),
        _ => "escalate".to_owned(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn with_nothing_but_activity_json_the_rule_decides_alone(
        idle in prop_oneof![prop::sample::select(vec![0, 300, 301]), 0..5000_i64],
        since_nudge in prop::option::of(prop_oneof![prop::sample::select(vec![600, 601, 2101, 2102]), 0..5000_i64]),
        count in 0..5_u32,
        phase in prop::sample::select(vec!["build", "idle", "awaiting_user", "complete", ""]),
        stage in prop::sample::select(vec!["build", "onboarding", "brainstorm", "plan"]),
    ) {
        let mut scene = Scene::stalled(idle);
        scene.stage = Some(stage);
        let activity = scene.activity.as_mut().unwrap();
        phase.clone_into(&mut activity.pipeline_phase);
        activity.nudge_count = count;
        activity.last_nudge_ts = since_nudge.map_or(0, |since| NOW - since);
        let said = match scene.verdict() {
            Verdict::Nudge { n, .. } => format!("nudge {n}"),
            verdict => verdict.word().to_owned(),
        };
        prop_assert_eq!(said, rule_alone(idle, since_nudge, count, phase));
    }

    #[test]
    fn a_quiet_verdict_with_an_end_has_it_ahead(
        idle in 0..5000_i64, tool_ago in prop::option::of(0..5000_i64), api_ago in prop::option::of(0..5000_i64),
        late in 0..1000_i64,
    ) {
        let mut scene = Scene::stalled(idle);
        scene.late = late;
        if let Some(ago) = api_ago { scene = scene.then(ago, "", limit(None)); }
        if let Some(ago) = tool_ago { scene = scene.then(ago, "a1", tool("Bash", None)); }
        if let Verdict::Quiet { until, .. } = scene.verdict() {
            prop_assert!(until > Some(NOW * 1000 + late), "{}", scene.said());
        }
    }
}
