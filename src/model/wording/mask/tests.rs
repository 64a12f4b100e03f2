//! What is masked, and what stays, by both measures.

use crate::model::wording::{hides, own_words, plain};

/// Foreign text may not bear it, an address that a worker names may.
const OF_ONE_CASE: &str = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";

#[test]
fn what_looks_like_a_secret_is_masked() {
    let check = |text: &str, wanted: &str| {
        assert_eq!(plain(text, 500), wanted);
        if !text.contains(&format!("/{OF_ONE_CASE}")) {
            assert_eq!(own_words(text, 500), wanted);
        }
    };
    // Put together here, so that nothing that searches for leaked keys stumbles over them.
    let rest = "0a1B2c3D4e5F6a7B8c9D0e1F";
    let beginnings = [
        "sk-ant-api03-",
        "sk-proj-",
        "sk_live_",
        "ghp_",
        "ghs_",
        "github_pat_",
        "glpat-",
        "xoxb-1765-1987-",
        "AKIA",
        "AIza",
        "npm_",
        "hf_",
    ];
    let mut keys: Vec<String> = beginnings.map(|beginning| format!("{beginning}{rest}")).to_vec();
    keys.push(format!("eyJ{rest}.eyJ{rest}.{rest}_{rest}-x"));
    keys.push("sk-abcdefghijklmnopqrstuvwx".to_owned());
    keys.push(OF_ONE_CASE.to_owned());
    keys.push("q7Zk2mN9xP4wR8tL1vB6yC3dF5gH0jKs".to_owned());
    for key in &keys {
        check(key, "[masked]");
        check(&format!("key={key}, then"), "key=[masked], then");
        check(&format!("{{\"token\":\"{key}\"}}"), "{\"token\":\"[masked]\"}");
        check(&format!("https://me:{key}@host/path"), "https://me:[masked]@host/path");
        check(&format!("https://host/{key}"), "https://host/[masked]");
    }
    check("Authorization: Bearer abcdefghijklmnop", "Authorization: Bearer [masked]");
    check("the bearer of this", "the bearer of this");
}

#[test]
fn words_paths_ids_and_names_stay_as_they_are() {
    for text in [
        "",
        "IMPLEMENTATION_APPROVED: chunk 3 of milestone 12",
        "rakim-build-3",
        "dial-a-coder-milestone-12-chunk-345678",
        "mcp__server__some_quite_long_tool_name_2024_12_01",
        "395f0e0f-a870-4f77-b1ce-f85aa15266c3",
        "395f0e0f-a870-4f77-b1ce-f85aa15266c3.jsonl",
        "/home/dev/.claude/projects/395f0e0f-a870-4f77-b1ce-f85aa15266c3.jsonl",
        "asphinx-a2c92feb83dc957e",
        "acritical-thinker-2-a2c92feb83dc957e",
        "member@team",
        "toolu_01A09q90qw90lq917835lq9",
        "2026-12-01T04:10:05.123456789+01:00",
        "npm_config_registry",
        "sk-learn",
        "Straße, 日本語, naïve, 👍",
    ] {
        assert_eq!((plain(text, 500).as_str(), own_words(text, 500).as_str()), (text, text));
    }
}

#[test]
fn what_a_worker_wrote_to_be_read_keeps_ids_addresses_and_names() {
    let id = "2414721b194453f058079d897d13c4e377f92dc6";
    let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for text in [
        format!("fixed before by {id}"),
        id.to_uppercase(),
        format!("{id}..{id}"),
        format!("v1.4.2-17-g{id}"),
        format!("https://github.com/some-org/some.repo/commit/{id}#diff-{digest}"),
        format!("https://ci.example.com/runs/{OF_ONE_CASE}/log?id={OF_ONE_CASE}"),
        format!("image@sha256:{digest}"),
        format!("app-1.2.0+{id}.tar.gz"),
        "com.example.checkout2024.CheckoutFlow2024RegressionSuite20250101Test".to_owned(),
        "Iso8601DateTimeFormatterCase20240229LeapDayHandlerTest".to_owned(),
        "test_migration_20241201101500_adds_column_v2_to_orders_2024".to_owned(),
        "max_tokens=4096 and TOKEN=$TOKEN and PASSWORD=<yours>".to_owned(),
        "the token is missing; a == b; password=".to_owned(),
        "git@host:some/repo and https://host:8080/x and https://name@host/x".to_owned(),
    ] {
        assert_eq!(own_words(&text, 500), text);
        assert!(!hides(&text), "{text}");
    }
    assert_eq!(plain(&format!("by {id}"), 500), "by [masked]", "foreign text is masked when in doubt");
}

#[test]
fn what_looks_like_a_key_is_masked_whoever_wrote_it() {
    // Random ones, made by a generator of numbers that is always the same.
    let mut state = 7_u64;
    let mut random = |alphabet: &str, length: usize| -> String {
        let pick = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(alphabet.as_bytes()[usize::try_from(state >> 33).unwrap() % alphabet.len()])
        };
        (0..length).map(pick).collect()
    };
    let mixed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let (mut tried, mut shown) = (0, 0);
    for (alphabet, length) in [(mixed, 40), (mixed, 64), (&mixed[26..], 48), ("0123456789abcdef", 32)] {
        for _ in 0..200 {
            let key = random(alphabet, length);
            // Some have too few digits to be taken for one at all.
            if plain(&key, 500) != key {
                tried += 1;
                shown += usize::from(!hides(&format!("it says {key} is refused")));
            }
        }
    }
    assert!(tried > 600 && shown * 50 <= tried, "{shown} of {tried} are shown");
    for (text, wanted) in [
        ("API_KEY=abc", "API_KEY=[masked]"),
        ("export GH_TOKEN=abc; run", "export GH_TOKEN=[masked]; run"),
        ("--password=hunter2 --verbose", "--password=[masked] --verbose"),
        ("CLIENT_SECRET=\"two words\" next", "CLIENT_SECRET=\"[masked]\" next"),
        ("clientSecret='x' b", "clientSecret='[masked]' b"),
        ("https://h/x?access_token=abc&page=2", "https://h/x?access_token=[masked]&page=2"),
        ("AWS_SECRET_ACCESS_KEY=a/b+c", "AWS_SECRET_ACCESS_KEY=[masked]"),
        ("TOKEN=2414721b194453f058079d897d13c4e377f92dc6", "TOKEN=[masked]"),
        ("Bearer 2414721b194453f058079d897d13c4e377f92dc6", "Bearer [masked]"),
        ("postgres://me:pw@host:5432/db", "postgres://me:[masked]@host:5432/db"),
        ("https://me:p!s:s@host", "https://me:[masked]@host"),
    ] {
        assert_eq!((own_words(text, 500).as_str(), plain(text, 500).as_str()), (wanted, wanted));
        assert!(hides(text), "{text}");
    }
}
