use super::ready::Ready;

#[test]
fn positions_follow_the_members() {
    let ready = Ready::new();
    let tokens: Vec<u32> = (0..4).map(|position| ready.join(position)).collect();
    assert!(ready.push(tokens[1]).is_none() && ready.push(tokens[3]).is_none());
    // The last takes the place of the one that leaves.
    assert_eq!(ready.pop(), Some((tokens[1], 1)));
    ready.leave(tokens[1], Some(tokens[3]));
    assert_eq!((ready.pop(), ready.members()), (Some((tokens[3], 1)), 3));
    ready.leave(tokens[3], Some(tokens[2]));
    assert_eq!(ready.join(2), tokens[3], "a token is used again");
    ready.push_joined(tokens[2]);
    assert_eq!((ready.pop(), ready.pop()), (Some((tokens[2], 1)), None));
}

#[test]
fn one_that_has_left_is_not_told_of() {
    let ready = Ready::new();
    let tokens: Vec<u32> = (0..3).map(|position| ready.join(position)).collect();
    tokens.iter().for_each(|token| assert!(ready.push(*token).is_none()));
    ready.leave(tokens[0], Some(tokens[2]));
    assert_eq!((ready.pop(), ready.pop(), ready.pop()), (Some((tokens[1], 1)), Some((tokens[2], 0)), None));
}

#[test]
fn others_are_what_completes_besides_members() {
    let ready = Ready::new();
    assert!(ready.has_others(5), "nothing is known at first");
    ready.knows_others(5);
    assert!(!ready.has_others(5));
    let token = ready.join(0);
    ready.push(token);
    assert!(!ready.has_others(6) && ready.has_others(7));
}
