//! Lines of a growing file.

use std::fs;
use std::io::Write;

use proptest::prelude::*;

use super::*;

fn read(file: &File, from: u64, most: u64) -> (Vec<String>, Progress) {
    let mut found = Vec::new();
    let progress = lines(file, from, most, &mut |line, _| {
        found.push(match line {
            Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Line::TooLong(length) => format!("<{length}>"),
        });
    });
    (found, progress.unwrap())
}

fn scratch(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

#[test]
fn a_half_line_is_waited_for() {
    let mut file = scratch(b"one\ntw");
    let (found, progress) = read(&file, 0, 1000);
    assert_eq!((found, progress), (vec!["one".to_owned()], Progress { bytes: 4, lines: 1, more: false }));
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b"o\n\nthree\n").unwrap();
    let (found, progress) = read(&file, 4, 1000);
    assert_eq!(found, ["two", "", "three"]);
    assert_eq!(
        read(&file, progress.bytes, 1000),
        (Vec::new(), Progress { bytes: 15, lines: 0, more: false })
    );
}

#[test]
fn a_line_beyond_the_limit_is_passed_over_and_the_next_is_read() {
    let long = "x".repeat(LONGEST + 1);
    let file = scratch(format!("one\n{long}\ntwo\n{}\n", "y".repeat(LONGEST)).as_bytes());
    let (found, progress) = read(&file, 0, u64::MAX);
    assert_eq!(found[..3], ["one".to_owned(), format!("<{}>", LONGEST + 1), "two".to_owned()]);
    assert_eq!((found[3].len(), progress.lines), (LONGEST, 4));
}

#[test]
fn a_line_without_an_end_is_passed_over_in_pieces() {
    let most = 4 * LONGEST as u64;
    let file = scratch(&[b"x".repeat(most as usize + 70_000), b"\ntwo\n".to_vec()].concat());
    let (found, progress) = read(&file, 0, most);
    assert_eq!((found, progress.more, progress.lines), (vec![format!("<{most}>")], true, 0));
    assert_eq!(read(&file, progress.bytes, most).0[1], "two");
}

#[test]
fn an_anchor_tells_what_was_changed_before_it() {
    let file = scratch(&[b"a".repeat(5000), b"b".repeat(10)].concat());
    let before = anchor(&file, 5010).unwrap();
    file.write_all_at(b"c", 5005).unwrap();
    assert_ne!(anchor(&file, 5010).unwrap(), before);
    assert!(anchor(&file, 5011).is_err(), "the file is shorter");
    assert_eq!(anchor(&file, 0).unwrap(), of_bytes(b""));
}

#[test]
fn blanks_at_the_end_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learnings.md");
    fs::write(&path, "one\n\n \n").unwrap();
    assert_eq!(beginning(&File::open(&path).unwrap(), 100).unwrap(), b"one");
    assert_eq!(beginning(&File::open(&path).unwrap(), 2).unwrap(), b"on");
}

proptest! {
    #[test]
    fn however_a_file_grows_each_line_is_read_once(text in "[ab\n]{0,200}", cuts in proptest::collection::vec(0..200_usize, 0..6), most in 1..50_u64) {
        let mut file = scratch(b"");
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([text.len()]).collect();
        cuts.sort_unstable();
        let (mut found, mut offset, mut before) = (Vec::new(), 0, 0);
        for cut in cuts {
            file.seek(SeekFrom::End(0)).unwrap();
            file.write_all(&text.as_bytes()[before..cut]).unwrap();
            before = cut;
            let progress = lines(&file, offset, u64::MAX, &mut |line, _| found.push(format!("{line:?}"))).unwrap();
            offset = progress.bytes;
        }
        let mut wanted: Vec<String> = text.split('\n').map(|line| format!("{:?}", Line::Whole(line.as_bytes()))).collect();
        wanted.pop();
        prop_assert_eq!(found, wanted);
        // Few bytes at a time end, too.
        let (mut offset, mut rounds) = (0, 0);
        loop {
            let progress = lines(&file, offset, most, &mut |_, _| {}).unwrap();
            offset = progress.bytes;
            rounds += 1;
            if !progress.more { break; }
            prop_assert!(rounds < 300);
        }
    }
}
