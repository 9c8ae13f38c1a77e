//! What is wrong with a page, by rules that have nothing to do with how it is made.

use std::collections::HashSet;

use super::parse::{Element, parse};

pub(crate) fn faults(page: &str) -> Vec<String> {
    let root = match parse(page) {
        Ok(root) => root,
        Err(error) => return vec![error],
    };
    let all = root.all();
    let mut faults = Vec::new();
    let ids: Vec<&str> = all.iter().filter_map(|element| element.attribute("id")).collect();
    let known: HashSet<&str> = ids.iter().copied().collect();
    let mut seen = HashSet::new();
    faults.extend(ids.iter().filter(|id| !seen.insert(**id)).map(|id| format!("the id {id} is there twice")));
    for element in &all {
        for (name, value) in &element.attributes {
            match name.as_str() {
                name if name.starts_with("on") => faults.push(format!("<{} {name}>: a handler", element.name)),
                "href" => match value.strip_prefix('#') {
                    Some(anchor) if known.contains(anchor) => {}
                    Some(anchor) => faults.push(format!("#{anchor} leads nowhere")),
                    None if value.starts_with("data:application/gzip;base64,") => {}
                    None => faults.push(format!("a link leaves the page: {value:.60}")),
                },
                "src" | "srcset" | "action" | "poster" | "background" | "xlink:href" => {
                    faults.push(format!("<{} {name}=\"{value:.60}\">", element.name));
                }
                "aria-labelledby" | "aria-describedby" => {
                    let missing = value.split_whitespace().filter(|id| !known.contains(id));
                    faults.extend(missing.map(|id| format!("{name} names {id}, which is not there")));
                }
                "style" if value.contains("url(") => faults.push(format!("a style fetches: {value:.60}")),
                _ => {}
            }
        }
        match element.name.as_str() {
            "link" | "img" | "iframe" | "object" | "embed" | "base" | "form" => {
                faults.push(format!("<{}> has no place here", element.name));
            }
            "style" if ["url(", "@import"].iter().any(|word| element.text().contains(word)) => {
                faults.push("the style sheet fetches something".to_owned());
            }
            "table" => faults.extend(faults_of_table(element)),
            _ => {}
        }
    }
    faults.extend(faults_of_headings(&all));
    let policy = all.iter().any(|element| {
        element.attribute("http-equiv") == Some("Content-Security-Policy")
            && element.attribute("content").is_some_and(|policy| policy.starts_with("default-src 'none'"))
    });
    faults.extend((!policy).then(|| "nothing forbids the network".to_owned()));
    let scripts = all.iter().filter(|element| element.name == "script").count();
    faults.extend((scripts != 1).then(|| format!("{scripts} scripts")));
    faults
}

/// A table has a caption or the name of its heading, heads with scopes, and as many cells in each line.
fn faults_of_table(table: &Element) -> Vec<String> {
    let mut faults = Vec::new();
    let named = table.attribute("aria-labelledby").unwrap_or_default();
    let caption = table.named("caption").map(Element::text).chain([named.to_owned()]).collect::<String>();
    if caption.is_empty() {
        faults.push("a table without a caption".to_owned());
    }
    if table.named("th").any(|head| head.attribute("scope").is_none()) {
        faults.push(format!("a head without scope: {caption}"));
    }
    let mut lines = table.named("tr");
    let width = lines.next().map_or(0, |heads| heads.children().count());
    // Cells of lines before that reach into this one.
    let mut reaching = 0_usize;
    for line in lines {
        let cells: Vec<&Element> = line.children().collect();
        let wide = |cell: &&Element| cell.attribute("colspan").and_then(|span| span.parse().ok()).unwrap_or(1_usize);
        let own = cells.iter().map(wide).sum::<usize>() + usize::from(reaching > 0);
        reaching = reaching.saturating_sub(1);
        if let Some(span) = cells.first().and_then(|cell| cell.attribute("rowspan")) {
            reaching = span.parse::<usize>().unwrap_or(1) - 1;
        }
        if own != width {
            faults.push(format!("{own} cells below {width} heads: {caption}"));
        }
    }
    faults
}

/// One first heading, and none that skips a level.
fn faults_of_headings(all: &[&Element]) -> Vec<String> {
    let level = |element: &&&Element| match element.name.as_str() {
        "h1" => Some(1),
        "h2" => Some(2),
        "h3" => Some(3),
        "h4" => Some(4),
        _ => None,
    };
    let levels: Vec<i32> = all.iter().filter_map(|element| level(&element)).collect();
    let mut faults = Vec::new();
    if levels.first() != Some(&1) || levels.iter().filter(|level| **level == 1).count() != 1 {
        faults.push("there is one first heading, at the top".to_owned());
    }
    faults.extend(
        levels.windows(2).filter(|two| two[1] > two[0] + 1).map(|two| format!("h{} after h{}", two[1], two[0])),
    );
    faults
}
