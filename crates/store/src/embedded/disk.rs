//! What is under the engine: bytes that are read, written and synced. A file normally; whatever the
//! simulator puts there; or a file that is only looked at, where writes stay in memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub use redb::StorageBackend as Disk;

/// The files of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The engine's tree, which holds all that was brought over from the journal.
    Tree,
    /// A half of the journal, 0 or 1.
    Journal(usize),
}

/// What a store stands on: its files, opened as often as need be, and how much room there is.
pub trait Ground: Send {
    /// Opens a file for reading and writing.
    ///
    /// # Errors
    /// It is not there, or the system refuses.
    fn file(&self, part: Part) -> io::Result<Box<dyn Disk>>;

    /// The bytes that can still be written; none when nobody knows.
    fn room(&self) -> Option<u64>;
}

/// A file of the operating system. A read that reaches beyond its end is an error.
#[derive(Debug)]
pub struct DiskFile(File);

impl DiskFile {
    /// On a file that is open for reading and writing.
    #[must_use]
    pub fn new(file: File) -> Self {
        Self(file)
    }
}

#[cfg(unix)]
fn read_at(file: &File, offset: u64, out: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, offset)
}

#[cfg(unix)]
fn write_at(file: &File, offset: u64, data: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, data, offset)
}

#[cfg(windows)]
fn read_at(file: &File, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                offset += read as u64;
                out = &mut out[read..];
            }
        }
    }
    Ok(())
}

#[cfg(windows)]
fn write_at(file: &File, mut offset: u64, mut data: &[u8]) -> io::Result<()> {
    while !data.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, data, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => {
                offset += written as u64;
                data = &data[written..];
            }
        }
    }
    Ok(())
}

impl Disk for DiskFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        read_at(&self.0, offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        write_at(&self.0, offset, data)
    }
}

/// Any disk, watched for the one error that is never forgiven: after a failed sync nobody knows what
/// the disk holds, and asking again would be answered with a lie.
#[derive(Debug)]
pub(super) struct Watched {
    inner: Box<dyn Disk>,
    sync_failed: Arc<AtomicBool>,
}

impl Watched {
    pub(super) fn new(inner: Box<dyn Disk>, sync_failed: Arc<AtomicBool>) -> Self {
        Self { inner, sync_failed }
    }
}

impl Disk for Watched {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let synced = self.inner.sync_data();
        if synced.is_err() {
            self.sync_failed.store(true, Ordering::Release);
        }
        synced
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }
}

const PAGE: u64 = 4096;

/// A file that is only looked at: what the engine repairs when it opens stays in memory.
#[derive(Debug)]
pub(super) struct Glass {
    file: File,
    above: Mutex<Above>,
}

#[derive(Debug, Default)]
struct Above {
    len: u64,
    /// How much of the file itself is still looked at.
    below: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE as usize]>>,
}

impl Glass {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { file, above: Mutex::new(Above { len, below: len, ..Above::default() }) })
    }

    fn above(&self) -> std::sync::MutexGuard<'_, Above> {
        self.above.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page as the file has it; zeros behind its end.
    fn page(&self, below: u64, number: u64) -> io::Result<Box<[u8; PAGE as usize]>> {
        let mut page = Box::new([0; PAGE as usize]);
        let start = number * PAGE;
        let there = below.saturating_sub(start).min(PAGE) as usize;
        read_at(&self.file, start, &mut page[..there])?;
        Ok(page)
    }
}

/// The parts of a stretch of bytes by page: number, place in the page, length.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut at = offset;
    let end = offset + length as u64;
    std::iter::from_fn(move || {
        let (number, place) = (at / PAGE, at % PAGE);
        let part = (PAGE - place).min(end.checked_sub(at).filter(|left| *left > 0)?);
        at += part;
        Some((number, place as usize, part as usize))
    })
}

impl Disk for Glass {
    fn len(&self) -> io::Result<u64> {
        Ok(self.above().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let above = self.above();
        if offset.saturating_add(out.len() as u64) > above.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        for (number, place, length) in parts(offset, out.len()) {
            let into = &mut out[done..done + length];
            match above.pages.get(&number) {
                Some(page) => into.copy_from_slice(&page[place..place + length]),
                None => {
                    let page = self.page(above.below, number)?;
                    into.copy_from_slice(&page[place..place + length]);
                }
            }
            done += length;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut above = self.above();
        if len < above.len {
            above.pages.split_off(&len.div_ceil(PAGE));
            if let Some(page) = above.pages.get_mut(&(len / PAGE)) {
                page[(len % PAGE) as usize..].fill(0);
            }
        }
        above.below = above.below.min(len);
        above.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut above = self.above();
        let mut done = 0;
        for (number, place, length) in parts(offset, data.len()) {
            if !above.pages.contains_key(&number) {
                let page = self.page(above.below, number)?;
                above.pages.insert(number, page);
            }
            if let Some(page) = above.pages.get_mut(&number) {
                page[place..place + length].copy_from_slice(&data[done..done + length]);
            }
            done += length;
        }
        above.len = above.len.max(offset + data.len() as u64);
        Ok(())
    }
}
