//! Where a capture comes from: a file, or something that can be read only once.

use crate::{CaptureError, CaptureReader};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// One capture to read, more than once if need be.
pub struct Input {
    name: PathBuf,
    source: Source,
}

enum Source {
    /// Opened by its path for each pass.
    Path,
    /// Read from the beginning for each pass.
    File(File),
    /// In memory.
    Bytes(Arc<[u8]>),
    /// Read once; nothing is left afterwards.
    Stream(Option<Box<dyn Read + Send>>),
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Input {
    /// The file at this path. One that cannot be read twice (a pipe, a terminal) is copied first, as
    /// [`Input::copied`] does.
    ///
    /// # Errors
    /// [`CaptureError::Read`] when it cannot be opened, or copied.
    pub fn path(path: &Path) -> Result<Self, CaptureError> {
        let failed = |source| CaptureError::Read { path: path.to_owned(), source };
        if std::fs::metadata(path).map_err(failed)?.is_file() {
            return Ok(Input { name: path.to_owned(), source: Source::Path });
        }
        Input::copied(path, File::open(path).map_err(failed)?)
    }

    /// A stream, copied into a file that has no name any more when this returns, so that nothing of it
    /// stays behind however the program ends.
    ///
    /// # Errors
    /// [`CaptureError::Read`] when the stream or the copy fails.
    pub fn copied(name: &Path, mut stream: impl Read) -> Result<Self, CaptureError> {
        let mut copy = || {
            let mut file = nameless()?;
            io::copy(&mut stream, &mut file)?;
            Ok(file)
        };
        match copy() {
            Ok(file) => Ok(Input { name: name.to_owned(), source: Source::File(file) }),
            Err(source) => Err(CaptureError::Read { path: name.to_owned(), source }),
        }
    }

    /// A capture that is in memory already.
    pub fn bytes(name: &Path, bytes: impl Into<Arc<[u8]>>) -> Self {
        Input { name: name.to_owned(), source: Source::Bytes(bytes.into()) }
    }

    /// A stream that is read as it comes: for [`crate::Options::single_pass`] only.
    pub fn stream(name: &Path, stream: impl Read + Send + 'static) -> Self {
        Input { name: name.to_owned(), source: Source::Stream(Some(Box::new(stream))) }
    }

    /// Returns what it is called in reports.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Begins to read from the beginning.
    ///
    /// # Errors
    /// What [`CaptureReader::open`] says, and [`CaptureError::Read`] for a stream's second time.
    pub fn reader(&mut self) -> Result<CaptureReader, CaptureError> {
        let failed = |source| CaptureError::Read { path: self.name.clone(), source };
        match &mut self.source {
            Source::Path => CaptureReader::open(&self.name),
            Source::File(file) => {
                file.rewind().map_err(failed)?;
                CaptureReader::new(&self.name, file.try_clone().map_err(failed)?)
            }
            Source::Bytes(bytes) => {
                CaptureReader::new(&self.name, io::Cursor::new(Arc::clone(bytes)))
            }
            Source::Stream(stream) => match stream.take() {
                Some(stream) => CaptureReader::new(&self.name, stream),
                None => Err(failed(io::Error::other("a stream can be read only once"))),
            },
        }
    }
}

/// Makes a file for this process alone and takes its name away.
fn nameless() -> io::Result<File> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("slyfi-capture-{}-{n}", std::process::id()));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        match options.open(&path) {
            Ok(file) => return std::fs::remove_file(&path).map(|()| file),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Packet, PcapWriter};

    fn capture() -> Vec<u8> {
        let mut w = PcapWriter::new(Vec::new(), 105).unwrap();
        w.packet(5, b"frame").unwrap();
        w.finish().unwrap()
    }

    fn packets(input: &mut Input) -> Result<u64, CaptureError> {
        let (mut reader, mut packet) = (input.reader()?, Packet::default());
        while reader.read(&mut packet)? {}
        Ok(packet.number)
    }

    #[test]
    fn a_copied_stream_is_read_again_and_a_stream_only_once() {
        let mut copied = Input::copied(Path::new("-"), &capture()[..]).unwrap();
        assert_eq!((packets(&mut copied).unwrap(), packets(&mut copied).unwrap()), (1, 1));
        let mut bytes = Input::bytes(Path::new("memory"), capture());
        assert_eq!((packets(&mut bytes).unwrap(), packets(&mut bytes).unwrap()), (1, 1));
        let mut stream = Input::stream(Path::new("-"), io::Cursor::new(capture()));
        assert_eq!(packets(&mut stream).unwrap(), 1);
        assert!(packets(&mut stream).is_err());
    }

    #[test]
    fn a_stream_that_is_no_capture_is_named() {
        let mut input = Input::copied(Path::new("standard input"), &b"hello"[..]).unwrap();
        assert!(packets(&mut input).unwrap_err().to_string().contains("standard input"));
    }
}
