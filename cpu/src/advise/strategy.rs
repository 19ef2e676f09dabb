//! The ways for data to travel that the model knows.

use serde::Serialize;

/// How data reaches the kernel and its results the CPU. A further one is a variant here, with its kinds of memory, and an
/// arm in the model where it neither copies nor is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Copies from and to ordinary memory, which the driver stages.
    Pageable,
    /// Copies from and to ordinary memory, which several threads stage.
    Staged,
    /// Copies from and to page-locked memory.
    Pinned,
    /// No copies: the kernel works on mapped memory over the link (zero-copy).
    Mapped,
    /// Copies from write-combined memory, to page-locked memory.
    WriteCombined,
    /// Copies from and to ordinary memory that is page-locked afterwards.
    Registered,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Pageable, Self::Staged, Self::Pinned, Self::Mapped, Self::WriteCombined, Self::Registered];

    /// As in documents; those that `matmul` has as modes are called as there.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pageable => "pageable",
            Self::Staged => "staged",
            Self::Pinned => "pinned",
            Self::Mapped => "mapped",
            Self::WriteCombined => "write-combined",
            Self::Registered => "registered",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name)
    }

    /// Whether data is copied to the device and back.
    pub fn copies(self) -> bool {
        self != Self::Mapped
    }

    /// The kind of memory that the input is copied from or read in, as `bandwidth` names it.
    pub(super) fn input(self) -> &'static str {
        self.name()
    }

    /// The kind of memory that the output is copied to or written in.
    pub(super) fn output(self) -> &'static str {
        match self {
            Self::WriteCombined => Self::Pinned.name(),
            other => other.name(),
        }
    }

    /// The kind as the allocator and the CPU know it: staged memory is pageable memory.
    pub(super) fn as_allocated(kind: &'static str) -> &'static str {
        if kind == Self::Staged.name() { Self::Pageable.name() } else { kind }
    }
}
