//! One session of the ledger: its agents, and what reaches them.

use super::super::event::{Event, What};
use super::super::moment::Millis;
use super::super::wait::Question;
use super::{Agent, Session, State};

/// Agents of one session that are remembered at most, whose turn is over or that are gone.
const MOST_RESTING: usize = 64;
/// Agents of one session at most: not every one that begins is said to end.
const MOST: usize = 128;

impl Session {
    pub(super) fn end(&mut self, at: Millis) {
        self.ended.get_or_insert(at);
        for agent in self.agents.values_mut() {
            agent.end(at);
        }
    }

    /// The last event of any of its agents, unix milliseconds.
    pub(super) fn last(&self) -> Millis {
        self.agents.values().map(|agent| agent.last).max().unwrap_or_default().max(self.since)
    }

    pub(super) fn apply(&mut self, event: &Event) {
        match &event.what {
            What::Notice { kind } => return self.notice(event, kind),
            // Nothing is known of what it means; it is a sign of life of an agent that is known.
            What::Other { hook } => {
                if let Some(agent) = self.agents.get_mut(&event.agent) {
                    agent.last = event.at;
                    agent.other(hook);
                }
                return;
            }
            // What is only ever said of another agent, without saying of which, says nothing of the lead.
            What::AgentStart | What::AgentStop | What::Idle { .. } if event.is_lead() => return,
            // A stop of an agent that was never seen tells nothing of any agent that was.
            What::AgentStop if event.name.is_empty() && !self.agents.contains_key(&event.agent) => return,
            _ => {}
        }
        self.agent(event).apply(event);
        self.forget();
    }

    fn agent(&mut self, event: &Event) -> &mut Agent {
        let agent = self
            .agents
            .entry(event.agent.clone())
            .or_insert_with(|| Agent { since: event.at, ..Agent::default() });
        if !event.name.is_empty() {
            event.name.clone_into(&mut agent.name);
        }
        agent.last = event.at;
        agent
    }

    /// A prompt that the client shows without saying whose it is belongs to the agent that asked, else to the lead.
    fn notice(&mut self, event: &Event, kind: &str) {
        let what = match kind {
            "permission_prompt" => Question::Permission(String::new()),
            "elicitation_dialog" | "elicitation_url_dialog" => Question::Answer,
            "elicitation_complete" | "elicitation_response" => return self.elicited(),
            _ => return,
        };
        let is_known = |agent: &Agent| agent.asked.is_some();
        let is_asked = if event.is_lead() {
            self.agents.values().any(is_known)
        } else {
            self.agents.get(&event.agent).is_some_and(is_known)
        };
        if !is_asked {
            self.agent(event).ask(event.at, what);
            self.forget();
        }
    }

    /// The dialog of a running tool was answered; the tool goes on.
    fn elicited(&mut self) {
        for agent in self.agents.values_mut() {
            agent.asked.take_if(|asked| asked.what == Question::Answer);
        }
    }

    fn forget(&mut self) {
        if self.agents.len() <= MOST_RESTING {
            return;
        }
        let resting = |agent: &Agent| agent.state != State::Working;
        while self.agents.values().filter(|agent| resting(agent)).count() > MOST_RESTING {
            if !self.forget_oldest(resting) {
                break;
            }
        }
        while self.agents.len() > MOST {
            if !self.forget_oldest(|_| true) {
                break;
            }
        }
    }

    /// Forgets the agent, other than the lead, that was heard of longest ago. Returns false if there is none.
    fn forget_oldest(&mut self, is_meant: impl Fn(&Agent) -> bool) -> bool {
        let oldest = self
            .agents
            .iter()
            .filter(|(id, agent)| !id.is_empty() && is_meant(agent))
            .min_by_key(|(_, agent)| agent.last)
            .map(|(id, _)| id.clone());
        oldest.is_some_and(|oldest| self.agents.remove(&oldest).is_some())
    }
}
