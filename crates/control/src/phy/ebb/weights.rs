//! The exponential of several numbers at once: a report needs one for each mean of the forecast, and these were a quarter of what it
//! costs. Compilers take two numbers in one instruction here, and none across calls.
//!
//! Results are those of `libm::exp` to the bit, since the operations on each number are the same: x = k ln 2 + r, a rational function of
//! r with FDLIBM's coefficients (`e_exp.c`, Sun Microsystems, 1993), and the power of two. A test compares them.

/// 1 / ln 2, and ln 2 in two parts, of which k times the first is exact.
const INV_LN2: f64 = f64::from_bits(0x3ff7_1547_652b_82fe);
const LN2: [f64; 2] = [
    f64::from_bits(0x3fe6_2e42_fee0_0000),
    f64::from_bits(0x3dea_39ef_3579_3c76),
];
/// Coefficients of r^2, r^4 and on.
const P: [f64; 5] = [
    f64::from_bits(0x3fc5_5555_5555_553e),
    f64::from_bits(0xbf66_c16c_16be_bd93),
    f64::from_bits(0x3f11_566a_af25_de2c),
    f64::from_bits(0xbebb_bd41_c5d2_6bf1),
    f64::from_bits(0x3e66_3769_72be_a4d0),
];
/// From here to zero k is zero: half of ln 2, in the upper 32 bits.
const WHOLE: f64 = -f64::from_bits(0x3fd6_2e43_0000_0000);
/// From here to zero the result is 1 + x: 2^-28, likewise.
const SMALL: f64 = -f64::from_bits(0x3e30_0001_0000_0000);
/// Below, results are no normal numbers.
const LEAST: f64 = -708.0;
/// A number of this size has steps of one: adding it rounds, and leaves a whole number in the lower bits.
const STEPS_OF_ONE: f64 = 1.5 * (1_u64 << 52) as f64;
/// Bits of a mantissa, and what is added to the exponent beside it.
const MANTISSA: u32 = 52;
const BIAS: f64 = 1023.0;

/// The exponential of each of `x`, none of which is above zero.
#[inline]
pub(super) fn exp<const N: usize>(x: [f64; N]) -> [f64; N] {
    let mut out = [0.0; N];
    for k in 0..N {
        out[k] = normal(x[k]);
    }
    if x.iter().copied().fold(0.0, lesser) < LEAST {
        for (out, x) in out.iter_mut().zip(x).filter(|&(_, x)| x < LEAST) {
            *out = libm::exp(x);
        }
    }
    out
}

/// The same of one, not below [`LEAST`], and without a branch.
#[inline]
fn normal(x: f64) -> f64 {
    let steps = INV_LN2 * x - 0.5;
    let near = steps + STEPS_OF_ONE - STEPS_OF_ONE;
    let towards_zero = near + if near < steps { 1.0 } else { 0.0 };
    let k = if x <= WHOLE { towards_zero } else { 0.0 };

    let (high, low) = (x - k * LN2[0], k * LN2[1]);
    let r = high - low;
    let squared = r * r;
    let sum = P[3] + squared * P[4];
    let sum = P[0] + squared * (P[1] + squared * (P[2] + squared * sum));
    let c = r - squared * sum;
    let y = 1.0 + (r * c / (2.0 - c) - low + high);

    let exponent = (k + (STEPS_OF_ONE + BIAS)).to_bits() << MANTISSA;
    let scaled = y * f64::from_bits(exponent);
    if x > SMALL { 1.0 + x } else { scaled }
}

/// The lesser of two numbers. None of them is NaN here, which `f64::min` looks for with several instructions.
pub(super) fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The greater of two numbers, likewise.
pub(super) fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_same(x: [f64; 6]) {
        let bits = |y: [f64; 6]| y.map(f64::to_bits);
        assert_eq!(bits(exp(x)), bits(x.map(libm::exp)), "{x:?}");
    }

    #[test]
    fn results_are_those_of_libm_to_the_bit() {
        let mut state = 1_u64;
        for n in 0..200_000_u32 {
            let x = core::array::from_fn(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let part = (state >> 11) as f64 / (1_u64 << 53) as f64;
                // Of each size down to 2^-36.
                -part * 708.0 / f64::from(1 << (n % 31)) / f64::from(1 << (n % 17))
            });
            assert_same(x);
        }
    }

    #[test]
    fn results_are_those_of_libm_where_one_rule_ends_and_another_begins() {
        for edge in [WHOLE, SMALL, LEAST, -0.5 * LN2[0], -1.5 * LN2[0], -1e-300] {
            let near = |steps: i64| f64::from_bits((edge.to_bits() as i64 + steps) as u64);
            assert_same([-2, -1, 0, 1, 2, 1 << 32].map(near));
        }
        // Multiples of half of ln 2, at which k changes.
        for n in 0..2000_i32 {
            let x = -f64::from(n) * 0.5 * core::f64::consts::LN_2;
            let near = |steps: i64| f64::from_bits((x.to_bits() as i64 + steps) as u64);
            assert_same([0, 1, 2, 3, 4, 5].map(near));
        }
        assert_same([0.0, -0.0, -1.0, -700.0, -745.0, -1e9]);
    }
}
