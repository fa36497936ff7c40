//! A folder in one small file: its files one after the other, each after its name and length, deflated.

use std::path::Path;

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// What no packed folder is larger than.
const BYTES_MAX: usize = 64 << 20;

/// Packs the files of a folder that a restart needs.
pub(crate) fn pack(folder: &Path) -> Vec<u8> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|file| file.expect("a file").file_name().into_string().expect("a name"))
        .filter(|name| !["lock", "reserve", "control"].contains(&&name[..]))
        .collect();
    names.sort();
    let mut bytes = Vec::new();
    for name in names {
        let file = std::fs::read(folder.join(&name)).expect("a file");
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&(file.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&file);
    }
    compress_to_vec(&bytes, 9)
}

/// Makes a folder of what [`pack`] made.
pub(crate) fn unpack(packed: &[u8], folder: &Path) {
    let bytes = decompress_to_vec_with_limit(packed, BYTES_MAX).expect("it is whole");
    std::fs::create_dir_all(folder).expect("a folder");
    let mut rest = &bytes[..];
    let mut part = || -> Option<&[u8]> {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let (part, behind) = behind.split_at(u32::from_le_bytes(*length) as usize);
        rest = behind;
        Some(part)
    };
    while let Some(name) = part() {
        let name = std::str::from_utf8(name).expect("a name").to_owned();
        std::fs::write(folder.join(name), part().expect("a file")).expect("written");
    }
}
