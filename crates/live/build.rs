//! Compiles the programs below `bpf` where the feature `bpf` asks for it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "bpf")]
    bpf::build();
}

#[cfg(feature = "bpf")]
mod bpf {
    use std::path::PathBuf;

    pub(crate) fn build() {
        let variable = |name| PathBuf::from(std::env::var_os(name).expect("cargo sets it"));
        for file in [
            "ebb_core.h",
            "kernel.h",
            "recovery.h",
            "scope.h",
            "xrc_core.h",
            "xrc_internet.h",
        ] {
            println!("cargo:rerun-if-changed=bpf/{file}");
        }
        // Debian keeps <asm/types.h> in a folder of the architecture.
        let arch = std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
        let asm = format!("-idirafter/usr/include/{arch}-linux-gnu");
        for name in ["ebb", "xrc", "upf"] {
            let file = format!("bpf/{name}.bpf.c");
            println!("cargo:rerun-if-changed={file}");
            let built = libbpf_cargo::SkeletonBuilder::new()
                .source(variable("CARGO_MANIFEST_DIR").join(&file))
                .clang_args(["-mcpu=v3", "-Wall", "-Werror", &asm])
                .build_and_generate(variable("OUT_DIR").join(format!("{name}.skel.rs")));
            if let Err(error) = built {
                // A chain of causes, the compiler's words among them.
                panic!(
                    "{file} does not compile; the feature `bpf` needs clang 14 or newer: {error:#}"
                );
            }
        }
    }
}
