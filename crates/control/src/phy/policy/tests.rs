use safetensors::tensor::TensorView;

use super::*;

/// A file with these tensors and metadata.
fn file(tensors: &[(&str, Vec<usize>, Vec<f32>)], metadata: &[(&str, &str)]) -> Vec<u8> {
    let data: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, shape, values)| {
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            ((*name).to_owned(), shape.clone(), bytes)
        })
        .collect();
    let views = data.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).expect("sizes agree");
        (name.clone(), view)
    });
    let metadata = metadata
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    safetensors::serialize(views, Some(metadata.collect())).expect("a file")
}

/// Weights that differ from each other.
fn weights(n: usize, key: u64) -> Vec<f32> {
    let draw = Draw::new(key);
    (0..n as u64).map(|i| draw.normal(i) as f32 * 0.5).collect()
}

fn mlp_tensors(actions: usize) -> Vec<(&'static str, Vec<usize>, Vec<f32>)> {
    let mut all = Vec::new();
    let names = [
        ("layer0.weight", "layer0.bias", 16, 5),
        ("layer1.weight", "layer1.bias", 16, 16),
        ("layer2.weight", "layer2.bias", 16, 16),
        ("head.weight", "head.bias", actions, 16),
    ];
    for (k, (weight, bias, out, inputs)) in names.into_iter().enumerate() {
        all.push((weight, vec![out, inputs], weights(out * inputs, k as u64)));
        all.push((bias, vec![out], weights(out, 10 + k as u64)));
    }
    all
}

const METADATA: [(&str, &str); 7] = [
    ("format", "slackwater-policy"),
    ("version", "1"),
    ("kind", "mlp"),
    ("interval_ms", "20"),
    ("tbs", "capacity"),
    ("obs", "bdp"),
    ("actions", "L0"),
];

fn metadata(choice: &'static str) -> Vec<(&'static str, &'static str)> {
    let mut all = METADATA.to_vec();
    all.push(("choice", choice));
    all
}

fn signals() -> Signals {
    Signals {
        bank: [12.0; 6],
        sd: 2.0,
        queueing: 0.01,
        rate: 11.0,
        window: 50.0,
        min_rtt: 0.04,
        packet: 1500.0,
        ..Signals::default()
    }
}

#[test]
fn the_forward_pass_is_the_textbook_one() {
    let tensors = mlp_tensors(23);
    let policy = Policy::from_safetensors(&file(&tensors, &metadata("greedy"))).unwrap();
    assert_eq!(policy.interval(), Duration::from_millis(20));
    let (net, obs) = policy.mlp().unwrap();
    assert_eq!((obs, net.actions()), (ObsMode::Bdp, 23));
    let x = [0.3, -1.2, 0.7, 2.0, -0.1];
    let mut h: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
    for layer in 0..4 {
        let (w, b) = (&tensors[2 * layer].2, &tensors[2 * layer + 1].2);
        h = b
            .iter()
            .enumerate()
            .map(|(o, &b)| {
                let row = &w[o * h.len()..(o + 1) * h.len()];
                let sum: f64 = row.iter().zip(&h).map(|(&w, h)| f64::from(w) * h).sum();
                let sum = sum + f64::from(b);
                if layer < 3 { sum.max(0.0) } else { sum }
            })
            .collect();
    }
    let out = net.forward(&x);
    for (found, expected) in out.iter().zip(&h) {
        assert!((f64::from(*found) - expected).abs() < 1e-4);
    }
}

#[test]
fn the_choice_is_what_metadata_says() {
    let tensors = mlp_tensors(23);
    let read = |choice| Policy::from_safetensors(&file(&tensors, &metadata(choice))).unwrap();
    let ratio = |p: &Policy, k| match p.act(&signals(), k) {
        Some(Action::LogRatio(r)) => r,
        other => panic!("{other:?}"),
    };
    let greedy = read("greedy");
    assert!(ActionSet::L0.log_ratios().contains(&ratio(&greedy, 0)));
    assert_eq!(ratio(&greedy, 0), ratio(&greedy, 1));
    let sampled = read("sample:7");
    let draws: Vec<f64> = (0..4000).map(|k| ratio(&sampled, k)).collect();
    let again = read("sample:7");
    assert!((0..100).all(|k| ratio(&again, k) == draws[k as usize]));
    let mean = ratio(&read("mean"), 0);
    let sample = draws.iter().sum::<f64>() / draws.len() as f64;
    assert!((mean - sample).abs() < 0.1, "{mean} {sample}");
}

