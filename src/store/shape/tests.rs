//! Patterns of folders, against folders.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn a_pattern_fits_names_as_in_a_shell() {
    for (pattern, name, expected) in [
        ("*", "anything", true),
        ("*", "", true),
        ("fix", "fix", true),
        ("fix", "fixed", false),
        ("TLS-*", "TLS-x-2026", true),
        ("TLS-*", "xTLS-", false),
        ("*-1", "proj-1", true),
        ("*-1", "proj-12", false),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "acb", false),
        ("a*a", "a", false),
        ("a**b", "axb", true),
    ] {
        assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
    }
}

#[test]
fn folders_are_found_sorted_and_neither_files_nor_links_nor_hidden_ones() {
    let project = tempfile::tempdir().unwrap();
    let at = |name: &str| project.path().join(name);
    for folder in
        [".task/fix/b", ".task/fix/a", ".task/dev/c", ".task/fix/.hidden", ".task/empty", "other/x/y"]
    {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(at(".task/fix/file"), "").unwrap();
    symlink(at("other"), at(".task/link")).unwrap();
    symlink(at("other"), at("linked")).unwrap();
    let found = |pattern: &str, most: usize| matching(project.path(), pattern, most);
    let all = [".task/dev/c", ".task/fix/a", ".task/fix/b"].map(ToOwned::to_owned);
    let passed = vec![Passed { path: ".task/link".into(), above: 1 }];
    let matches = found(".task/*/*", 9);
    assert_eq!(matches, Matches { folders: all.to_vec(), is_cut: false, passed: passed.clone() });
    assert_eq!(found(".task/*/*", 2), Matches { folders: all[..2].to_vec(), is_cut: true, passed });
    assert_eq!(found(".task/fix/a", 9).folders, [".task/fix/a"]);
    assert_eq!(found(".task/f*/*", 9).folders, [".task/fix/a", ".task/fix/b"]);
    for nothing in ["linked/*", "nowhere/*", ".task/fix/file/*", "*/x/file"] {
        assert_eq!(found(nothing, 9).folders, [""; 0], "{nothing}");
    }
}
