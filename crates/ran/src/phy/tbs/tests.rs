use super::*;

const VECTORS: &str = include_str!("../../../data/nr_tbs_vectors.txt");

#[test]
fn nr_sizes_equal_every_golden_vector() {
    let mut checked = 0;
    for line in VECTORS.lines().filter(|l| !l.starts_with('#')) {
        let (key, rest) = line.split_once(' ').expect("a key and its vectors");
        let key: Vec<u8> = key
            .split('/')
            .map(|x| x.parse().expect("a number"))
            .collect();
        let table = [McsTable::Nr64, McsTable::Nr256, McsTable::NrLowSe][usize::from(key[0]) - 1];
        for vector in rest.split(' ') {
            let (parameters, bits) = vector.split_once('=').expect("parameters = bits");
            let p: Vec<u16> = parameters
                .split('.')
                .map(|x| x.parse().expect("a number"))
                .collect();
            let p = NrTbsParams {
                qm: table.qm(key[1]),
                rate_x1024: table.code_rate_x1024(key[1]),
                layers: key[2],
                n_prb: p[0],
                n_symb: p[1] as u8,
                n_dmrs_re: p[2] as u8,
                n_oh: p[3] as u8,
            };
            assert_eq!(
                nr_tbs_bits(&p),
                bits.parse::<u32>().expect("a number"),
                "{key:?} {p:?}"
            );
            checked += 1;
        }
    }
    assert_eq!(checked, 4773);
}

#[test]
fn nr_sizes_of_a_full_100_mhz_slot() {
    let bits = |layers| {
        nr_tbs_bits(&NrTbsParams {
            qm: 8,
            rate_x1024: 948.0,
            layers,
            n_prb: 273,
            n_symb: 13,
            n_dmrs_re: 12,
            n_oh: 0,
        })
    };
    assert_eq!([bits(1), bits(2), bits(4)], [295176, 590128, 1179864]);
}

#[test]
fn nothing_fits_where_overhead_takes_all() {
    let p = NrTbsParams {
        qm: 2,
        rate_x1024: 120.0,
        layers: 1,
        n_prb: 10,
        n_symb: 1,
        n_dmrs_re: 12,
        n_oh: 6,
    };
    assert_eq!(nr_tbs_bits(&p), 0);
    assert_eq!(
        nr_tbs_bits(&NrTbsParams {
            n_symb: 14,
            n_prb: 0,
            ..p
        }),
        0
    );
}

/// FNV-1a over the little-endian 32-bit sizes in bits, row by row, computed from the published table by other code.
#[test]
fn lte_sizes_are_the_published_table() {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut distinct = std::collections::BTreeSet::new();
    for i_tbs in 0..34 {
        for n_prb in 1..=110 {
            let bits = lte_tbs_bits(i_tbs, n_prb, 1);
            distinct.insert(bits);
            for byte in bits.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    assert_eq!(hash, 0x902c_aaf6_bf30_038c);
    assert_eq!(distinct.len(), 186);
    // Full carriers of 5, 10 and 20 MHz at the top of each table.
    assert_eq!(
        [25, 50, 100].map(|n| lte_tbs_bits(26, n, 1)),
        [18336, 36696, 75376]
    );
    assert_eq!([50, 100].map(|n| lte_tbs_bits(33, n, 1)), [48936, 97896]);
    assert_eq!(lte_tbs_bits(26, 100, 2), 150752);
    assert_eq!(lte_tbs_bits(6, 1, 1), 328);
}

/// The turbo interleaver's sizes (TS 36.212, table 5.1.3-3): steps of 8, 16, 32 and 64 bits.
fn turbo_size(k: u32) -> bool {
    match k {
        40..=512 => k.is_multiple_of(8),
        513..=1024 => k.is_multiple_of(16),
        1025..=2048 => k.is_multiple_of(32),
        2049..=6144 => k.is_multiple_of(64),
        _ => false,
    }
}

#[test]
fn every_lte_size_fills_its_code_blocks_without_filler_bits() {
    for i_tbs in 0..34 {
        for n_prb in 1..=110 {
            let with_crc = lte_tbs_bits(i_tbs, n_prb, 1) + 24;
            // TS 36.212, 5.1.2: beyond 6144 bits, blocks of at most 6144 with 24 bits of CRC each.
            let blocks = if with_crc <= 6144 {
                1
            } else {
                with_crc.div_ceil(6144 - 24)
            };
            let total = if blocks == 1 {
                with_crc
            } else {
                with_crc + 24 * blocks
            };
            assert!(
                total.is_multiple_of(blocks) && turbo_size(total / blocks),
                "{i_tbs} {n_prb}"
            );
        }
    }
}

#[test]
fn sizes_grow_with_blocks_and_with_efficiency() {
    let lte =
        [McsTable::Lte64, McsTable::Lte256, McsTable::LteUl].map(|t| (t, TbsTable::lte(t, 1, 110)));
    let nr = [
        McsTable::Nr64,
        McsTable::Nr256,
        McsTable::NrLowSe,
        McsTable::Nr1024,
    ]
    .map(|t| (t, TbsTable::nr(t, 2, 275, 12, 12, 0)));
    for (table, sizes) in lte.into_iter().chain(nr) {
        assert_eq!(sizes.mcs_count(), table.len());
        // The printed LTE table has one entry out of line: I_TBS 6 carries 328 bits in a single PRB.
        let from = if table.is_lte() { 2 } else { 0 };
        for mcs in 0..table.len() as u8 {
            assert_eq!(sizes.bytes(mcs, 0), 0);
            assert!(sizes.row(mcs)[from..].is_sorted(), "{} {mcs}", table.name());
            for better in mcs + 1..table.len() as u8 {
                let grows = |n: u16| sizes.bytes(better, n) >= sizes.bytes(mcs, n);
                assert!(
                    table.efficiency(better) < table.efficiency(mcs)
                        || (from as u16..=sizes.max_prbs()).all(grows),
                    "{} {mcs} {better}",
                    table.name()
                );
            }
        }
    }
}

#[test]
fn a_table_gives_what_the_functions_give() {
    let t = TbsTable::nr(McsTable::Nr256, 4, 273, 13, 12, 0);
    assert_eq!(t.bytes(27, 273), 1179864 / 8);
    assert_eq!((t.mcs_count(), t.max_prbs()), (28, 273));
    assert_eq!(
        TbsTable::lte(McsTable::Lte64, 1, 50).bytes(28, 48),
        lte_tbs_bits(26, 48, 1) / 8
    );
}
