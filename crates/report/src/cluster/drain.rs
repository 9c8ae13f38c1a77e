//! The nodes that were confirmed to be slow, a name a line and nothing else: what `scontrol update` would be given by
//! somebody who wants that. Nothing is drained by us.

use model::cluster::ClusterDocument;

/// The list. A name that is none (anything but letters, digits, `-`, `_` and `.`, or one that looks like an option) is
/// left out, since the list is made for commands: no plan has such a node.
#[must_use]
pub fn render(document: &ClusterDocument) -> String {
    document.drain.iter().filter(|name| is_plain(name)).flat_map(|name| [name.as_str(), "\n"]).collect()
}

fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && !name.starts_with(['-', '.']) && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_take_for_more_than_a_name_is_left_out() {
        for name in ["n1", "node-07.rack_3"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", "a b", "a\nb", "--all", "$(reboot)", ".", "n1;halt", "n[1-9]"] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
