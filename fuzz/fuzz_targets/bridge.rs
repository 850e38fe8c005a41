#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slackwater_fuzz::run("bridge", data));
