//! ns-3 on this machine, and our program on it: where ns-3 is, how the program is built, and its runs.
//!
//! ns-3 is the GPL's, version 2. Nothing of it comes with Slackwater: the package index's build of it is fetched by the
//! user's own pip, and our program (`assets/ns3`, licensed as Slackwater is) is compiled against it here.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use slackwater_lab::validate::beside_ns3::Ns3Run;

/// The program.
const SOURCE: &str = include_str!("../assets/ns3/slackwater-lte.cc");
/// The package that is fetched: the last of its kind that was tried.
const PACKAGE: &str = "ns3==3.44.post0";
/// Modules of ns-3 that the program calls.
const MODULES: [&str; 7] = [
    "lte",
    "applications",
    "internet",
    "mobility",
    "point-to-point",
    "network",
    "core",
];

/// Where ns-3 is.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Ns3Args {
    /// Folder of an installed ns-3, with `include` and `lib` or `lib64` (default: fetched from the package index with pip)
    #[arg(long, value_name = "DIR")]
    ns3_home: Option<PathBuf>,
}

/// Our program, built.
#[derive(Clone, Debug)]
pub(crate) struct Ns3 {
    program: PathBuf,
    /// `ns3.44`, say.
    pub(crate) release: String,
}

/// An installed ns-3.
struct Home {
    include: PathBuf,
    lib: PathBuf,
    /// What stands before and after the name of a module in that of its library.
    prefix: String,
    suffix: String,
}

impl Home {
    /// What is under `folder`, or under `folder/ns3` as a wheel unpacks.
    fn of(folder: &Path) -> Option<Self> {
        [folder.to_owned(), folder.join("ns3")]
            .iter()
            .find_map(|f| Self::at(f))
    }

    fn at(folder: &Path) -> Option<Self> {
        let include = folder.join("include");
        if !include.join("ns3/lte-module.h").is_file() {
            return None;
        }
        ["lib64", "lib"].iter().find_map(|name| {
            let lib = folder.join(name);
            let mut names: Vec<String> = std::fs::read_dir(&lib)
                .ok()?
                .filter_map(|e| e.ok()?.file_name().into_string().ok())
                .collect();
            names.sort();
            let (prefix, suffix) = names.iter().find_map(|n| affixes(n))?;
            Some(Self {
                include: include.clone(),
                lib,
                prefix,
                suffix,
            })
        })
    }
}

/// `libns3.44-lte.so` gives `ns3.44-` and nothing, `libns3.46-lte-optimized.so` gives `ns3.46-` and `-optimized`.
fn affixes(library: &str) -> Option<(String, String)> {
    let stem = library.strip_prefix("lib")?.strip_suffix(".so")?;
    let (before, after) = stem.split_once("-lte")?;
    (before.starts_with("ns3") && (after.is_empty() || after.starts_with('-')))
        .then(|| (format!("{before}-"), after.to_owned()))
}

/// A folder for what can be made again.
fn cache() -> PathBuf {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|h| h.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("slackwater")
}

/// Runs `command` to its end; the error holds the last lines that it printed.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|e| format!("{name}: {e}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&out.stderr);
    let lines: Vec<&str> = text.lines().rev().take(4).collect();
    let last: Vec<&str> = lines.into_iter().rev().collect();
    Err(format!("{name}: {}: {}", out.status, last.join(" / ")))
}

impl Ns3 {
    /// Finds or fetches ns-3 and builds the program, unless both were done before. The error is the reason why there is
    /// no ns-3 here.
    pub(crate) fn prepare(args: &Ns3Args) -> Result<Self, String> {
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
        output(Command::new(&compiler).arg("--version"))
            .map_err(|e| format!("no C++ compiler: {e} (CXX names another)"))?;

        let home = match &args.ns3_home {
            Some(folder) => Home::of(folder).ok_or_else(|| {
                format!(
                    "--ns3-home: found {}, expected a folder with include/ns3/lte-module.h and lib or lib64",
                    folder.display()
                )
            })?,
            None => fetched()?,
        };
        let program = build(&compiler, &home)?;
        Ok(Self {
            program,
            release: home.prefix.trim_end_matches('-').to_owned(),
        })
    }

