//! What is taken from memory, and what is read again.

use std::fs;

use super::{Cached, may_be_borne_again};

#[test]
fn a_stamp_may_be_borne_again_for_as_long_as_the_kernels_tick() {
    let stamp = Some((1, 2, 3, 0, 0, 1_700_000_000, 500_000_000));
    let cases = [(1_700_000_000_500, true), (1_700_000_000_510, true), (1_700_000_000_520, false)];
    for (now, expected) in cases {
        assert_eq!(may_be_borne_again(stamp, now), expected, "{now}");
    }
    // A clock that was set back says nothing of what is new; a file that is not there bears no stamp.
    assert!(may_be_borne_again(stamp, 1_600_000_000_000));
    assert!(!may_be_borne_again(None, 1_700_000_000_500));
}

#[test]
fn a_file_that_has_not_changed_for_a_while_is_not_read_again_and_one_that_has_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("STATE.md");
    let mut cached = Cached::default();
    let mut reads = 0;
    let mut get = |cached: &mut Cached<String>| {
        cached.get(&path, || {
            reads += 1;
            fs::read_to_string(&path).unwrap_or_default()
        });
        reads
    };
    assert_eq!((get(&mut cached), get(&mut cached)), (1, 1), "it is not there");
    fs::write(&path, "one").unwrap();
    assert_eq!(get(&mut cached), 2);
    // As soon as the kernel's tick is over.
    while get(&mut cached) != get(&mut cached) {
        std::thread::yield_now();
    }
    let before = get(&mut cached);
    fs::write(&path, "two and more").unwrap();
    assert_eq!(get(&mut cached), before + 1);
}
