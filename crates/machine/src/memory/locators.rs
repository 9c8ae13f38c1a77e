//! A memory module's channel by firmware's name of its slot, in the vendors' [`STYLES`]. `DIMM 3` may be on any.

use std::collections::{BTreeMap, BTreeSet};

use model::machine::Dimm;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbering {
    Named,
    /// Slots are numbered per socket, the first slot of every channel first (Dell).
    FirstSlotsFirst,
    /// Slots are numbered per socket, those of one channel next to each other (HPE).
    Adjacent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Locator,
    Bank,
    /// The slot's name, with the socket in the bank's.
    WithBank(&'static str),
}

#[derive(Debug)]
struct Style {
    /// `{S}` socket, `{N}` node, `{C}` channel, `{D}` slot: a number, with `a` one letter, with `1` one digit.
    pattern: &'static str,
    field: Field,
    numbering: Numbering,
    /// Required in the machine maker's name; empty for any.
    maker: &'static str,
}

const fn named(pattern: &'static str, field: Field) -> Style {
    Style { pattern, field, numbering: Numbering::Named, maker: "" }
}

/// Specific styles first, slots before banks. From published tables, `dmidecode` outputs, `PerfSpect`'s `dimm.go`.
const STYLES: &[Style] = &[
    named("P{S}-DIMM{Ca}{D}", Field::Locator),
    named("DIMM_P{S}_{Ca}{D}", Field::Locator),
    named("CPU{S}_C{C}D{D}", Field::Locator),
    named("CPU{S}_MC{N}_DIMM_{Ca}{D}", Field::Locator),
    named("CPU{S}_DIMM_{Ca}{D}", Field::Locator),
    named("CPU{S}_DIMM_{Ca}", Field::Locator),
    named("CPU{S} CH{C}/D{D}", Field::Locator),
    named("CPU{S}_{Ca}{D}", Field::Locator),
    // Amazon EC2 has the first since 2021; before, each socket has its own letters.
    named("CPU{S} Channel{C} DIMM{D}", Field::Locator),
    named("DIMM_{Ca}{D}", Field::WithBank("NODE {S}")),
    named("Controller{N}-Channel{Ca}-DIMM{D}", Field::Locator),
    named("Controller{N}-Channel{Ca}", Field::Locator),
    named("Channel{Ca}-DIMM{D}", Field::Locator),
    named("Channel-{Ca}-DIMM-{D}", Field::Locator),
    named("DIMM{S1}{C1}{D1}", Field::Locator),
    // Dell and HPE number the slots of each socket.
    Style { pattern: "{Sa}{D}", field: Field::Locator, numbering: Numbering::FirstSlotsFirst, maker: "Dell" },
    Style { pattern: "PROC {S} DIMM {D}", field: Field::Locator, numbering: Numbering::Adjacent, maker: "HPE" },
    // Bank names of AMI's and AMD's firmware.
    named("P{S}_Node{N}_Channel{C}_Dimm{D}", Field::Locator),
    named("P{S}_Node{N}_Channel{C}_Dimm{D}", Field::Bank),
    named("_Node{S}_Channel{C}_Dimm{D}", Field::Bank),
    named("NODE {S} CHANNEL {C} DIMM {D}", Field::Bank),
    named("NODE {S} CHANNEL {C} DIMM {D}", Field::Locator),
    named("SOCKET {S} CHANNEL {C} DIMM {D}", Field::Bank),
    named("P{S} CHANNEL {Ca}", Field::Bank),
    named("CHANNEL {Ca} DIMM{D}", Field::Bank),
    named("CHANNEL {Ca}", Field::Bank),
    named("DIMM_{Ca}{D}", Field::Locator),
];

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Board<'m> {
    pub(crate) maker: Option<&'m str>,
    pub(crate) packages: Option<u32>,
    pub(crate) channels: Option<u32>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) style: &'static str,
    pub(crate) example: String,
    /// The channel of each populated slot, in their order.
    pub(crate) channels: Vec<String>,
    /// Populated channels of each socket; empty if the names do not contain every socket.
    pub(crate) by_package: Vec<u32>,
}

