//! How the journal lies on its disk: in sectors, the unit in which a disk loses power. Each says of
//! itself which group it is a part of and where it belongs, and carries a checksum, so that what was
//! never written, what was written and what is damaged can be told apart. Groups begin at pages: a page
//! that holds something acknowledged is not written again in its generation.

use crate::print::Print;

/// What a disk writes whole or not at all.
pub(super) const SECTOR: usize = 512;
/// Where groups begin.
const PAGE_SECTORS: u32 = 8;
/// Checksum, generation, sequence, place, start, count and the sectors of the file.
const HEAD: usize = 8 + 8 + 8 + 4 + 4 + 4 + 4;
const ROOM: usize = SECTOR - HEAD;
/// Up to format 2 a head did not tell how long the file was.
const FORMER_HEAD: usize = HEAD - 4;

/// Where a group is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Spot {
    /// Grows whenever a half is begun anew: sectors of an older one count as never written.
    pub(super) generation: u64,
    /// Grows with each try to write a group, so that what a refused try left behind is known.
    pub(super) sequence: u64,
    /// The group's first sector.
    pub(super) start: u32,
    /// The sectors that the file had, synced, when the group was written. A shorter file was cut off.
    pub(super) file: u32,
}

/// The sectors that a group with so many bytes takes.
pub(super) fn sectors_for(bytes: usize) -> u32 {
    (bytes.div_ceil(ROOM) as u32).next_multiple_of(PAGE_SECTORS)
}

/// Lays a group out in sectors, whole pages of them.
pub(super) fn pack(id: Print, spot: Spot, payload: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let count = payload.len().div_ceil(ROOM) as u32;
    for (place, part) in (spot.start..).zip(payload.chunks(ROOM)) {
        let from = out.len();
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&spot.generation.to_le_bytes());
        out.extend_from_slice(&spot.sequence.to_le_bytes());
        for number in [place, spot.start, count, spot.file] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(part);
        out.resize(from + SECTOR, 0);
        let check = check(id, &out[from + 8..]);
        out[from..from + 8].copy_from_slice(&check.to_le_bytes());
    }
    out.resize(sectors_for(payload.len()) as usize * SECTOR, 0);
}

fn check(id: Print, rest: &[u8]) -> Print {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&id.to_le_bytes());
    hasher.update(rest);
    crate::print::first(&hasher)
}

/// What a sector says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Label {
    spot: Spot,
    place: u32,
    count: u32,
}

/// What a sector is found to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Found {
    /// Never written, or in a generation that is in the tree.
    Unwritten,
    /// Written in the generation that is looked for.
    Written(Label),
    /// Whole, and not where or when it belongs.
    Misplaced,
    Damaged,
}

/// Which half is read, and what is in the tree already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    pub(super) id: Print,
    /// The last generation that the tree holds.
    pub(super) applied: u64,
    /// The one that is read.
    pub(super) generation: u64,
    /// Its heads do not tell how long the file was.
    pub(super) is_former: bool,
}

impl Wanted {
    fn look(self, sector: &[u8], place: u32) -> Found {
        if sector.iter().all(|byte| *byte == 0) {
            return Found::Unwritten;
        }
        let number = |at: usize| sector[at..].first_chunk().copied().map_or(0, u64::from_le_bytes);
        let small = |at: usize| sector[at..].first_chunk().copied().map_or(0, u32::from_le_bytes);
        if check(self.id, &sector[8..]) != number(0) {
            return Found::Damaged;
        }
        let file = if self.is_former { 0 } else { small(36) };
        let spot = Spot { generation: number(8), sequence: number(16), start: small(28), file };
        let label = Label { spot, place: small(24), count: small(32) };
        match spot.generation {
            older if older <= self.applied => Found::Unwritten,
            own if own == self.generation && label.place == place => Found::Written(label),
            _ => Found::Misplaced,
        }
    }
}

/// What is wrong with a half.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wrong {
    pub(super) sector: usize,
    pub(super) why: &'static str,
}

/// The groups of a generation, in order, and where the next one would begin.
#[derive(Debug, Default)]
pub(super) struct Unpacked {
    pub(super) groups: Vec<Vec<u8>>,
    pub(super) end: u32,
}

/// Reads the groups of a generation. A last one that was not written whole was never acknowledged and is
/// left out; anything else that is not as it was written is told, and so is a file that was longer once.
pub(super) fn unpack(wanted: Wanted, half: &[u8]) -> Result<Unpacked, Wrong> {
    let found: Vec<Found> = (0u32..)
        .zip(half.chunks_exact(SECTOR))
        .map(|(place, sector)| wanted.look(sector, place))
        .collect();
    check_length(&found)?;
    let head = if wanted.is_former { FORMER_HEAD } else { HEAD };
    let mut groups = Vec::new();
    let (mut at, mut sequence) = (0usize, 0);
    while let Some(Found::Written(label)) = found.get(at) {
        if label.spot.start as usize != at || label.spot.sequence <= sequence {
            break;
        }
        let end = at + label.count as usize;
        let belongs = |found: &Found| matches!(found, Found::Written(it) if it.spot == label.spot);
        let is_whole = found.get(at..end).is_some_and(|group| group.iter().all(belongs));
        if !is_whole {
            break;
        }
        let sectors = half[at * SECTOR..end * SECTOR].chunks_exact(SECTOR);
        groups.push(sectors.flat_map(|sector| &sector[head..]).copied().collect());
        sequence = label.spot.sequence;
        at = end.next_multiple_of(PAGE_SECTORS as usize);
    }
    check_tail(&found, at, sequence)?;
    Ok(Unpacked { groups, end: at as u32 })
}

/// A file grows, and that is synced, before anything is written that tells of it.
fn check_length(found: &[Found]) -> Result<(), Wrong> {
    let told = found.iter().filter_map(|found| match found {
        Found::Written(label) => Some(label.spot.file as usize),
        Found::Unwritten | Found::Misplaced | Found::Damaged => None,
    });
    match told.max() {
        Some(sectors) if sectors > found.len() => {
            Err(Wrong { sector: found.len(), why: "the file is cut off there" })
        }
        _ => Ok(()),
    }
}

/// Behind the last whole group there may be one that was interrupted, what refused tries left, and
/// whatever an older generation had there.
fn check_tail(found: &[Found], at: usize, sequence: u64) -> Result<(), Wrong> {
    let wrong = |sector, why| Err(Wrong { sector, why });
    let mut end = at + 1;
    for (place, found) in found.iter().enumerate().skip(at) {
        match found {
            Found::Written(label) if label.spot.sequence <= sequence => {}
            Found::Written(label) if label.spot.start as usize == at => {
                end = end.max(at + label.count as usize);
            }
            Found::Written(_) => return wrong(place, "what was written before it is missing"),
            Found::Misplaced => return wrong(place, "it belongs elsewhere"),
            Found::Unwritten | Found::Damaged => {}
        }
    }
    // A damaged sector there may have been acknowledged; one further on cannot.
    let group = found.iter().enumerate().take(end).skip(at);
    match group.into_iter().find(|(_, found)| **found == Found::Damaged) {
        Some((place, _)) => wrong(place, "it is not what was written"),
        None => Ok(()),
    }
}
