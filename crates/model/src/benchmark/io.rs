//! The words for what disks and networks are asked to do.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

use crate::words::words;

words! {
    /// Order in which a disk benchmark accesses the blocks of its file.
    DiskPattern, "disk pattern", {
        /// Ascending offsets.
        Sequential => "sequential",
        /// Blocks drawn at random.
        Random => "random",
        /// Descending offsets.
        Backward => "backward",
        /// Every seventeenth block, then from the second on every seventeenth, until all have been accessed.
        Strided => "strided",
    }

    /// What a disk experiment does to each block.
    DiskOp, "disk operation", {
        /// Reads.
        Read => "read",
        /// Writes over blocks that have been written before.
        Write => "write",
        /// Reads and writes in turn, as many of the one as of the other.
        Mixed => "mixed",
        /// Writes a stretch of the file again and again that was written just before.
        Rewrite => "rewrite",
        /// Reads a stretch of the file again and again that was read just before.
        Reread => "reread",
    }

    /// How requests reach the kernel.
    DiskEngine, "disk engine", {
        /// Through `io_uring`: many requests in flight from one thread.
        IoUring => "io_uring",
        /// Through Linux's native asynchronous I/O.
        Libaio => "libaio",
        /// One blocking system call per request; a depth of N is N threads.
        Sync => "sync",
        /// No device at all: the rate of our own loop.
        Null => "null",
    }

    /// What a write waits for.
    DiskSync, "kind of synchronous write", {
        /// The device has taken the data, perhaps into a volatile cache.
        None => "none",
        /// The data is on stable storage (`O_DSYNC`).
        Dsync => "dsync",
        /// Data and all metadata are on stable storage (`O_SYNC`).
        Sync => "sync",
    }

    /// What the page cache is allowed to do.
    DiskCache, "state of the page cache", {
        /// Not used: direct I/O.
        Bypassed => "bypassed",
        /// Used, and emptied for the file before each pass.
        Cold => "cold",
        /// Used, and filled before.
        Warm => "warm",
    }

    /// How threads share files.
    DiskLayout, "layout", {
        /// All threads work on one file.
        Shared => "shared",
        /// Each thread has a file of its own.
        PerThread => "per_thread",
    }

    /// The transport under a network experiment.
    Protocol, "protocol", {
        /// A byte stream.
        Tcp => "tcp",
        /// Datagrams.
        Udp => "udp",
    }

    /// What a network experiment does.
    NetMode, "network mode", {
        /// As many bytes as will go through.
        Stream => "stream",
        /// One round trip after another.
        Pingpong => "pingpong",
        /// Connections set up and closed.
        Connect => "connect",
        /// A fixed amount there, and then the same back.
        Transfer => "transfer",
        /// The highest rate without loss.
        NoDrop => "no_drop",
        /// As many datagrams as the sender can make.
        Blast => "blast",
        /// Latency while streams run.
        Load => "load",
    }

    /// How a thread waits for the answer to its message.
    Wait, "way of waiting", {
        /// The kernel puts it to sleep until the answer is there, as ordinary programs have it.
        Blocking => "blocking",
        /// It asks again and again, and keeps its CPU busy with that.
        Spinning => "spinning",
    }

    /// Which way the bytes of a stream go.
    Direction, "direction", {
        /// From the client to the server.
        Up => "up",
        /// From the server to the client.
        Down => "down",
        /// Both at once.
        Both => "both",
    }

    /// Whether the kernel or the device cuts large sends into segments.
    Segmentation, "segmentation", {
        /// One system call per datagram.
        Off => "off",
        /// Generic segmentation offload.
        Gso => "gso",
    }
}

impl DiskOp {
    /// Whether it writes at all.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Mixed | Self::Rewrite)
    }

    /// Whether it reads at all.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Mixed | Self::Reread)
    }
}
