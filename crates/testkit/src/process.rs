//! A server by others in a process that ends with this one.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a server may take until it listens.
const STARTS: Duration = Duration::from_secs(60);

/// A server on a free port of loopback that lives until this is dropped.
pub struct Process {
    address: String,
    child: Child,
}

impl Process {
    /// Starts a program with the arguments for a port, and waits until it listens.
    pub fn start(
        program: &Path,
        arguments: impl FnOnce(&str) -> Vec<String>,
        variables: &[(&str, &str)],
    ) -> io::Result<Self> {
        // The port is free now, and no other program takes it that soon.
        let free = TcpListener::bind("127.0.0.1:0")?;
        let address = free.local_addr()?;
        drop(free);
        // The shell ends the server when its stdin ends, which it does however this process ends.
        let child = Command::new("sh")
            .args([
                "-c",
                "\"$@\" </dev/null & read -r _; kill $!; wait $!",
                "sh",
            ])
            .arg(program)
            .args(arguments(&address.port().to_string()))
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let process = Self {
            address: address.to_string(),
            child,
        };
        let begun = Instant::now();
        while TcpStream::connect(&process.address).is_err() {
            if begun.elapsed() > STARTS {
                let reason = format!("{} doesn't listen", program.display());
                return Err(io::Error::other(reason));
            }
            sleep(Duration::from_millis(50));
        }
        Ok(process)
    }

    /// `127.0.0.1:12345`.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
