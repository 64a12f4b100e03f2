//! What doctor says of the machine.

use std::time::Duration;

use super::super::Health;
use super::*;

fn shown(finding: &Finding) -> String {
    let mark = match finding.health {
        Health::Good => "+",
        Health::Fair => "?",
        Health::Wrong => "!",
    };
    let remedy = finding.remedy.as_ref().map(|remedy| format!("\n    {remedy}")).unwrap_or_default();
    format!("{mark} {}{remedy}", finding.words)
}

#[test]
fn limits_of_file_events_are_named_with_the_command_that_raises_them() {
    let limits = (Some(128), Some(8192));
    assert_eq!(shown(&inotify(limits, Ok(()), None)), "+ works: 128 instances and 8192 watches a user");
    insta::assert_snapshot!(shown(&inotify(limits, Err(Errno::MFILE), None)), @r#"
    ! no instance is left of 128 instances and 8192 watches a user
        run "sudo sysctl fs.inotify.max_user_instances=1024" (and put it into /etc/sysctl.d); until then the daemon polls
    "#);
    insta::assert_snapshot!(shown(&inotify(limits, Err(Errno::NOSPC), None)), @r#"
    ! no watch is left of 128 instances and 8192 watches a user
        run "sudo sysctl fs.inotify.max_user_watches=524288" (and put it into /etc/sysctl.d); until then the daemon polls
    "#);
    insta::assert_snapshot!(shown(&inotify((None, None), Err(Errno::NOSYS), None)), @"
    ? it does not work here: Function not implemented (os error 38)
        the daemon polls, up to a tick later
    ");
    insta::assert_snapshot!(shown(&inotify((Some(16), Some(8192)), Ok(()), None)), @r#"
    ? works, but few: 16 instances and 8192 watches a user
        run "sudo sysctl fs.inotify.max_user_instances=1024" (and put it into /etc/sysctl.d); until then the daemon polls
    "#);
    insta::assert_snapshot!(shown(&inotify((Some(128), Some(100)), Ok(()), None)), @r#"
    ? works, but few: 128 instances and 100 watches a user
        run "sudo sysctl fs.inotify.max_user_watches=524288" (and put it into /etc/sysctl.d); until then the daemon polls
    "#);
    insta::assert_snapshot!(shown(&inotify(limits, Ok(()), Some("NFS"))), @"
    ? the project lies on NFS, which reports no changes from elsewhere
        the daemon's tick finds them later; a local disk is better
    ");
}

#[test]
fn a_clock_that_was_never_set_is_named() {
    let at = |wall| Moment { wall, awake: Duration::ZERO, boot: Duration::ZERO };
    assert_eq!(clock(at(EPOCH)).health, Health::Good);
    assert_eq!(clock(at(EPOCH - 1)).health, Health::Wrong);
    assert_eq!(clock(at(0)).health, Health::Wrong);
}

#[test]
fn this_machine_can_be_asked() {
    let findings = findings(None, Moment { wall: EPOCH, awake: Duration::ZERO, boot: Duration::ZERO });
    let names: Vec<&str> = findings.iter().map(|finding| finding.name).collect();
    assert_eq!(names, ["inotify", "clock"]);
}
