//! Which of a node's addresses other nodes use. Pure.

use std::net::{IpAddr, SocketAddr};

use machine::OwnAddress;
use model::cluster::{Claim, ServerRecord};

use crate::claims::claim::boot_of;
use crate::error::{Error, Result};

/// The addresses that a node offers: those on the plan's network (an interface or a subnet), else all but loopback, else
/// loopback. All are of one protocol version, IPv4 if there is one.
pub(super) fn offered(own: &[OwnAddress], network: Option<&str>, node: &str) -> Result<Vec<IpAddr>> {
    let wanted = |own: &&OwnAddress| match network {
        Some(network) => own.interface.as_deref() == Some(network) || is_within(own.address, network),
        None => !own.address.is_loopback(),
    };
    let mut found: Vec<IpAddr> = own.iter().filter(wanted).map(|own| own.address).collect();
    if found.is_empty() && network.is_none() {
        found = own.iter().map(|own| own.address).collect();
    }
    if found.is_empty() {
        let has = own.iter().map(|own| own.address.to_string()).collect::<Vec<_>>().join(", ");
        return Err(match network {
            Some(network) => Error::NoAddressOn(node.to_owned(), network.to_owned(), has),
            None => Error::NoAddress(node.to_owned()),
        });
    }
    let family = found.iter().any(IpAddr::is_ipv4);
    found.retain(|address| address.is_ipv4() == family);
    Ok(found)
}

/// Whether an address is in a subnet such as `10.1.0.0/16`, or equals the address given.
fn is_within(address: IpAddr, network: &str) -> bool {
    let (base, length) = network.split_once('/').map_or((network, None), |(base, length)| (base, Some(length)));
    let Ok(base) = base.parse::<IpAddr>() else { return false };
    let (one, other, bits) = match (address, base) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (u128::from(one.to_bits()), u128::from(other.to_bits()), 32),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits(), other.to_bits(), 128),
        _ => return false,
    };
    let Some(length) = length.map_or(Some(bits), |length| length.parse().ok().filter(|length| *length <= bits)) else {
        return false;
    };
    (one ^ other).checked_shr(bits - length).unwrap_or(0) == 0
}

/// Where a server listens: on its only address, or on all of its protocol version.
pub(super) fn listen_at(addresses: &[IpAddr]) -> IpAddr {
    match addresses {
        [only] => *only,
        [IpAddr::V6(_), ..] => std::net::Ipv6Addr::UNSPECIFIED.into(),
        _ => std::net::Ipv4Addr::UNSPECIFIED.into(),
    }
}

/// The addresses to try. An address that this host has as well, such as a bridge's, would lead back here, unless both
/// nodes are one machine.
pub(super) fn candidates<'a>(record: &'a ServerRecord, us: &Claim, own: &[OwnAddress]) -> Vec<&'a str> {
    let same_machine = boot_of(us).is_some() && boot_of(us) == boot_of(&record.claim);
    let ours = |text: &str| {
        let address = text.parse::<SocketAddr>().map(|address| address.ip());
        address.is_ok_and(|address| own.iter().any(|own| own.address == address))
    };
    record.addresses.iter().map(String::as_str).filter(|text| same_machine || !ours(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::support::claim;

    fn own(list: &[(&str, &str)]) -> Vec<OwnAddress> {
        let one = |(address, interface): &(&str, &str)| OwnAddress {
            address: address.parse().unwrap(),
            interface: Some((*interface).to_owned()),
        };
        list.iter().map(one).collect()
    }

    #[test]
    fn a_node_offers_the_addresses_of_the_plans_network() {
        let own = own(&[("198.51.100.7", "ib0"), ("192.0.2.2", "eth0"), ("fd00::2", "eth0"), ("127.0.0.1", "lo")]);
        let chosen = |network: Option<&str>| {
            let chosen = offered(&own, network, "n1")?;
            Ok::<_, Error>(chosen.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(chosen(None).unwrap(), "198.51.100.7 192.0.2.2");
        assert_eq!(chosen(Some("eth0")).unwrap(), "192.0.2.2");
        assert_eq!(chosen(Some("192.0.0.0/16")).unwrap(), "192.0.2.2");
        assert_eq!(chosen(Some("fd00::/64")).unwrap(), "fd00::2");
        assert_eq!(chosen(Some("127.0.0.0/8")).unwrap(), "127.0.0.1");
        for wrong in ["ib1", "10.0.0.0/8", "192.0.2.2/33", "192.0.2.2/x", ""] {
            let error = chosen(Some(wrong)).unwrap_err().to_string();
            assert!(error.contains("node n1") && error.contains("192.0.2.2"), "{wrong}: {error}");
        }
        assert!(offered(&[], None, "n1").unwrap_err().to_string().contains("no address"));
        assert_eq!(offered(&own[3..], None, "n1").unwrap(), ["127.0.0.1".parse::<IpAddr>().unwrap()]);
        assert_eq!(listen_at(&offered(&own, None, "n1").unwrap()).to_string(), "0.0.0.0");
        assert_eq!(listen_at(&offered(&own, Some("ib0"), "n1").unwrap()).to_string(), "198.51.100.7");
    }

    #[test]
    fn subnets_hold_what_begins_with_their_bits() {
        let holds = |network, address: &str| is_within(address.parse().unwrap(), network);
        assert!(holds("10.1.0.0/16", "10.1.255.3") && !holds("10.1.0.0/16", "10.2.0.1"));
        assert!(holds("0.0.0.0/0", "192.0.2.1") && holds("::/0", "fd00::1") && !holds("::/0", "192.0.2.1"));
        assert!(holds("192.0.2.1", "192.0.2.1") && !holds("192.0.2.1", "192.0.2.2"));
        assert!(holds("fd00::/65", "fd00::1") && !holds("fd00::/65", "fd00:0:0:0:8000::1"));
    }

    #[test]
    fn an_address_that_both_have_leads_to_ourselves() {
        let record = |claim: Claim| ServerRecord {
            addresses: vec!["172.17.0.1:5".into(), "192.0.2.9:5".into()],
            key_file: "server-a.key".into(),
            claim,
        };
        let own = own(&[("172.17.0.1", "docker0"), ("192.0.2.2", "eth0")]);
        let us = Claim { boot: Some("one pid:[1]".into()), ..claim("a") };
        let elsewhere = record(Claim { boot: Some("two pid:[1]".into()), ..claim("b") });
        assert_eq!(candidates(&elsewhere, &us, &own), ["192.0.2.9:5"]);
        let here = record(Claim { boot: Some("one pid:[2]".into()), ..claim("b") });
        assert_eq!(candidates(&here, &us, &own), ["172.17.0.1:5", "192.0.2.9:5"]);
        assert_eq!(candidates(&record(claim("b")), &claim("a"), &own), ["192.0.2.9:5"], "nothing is known of either");
        let only = ServerRecord { addresses: vec!["172.17.0.1:5".into()], ..elsewhere };
        assert_eq!(candidates(&only, &us, &own), Vec::<&str>::new());
    }
}
