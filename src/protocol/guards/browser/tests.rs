//! What needs a browser, and what shows that one was run.

use super::*;

#[test]
fn requirements_ask_for_a_browser_unless_they_deny_it() {
    let asking = [
        "page renders in the browser",
        "keyboard flow of the menu",
        "keyboard-driven menu",
        "keyboard-accessible dialog",
        "visual check of the landing page",
        "UI: buttons are aligned",
        "accessibility of the form (a11y)",
        "browser-based checks",
        "unit tests, then the page in the browser",
        "unit tests and keyboard flow",
        "unit tests (the dialog in a browser too)",
        "no visual regressions",
        "no console errors in the browser",
        "focus is never lost in the browser",
        "the menu does not flicker in the browser",
        "no unit tests; browser check of the page",
        "none but a browser check",
    ];
    for text in asking {
        assert!(asks(text), "{text}");
    }
    let denying = [
        "unit tests; no browser behaviour",
        "unit tests without a browser",
        "unit tests, no UI or browser changes",
        "no keyboard and visual behaviour",
        "browser: not needed",
        "browser not required",
        "browser behaviour is out of scope",
        "the browser isn't involved",
        "browser: N/A",
        "non-browser unit tests",
        "no tests in the browser",
        "unit tests of keyboard-map parser",
        "unit tests of the keyboard map",
        "server-rendered text",
        "unit tests of the rendered SQL",
        "build the query",
        "guide for suitable units",
        "database layout",
        "none",
    ];
    for text in denying {
        assert!(!asks(text), "{text}");
    }
}

#[test]
fn a_stated_scope_decides() {
    let scope = |line: &str| is_scope(&Fields::read(&format!("test_requirements: keyboard flow\n{line}\n")));
    let table = [
        ("", true),
        ("browser_scope: no", false),
        ("browser_scoped: `No`", false),
        ("browser_scope: false", false),
        ("browser_scope: no (a parser)", false),
        ("browser_scope: yes", true),
        ("browser_scope: perhaps", true),
    ];
    for (line, wanted) in table {
        assert_eq!(scope(line), wanted, "{line}");
    }
    assert!(is_scope(&Fields::read("test_requirements: unit tests\nbrowser_scope: yes, the dialog")));
}

#[test]
fn results_tell_of_a_run_or_of_none() {
    let telling = [
        "4 passed in chromium",
        "Playwright (chromium): 4 passed",
        "Playwright: 4 passed, no console errors",
        "playwright 10 passed 2 skipped",
        "opened the page in the browser with no errors",
        "12 unit tests passed. Playwright ran 3 specs",
        "12/12 playwright specs",
        "[\"12 passed\", \"browser: the dialog opened\"]",
    ];
    for text in telling {
        assert!(is_told(text), "{text}");
    }
    let silent = [
        "12 passed; no browser available, static review only",
        "12 unit tests passed. Playwright was not run.",
        "12 unit tests passed; playwright skipped",
        "12 passed, browser checks pending",
        "12 passed (browser unavailable)",
        "12 passed without a browser",
        "12 passed; couldn't run playwright",
        "12 passed; the browser code looks fine",
        "12 passed; browser checked by the builder",
        "12 passed; grep found 3 playwright specs",
        "browser validation should be run later",
        "static review of 3 browser files",
        "12 passed",
    ];
    for text in silent {
        assert!(!is_told(text), "{text}");
    }
}

#[test]
fn a_command_runs_a_browser_by_its_program() {
    let running = [
        "npx playwright test",
        "npx playwright test --reporter list --no-sandbox",
        "npm run test:browser",
        "npm ci && npx playwright test",
        "CI=1 npx cypress run",
        "bash -c 'npx playwright test'",
        "npx playwright test -g 'does not crash'",
        "mcp__playwright__browser_navigate",
        "playwright test",
    ];
    for command in running {
        assert!(is_run(command), "{command}");
    }
    let reading = [
        "grep -r playwright .",
        "rg playwright",
        "cat playwright.config.ts",
        "ls tests/browser",
        "find . -name '*browser*'",
        "git log -- tests/playwright",
        "cd tests/browser && cargo test",
        "grep -rE 'a|playwright' src",
        "bash -c 'grep -r playwright .'",
        "npx playwright install chromium",
        "npm i -D playwright",
        "npx playwright --version",
        "npx playwright test --list",
        "npx playwright test (not run: no browser here)",
        "cargo test",
        "",
    ];
    for command in reading {
        assert!(!is_run(command), "{command}");
    }
}

#[test]
fn named_evidence_is_some() {
    for value in [".kiln/validation/shot.png", "shot.png, no errors"] {
        assert!(is_named(value), "{value}");
    }
    for value in ["no", "none", "N/A (static)", "false", "no screenshot available", "pending", "not taken"] {
        assert!(!is_named(value), "{value}");
    }
}
