//! The stage of a pipeline in every form that people and agents write it.

use proptest::prelude::*;

use super::stage;

fn check(text: &str, wanted: Option<&str>) {
    assert_eq!(stage(text.as_bytes()).as_deref(), wanted, "{text:?}");
}

#[test]
fn a_stage_is_read_in_every_form_of_a_list_item() {
    for item in [
        "- **stage**: build",
        "- **stage**:  build",
        "* **stage**: build",
        "+ **stage**: build",
        "-  **stage**: build",
        "- **stage**: build   ",
        "  - **stage**: build",
        "- **Stage**: Build",
        "- stage: build",
        "- **stage:** build",
        "- __stage__: build",
        "- `stage`: `build`",
        "- **stage**: **build**",
        "- **stage**: \"build\"",
        "- **stage**: 'build'",
        "- **stage**:build",
        "- **stage** : build",
        "-\t**stage**:\tbuild",
        "- **stage**: build (chunk 3 of 7)",
        "- **stage**: build <!-- set by the engine -->",
        "\u{feff}- **stage**: build",
    ] {
        for text in [item.to_owned(), format!("# Kiln State\n\n## Pipeline\n{item}\n- **run_id**: 7\n")] {
            check(&text, Some("build"));
            check(&text.replace('\n', "\r\n"), Some("build"));
            check(&format!("\u{feff}{text}"), Some("build"));
        }
    }
}

#[test]
fn the_first_item_counts_not_a_quotation_further_down() {
    check(
        "- **stage**: build\n\nNote: it said `**stage**: complete`.\n- **stage**: complete\n",
        Some("build"),
    );
    check("> - **stage**: complete\n- **stage**: build\n", Some("build"));
    check("The **stage**: complete is next.\n- **stage**: build\n", Some("build"));
    check("- **stage**:\n- **stage**: build\n", Some("build"));
}

#[test]
fn a_file_without_a_stage_names_none() {
    for text in [
        "",
        "\n\n",
        "# Kiln State\n",
        "**stage**: build",
        "stage: build",
        "- **stages**: build",
        "- **stage**",
        "- **stage**:",
        "- **stage**: ``",
        "-**stage**: build",
        "- the stage: build",
        "- **run**: stage: build",
        "--- stage: build",
    ] {
        check(text, None);
    }
    assert_eq!(stage(&[0; 300]), None);
    assert_eq!(stage(b"\xff\xfe-\0 \0s\0"), None);
}

#[test]
fn bytes_that_are_no_text_do_not_hide_a_stage() {
    assert_eq!(stage(b"\xff\xfe\xfd\n- **stage**: build\n\xff").as_deref(), Some("build"));
}

proptest! {
    #[test]
    fn any_stage_is_read_between_any_lines(word in "[a-z_]{1,20}", before in "[^-*+\\n\\r]{0,80}", after in "\\PC{0,80}") {
        let word = word.trim_matches('_');
        let text = format!("{before}\n- **stage**: {word}\n{after}");
        prop_assert_eq!(stage(text.as_bytes()).unwrap_or_default(), word);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(stage(&bytes).is_none_or(|stage| !stage.is_empty()));
    }
}
