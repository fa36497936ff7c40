//! Chaos on real processes: the server is killed and started again while real clients talk to each
//! other, and what each of them heard is compared with what the others said. Not part of the product.

pub mod crowd;
pub mod gate;
pub mod node;
pub mod process;
pub mod report;
pub mod run;
pub mod serving;

pub use gate::Gate;
pub use node::NodeCrowd;
pub use process::{Process, Signal};
pub use report::Report;
pub use run::{Plan, run};
pub use serving::Serving;
