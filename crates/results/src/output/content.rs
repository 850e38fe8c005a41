//! What the files of a folder of results hold, as SHA-256 (FIPS 180-4).

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use slackwater_scenario::bounded;

use super::names::{MANIFEST, PASSING};

/// Files that say the command, or what runs just now: two equal runs may differ in them.
const ASIDE: [&str; 2] = [MANIFEST, "report.html"];

/// A file and the SHA-256 of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hashed {
    /// Its path below the folder.
    pub path: PathBuf,
    /// 64 hexadecimal digits.
    pub sha256: String,
}

/// The SHA-256 of a file's bytes, in hexadecimal digits.
///
/// # Errors
/// Where it cannot be read.
pub fn of_file(path: &Path) -> io::Result<String> {
    let (mut file, _) = bounded::open(path)?;
    let mut hash = Sha256::new();
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hex(hash)),
            n => hash.update(&part[..n]),
        }
    }
}

fn hex(hash: Sha256) -> String {
    use core::fmt::Write as _;
    let digits = hash.finalize();
    digits.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Every file below `folder`, in the order of their paths.
///
/// # Errors
/// Where a file or folder cannot be read.
pub fn all_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fn walk(root: &Path, at: &Path, out: &mut Vec<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(at)? {
            let path = entry?.path();
            // A link that leads upwards would never end.
            if path.is_dir() && !path.is_symlink() {
                walk(root, &path, out)?;
            } else if let Ok(name) = path.strip_prefix(root) {
                out.push(name.to_owned());
            }
        }
        Ok(())
    }
    let mut out = Vec::new();
    walk(folder, folder, &mut out)?;
    out.sort();
    Ok(out)
}

/// The files below `folder` that hold results, each with its hash, in the order of their paths.
///
/// # Errors
/// Where a file or folder cannot be read.
pub fn files(folder: &Path) -> io::Result<Vec<Hashed>> {
    let named = |path: &PathBuf, names: &[&str]| names.iter().any(|n| path == Path::new(n));
    let files = all_files(folder)?;
    let results = files
        .into_iter()
        .filter(|path| !named(path, &ASIDE) && !named(path, &PASSING));
    let hashed = results.map(|path| {
        let sha256 = of_file(&folder.join(&path))?;
        Ok(Hashed { path, sha256 })
    });
    hashed.collect()
}

/// One hash for all results of `folder`: of the lines `HASH  PATH` that `sha256sum` prints for them, in the order of the paths.
///
/// # Errors
/// As [`files`].
pub fn of_folder(folder: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    for file in files(folder)? {
        hash.update(format!("{}  {}\n", file.sha256, file.path.display()));
    }
    Ok(hex(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_standard_and_follow_each_byte() {
        let own = format!("slackwater-content-{}", std::process::id());
        let folder = std::env::temp_dir().join(own);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("b")).expect("a folder");
        // FIPS 180-4's example: "abc".
        fs::write(folder.join("b/abc"), "abc").expect("a file");
        fs::write(folder.join("a"), "").expect("a file");
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let found = files(&folder).expect("readable");
        assert_eq!(found[0].path, Path::new("a"));
        assert_eq!(
            (found[1].path.as_path(), found[1].sha256.as_str()),
            (Path::new("b/abc"), abc)
        );

        let whole = of_folder(&folder).expect("readable");
        fs::write(folder.join(MANIFEST), "{}").expect("a file");
        fs::write(folder.join("report.html"), "the command").expect("a file");
        assert_eq!(of_folder(&folder).expect("readable"), whole);
        fs::write(folder.join("a"), "1").expect("a file");
        assert_ne!(of_folder(&folder).expect("readable"), whole);
        fs::remove_dir_all(&folder).expect("it is ours");
    }
}
