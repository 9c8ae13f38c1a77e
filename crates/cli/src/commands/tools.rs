//! Names of reference tools, and where they are looked for.

use bench::references::detect::Places;

use crate::environment;
use crate::exit::Result;

/// The id of a known tool of this name.
pub(crate) fn known_tool(name: &str) -> Option<&'static str> {
    tools::ids().find(|id| *id == name)
}

pub(crate) fn unknown_tool(name: &str) -> String {
    let known: Vec<_> = tools::ids().collect();
    format!("'{name}' is no reference tool of this version; known: {}, all, none", known.join(", "))
}

/// Where trusted tools are looked for.
pub(crate) fn places(named: &[String]) -> Result<Places> {
    let mut places = Places { search_path: environment::search_path(), ..Places::default() };
    for item in named {
        let (name, path) =
            item.split_once('=').ok_or_else(|| format!("'{item}' is no NAME=PATH, such as fio=/opt/fio/bin/fio"))?;
        let tool = known_tool(name).ok_or_else(|| unknown_tool(name))?;
        places.overrides.insert(tool.to_owned(), path.into());
    }
    Ok(places)
}
