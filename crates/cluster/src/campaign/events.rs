//! What a campaign reports.

/// Something that the user should know.
#[derive(Clone, Debug, PartialEq)]
pub enum CampaignEvent {
    /// A job was taken.
    Submitted {
        /// The scheduler's id.
        id: String,
        /// Its nodes.
        nodes: Vec<String>,
    },
    /// Something went otherwise than planned; it goes on.
    Remark(String),
    /// How far it is; comes in every round.
    Progress {
        /// Tasks that are over.
        over: u64,
        /// Tasks that are not.
        left: u64,
        /// What is waited for.
        why: String,
    },
}

/// How a campaign ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CampaignEnd {
    /// Every task is over; so many have no result.
    AllFinished {
        /// Tasks that failed or could not be done.
        without_result: u64,
    },
    /// Tasks are left, for this reason.
    Stopped {
        /// How many.
        left: u64,
        /// Why, in a sentence.
        why: String,
    },
    /// A signal ended it; jobs go on.
    Interrupted {
        /// Which.
        signal: i32,
        /// Jobs of ours in the queue.
        jobs: Vec<String>,
    },
}
