//! How a full half of the journal is brought into the tree. In a folder a thread does it while the other
//! half is written. On a simulated disk the work can wait until the caller steps it, so that two layers
//! exist for as long as a test wants and no timing of threads decides anything.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::engine::{Engine, Trouble};
use super::journal::Mark;
use super::layer::Layer;

/// When and where a full half of the journal is brought into the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Applying {
    /// At once, on the thread that commits.
    AtOnce,
    /// On a thread of its own, while the other half is written.
    OnThread,
    /// When the caller steps it, and at the latest when the other half is full as well.
    #[cfg(feature = "contract")]
    Stepped,
}

/// One layer that is to be brought into the tree, with what the tree says of the journal afterwards.
pub(super) struct Work {
    pub(super) engine: Arc<Engine>,
    pub(super) layer: Arc<Layer>,
    pub(super) mark: Mark,
}

impl Work {
    fn run(self) -> Result<(), Trouble> {
        self.engine.apply(&[&self.layer], Some(self.mark))
    }
}

/// Work that is under way.
pub(super) enum Applier {
    /// A thread does it.
    Thread(JoinHandle<Result<(), Trouble>>),
    /// It waits for its step.
    #[cfg(feature = "contract")]
    Waiting(Box<Work>),
    /// It was stepped, and the store has not taken the result yet.
    #[cfg(feature = "contract")]
    Ended(Result<(), Trouble>),
}

impl Applier {
    /// Starts the work. None when no thread can be made: the layer stays where it is, and the next group
    /// brings it in.
    pub(super) fn start(applying: Applying, work: Work) -> Option<Self> {
        match applying {
            Applying::AtOnce | Applying::OnThread => {
                let thread = std::thread::Builder::new().name("rejoin-apply".to_owned());
                thread.spawn(move || work.run()).ok().map(Self::Thread)
            }
            #[cfg(feature = "contract")]
            Applying::Stepped => Some(Self::Waiting(Box::new(work))),
        }
    }

    /// Whether the work is done and its result can be taken without waiting.
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Self::Thread(thread) => thread.is_finished(),
            #[cfg(feature = "contract")]
            Self::Waiting(_) => false,
            #[cfg(feature = "contract")]
            Self::Ended(_) => true,
        }
    }

    /// Waits for the end of the work.
    pub(super) fn join(self) -> Result<(), Trouble> {
        match self {
            Self::Thread(thread) => {
                let panicked = || Trouble::Unreadable("the tree could not be written".to_owned());
                thread.join().unwrap_or_else(|_| Err(panicked()))
            }
            #[cfg(feature = "contract")]
            Self::Waiting(work) => work.run(),
            #[cfg(feature = "contract")]
            Self::Ended(result) => result,
        }
    }

    /// Does the work now if it waits for its step. The store hears of the result with its next group, as
    /// it hears of a thread that has ended.
    #[cfg(feature = "contract")]
    pub(super) fn step(self) -> Self {
        match self {
            Self::Waiting(work) => Self::Ended(work.run()),
            other => other,
        }
    }
}
