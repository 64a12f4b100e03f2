//! The words of shell commands.

use super::*;

#[test]
fn words_are_what_a_shell_would_take_for_words() {
    let table: [(&str, &[&str]); 14] = [
        ("cat a b", &["cat", "a", "b"]),
        ("cat 'a b' \"c d\" e", &["cat", "e"]),
        ("cat 'a'\"b\"c\\ d", &["cat"]),
        ("cat a;b|c&&d||e", &["cat", "a", "b", "c", "d", "e"]),
        ("a > b 2>c >> d <e >&2", &["a", "b", "2", "c", "d", "e", "2"]),
        ("a # b", &["a"]),
        ("a#b", &["a#b"]),
        ("echo a $(cat b)", &["echo", "cat", "b"]),
        ("echo \"$(cat \"$(ls a)\")\"", &["ls", "a", "cat", "echo"]),
        ("a <<X\nb\nX\nc", &["a", "c"]),
        ("a <<X <<Y\nb\nX\nd\nY\nc", &["a", "c"]),
        ("a <<< b", &["a", "b"]),
        ("a \\\nb", &["a", "b"]),
        ("", &[]),
    ];
    for (command, wanted) in table {
        let found = words(command);
        let wanted: Vec<&str> = wanted.to_vec();
        assert_eq!(found, wanted, "{command}");
    }
}

#[test]
fn what_is_never_closed_ends_with_the_command() {
    for command in ["cat 'a", "cat \"a", "cat \"$(b", "cat `b", "cat <<X\nb", "cat \\", "cat $("] {
        assert_eq!(words(command).iter().filter(|word| *word == "cat").count(), 1, "{command}");
    }
}

#[test]
fn commands_within_commands_end_somewhere() {
    let mut command = "cat .env".to_owned();
    for _ in 0..40 {
        command = format!("x \"$({command})\"");
    }
    assert!(words(&command).len() < 100);
    assert!(words(&"a ".repeat(100_000)).len() <= 1_000_000);
    assert!(words(&"a;".repeat(100_000)).len() <= MOST + 2);
}

#[test]
fn a_word_is_split_where_a_name_may_begin() {
    assert_eq!(parts("--env-file=.env").collect::<Vec<_>>(), ["--env-file=.env", "--env-file", ".env"]);
    assert_eq!(parts("a@b:c,d").collect::<Vec<_>>(), ["a@b:c,d", "a", "b", "c", "d"]);
    assert_eq!(parts("a").collect::<Vec<_>>(), ["a"]);
    assert_eq!(parts("").count(), 0);
}

#[test]
fn programs_are_told_with_what_they_are_given() {
    let told = |text: &str| -> Vec<String> {
        commands(text)
            .iter()
            .map(|command| format!("{} {}", command.program, command.words.join(" ")))
            .collect()
    };
    assert_eq!(told("CI=1 sudo /usr/bin/npx playwright 'a b' > out"), ["npx playwright a b"]);
    assert_eq!(told("cd a && bash -lc 'grep x y' | wc -l"), ["cd a", "grep x y", "bash -lc", "wc -l"]);
    assert_eq!(told("{ a; }"), ["a ", "} "]);
    assert_eq!(told(""), Vec::<String>::new());
}
