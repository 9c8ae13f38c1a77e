use super::config::USER;

pub(super) fn user_name() -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_of(&users, USER).unwrap_or("nobody").to_owned()
}

fn name_of(users: &str, number: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number() {
        let users = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n";
        assert_eq!(name_of(users, 65534), Some("nobody"));
        assert_eq!(name_of(users, 7), None);
        assert_eq!(name_of("cut", 0), None);
    }
}
