//! `--metrics ADDRESS`: what is under way, for monitoring that asks over HTTP.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use octavo_report::{Metrics, OPEN_METRICS};

/// Where to answer, if anywhere.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct MetricsFlag {
    /// Answer http://ADDRESS/metrics with figures in OpenMetrics while the command
    /// works, such as 127.0.0.1:9464; with port 0 on a free one
    #[arg(long, value_name = "ADDRESS", value_parser = address, hide_short_help = true)]
    pub(crate) metrics: Option<SocketAddr>,
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse()
        .map_err(|_| "write an IP address and a port, such as 127.0.0.1:9464")
}

/// How long a request may take to come, and an answer to be taken. Others wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(1);

/// The longest head of a request.
const HEAD_MAX: u64 = 16 * 1024;

/// Figures that a thread answers with.
#[derive(Debug)]
pub(crate) struct Served {
    metrics: Arc<Mutex<Metrics>>,
    address: SocketAddr,
}

impl Served {
    /// Begins to answer. The thread ends with the process.
    ///
    /// # Errors
    /// When the address is not ours to have.
    pub(crate) fn begin(address: SocketAddr) -> anyhow::Result<Self> {
        let named = || format!("answer at {address}, as --metrics says");
        let listener = TcpListener::bind(address).with_context(named)?;
        let address = listener.local_addr().with_context(named)?;
        let metrics = Arc::new(Mutex::new(Metrics::default()));
        let shared = Arc::clone(&metrics);
        thread::Builder::new()
            .name("metrics".into())
            .spawn(move || {
                for stream in listener.incoming() {
                    match stream {
                        // Who went away needs no answer.
                        Ok(stream) => drop(answer(&stream, &shared)),
                        // Too many files are open, for a moment.
                        Err(_) => thread::sleep(PATIENCE),
                    }
                }
            })
            .with_context(named)?;
        Ok(Self { metrics, address })
    }

    /// Where it answers.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    /// Changes the figures.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Metrics)) {
        change(&mut self.metrics.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Answers one request, and closes the connection (RFC 9112).
fn answer(stream: &TcpStream, metrics: &Mutex<Metrics>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream.take(HEAD_MAX)).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    // What is not read would have the connection reset before the answer is there.
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let mut words = request.split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let path = target.split('?').next().unwrap_or("");
    let is_found = matches!(path, "/metrics" | "/");
    let (status, kind, body) = match method {
        "GET" | "HEAD" if is_found => {
            let metrics = metrics.lock().unwrap_or_else(PoisonError::into_inner);
            let text = metrics.text(env!("CARGO_PKG_VERSION"));
            ("200 OK", OPEN_METRICS, text)
        }
        "GET" | "HEAD" => (
            "404 Not Found",
            "text/plain",
            "Figures are at /metrics.\n".into(),
        ),
        _ => ("405 Method Not Allowed", "text/plain", "Use GET.\n".into()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body = if method == "HEAD" { "" } else { body.as_str() };
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(served: &Served, request: &str) -> String {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn figures_are_answered_and_nothing_else() {
        let served = Served::begin(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        served.change(|metrics| metrics.time(Duration::from_secs(3), Duration::from_secs(9)));
        let got = ask(&served, "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
        let (head, body) = got.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("application/openmetrics-text"), "{head}");
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
        assert!(body.contains("octavo_expected_seconds 9\n") && body.ends_with("# EOF\n"));
        for (request, status) in [
            ("GET /other HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("\r\n\r\n", "405"),
        ] {
            let got = ask(&served, request);
            assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{got}");
        }
        let head = ask(&served, "HEAD /metrics?x=1 HTTP/1.1\r\n\r\n");
        assert!(
            head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"),
            "{head}"
        );
        // Somebody who says nothing, and what is no text, hinder nobody.
        let _silent = TcpStream::connect(served.address).unwrap();
        let mut noise = TcpStream::connect(served.address).unwrap();
        noise.write_all(&[0xff; 64]).unwrap();
        assert!(ask(&served, "GET / HTTP/1.0\r\n\r\n").contains("octavo_spent_seconds 3\n"));
        // The address is taken.
        let error = Served::begin(served.address).unwrap_err();
        assert!(
            format!("{error:#}").contains("as --metrics says"),
            "{error:#}"
        );
    }
}
