//! Names of API errors, and what their text adds.

use super::ApiError;
use crate::model::wording::ApiAdvice;

const T: i64 = 1_796_098_205_000;

fn sort(error: &str, text: &str) -> ApiError {
    super::sort(error, text, T)
}

#[test]
fn every_name_is_sorted() {
    let check = |error: &str, advice: ApiAdvice| {
        let sorted = sort(error, "");
        assert_eq!((sorted.advice, sorted.error.as_str()), (advice, error));
        assert_eq!(sorted.holds(), advice == ApiAdvice::Wait);
        assert_eq!(sorted.needs_a_person(), advice == ApiAdvice::Person);
    };
    for error in ["rate_limit", "overloaded"] {
        check(error, ApiAdvice::Wait);
    }
    for error in [
        "authentication_failed",
        "billing_error",
        "oauth_org_not_allowed",
        "account_on_hold",
        "model_not_found",
        "cloud_credential_error",
    ] {
        check(error, ApiAdvice::Person);
    }
    for error in ["server_error", "invalid_request", "max_output_tokens"] {
        check(error, ApiAdvice::Retry);
    }
    for error in ["unknown", "", "Rate_Limit", "out_of_cheese"] {
        check(error, ApiAdvice::Neutral);
    }
}

#[test]
fn a_server_error_that_says_overloaded_holds() {
    for text in [
        "API Error: 529 overloaded_error. This is usually temporary",
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
        "Overloaded",
        "status 529.",
        "(529)",
    ] {
        assert!(sort("server_error", text).holds(), "{text}");
    }
    for text in ["API Error: 500", "request 5290", "req_529a", ""] {
        assert!(!sort("server_error", text).holds(), "{text}");
    }
    // The word of another error's text is no name.
    assert!(!sort("invalid_request", "529 overloaded").holds());
    assert!(!sort("unknown", "529 overloaded").holds());
}

#[test]
fn a_reset_time_is_found_in_the_text() {
    let check =
        |text: &str, reset_at: Option<i64>| assert_eq!(sort("rate_limit", text).reset_at, reset_at, "{text}");
    check("usage limit reached|1796098205", Some(T));
    check("limit resets at 2026-12-01T04:10:05Z.", Some(T));
    check("resets (2026-12-01T05:10:05+01:00), please wait", Some(T));
    check("{\"reset\":\"2026-12-01T04:10:05.000Z\",\"limit\":40}", Some(T));
    check("reset_at=1796098205", Some(T));
    check("[2026-12-01T04:10:05]", Some(T));
    check("limit reached; resets 3pm (Europe/Berlin)", Some(1_796_133_600_000));
    check("limit reached; resets 3pm", None);
    check("429 after 12 requests, id 17960982051", None);
    check("", None);
}
