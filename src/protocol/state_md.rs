//! `STATE.md`, the pipeline's own record (`- **stage**: build` under `## Pipeline`).

/// Returns the pipeline's stage: the first list item that names one. Variants that people and agents write count:
/// any list mark, any blanks, no bold, a byte-order mark, any line ends, a quoted or coded value. A stage that is
/// mentioned in running text or in a quotation does not.
pub fn stage(bytes: &[u8]) -> Option<String> {
    bytes
        .split(|byte| *byte == b'\n' || *byte == b'\r')
        .find_map(|line| stage_of(&String::from_utf8_lossy(line)))
}

fn stage_of(line: &str) -> Option<String> {
    let line = line.trim_start_matches('\u{feff}').trim();
    let item = line.strip_prefix(['-', '*', '+'])?;
    let item = item.strip_prefix([' ', '\t'])?.trim_start();
    let bare = |text: &str| text.trim().trim_matches(['*', '_', '`', '"', '\'']).trim().to_owned();
    let (key, value) = item.split_once(':')?;
    // `- **stage:** build` carries the colon inside the bold.
    if !bare(key).eq_ignore_ascii_case("stage") {
        return None;
    }
    let value = bare(value.trim_start().trim_start_matches('*'));
    let word = value.split_whitespace().next()?.trim_matches(['*', '_', '`', '"', '\'']);
    Some(word.to_ascii_lowercase()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests;
