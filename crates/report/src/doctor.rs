//! A diagnosis as text and as JSON.
