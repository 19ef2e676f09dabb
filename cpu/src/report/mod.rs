//! What was measured, for people and for programs.
//!
//! [`document`] is the whole truth, with every sample and the units in the names; the table, the explanation, JSON and CSV
//! are views of it.

mod csv;
pub mod document;
mod explain;
mod series;
mod table;

pub use csv::write_csv;
pub use explain::explain;
pub(crate) use explain::{ms, ordinal};
pub use series::Series;
pub(crate) use table::number;
pub use table::{heading, size_table, table_notes};