#[test]
fn residual_policies_correct_within_their_bound() {
    let mut meta = vec![
        ("format", "slackwater-policy"),
        ("version", "1"),
        ("interval_ms", "10"),
        ("tbs", "capacity"),
        ("bound", "0.5"),
        ("z", "0.5"),
    ];
    let linear = [
        ("residual.weight", vec![1, 14], vec![0.0; 14]),
        ("residual.bias", vec![1], vec![0.25]),
    ];
    meta.push(("kind", "residual-linear"));
    let policy = Policy::from_safetensors(&file(&linear, &meta)).unwrap();
    assert_eq!(policy.act(&signals(), 0), Some(Action::Residual(0.25)));
    meta.pop();
    meta.push(("kind", "residual-tanh"));
    let tanh = [
        ("hidden.weight", vec![8, 14], weights(112, 1)),
        ("hidden.bias", vec![8], weights(8, 2)),
        ("out.weight", vec![1, 8], vec![3.0; 8]),
        ("out.bias", vec![1], vec![100.0]),
    ];
    let policy = Policy::from_safetensors(&file(&tanh, &meta)).unwrap();
    assert_eq!(policy.act(&signals(), 0), Some(Action::Residual(0.5)));
    assert_eq!(
        Policy::zero_residual().act(&signals(), 3),
        Some(Action::Residual(0.0))
    );
}

#[test]
fn what_does_not_match_is_refused_by_name() {
    let good = mlp_tensors(23);
    let wrong = |tensors: &[_], meta: &[(&str, &str)]| {
        Policy::from_safetensors(&file(tensors, meta))
            .unwrap_err()
            .to_string()
    };
    assert!(
        Policy::from_safetensors(b"PK")
            .unwrap_err()
            .to_string()
            .contains("not a safetensors file")
    );
    assert_eq!(
        wrong(&good, &METADATA),
        "metadata \"choice\" is missing; expected greedy, mean or sample:SEED"
    );
    let mut meta = metadata("greedy");
    meta[1] = ("version", "2");
    assert_eq!(
        wrong(&good, &meta),
        "metadata \"version\": found \"2\", expected 1"
    );
    let mut meta = metadata("greedy");
    meta[6] = ("actions", "F");
    assert_eq!(
        wrong(&good, &meta),
        "tensor \"head.weight\": found F32 [23, 16], expected F32 [40, 16]"
    );
    assert_eq!(
        wrong(&good[1..], &metadata("greedy")),
        "tensor \"layer0.weight\": found nothing, expected F32 [16, 5]"
    );
    let mut sick = good;
    sick[3].2[2] = f32::NAN;
    assert!(wrong(&sick, &metadata("greedy")).contains("\"layer1.bias\" holds"));
}

#[test]
fn inputs_that_are_no_numbers_give_no_action() {
    let policy = Policy::from_safetensors(&file(&mlp_tensors(23), &metadata("greedy"))).unwrap();
    let sick = Signals {
        queueing: f64::NAN,
        ..signals()
    };
    assert_eq!(policy.act(&sick, 0), None);
}

/// Only differences of outputs count: `exp(200)` is beyond an f32.
#[test]
fn large_outputs_are_weighed_by_their_differences() {
    let out = [200.0, 200.0, 0.0];
    let ratios = [0.1, 0.3, 9.0];
    let mean = choose(Choice::Mean, &out, &ratios, 0);
    assert!((mean - 0.2).abs() < 1e-9, "{mean}");

    let draws: Vec<f64> = (0..100)
        .map(|k| choose(Choice::Sample { seed: 7 }, &out, &ratios, k))
        .collect();
    assert!(draws.contains(&0.1) && draws.contains(&0.3));
    assert!(!draws.contains(&9.0));
}
