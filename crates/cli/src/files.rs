//! Files of the user's that a command changes.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;

/// Puts `text` in the place of what `path` holds: written aside, then renamed. Where it cannot be written whole (a full disk), the
/// file stays as it was.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let path = path.canonicalize()?;
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".part");
    let aside = path.with_file_name(name);
    let written = write(&aside, &path, text).and_then(|()| std::fs::rename(&aside, &path));
    if written.is_err() {
        let _ = std::fs::remove_file(&aside);
    }
    written
}

fn write(aside: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut file = std::fs::File::create(aside)?;
    file.set_permissions(path.metadata()?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// `text` with `inner` between its lines `<!-- mark -->` and `<!-- /mark -->`; `None` where it has none.
pub(crate) fn between(text: &str, mark: &str, inner: &str) -> Option<String> {
    let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->\n"));
    let start = text.find(&open)? + open.len();
    let end = start + text[start..].find(&close)?;
    Some(format!("{}{inner}{}", &text[..start], &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_marks_is_replaced() {
        let page = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n";
        let new = between(page, "x", "new\n").expect("marks");
        assert_eq!(new, "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n");
        assert_eq!(between(page, "y", "new\n"), None);
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("slackwater-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (page, link) = (folder.join("page.md"), folder.join("link.md"));
        std::fs::write(&page, "old").expect("a file");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&page, &link).expect("a link");
        replace(&link, "new").expect("there is room");
        assert!(link.is_symlink(), "the link is kept");
        assert_eq!(std::fs::read_to_string(&page).expect("a file"), "new");

        // What is written aside finds no place.
        let aside = folder.join(".page.md.part");
        std::fs::create_dir(&aside).expect("a folder");
        replace(&page, "newer").expect_err("it cannot be written");
        assert_eq!(std::fs::read_to_string(&page).expect("a file"), "new");
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
