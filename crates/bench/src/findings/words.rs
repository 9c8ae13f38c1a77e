//! Figures as sentences have them.

/// Three digits with the first prefix of these that leaves one before the point.
pub(super) fn prefixed(value: f64, steps: &[(f64, &str)]) -> String {
    let step = steps.iter().find(|(factor, _)| value >= 0.9995 * factor).or(steps.last());
    let (factor, unit) = step.copied().unwrap_or((1.0, ""));
    let value = value / factor;
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$} {unit}")
}

/// `1.20 ms`.
pub(super) fn time(seconds: f64) -> String {
    prefixed(seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")])
}

/// `12 %`.
pub(super) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if value < 9.95 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

/// The text with a capital at its beginning.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The text with a small letter at its beginning.
pub(super) fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
