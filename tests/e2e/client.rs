//! A real client: in a terminal of its own (tmux on a private socket), or for one turn in print mode. Nothing of
//! the caller's environment reaches it, and only what was started here is ended here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;
use std::{env, fs};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::api::Api;
use crate::project::Project;
use crate::wait::{wait_for, wait_until, wait_up_to};

/// No real key is ever used: the API is ours, on loopback.
const KEY: &str = "no-key-000000000000000000000000000";

/// Lets a client use every tool without asking.
pub(crate) const UNASKED: &[&str] = &["--dangerously-skip-permissions"];

/// An interactive client.
pub(crate) struct Client {
    socket: PathBuf,
    pid: i32,
    start_time: u64,
}

impl Client {
    /// Starts a client in the project and waits until it takes a prompt.
    pub(crate) fn open(project: &Project, api: &Api, arguments: &[&str]) -> Self {
        let scratch = project.scratch();
        prepare_home(project);
        let socket = scratch.join("tmux.sock");
        let settings = scratch.join("tmux.conf");
        // A client that ended at once leaves its last words on the screen for the test's report.
        fs::write(&settings, "set -g remain-on-exit on\n").expect("a file in the scratch folder");
        let path = project.path();
        let mut command: Vec<OsString> = ["-f".into(), settings.into(), "new-session".into()].into();
        command.extend(["-d", "-s", "cc", "-x", "170", "-y", "50", "-c"].map(OsString::from));
        command.extend([path.into(), "env".into(), "-i".into()]);
        command.extend(environment(scratch, api).into_iter().map(|(name, value)| {
            let mut assignment = OsString::from(name);
            assignment.push("=");
            assignment.push(value);
            assignment
        }));
        command.push(program());
        command.extend(arguments.iter().map(OsString::from));
        tmux(&socket, &command);
        let pid = tmux(&socket, &["list-panes", "-t", "cc", "-F", "#{pane_pid}"].map(OsString::from));
        let pid = pid.trim().parse().expect("tmux names the process of its pane");
        let start_time = wait_for("the client's process", || start_time(pid));
        let client = Self { socket, pid, start_time };
        wait_until("the client's input box", || client.input_box().is_some());
        client
    }

    /// Its process.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Types a prompt and sends it off.
    pub(crate) fn prompt(&self, text: &str) {
        self.write(text);
        self.send(text);
    }

    /// Types a prompt.
    pub(crate) fn write(&self, text: &str) {
        let file = self.socket.with_file_name("prompt");
        fs::write(&file, text).expect("a file in the scratch folder");
        self.tmux(&["load-buffer", &file.display().to_string()]);
        self.tmux(&["paste-buffer", "-p", "-t", "cc"]);
        wait_until("the prompt in the input box", || self.stands_in_the_box(text));
    }

    /// Sends off the prompt that was typed.
    pub(crate) fn send(&self, text: &str) {
        // A key that comes while the client is still busy with the paste is lost; pressing it on an empty box
        // does nothing.
        wait_until("the prompt to be sent off", || {
            self.press(&["Enter"]);
            let sent = || (!self.stands_in_the_box(text)).then_some(());
            wait_up_to(Duration::from_secs(2), sent).is_some()
        });
    }

    /// Tells whether a prompt stands in the input box, in full or as the mark of a long paste.
    fn stands_in_the_box(&self, text: &str) -> bool {
        let head: String = text.lines().next().unwrap_or_default().chars().take(60).collect();
        self.input_box().is_some_and(|line| line.contains(&head) || line.contains("[Pasted"))
    }

    /// Presses keys, by tmux's names.
    pub(crate) fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "cc"], keys].concat());
    }

    /// What the terminal shows, without empty lines.
    pub(crate) fn screen(&self) -> String {
        let screen = self.tmux(&["capture-pane", "-p", "-t", "cc"]);
        screen.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The first line in the input box: what stands behind the last prompt mark.
    fn input_box(&self) -> Option<String> {
        let screen = self.screen();
        let line = screen.lines().rev().find_map(|line| line.strip_prefix('❯'))?;
        Some(line.trim().to_owned())
    }

    /// Tells whether its process lives.
    pub(crate) fn is_alive(&self) -> bool {
        start_time(self.pid) == Some(self.start_time)
    }

    /// Types `/exit`. Returns at once.
    pub(crate) fn leave(&self) {
        self.prompt("/exit");
    }

    /// Ends it without a word, as a crash does, and waits until its process is gone.
    pub(crate) fn crash(self) {
        let pid = Pid::from_raw(self.pid).expect("a process number");
        assert!(self.is_alive(), "the client lives until it is ended");
        kill_process(pid, Signal::KILL).expect("a process of ours can be ended");
        wait_until("the client's end", || !self.is_alive());
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        tmux(&self.socket, &arguments.iter().map(OsString::from).collect::<Vec<_>>())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("--- the client's screen\n{}", self.screen());
        }
        Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").output().ok();
        let gone = wait_up_to(Duration::from_secs(10), || (!self.is_alive()).then_some(()));
        if let (None, Some(pid)) = (gone, Pid::from_raw(self.pid)) {
            kill_process(pid, Signal::KILL).ok();
        }
    }
}

/// Runs one turn in print mode.
pub(crate) fn print_turn(project: &Project, api: &Api, prompt: &str) -> Output {
    prepare_home(project);
    Command::new(program())
        .args(["-p", prompt])
        .args(UNASKED)
        .current_dir(project.path())
        .env_clear()
        .envs(environment(project.scratch(), api))
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the client can be run")
}

/// Returns when a process began, in the kernel's ticks; none = it is not there, or it has ended and waits for its
/// parent.
pub(crate) fn start_time(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    fields.get(19)?.parse().ok()
}

fn program() -> OsString {
    env::var_os("WATCHDOG_E2E_CLIENT")
        .expect("WATCHDOG_E2E_CLIENT names the client's program; \"make e2e\" installs one and sets it")
}

/// Runs tmux on a socket of our own, without the caller's environment and settings.
fn tmux(socket: &Path, arguments: &[OsString]) -> String {
    let output = Command::new("tmux")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .env("SHELL", "/bin/sh")
        .args(["-u", "-S"])
        .arg(socket)
        .args(arguments)
        .output()
        .expect("tmux can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tmux {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The whole environment of a client.
fn environment(scratch: &Path, api: &Api) -> Vec<(&'static str, OsString)> {
    vec![
        ("HOME", scratch.join("home").into()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".into()),
        ("TERM", "xterm-256color".into()),
        ("LANG", "C.UTF-8".into()),
        ("ANTHROPIC_BASE_URL", api.url().into()),
        ("ANTHROPIC_API_KEY", KEY.into()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
        ("DISABLE_AUTOUPDATER", "1".into()),
        ("DISABLE_TELEMETRY", "1".into()),
        ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1".into()),
        // A failing API is reported at the first failure, not after ten attempts.
        ("CLAUDE_CODE_MAX_RETRIES", "0".into()),
        // Lets root use tools without being asked, as in a container.
        ("IS_SANDBOX", "1".into()),
    ]
}

/// Answers the questions of a first run (theme, trust, key), which would wait for a person.
fn prepare_home(project: &Project) {
    let home = project.scratch().join("home");
    let answers = home.join(".claude.json");
    if answers.exists() {
        return;
    }
    fs::create_dir_all(&home).expect("a folder in the scratch folder");
    let path = project.path();
    let trusted = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true});
    let known = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "bypassPermissionsModeAccepted": true,
        "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
        "projects": {path.display().to_string(): trusted},
    });
    fs::write(answers, known.to_string()).expect("a file in the scratch folder");
}
