//! The causes of a silence: a closed list, and what is said of one.

/// The causes, most certain first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Agents wait for each other in a circle.
    CircularWait,
    /// A message went to a name that nobody has.
    Misaddressed,
    /// A message went to another agent than the table names.
    Misrouted,
    /// The answer was printed, not sent.
    PrintedNotSent,
    /// The awaited agent is gone or never was.
    WaitsForGone,
    /// An answer is owed.
    ReplyOwed,
    /// The agent waits for an answer that nobody sends.
    NoReplyDue,
    /// A message was delivered, and its recipient has had no turn since.
    Unread,
    /// The agent went on after asking, and the answer came meanwhile.
    WentOn,
    /// A worker's agent is gone, and its track runs.
    WorkerGone,
    /// A worker, or a team session, runs and has been silent for too long.
    WorkerSilent,
    /// The API ended the turn.
    ApiDead,
    /// A team session has been halted for a person.
    TeamHalted,
    /// A person is asked.
    WaitsForPerson,
    /// A tool is running.
    LongTool,
    /// The same again and again.
    Livelock,
    /// A worker was left idle after its task.
    Parked,
    /// Nobody waits for anything.
    NobodyWaits,
    /// A protocol was violated: a note, never the cause of a silence.
    Violation,
}

/// How sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It rests on what is only likely.
    Low,
    /// It rests on the end of a turn or on a printed text.
    Medium,
    /// It rests on messages and tables alone.
    High,
}

/// Why it is silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// The cause.
    pub cause: Cause,
    /// The agent whose move would free the most, as people and agents call it.
    pub root: String,
    /// The session of that agent.
    pub session: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// In one sentence.
    pub words: String,
    /// What it rests on, the most telling first.
    pub evidence: Vec<String>,
}

impl Cause {
    /// Tells whether it is said of tracks: workers and team sessions that are watched by their files.
    pub fn is_of_track(self) -> bool {
        use Cause::{TeamHalted, Violation, WaitsForPerson, WorkerGone, WorkerSilent};
        matches!(self, WorkerGone | WorkerSilent | TeamHalted | WaitsForPerson | Violation)
    }

    /// The cause's name in JSON and in the documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::CircularWait => "circular-wait",
            Self::Misaddressed => "misaddressed",
            Self::Misrouted => "misrouted",
            Self::PrintedNotSent => "printed-not-sent",
            Self::WaitsForGone => "waits-for-gone",
            Self::ReplyOwed => "reply-owed",
            Self::NoReplyDue => "no-reply-due",
            Self::Unread => "unread",
            Self::WentOn => "went-on-after-blocking-send",
            Self::WorkerGone => "worker-gone",
            Self::WorkerSilent => "worker-silent",
            Self::TeamHalted => "team-halted",
            Self::ApiDead => "api-dead",
            Self::WaitsForPerson => "waits-for-person",
            Self::LongTool => "long-tool",
            Self::Livelock => "livelock",
            Self::Parked => "parked-worker",
            Self::NobodyWaits => "nobody-waits",
            Self::Violation => "violation",
        }
    }
}

impl Confidence {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}
