//! A Messages API of our own on loopback, so that a real client runs without a network. It answers what the
//! prompt scripts (see [`crate::script`]) and keeps every request.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::script::{Answer, answer_to};
use crate::wait::wait_for;

/// The API. It ends when it is dropped.
pub(crate) struct Api {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<Request>>,
    ends: AtomicBool,
    answers: AtomicU64,
}

/// A request for the model's next words.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    body: Value,
}

impl Request {
    /// How often the conversation so far holds a text.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.conversation().matches(text).count()
    }

    /// Tells whether the conversation so far holds a text.
    pub(crate) fn holds(&self, text: &str) -> bool {
        self.count(text) > 0
    }

    /// All texts of the conversation, whoever put them there, one below the other.
    pub(crate) fn conversation(&self) -> String {
        let mut texts = Vec::new();
        collect(&self.body["messages"], &mut texts);
        texts.join("\n")
    }
}

fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(list) => list.iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

impl Api {
    /// Starts an API on a free port.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port on loopback");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared::default());
        let served = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if served.ends.load(Ordering::Relaxed) {
                    return;
                }
                let served = Arc::clone(&served);
                // A connection that breaks is the client's affair: it asks again, or the test says what is missing.
                if let Ok(stream) = stream {
                    thread::spawn(move || serve(&stream, &served).ok());
                }
            }
        });
        Self { address, shared }
    }

    /// Where the client finds it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The requests whose conversation holds a text.
    pub(crate) fn holding(&self, text: &str) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.holds(text)).collect()
    }

    /// Waits for the first request whose conversation holds a text.
    pub(crate) fn first_holding(&self, text: &str) -> Request {
        wait_for(&format!("a request that holds {text:?}"), || self.holding(text).into_iter().next())
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts, which then sees that it is over.
        TcpStream::connect(self.address).ok();
    }
}

/// Serves one connection until either side closes it.
fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(300)))?;
    stream.set_write_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::new(stream);
    while let Some((head, body)) = read_request(&mut reader)? {
        if !head.starts_with("POST /v1/messages") {
            answer(stream, 404, &fault("not_found_error", "this API has messages only"))?;
        } else if head.contains("count_tokens") {
            answer(stream, 200, &json!({"input_tokens": 10}))?;
        } else if respond(stream, &body, shared)? {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads one request: its first line and its body. None = the other side is done.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<(String, Value)>> {
    let mut head = String::new();
    if reader.read_line(&mut head)? == 0 {
        return Ok(None);
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        if line.starts_with("transfer-encoding:") || line.starts_with("content-encoding:") {
            return Err(io::Error::other(format!("the client sends {line}, which this API does not read")));
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((head, serde_json::from_slice(&body).unwrap_or(Value::Null))))
}

/// Answers a request for the model's next words. Returns true if the connection is to be closed.
fn respond(stream: &TcpStream, body: &Value, shared: &Shared) -> io::Result<bool> {
    let request = Request { body: body.clone() };
    shared.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    let step = answer_to(body["messages"].as_array().map(Vec::as_slice).unwrap_or_default());
    thread::sleep(step.delay);
    let number = shared.answers.fetch_add(1, Ordering::Relaxed);
    let (block, reason) = match step.answer {
        Answer::Error { status, kind } => {
            answer(stream, status, &fault(&kind, &format!("scripted {kind}")))?;
            return Ok(false);
        }
        Answer::Say(text) => (json!({"type": "text", "text": text}), "end_turn"),
        Answer::Tool { name, input } => {
            let id = format!("toolu_{number:020}");
            (json!({"type": "tool_use", "id": id, "name": name, "input": input}), "tool_use")
        }
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 5,
                       "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let message = json!({"id": format!("msg_{number:020}"), "type": "message", "role": "assistant",
                         "model": body["model"], "content": [block], "stop_reason": reason,
                         "stop_sequence": null, "usage": usage});
    if body["stream"] == true {
        stream_out(stream, message)?;
        return Ok(true);
    }
    answer(stream, 200, &message)?;
    Ok(false)
}

fn fault(kind: &str, words: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": words}})
}

fn answer(mut stream: &TcpStream, status: u16, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} scripted\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// Sends a message as the events that a streaming client expects; the end of the connection ends the body.
fn stream_out(mut stream: &TcpStream, mut message: Value) -> io::Result<()> {
    let mut block = message["content"][0].take();
    let delta = if block["type"] == "text" {
        let text = std::mem::replace(&mut block["text"], json!(""));
        json!({"type": "text_delta", "text": text})
    } else {
        let input = std::mem::replace(&mut block["input"], json!({}));
        json!({"type": "input_json_delta", "partial_json": input.to_string()})
    };
    let stop = message["stop_reason"].take();
    message["content"] = json!([]);
    let events = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
               "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    let mut text =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
    for event in events {
        let kind = event["type"].as_str().unwrap_or_default();
        text.extend(["event: ", kind, "\ndata: ", &event.to_string(), "\n\n"]);
    }
    stream.write_all(text.as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)
}
