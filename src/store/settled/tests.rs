//! Files that others write in place.

use std::fs;

use super::*;

const LATER: Millis = 4_000_000_000_000;

#[test]
fn a_stamp_may_be_borne_again_for_as_long_as_the_kernels_tick() {
    let stamp = Stamp { file: (1, 2), size: 3, modified: (0, 0), changed: (1_700_000_000, 500_000_000) };
    let cases = [(1_700_000_000_500, true), (1_700_000_000_510, true), (1_700_000_000_520, false)];
    for (now, expected) in cases {
        assert_eq!(stamp.may_be_borne_again(now), expected, "{now}");
    }
    // A clock that was set back says nothing of what is new.
    assert!(stamp.may_be_borne_again(1_600_000_000_000));
}

#[test]
fn a_file_is_read_when_it_has_changed_and_settled_when_it_changes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("meta.json");
    let mut seen = Seen::default();
    assert_eq!(seen.look(&path, 100, 0).unwrap(), Look::Missing);
    fs::write(&path, "{").unwrap();
    let look = |is_settled| Look::Changed { bytes: b"{".to_vec(), is_settled };
    assert_eq!(seen.look(&path, 100, 0).unwrap(), look(false));
    assert_eq!(seen.look(&path, 100, 0).unwrap(), look(true), "the same at two looks");
    seen.done();
    assert_eq!(seen.look(&path, 100, 0).unwrap(), Look::Same);
    fs::write(&path, "{}").unwrap();
    let changed = Look::Changed { bytes: b"{}".to_vec(), is_settled: true };
    assert_eq!(seen.look(&path, 100, LATER).unwrap(), changed, "it was written long ago");
    fs::remove_file(&path).unwrap();
    assert_eq!(seen.look(&path, 100, 0).unwrap(), Look::Missing);
}

#[test]
fn what_is_not_ours_or_too_large_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("meta.json");
    fs::write(&path, "0123456789").unwrap();
    assert!(Seen::default().look(&path, 9, 0).is_err());
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(Seen::default().look(&link, 100, 0).is_err());
}
