//! A comparison as a table for a terminal, as JSON, and as Markdown.
