//! Two documents, or two things measured in turn, to a comparison.
