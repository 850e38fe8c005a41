use super::*;

fn metrics() -> Table {
    let mut table = Table::with([
        Column::new("flow"),
        Column::new("goodput (Mbit/s)").rank(1),
        Column::new("p95 queue (ms)").rank(2),
        Column::new("p50 cwnd (packets)").rank(9),
        Column::new("loss (%)").rank(3),
        Column::new("nothing"),
    ]);
    table.row(&["cubic", "17.491", "25.1", "120", "0.000"]);
    table.row(&["xrc", "9.1 ± 0.2", "3.02", "-", "14.8"]);
    table
}

fn at(table: &Table, width: Option<usize>) -> String {
    let look = Look {
        width,
        colour: false,
    };
    draw(table, look, false, true)
}

#[test]
fn a_pipe_gets_every_column_in_one_form() {
    assert_eq!(
        at(&metrics(), None),
        "\
flow   goodput (Mbit/s)  p95 queue (ms)  p50 cwnd (packets)  loss (%)
------ ----------------- --------------- ------------------- --------
cubic            17.491            25.1                 120     0.000
xrc           9.1 ± 0.2            3.02                   -      14.8
"
    );
}

#[test]
fn headings_break_before_columns_go() {
    let units = at(&metrics(), Some(50));
    assert!(
        units.starts_with("flow     goodput  p95 queue  p50 cwnd   loss\n"),
        "{units}"
    );
    let words = at(&metrics(), Some(40));
    assert!(
        words.contains(" Mbit/s  queue     cwnd      %\n"),
        "{words}"
    );
    assert!(!words.contains("Left out"), "{words}");
    let narrow = at(&metrics(), Some(30));
    assert!(
        narrow.ends_with("Left out at 30 columns:\np50_cwnd (--columns chooses).\n"),
        "{narrow}"
    );
    assert!(
        narrow.contains("14.8") && !narrow.contains("120"),
        "{narrow}"
    );
}

/// Whatever the width, a line is at most so wide, a row with numbers alone is one line, and the first column stays.
#[test]
fn a_row_stays_a_row_at_any_width() {
    for width in 20..90 {
        let text = at(&metrics(), Some(width));
        for line in text.lines() {
            assert!(line.width() <= width, "{width}: {line:?}\n{text}");
        }
        let rows = text
            .lines()
            .filter(|l| l.starts_with("cubic") || l.starts_with("xrc"));
        assert_eq!(rows.count(), 2, "{width}\n{text}");
        assert!(text.contains("17.491"), "{width}\n{text}");
    }
}

#[test]
fn texts_are_wrapped_inside_of_their_column() {
    let mut table = Table::new(&["claim", "what the paper says", "bound", "verdict"]);
    let says = "The median delay falls to a third of what it was without the function at the edge";
    table.row(&[
        "strong-median",
        says,
        "≥ 2.5",
        "cannot tell (about 40 seeds would)",
    ]);
    let text = at(&table, Some(80));
    assert!(text.lines().all(|l| l.width() <= 80), "{text}");
    assert!(
        text.contains("≥ 2.5") && text.contains("strong-median"),
        "{text}"
    );
    assert!(!text.contains("Left out"), "{text}");
    assert_eq!(at(&table, None).lines().count(), 3);
}

#[test]
fn colour_changes_no_letter_and_no_width() {
    let mut table = Table::new(&["claim", "verdict"]);
    table.cells(["a".into(), Cell::from("MISSES").tone(Tone::Bad)]);
    table.cells(["b".into(), Cell::from("holds").tone(Tone::Good)]);
    let look = |colour| Look {
        width: None,
        colour,
    };
    let plain = draw(&table, look(false), false, false);
    let coloured = draw(&table, look(true), false, false);
    assert!(!plain.contains('\u{1b}'));
    assert!(coloured.contains("\u{1b}["), "{coloured:?}");
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        stripped.push_str(before);
        rest = after.split_once('m').expect("a sequence ends").1;
    }
    stripped.push_str(rest);
    let trimmed: Vec<&str> = stripped.lines().map(str::trim_end).collect();
    assert_eq!(trimmed, plain.lines().collect::<Vec<_>>());
}

#[test]
fn lines_are_broken_between_words() {
    assert_eq!(wrapped("a bb ccc dddd", "  ", 6), "a bb\n  ccc\n  dddd\n");
    assert_eq!(wrapped("one", "", 2), "one\n");
}
