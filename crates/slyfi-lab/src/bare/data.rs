//! The file of measurements; `slyfi-bare`'s module `measurements` documents it.

use crate::LabError;
use serde::Deserialize;
use std::path::Path;

/// The layout that is read.
const SCHEMA: u32 = 1;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Measurements {
    /// The version of the layout.
    pub schema: u32,
    /// The commit that was measured.
    pub commit: String,
    /// The machine.
    pub machine: String,
    /// QEMU's version.
    pub qemu: String,
    /// Packets in a burst: the paper's m.
    pub m: u32,
    /// What ran the guests.
    pub accelerator: String,
    /// Wall times.
    pub pairings: Vec<Pairing>,
    /// Instruction counts.
    pub icount: Vec<Instructions>,
    /// CCM by itself.
    #[serde(default)]
    pub ccm: Vec<Accelerated>,
}

/// What runs on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum System {
    /// No operating system.
    Bare,
    /// Linux.
    Linux,
}

impl System {
    /// What plots call it.
    pub const fn name(self) -> &'static str {
        match self {
            System::Bare => "bare",
            System::Linux => "Linux",
        }
    }
}

/// One server, one client, one packet size.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Pairing {
    /// Who sends the burst.
    pub server: System,
    /// Who asks for it.
    pub client: System,
    /// Bytes of payload.
    pub n: u32,
    /// Medians over the rounds.
    pub median: Delays,
}

/// Times of one exchange in nanoseconds (§5.4.2 to §5.4.4).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Delays {
    /// Client, clear packets.
    pub d0: f64,
    /// Client, sealed packets.
    pub d1: f64,
    /// Server, clear packets.
    pub d2: f64,
    /// Server, sealed packets.
    pub d3: f64,
    /// On the wire, sealed: from the request to the last packet ("response time").
    pub d5: f64,
    /// On the wire, sealed: from the first packet to the last ("encryption time").
    pub e5: f64,
}

/// Instructions of one system as server, for one packet size.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Instructions {
    /// Which system.
    pub system: System,
    /// Bytes of payload.
    pub n: u32,
    /// Encryption overhead of a packet, as the paper defines it (D3 - D2).
    pub overhead: f64,
    /// The same without the time spent waiting for the network card.
    pub work: f64,
}

/// CCM by itself.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Accelerated {
    /// Which system.
    pub system: System,
    /// What ran it, and so the unit: instructions or ticks.
    pub accelerator: String,
    /// Which AES.
    pub aes: String,
    /// Bytes.
    pub n: u32,
    /// One message sealed.
    pub seal: f64,
    /// One message opened.
    pub open: f64,
}

impl Measurements {
    /// Reads a file.
    ///
    /// # Errors
    /// [`LabError::File`], [`LabError::Data`] when it is of another layout or has no pairing.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| LabError::File { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|what| LabError::Data { path: path.to_owned(), what })
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: Measurements = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if read.schema != SCHEMA {
            return Err(format!("its schema is {}, and {SCHEMA} is what is read", read.schema));
        }
        if read.pairings.is_empty() {
            return Err("there is no pairing in it".to_owned());
        }
        Ok(read)
    }

    /// Returns the packet sizes, in order.
    pub fn sizes(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.pairings.iter().map(|p| p.n).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the median delays of a pairing at a size.
    pub fn delays(&self, server: System, client: System, n: u32) -> Option<Delays> {
        let fits = |p: &&Pairing| (p.server, p.client, p.n) == (server, client, n);
        self.pairings.iter().find(fits).map(|p| p.median)
    }

    /// Returns the instructions of a system at a size.
    pub fn instructions(&self, system: System, n: u32) -> Option<Instructions> {
        self.icount.iter().copied().find(|i| (i.system, i.n) == (system, n))
    }
}
