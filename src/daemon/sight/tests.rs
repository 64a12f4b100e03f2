//! What is taken from memory, and what is read again.

use std::fs;

use super::Cached;

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
