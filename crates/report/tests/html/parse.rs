//! A small reader of the HTML that our page is made of, strict where browsers forgive: every element is closed, every
//! attribute quoted, nothing is left over. It knows nothing of how the page is made.

#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) content: Vec<Node>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Element(Element),
    Text(String),
}

/// Elements of HTML that have no end.
const VOID: [&str; 6] = ["meta", "br", "input", "link", "img", "hr"];

/// Elements whose content is not markup.
const RAW: [&str; 2] = ["script", "style"];

/// The page as an element that holds all others.
pub(crate) fn parse(page: &str) -> Result<Element, String> {
    let rest = page.strip_prefix("<!DOCTYPE html>").ok_or("no document type")?;
    let mut stack = vec![Element::default()];
    let mut rest = rest;
    while !rest.is_empty() {
        let top = stack.last_mut().ok_or("too many ends")?;
        if RAW.contains(&top.name.as_str()) {
            let end = rest.find(&format!("</{}>", top.name)).ok_or("a script without end")?;
            top.content.push(Node::Text(rest[..end].to_owned()));
            rest = &rest[end..];
            if end > 0 {
                continue;
            }
        }
        if let Some(after) = rest.strip_prefix("</") {
            let (name, after) = after.split_once('>').ok_or("an end without end")?;
            let element = stack.pop().ok_or("too many ends")?;
            if element.name != name {
                return Err(format!("<{}> is ended by </{name}>", element.name));
            }
            stack.last_mut().ok_or("too many ends")?.content.push(Node::Element(element));
            rest = after;
        } else if rest.starts_with('<') {
            let (element, is_closed, after) = open(&rest[1..])?;
            if is_closed || VOID.contains(&element.name.as_str()) {
                stack.last_mut().ok_or("too many ends")?.content.push(Node::Element(element));
            } else {
                stack.push(element);
            }
            rest = after;
        } else {
            let end = rest.find('<').unwrap_or(rest.len());
            stack.last_mut().ok_or("too many ends")?.content.push(Node::Text(unescaped(&rest[..end])?));
            rest = &rest[end..];
        }
    }
    match stack.len() {
        1 => stack.pop().ok_or_else(|| "nothing".to_owned()),
        _ => Err(format!("<{}> has no end", stack[stack.len() - 1].name)),
    }
}

/// A start tag after its `<`: the element, whether it closes itself, and what follows.
fn open(text: &str) -> Result<(Element, bool, &str), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-:_".contains(c);
    let end = text.find(|c| !is_name(c)).ok_or("a tag without end")?;
    if end == 0 {
        return Err(format!("no name: <{}", text.chars().take(20).collect::<String>()));
    }
    let mut element = Element { name: text[..end].to_owned(), ..Element::default() };
    let mut rest = &text[end..];
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix("/>") {
            return Ok((element, true, after));
        }
        if let Some(after) = rest.strip_prefix('>') {
            return Ok((element, false, after));
        }
        let end = rest.find(|c| !is_name(c)).filter(|end| *end > 0);
        let end = end.ok_or_else(|| format!("<{}>: no attribute at {:.20}", element.name, rest))?;
        let name = rest[..end].to_owned();
        rest = &rest[end..];
        let mut value = String::new();
        if let Some(after) = rest.strip_prefix("=\"") {
            let (inside, after) = after.split_once('"').ok_or("an attribute without end")?;
            if inside.contains('<') {
                return Err(format!("<{} {name}> holds a tag", element.name));
            }
            value = unescaped(inside)?;
            rest = after;
        } else if rest.starts_with('=') {
            return Err(format!("<{} {name}> is not quoted", element.name));
        }
        if element.attributes.iter().any(|(other, _)| *other == name) {
            return Err(format!("<{} {name}> twice", element.name));
        }
        element.attributes.push((name, value));
    }
}

/// Text with its references resolved; an `&` by itself is an error.
fn unescaped(text: &str) -> Result<String, String> {
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let plain = part.split_once(';').and_then(|(name, rest)| Some((reference(name)?, rest)));
        let (plain, rest) = plain.ok_or_else(|| format!("an unknown reference: &{part:.12}"))?;
        out.push(plain);
        out.push_str(rest);
    }
    Ok(out)
}

/// The character that a reference names.
fn reference(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "#39" => Some('\''),
        _ => u32::from_str_radix(name.strip_prefix("#x")?, 16).ok().and_then(char::from_u32),
    }
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn is(&self, class: &str) -> bool {
        self.attribute("class").is_some_and(|classes| classes.split_whitespace().any(|own| own == class))
    }

    pub(crate) fn children(&self) -> impl Iterator<Item = &Element> {
        self.content.iter().filter_map(|node| match node {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// It and everything in it, in the order of the page.
    pub(crate) fn all(&self) -> Vec<&Element> {
        let mut all = vec![self];
        self.children().for_each(|child| all.extend(child.all()));
        all
    }

    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.all().into_iter().filter(move |element| element.name == name)
    }

    /// What is to be read in it, on one line.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.collect(&mut text);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn collect(&self, text: &mut String) {
        for node in &self.content {
            match node {
                Node::Text(own) => text.push_str(own),
                Node::Element(element) => {
                    element.collect(text);
                    text.push(' ');
                }
            }
        }
    }
}
