use std::process::Command;

use super::*;

fn pack(packing: Packing, plain: &[u8]) -> Vec<u8> {
    packing.pack(plain).expect("memory")
}

fn lines() -> Vec<u8> {
    (0..20_000)
        .flat_map(|t| format!("{t}\n").into_bytes())
        .collect()
}

#[test]
fn a_file_is_packed_as_its_name_ends() {
    let of = |name: &str| Packing::of(Path::new(name));
    assert_eq!(of("a/driving.down.xz"), Some(Packing::Xz));
    assert_eq!(of("a/driving.down.gz"), Some(Packing::Gzip));
    assert_eq!(of("a/driving.down.zst"), Some(Packing::Zstd));
    for plain in ["driving.down", "a.xz/driving.down", "gz", "zst.csv", ""] {
        assert_eq!(of(plain), None, "{plain}");
        assert_eq!(plain_name(plain), plain);
    }
    for packing in Packing::ALL {
        let name = format!("driving.down{}", packing.ending());
        assert_eq!(plain_name(&name), "driving.down");
    }
}

#[test]
fn what_was_packed_comes_back() {
    let plain = lines();
    for packing in Packing::ALL {
        let packed = pack(packing, &plain);
        assert!(packed.len() < plain.len(), "{packing:?}");
        let back = packing.unpack(&packed, plain.len()).expect("an archive");
        assert_eq!(back, plain, "{packing:?}");
    }
}

/// `cat a.gz b.gz`, `zstdcat a.zst b.zst` and a frame that readers pass over (RFC 8878, 3.1.2).
#[test]
fn archives_one_after_the_other_are_one() {
    for packing in Packing::ALL {
        let both = [pack(packing, b"1\n2\n"), pack(packing, b"3\n")].concat();
        let back = packing.unpack(&both, 100).expect("two archives");
        assert_eq!(back, b"1\n2\n3\n", "{packing:?}");
    }
    let note = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0][..], b"hi"].concat();
    let both = [note, pack(Packing::Zstd, b"4\n")].concat();
    assert_eq!(Packing::Zstd.unpack(&both, 100).expect("a frame"), b"4\n");
}

/// Some kilobytes may stand for more than the memory holds.
#[test]
fn no_more_than_the_bound_is_unpacked() {
    const LIMIT: usize = 1 << 20;
    let zeros = vec![0; 16 * LIMIT];
    for packing in Packing::ALL {
        let bomb = pack(packing, &zeros);
        assert!(bomb.len() < LIMIT / 8, "{packing:?}: {}", bomb.len());
        let got = packing.unpack(&bomb, LIMIT).expect("a part of it");
        assert_eq!(got.len(), LIMIT + 1, "{packing:?}");
        // Many small ones, too: none of them is past the bound.
        let many = pack(packing, &zeros[..LIMIT / 4]).repeat(8);
        let got = packing.unpack(&many, LIMIT).expect("a part of it");
        assert_eq!(got.len(), LIMIT + 1, "{packing:?}");
    }
}

/// A header that wants 2 GiB of memory, of a file of a few bytes.
#[test]
fn a_window_that_no_reader_gives_is_refused() {
    // RFC 8878, 3.1.1.1: magic, no flags, a window of 2^(10 + 21); then an empty last block.
    let greedy = [0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 1, 0, 0];
    let e = Packing::Zstd.unpack(&greedy, 1 << 20).expect_err("2 GiB");
    assert!(e.to_string().to_lowercase().contains("window"), "{e}");
    let modest = [0x28, 0xb5, 0x2f, 0xfd, 0, 0, 1, 0, 0];
    assert_eq!(Packing::Zstd.unpack(&modest, 1).expect("nothing"), b"");
}

#[test]
fn damage_is_an_error() {
    let plain = lines();
    for packing in Packing::ALL {
        let good = pack(packing, &plain);
        let cut = &good[..good.len() - 5];
        let mut changed = good.clone();
        let last = changed.len() - 6;
        changed[last] ^= 0x10;
        let nothing: &[u8] = b"";
        for bad in [cut, &changed, b"not an archive", nothing] {
            let got = packing.unpack(bad, plain.len());
            assert!(got.is_err(), "{packing:?}: {} bytes", bad.len());
        }
    }
    // The sum at the end alone.
    let mut changed = pack(Packing::Zstd, &plain);
    *changed.last_mut().expect("bytes") ^= 1;
    let e = Packing::Zstd.unpack(&changed, plain.len());
    assert!(e.expect_err("another sum").to_string().contains("checksum"));
}

/// What the usual programs write, at their strongest settings.
#[test]
#[expect(clippy::print_stdout, reason = "says why it skips")]
fn the_usual_programs_are_read() {
    let plain = lines();
    let folder = std::env::temp_dir().join(format!("slackwater-packed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a writable folder");
    let file = folder.join("plain");
    std::fs::write(&file, &plain).expect("a writable folder");
    let programs = [
        (Packing::Xz, "xz", &["-9e", "-c"][..]),
        (Packing::Gzip, "gzip", &["-9", "-c"][..]),
        (Packing::Zstd, "zstd", &["-q", "--ultra", "-22", "-c"][..]),
        (Packing::Zstd, "zstd", &["-q", "--long=27", "-c"][..]),
    ];
    for (packing, program, options) in programs {
        let Ok(done) = Command::new(program).args(options).arg(&file).output() else {
            println!("skipped: no {program} on this machine");
            continue;
        };
        let back = packing.unpack(&done.stdout, plain.len());
        assert_eq!(back.expect("an archive"), plain, "{program} {options:?}");
    }
    std::fs::remove_dir_all(&folder).expect("a folder of this test");
}
