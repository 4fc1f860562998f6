use proptest::prelude::*;

use super::*;

const FIGURE_7: &str = "\
# a block for each machine, and one network
block M1 859.52us 1.42us
block M2 859.52us 1.42us
block M3 859.52us 1.42us
block M4 859.52us 1.42us   # receives twice
block M5 859.52us 1.42us
block net 345.6us 0.92us/B

message 1 -> 4 1000 via M1 net M4
message 2->5 2kB via M2 net M5
message 3 -> 4 500B via M3 net M4
";

#[test]
fn figure_7() {
    let Patterns { small, large } = parse(FIGURE_7).unwrap();
    assert!(large.is_none());
    let sent: Vec<_> = small.messages.iter().map(|it| (it.name.as_str(), it.bytes, it.line)).collect();
    assert_eq!(sent, [("1 -> 4", 1000.0, 9), ("2 -> 5", 2000.0, 10), ("3 -> 4", 500.0, 11)]);
    let block = small.graph.reduce(small.messages[0].id).unwrap();
    assert!((block.a_s() - 3615.36e-6).abs() < 1e-12 && (block.b_s_per_byte() - 3.22e-6).abs() < 1e-15, "{block:?}");
}

#[test]
fn ways_processors_and_limits() {
    // Two dependent blocks, then one of two independent ones.
    let text = "message 1 -> 2 8 via p q x | p q y\nblock p 1 1 on host\nblock q 2 2 on host\nblock x 3 4\nblock y 5 4";
    let Patterns { small, .. } = parse(text).unwrap();
    assert_eq!(small.graph.reduce(small.messages[0].id), Ok(Block::new(6.0, 3.0).unwrap()));
    let text = "block w 5 1\nsmall\nmessage 1 -> 2 8 via w\nlarge\nblock net 0 9\nmessage 1 -> 2 8 via w net\nmessage 3 -> 4 8 via net";
    let Patterns { small, large } = parse(text).unwrap();
    let large = large.unwrap();
    assert_eq!(small.graph.reduce(small.messages[0].id), Ok(Block::new(5.0, 1.0).unwrap()));
    assert_eq!(large.graph.reduce(large.messages[0].id), Ok(Block::new(5.0, 18.0).unwrap()));
}

/// The line is named, and on it what is wrong.
#[test]
fn what_is_wrong_has_a_line() {
    let blocks = "block a 1 1\nblock b 1 1\n";
    let cases = [
        ("message 1 -> 2 8 via a c", Some(3), "passes c, which is no block of the graph"),
        ("message 1 -> 2 8 via a b a", Some(3), "cycle through a, b"),
        ("message 1 -> 2 8 via a b | b a", Some(3), "cycle through a, b"),
        ("message 1 -> 2 8 via a |", Some(3), "the way is empty"),
        ("message 1 -> 2 8 via", Some(3), "the way is empty"),
        ("message 1 -> 2 8 via a\nmessage 1 -> 2 8 via b", Some(4), "on line 3 already"),
        ("block a 2 2", Some(3), "block a is on line 1 already"),
        ("message 1 -> 2 8 via a", Some(2), "no message passes block b"),
        ("message 1 -> 2 -8 via a b", Some(3), "x is -8"),
        ("message 1 -> 2 0 via a b", Some(3), "x is 0"),
        ("message 1 -> 2 much via a b", Some(3), "the size is much: this is a size"),
        ("message 1 2 8 via a b", Some(3), "message FROM -> TO SIZE via"),
        ("block c -1us 1", Some(3), "block c: a is -0.000001"),
        ("block c 1 nan", Some(3), "block c: b is NaN"),
        ("block c 1 5d", Some(3), "b of block c is 5d: this is a time per byte"),
        ("block c 1", Some(3), "block NAME A B"),
        ("block c 1 1 at host", Some(3), "on PROCESSOR"),
        ("node c", Some(3), "\"node\" begins no line"),
        ("small\nmessage 1 -> 2 8 via a b", Some(3), "behind large"),
        ("small\nmessage 1 -> 2 8 via a b\nsmall", Some(5), "small is on line 3 already"),
        ("small\nmessage 1 -> 2 8 via a b\nlarge\nmessage 1 -> 2 9 via a", Some(6), "has 9 bytes here and 8 on line 4"),
        ("small\nmessage 1 -> 2 8 via a b\nlarge\nmessage 3 -> 4 8 via a", None, "no message is in both"),
        ("small\nblock s 1 1\nlarge\nmessage 1 -> 2 8 via s", Some(6), "no block of the graph of large messages"),
        ("", None, "there is no message in it"),
    ];
    for (text, line, words) in cases {
        let wrong = parse(&format!("{blocks}{text}")).expect_err(text);
        assert_eq!(wrong.line, line, "{text}: {wrong:?}");
        assert!(wrong.message.contains(words), "{text}: {wrong:?}");
    }
    for text in ["", "# nothing\n\n"] {
        let wrong = parse(text).expect_err("empty");
        assert!(wrong.line.is_none() && wrong.message.contains("block NAME A B"), "{wrong:?}");
    }
    assert!(parse("message 1 -> 2 8 via a").expect_err("no block").message.contains("there is no block in it"));
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    #[test]
    fn no_text_panics(
        words in prop::collection::vec(
            prop_oneof![
                Just("block"), Just("message"), Just("small"), Just("large"), Just("via"), Just("->"), Just("|"),
                Just("on"), Just("a"), Just("b"), Just("8"), Just("-1"), Just("\n"), Just("# "), Just("1us"),
            ],
            0..60,
        ),
    ) {
        if let Err(wrong) = parse(&words.join(" ")) {
            prop_assert!(wrong.message.len() > 5, "{wrong:?}");
        }
    }
}
