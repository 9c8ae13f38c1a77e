//! Commands that measure nothing by themselves: the guide, what packages install, and limits of a shell.

mod guide;
mod installed;
mod ulimits;
