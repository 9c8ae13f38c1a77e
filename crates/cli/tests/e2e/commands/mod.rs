//! Commands that measure nothing by themselves: the guide, and what packages install.

mod guide;
mod installed;