impl Reading {
    pub(crate) fn count(&self) -> u32 {
        let distinct: BTreeSet<&String> = self.channels.iter().collect();
        u32::try_from(distinct.len()).unwrap_or(u32::MAX)
    }
}

/// Reads the names of all slots; populated ones have a size. The error is the reason why channels are unknown.
pub(crate) fn read(slots: &[Dimm], board: Board<'_>) -> Result<Reading, String> {
    let populated: Vec<&Dimm> = slots.iter().filter(|slot| slot.is_fitted()).collect();
    let Some(first) = populated.first() else { return Err("no module is named".to_owned()) };
    let name = |place: &Option<String>| place.clone().unwrap_or_default();
    let shown = || format!("'{}' in bank '{}'", name(&first.locator), name(&first.bank));
    let places: BTreeSet<(&Option<String>, &Option<String>)> =
        populated.iter().map(|slot| (&slot.bank, &slot.locator)).collect();
    if places.len() < populated.len() {
        return Err(format!("ambiguous locators: several modules are called {}", shown()));
    }
    let fits = |style: &&Style| style.is_of(board.maker) && populated.iter().all(|slot| style.place(slot).is_some());
    let Some(style) = STYLES.iter().find(fits) else {
        return Err(format!("ambiguous locators: {} names no channel", shown()));
    };
    let reading = style.read(slots, &populated, board)?;
    let most = board.channels.zip(board.packages).map(|(channels, packages)| channels.saturating_mul(packages));
    if most.is_some_and(|most| reading.count() > most) {
        return Err(format!(
            "ambiguous locators: read as {} they name {} channels, more than this processor has",
            style.pattern,
            reading.count()
        ));
    }
    Ok(reading)
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SlotPlace {
    socket: String,
    node: String,
    channel: String,
    slot: String,
}

impl Style {
    fn is_of(&self, maker: Option<&str>) -> bool {
        self.maker.is_empty() || maker.is_some_and(|maker| maker.contains(self.maker))
    }

    fn place(&self, slot: &Dimm) -> Option<SlotPlace> {
        let mut place = SlotPlace::default();
        let (bank, locator) = (slot.bank.as_deref(), slot.locator.as_deref());
        let fits = match self.field {
            Field::Locator => fill(&mut place, self.pattern, locator?),
            Field::Bank => fill(&mut place, self.pattern, bank?),
            Field::WithBank(pattern) => fill(&mut place, self.pattern, locator?) && fill(&mut place, pattern, bank?),
        };
        fits.then_some(place)
    }

    fn read(&self, slots: &[Dimm], populated: &[&Dimm], board: Board<'_>) -> Result<Reading, String> {
        let places: Vec<SlotPlace> = populated.iter().filter_map(|slot| self.place(slot)).collect();
        let all: BTreeSet<SlotPlace> = slots.iter().filter_map(|slot| self.place(slot)).collect();
        let divisor = self.divisor(&all, board)?;
        let mut channels = Vec::new();
        let mut of_socket: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for place in &places {
            let words =
                [("socket ", &place.socket), ("node ", &place.node), ("channel ", &self.channel(place, divisor)?)]
                    .iter()
                    .filter(|(_, value)| !value.is_empty())
                    .map(|(what, value)| format!("{what}{value}"))
                    .collect::<Vec<_>>()
                    .join(" ");
            of_socket.entry(&place.socket).or_default().insert(words.clone());
            channels.push(words);
        }
        let count = |names: &BTreeSet<String>| u32::try_from(names.len()).unwrap_or(u32::MAX);
        let as_many = board.packages == u32::try_from(of_socket.len()).ok() && !of_socket.contains_key("");
        let by_package = match board.packages {
            Some(1) => vec![count(&channels.iter().cloned().collect())],
            _ if as_many => of_socket.values().map(count).collect(),
            _ => Vec::new(),
        };
        let name = |slot: &&Dimm| if self.field == Field::Bank { slot.bank.clone() } else { slot.locator.clone() };
        let example = populated.first().and_then(name).unwrap_or_default();
        Ok(Reading { style: self.pattern, example, channels, by_package })
    }

    /// The divisor that turns a slot's number into its channel; 0 if the name contains the channel.
    fn divisor(&self, all: &BTreeSet<SlotPlace>, board: Board<'_>) -> Result<usize, String> {
        if self.numbering == Numbering::Named {
            return Ok(0);
        }
        let channels = board.channels.map(|channels| channels as usize).filter(|channels| *channels > 0);
        let channels =
            channels.ok_or("ambiguous locators: slots are numbered, and the number of channels is unknown")?;
        let sockets: BTreeSet<&String> = all.iter().map(|place| &place.socket).collect();
        let per_socket = all.len() / sockets.len().max(1);
        match self.numbering {
            Numbering::Adjacent if per_socket < channels || !per_socket.is_multiple_of(channels) => {
                Err(format!("ambiguous locators: {per_socket} slots do not divide among {channels} channels"))
            }
            Numbering::Adjacent => Ok(per_socket / channels),
            _ => Ok(channels),
        }
    }

    fn channel(&self, place: &SlotPlace, divisor: usize) -> Result<String, String> {
        let number = || {
            let number = place.slot.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            number.ok_or_else(|| format!("ambiguous locators: {} begins at 1", self.pattern))
        };
        Ok(match self.numbering {
            Numbering::Named => place.channel.clone(),
            Numbering::FirstSlotsFirst => (number()? % divisor).to_string(),
            Numbering::Adjacent => (number()? / divisor).to_string(),
        })
    }
}

/// Lower case, and one underscore for blanks, hyphens and underscores.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.trim().chars() {
        let c = if matches!(c, ' ' | '-' | '_' | '\t') { '_' } else { c.to_ascii_lowercase() };
        if c != '_' || !plain.ends_with('_') {
            plain.push(c);
        }
    }
    plain
}

