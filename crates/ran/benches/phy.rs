//! What the physical layer's look-ups cost.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use slackwater_core::{Draw, Instant};
use slackwater_ran::phy::{
    Averaging, Bler, Channel, ChannelConfig, CqiTable, FadingConfig, LinkModel, McsTable,
    NrTbsParams, Profile, TbsTable, tbs,
};

fn link(c: &mut Criterion) {
    let link = Bler::new(&LinkModel::default(), McsTable::Nr256, CqiTable::Qam256);
    let mut k = 0u64;
    let mut next = move || {
        k = k.wrapping_add(0x9e37_79b9_7f4a_7c15);
        k
    };
    c.bench_function("bler", |b| {
        b.iter(|| {
            let k = next();
            link.bler((k >> 60) as u8, (k >> 40 & 0xff) as f64 * 0.125)
        });
    });
    c.bench_function("mcs_for", |b| {
        b.iter(|| link.mcs_for((next() >> 40 & 0xff) as f64 * 0.125, 0.1));
    });
    c.bench_function("cqi_for", |b| {
        b.iter(|| link.cqi_for((next() >> 40 & 0xff) as f64 * 0.125));
    });
}

fn sizes(c: &mut Criterion) {
    let table = TbsTable::nr(McsTable::Nr256, 4, 273, 12, 12, 0);
    let mut k = 0u64;
    c.bench_function("tbs_table", |b| {
        b.iter(|| {
            k = k.wrapping_add(0x9e37_79b9_7f4a_7c15);
            table.bytes((k >> 60) as u8, (k >> 40 & 0xff) as u16)
        });
    });
    c.bench_function("nr_tbs_bits", |b| {
        let p = NrTbsParams {
            qm: 8,
            rate_x1024: 916.5,
            layers: 2,
            n_prb: 217,
            n_symb: 12,
            n_dmrs_re: 12,
            n_oh: 0,
        };
        b.iter(|| tbs::nr_tbs_bits(black_box(&p)));
    });
}

fn channel(c: &mut Criterion) {
    let mut bench = |name: &str, config: &ChannelConfig, step_ns: u64| {
        let mut channel = Channel::new(config, Draw::new(1));
        let mut now = 0u64;
        c.bench_function(name, |b| {
            b.iter(|| {
                now += step_ns;
                channel.sinr_db(Instant::from_nanos(now))
            });
        });
    };
    bench("sinr_plain", &ChannelConfig::default(), 1_000_000);
    for profile in [Profile::Epa, Profile::Eva, Profile::TdlC] {
        for (speed, speed_mps) in [("3kmh", 3.0 / 3.6), ("120kmh", 120.0 / 3.6)] {
            let config = ChannelConfig {
                fading: Some(FadingConfig {
                    profile,
                    speed_mps,
                    ..FadingConfig::default()
                }),
                ..ChannelConfig::default()
            };
            let name = format!("sinr_{}_{speed}_1ms", profile.word());
            bench(&name, &config, 1_000_000);
        }
    }
    let eesm = ChannelConfig {
        fading: Some(FadingConfig {
            averaging: Averaging::EESM,
            speed_mps: 120.0 / 3.6,
            ..FadingConfig::default()
        }),
        ..ChannelConfig::default()
    };
    bench("sinr_epa_120kmh_1ms_eesm", &eesm, 1_000_000);
}

criterion_group!(phy, link, sizes, channel);
criterion_main!(phy);
