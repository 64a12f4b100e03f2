//! A team's `config.json`: who belongs to it.

use super::sketch;

/// The members of a team.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Members {
    /// The lead's session.
    pub session: String,
    /// The lead's name.
    pub lead: String,
    /// The names of the others.
    pub names: Vec<String>,
}

/// The longest name that is taken over, and the most of them.
const LONGEST: usize = 200;
const MOST: usize = 200;

/// Reads the file. None = it names no session.
pub fn read(bytes: &[u8]) -> Option<Members> {
    let file = sketch::read(bytes).ok()?;
    let session = file.get("leadSessionId").word()?.to_owned();
    let lead_id = file.get("leadAgentId").text();
    let mut lead = lead_id.split('@').next().unwrap_or_default().to_owned();
    let mut names = Vec::new();
    for member in file.get("members").list().iter().take(MOST) {
        let Some(name) = member.get("name").word().filter(|name| name.len() <= LONGEST) else { continue };
        if member.get("agentId").text() == lead_id || member.get("agentType").text() == "team-lead" {
            name.clone_into(&mut lead);
        } else {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Some(Members { session, lead, names })
}

#[cfg(test)]
mod tests {
    use super::{Members, read};

    #[test]
    fn members_are_told_from_their_lead() {
        let file =
            br#"{"leadAgentId":"team-lead@session-8b220079","leadSessionId":"8b220079-7c03","members":[
            {"agentId":"team-lead@session-8b220079","name":"team-lead","agentType":"team-lead"},
            {"agentId":"sphinx@session-8b220079","name":"sphinx","agentType":"general-purpose"}]}"#;
        let wanted = Members {
            session: "8b220079-7c03".to_owned(),
            lead: "team-lead".to_owned(),
            names: vec!["sphinx".to_owned()],
        };
        assert_eq!(read(file), Some(wanted));
        assert_eq!(read(b"[]"), None);
    }
}