/// Fills `place` if the whole text matches the pattern.
fn fill(place: &mut SlotPlace, pattern: &str, text: &str) -> bool {
    let text = plain(text);
    let mut rest = text.as_str();
    let mut pieces = pattern.split('{');
    let first = plain_piece(pieces.next().unwrap_or_default());
    let Some(after) = rest.strip_prefix(first.as_str()) else { return false };
    rest = after;
    for piece in pieces {
        let Some((field, literal)) = piece.split_once('}') else { return false };
        let length = match field.get(1..) {
            Some("a") => rest.chars().take(1).filter(char::is_ascii_alphabetic).count(),
            Some("1") => rest.chars().take(1).filter(char::is_ascii_digit).count(),
            _ => rest.chars().take_while(char::is_ascii_digit).count(),
        };
        let (value, after) = rest.split_at(length);
        let Some(after) = after.strip_prefix(plain_piece(literal).as_str()) else { return false };
        if value.is_empty() {
            return false;
        }
        let part = match field.as_bytes().first() {
            Some(b'S') => &mut place.socket,
            Some(b'N') => &mut place.node,
            Some(b'C') => &mut place.channel,
            _ => &mut place.slot,
        };
        value.clone_into(part);
        rest = after;
    }
    rest.is_empty()
}

/// A pattern's literal as in [`plain`], outer blanks included.
fn plain_piece(literal: &str) -> String {
    literal.to_ascii_lowercase().replace([' ', '-'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bank, locator, maker; expected style and channel.
    const EXAMPLES: &[(&str, &str, &str, &str, &str)] = &[
        ("P0_Node1_Channel0_Dimm0", "P1-DIMMA1", "Supermicro", "P{S}-DIMM{Ca}{D}", "socket 1 channel a"),
        ("BANK 0", "DIMM_P0_A0", "GIGABYTE", "DIMM_P{S}_{Ca}{D}", "socket 0 channel a"),
        ("NODE 0", "CPU1_C3D1", "Inspur", "CPU{S}_C{C}D{D}", "socket 1 channel 3"),
        ("BANK 0", "CPU0_MC1_DIMM_B1", "", "CPU{S}_MC{N}_DIMM_{Ca}{D}", "socket 0 node 1 channel b"),
        ("NODE 1", "CPU1_DIMM_A1", "Intel", "CPU{S}_DIMM_{Ca}{D}", "socket 1 channel a"),
        ("BANK 0", "CPU1_DIMM_L", "Intel", "CPU{S}_DIMM_{Ca}", "socket 1 channel l"),
        ("BANK 0", "CPU0 CH7/D1", "Intel", "CPU{S} CH{C}/D{D}", "socket 0 channel 7"),
        ("_Node0_Channel0_Dimm1", "CPU0_A1", "Quanta", "CPU{S}_{Ca}{D}", "socket 0 channel a"),
        ("NODE 7", "CPU1 Channel7 DIMM0", "Amazon EC2", "CPU{S} Channel{C} DIMM{D}", "socket 1 channel 7"),
        ("NODE 2", "DIMM_G0", "Amazon EC2", "DIMM_{Ca}{D}", "socket 2 channel g"),
        ("BANK 0", "Controller1-ChannelA-DIMM0", "", "Controller{N}-Channel{Ca}-DIMM{D}", "node 1 channel a"),
        ("BANK 0", "Controller0-ChannelD", "", "Controller{N}-Channel{Ca}", "node 0 channel d"),
        ("BANK 2", "ChannelB-DIMM0", "", "Channel{Ca}-DIMM{D}", "channel b"),
        ("BANK 0", "Channel-B-DIMM-1", "", "Channel-{Ca}-DIMM-{D}", "channel b"),
        ("SOCKET 0", "DIMM130", "Huawei", "DIMM{S1}{C1}{D1}", "socket 1 channel 3"),
        ("", "B7", "Dell Inc.", "{Sa}{D}", "socket b channel 0"),
        ("", "PROC 2 DIMM 16", "HPE", "PROC {S} DIMM {D}", "socket 2 channel 15"),
        ("BANK 1", "P1_Node1_Channel3_Dimm0", "", "P{S}_Node{N}_Channel{C}_Dimm{D}", "socket 1 node 1 channel 3"),
        ("P0_Node0_Channel5_Dimm1", "DIMM 5", "", "P{S}_Node{N}_Channel{C}_Dimm{D}", "socket 0 node 0 channel 5"),
        ("_Node1_Channel2_Dimm0", "A2", "", "_Node{S}_Channel{C}_Dimm{D}", "socket 1 channel 2"),
        ("NODE 1 CHANNEL 2 DIMM 0", "N1C2", "", "NODE {S} CHANNEL {C} DIMM {D}", "socket 1 channel 2"),
        ("BANK 1", "NODE 1 CHANNEL 2 DIMM 0", "", "NODE {S} CHANNEL {C} DIMM {D}", "socket 1 channel 2"),
        ("SOCKET 1 CHANNEL 2 DIMM 0", "J1", "", "SOCKET {S} CHANNEL {C} DIMM {D}", "socket 1 channel 2"),
        ("P0 CHANNEL C", "DIMM 0", "AMD", "P{S} CHANNEL {Ca}", "socket 0 channel c"),
        ("CHANNEL B DIMM0", "SODIMM2", "", "CHANNEL {Ca} DIMM{D}", "channel b"),
        ("CHANNEL B", "SODIMM2", "", "CHANNEL {Ca}", "channel b"),
        ("BANK 3", "DIMM_B2", "ASUS", "DIMM_{Ca}{D}", "channel b"),
    ];

    fn slot(bank: &str, locator: &str) -> Dimm {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Dimm { bank: some(bank), locator: some(locator), bytes: Some(1 << 34), ..Dimm::default() }
    }

    fn board(maker: &str) -> Board<'_> {
        Board { maker: Some(maker), packages: Some(2), channels: Some(6) }
    }

    #[test]
    fn every_style_reads_its_example() {
        for (bank, locator, maker, style, channel) in EXAMPLES {
            let one = Board { channels: Some(1), ..board(maker) };
            let reading = read(&[slot(bank, locator)], one);
            let reading = reading.unwrap_or_else(|why| panic!("{bank} {locator}: {why}"));
            assert_eq!((reading.style, reading.channels[0].as_str()), (*style, *channel), "{bank} {locator}");
        }
        for style in STYLES {
            let is_of = |example: &&(&str, &str, &str, &str, &str)| {
                example.3 == style.pattern && style.place(&slot(example.0, example.1)).is_some()
            };
            assert!(EXAMPLES.iter().any(|example| is_of(&example)), "{} has no example", style.pattern);
        }
    }

    #[test]
    fn numbered_slots_need_to_know_how_many_channels_there_are() {
        let hpe: Vec<Dimm> = (1..=12)
            .map(|number| {
                let slot = slot("", &format!("PROC 1 DIMM {number}"));
                Dimm { bytes: slot.bytes.filter(|_| [1, 2, 12].contains(&number)), ..slot }
            })
            .collect();
        let of = |slots: &[Dimm], channels| read(slots, Board { packages: Some(1), channels, ..board("HPE") });
        let reading = of(&hpe, Some(6)).unwrap();
        assert_eq!((reading.count(), reading.by_package), (2, vec![2]), "1 and 2 share a channel");
        assert!(of(&hpe, None).unwrap_err().contains("is unknown"));
        assert!(of(&hpe, Some(5)).unwrap_err().contains("do not divide"));
        let dell = ["A1", "A7", "A2", "B1"].map(|name| slot("", name));
        let reading = read(&dell, board("Dell Inc.")).unwrap();
        assert_eq!((reading.count(), reading.by_package), (3, vec![2, 1]), "A1 and A7 share a channel");
        assert!(read(&dell, board("Someone Else")).is_err(), "others call channels so");
        assert!(read(&[slot("", "A0")], board("Dell Inc.")).unwrap_err().contains("begins at 1"));
    }

    #[test]
    fn two_modules_on_a_channel_are_one_channel() {
        let slots = ["P1-DIMMA1", "P1-DIMMA2", "P1-DIMMB1", "P2-DIMMA1"].map(|name| slot("", name));
        let reading = read(&slots, board("Supermicro")).unwrap();
        assert_eq!((reading.count(), reading.by_package), (3, vec![2, 1]));
    }

    #[test]
    fn what_names_no_channel_says_nothing() {
        for names in [
            vec![("BANK 0", "DIMM 0"), ("BANK 1", "DIMM 1")],
            vec![("", "DIMM_A1"), ("", "DIMM 1")],
            vec![("", ""), ("", "")],
            vec![("P0 CHANNEL A", "DIMM 0"), ("P0 CHANNEL A", "DIMM 0")],
            vec![("", "P1-DIMM"), ("", "P-DIMMA1")],
            vec![("", "DIMM_É1")],
            vec![("channel", "channel")],
        ] {
            let slots: Vec<Dimm> = names.iter().map(|(bank, locator)| slot(bank, locator)).collect();
            let why = read(&slots, board("")).unwrap_err();
            assert!(why.starts_with("ambiguous locators"), "{names:?}: {why}");
        }
        assert!(read(&[], board("")).is_err());
        let many: Vec<Dimm> = (0..13).map(|number| slot("", &format!("NODE 0 CHANNEL {number} DIMM 0"))).collect();
        assert!(read(&many, board("")).unwrap_err().contains("more than this processor has"));
    }
}