    /// One run.
    pub(crate) fn run(&self, arguments: &[String]) -> Result<Ns3Run> {
        let text = match output(Command::new(&self.program).args(arguments)) {
            Ok(text) => text,
            Err(e) => bail!("ns-3 with {}: {e}", arguments.join(" ")),
        };
        let line = text.lines().last().unwrap_or_default();
        serde_json::from_str(line)
            .with_context(|| format!("ns-3 with {}: found {line:?}", arguments.join(" ")))
    }
}

/// The package index's ns-3, in the cache.
fn fetched() -> Result<Home, String> {
    let folder = cache().join(PACKAGE.replace("==", "-"));
    if let Some(home) = Home::of(&folder) {
        return Ok(home);
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(format!(
            "{PACKAGE} is built for Linux on x86-64 alone; --ns3-home names another ns-3"
        ));
    }
    eprintln!("fetching {PACKAGE} (69 MB) into {}", folder.display());
    // The wheel is for CPython 3.11; its libraries and headers do not care which Python unpacks them.
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps"])
        .args(["--only-binary=:all:", "--platform=manylinux_2_28_x86_64"])
        .args([
            "--implementation=cp",
            "--python-version=3.11",
            "--abi=cp311",
        ])
        .arg("--target")
        .arg(&folder)
        .arg(PACKAGE);
    output(&mut pip).map_err(|e| format!("{PACKAGE} cannot be fetched: {e}"))?;
    Home::of(&folder).ok_or_else(|| {
        format!(
            "{PACKAGE}: found no include/ns3/lte-module.h with its libraries in {}",
            folder.display()
        )
    })
}

/// The program for `home`, built now or before.
fn build(compiler: &str, home: &Home) -> Result<PathBuf, String> {
    let mut hash = DefaultHasher::new();
    (SOURCE, compiler, &home.lib, &home.suffix).hash(&mut hash);
    let folder = cache();
    let program = folder.join(format!("slackwater-lte-{:016x}", hash.finish()));
    if program.is_file() {
        return Ok(program);
    }
    let wrote = |e| format!("{}: {e}", folder.display());
    std::fs::create_dir_all(&folder).map_err(wrote)?;
    let source = folder.join("slackwater-lte.cc");
    std::fs::write(&source, SOURCE).map_err(wrote)?;

    // A finished program appears under its name at once, whoever else builds it.
    let unfinished = folder.join(format!("slackwater-lte-{}", std::process::id()));
    eprintln!("compiling our program against {}", home.lib.display());
    let mut command = Command::new(compiler);
    command
        .args(["-std=c++20", "-O2", "-w"])
        .arg("-isystem")
        .arg(&home.include)
        .arg(&source)
        .arg("-o")
        .arg(&unfinished)
        .arg("-L")
        .arg(&home.lib)
        .arg(format!("-Wl,-rpath,{}", home.lib.display()))
        // ns-3's libraries name some that this program does not reach (GTK, for editing attributes by hand).
        .arg("-Wl,--allow-shlib-undefined");
    for module in MODULES {
        command.arg(format!("-l{}{module}{}", home.prefix, home.suffix));
    }
    output(&mut command).map_err(|e| format!("our program does not compile against ns-3: {e}"))?;
    std::fs::rename(&unfinished, &program).map_err(wrote)?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_names_the_release_and_the_profile() {
        let of = |n| affixes(n).map(|(a, b)| format!("{a}*{b}"));
        assert_eq!(of("libns3.44-lte.so").as_deref(), Some("ns3.44-*"));
        assert_eq!(
            of("libns3.46-lte-optimized.so").as_deref(),
            Some("ns3.46-*-optimized")
        );
        assert_eq!(of("libns3.44-wifi.so"), None);
        assert_eq!(of("libother-lte.so"), None);
    }

    #[test]
    fn a_folder_without_ns3_is_no_home() {
        let args = Ns3Args {
            ns3_home: Some(PathBuf::from("/nonexistent")),
        };
        let error = Ns3::prepare(&args).expect_err("there is none");
        assert!(
            error.contains("/nonexistent") || error.contains("compiler"),
            "{error}"
        );
    }
}
