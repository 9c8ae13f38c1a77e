//! The cloud and the machine type, from firmware's identity and from what cloud-init left in `/run`; nothing is asked over
//! the network. Firmware must state the provider: an image that was moved may keep cloud-init's files. In a container
//! firmware's identity is the host's, and so is the type. Firmware can lie; `published::agreement` compares the rest.

use model::machine::{Cloud, Machine, Provider};
use serde_json::Value;

use crate::declared::Declared;
use crate::ledger::{Found, Ledger};
use crate::sysroot::{Sysroot, label};

const DMI: &str = "sys/class/dmi/id";
pub(crate) const ASSET_TAG: &str = "sys/class/dmi/id/chassis_asset_tag";
pub(crate) const INSTANCE_DATA: &str = "run/cloud-init/instance-data.json";
/// The same on every machine of Azure, and on no other Hyper-V.
const AZURE_TAG: &str = "7783-7084-3265-9085-8269-3286-77";
/// Where cloud-init keeps a provider's machine type; that of GCE is not among what it asks for.
const TYPES: &[(Provider, &str)] = &[
    (Provider::Ec2, "ds/meta_data/instance_type"),
    (Provider::Ec2, "ds/dynamic/instance_identity/document/instanceType"),
    (Provider::Azure, "ds/meta_data/imds/compute/vmSize"),
];

pub(crate) fn discover(root: &Sysroot, ledger: &mut Ledger) -> Option<Cloud> {
    let provider = ledger.take("cloud", provider(root))?;
    let machine_type = of_firmware(root, provider).or_else(|| of_cloud_init(root, provider));
    let why = match provider {
        Provider::Ec2 => "neither the product name of firmware nor cloud-init states it",
        Provider::Azure => "cloud-init's data of this boot does not state it",
        Provider::Gce => "neither firmware nor cloud-init states it on this provider",
    };
    let consequence = "no published values; `--declare machine.type=NAME` gives them";
    Some(Cloud { provider, machine_type: ledger.need("cloud.machine_type", machine_type, why, consequence) })
}

/// Takes the machine type that the user declared.
pub(crate) fn declare_type(machine: &mut Machine, declared: &Declared) {
    if let Some((provider, name)) = declared.machine_type() {
        machine.cloud = Some(Cloud { provider, machine_type: Some(name.to_owned()) });
        machine.unknown.retain(|unknown| unknown.fact != "cloud.machine_type");
        for fact in ["cloud", "cloud.machine_type"] {
            machine.sources.insert(fact.to_owned(), "declared".to_owned());
        }
    }
}

fn identity(root: &Sysroot, name: &str) -> Option<String> {
    root.text(&format!("{DMI}/{name}")).map(|text| text.trim().to_owned())
}

fn provider(root: &Sysroot) -> Found<Provider> {
    let is = |file: &str, value: &str| identity(root, file).as_deref() == Some(value);
    let found = |provider, file: &str| Some((provider, label(&format!("{DMI}/{file}"))));
    // Nitro and bare metal; Xen has the provider in its version of the firmware alone.
    for file in ["sys_vendor", "board_vendor"] {
        if is(file, "Amazon EC2") {
            return found(Provider::Ec2, file);
        }
    }
    if is("sys_vendor", "Xen") && identity(root, "bios_version").is_some_and(|version| version.ends_with(".amazon")) {
        return found(Provider::Ec2, "bios_version");
    }
    if is("sys_vendor", "Google") && is("product_name", "Google Compute Engine") {
        return found(Provider::Gce, "product_name");
    }
    let azure = is("sys_vendor", "Microsoft Corporation") && is("chassis_asset_tag", AZURE_TAG);
    if azure { found(Provider::Azure, "chassis_asset_tag") } else { None }
}

/// The product name of Nitro and bare metal, such as `m7i.2xlarge`, `c6i.metal`.
fn of_firmware(root: &Sysroot, provider: Provider) -> Found<String> {
    let name = identity(root, "product_name").filter(|name| provider == Provider::Ec2 && is_ec2_type(name))?;
    Some((name, label(&format!("{DMI}/product_name"))))
}

fn is_ec2_type(name: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    name.split_once('.').is_some_and(|(family, size)| plain(family) && plain(size))
}

fn of_cloud_init(root: &Sysroot, provider: Provider) -> Found<String> {
    let data: Value = serde_json::from_str(&root.text(INSTANCE_DATA)?).ok()?;
    let name = TYPES.iter().filter(|(of, _)| *of == provider).find_map(|(_, path)| word_at(&data, path))?;
    Some((name.to_owned(), label(INSTANCE_DATA)))
}

/// The name at a path of keys.
fn word_at<'d>(data: &'d Value, path: &str) -> Option<&'d str> {
    let name = path.split('/').try_fold(data, |at, key| at.get(key))?.as_str()?;
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    (plain && (1..64).contains(&name.len())).then_some(name)
}

/// What discovery uses of cloud-init's data, which also names accounts, keys and addresses.
pub(crate) fn without_identity(relative: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    match relative {
        INSTANCE_DATA => {
            let data: Value = serde_json::from_slice(bytes).unwrap_or_default();
            let mut kept = Value::Object(serde_json::Map::new());
            for (_, path) in TYPES {
                if let Some(name) = word_at(&data, path) {
                    *path.split('/').fold(&mut kept, |at, key| &mut at[key]) = name.into();
                }
            }
            Some(kept.to_string().into_bytes())
        }
        ASSET_TAG => Some(if bytes.starts_with(AZURE_TAG.as_bytes()) { bytes.to_vec() } else { Vec::new() }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
