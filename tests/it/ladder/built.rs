//! What of a source is part of a program, and what is there for its tests only.

use syn::punctuated::Punctuated;
use syn::{Attribute, ImplItem, Item, Meta, Token, TraitItem};

/// Conditions that hold for no program that is shipped. Of all others, both answers are read.
const TEST_ONLY: &[&str] = &["test", "doctest", "shuttle", "loom", "fuzzing"];

/// Whether what has these attributes is part of a program, and not only of its tests.
pub(crate) fn is_built(attributes: &[Attribute]) -> bool {
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let holds = |attribute: &Attribute| attribute.parse_args::<Meta>().ok().and_then(|condition| holds(&condition));
    conditions.map(holds).all(|answer| answer != Some(false))
}

/// `None` where it depends.
fn holds(condition: &Meta) -> Option<bool> {
    let Meta::List(list) = condition else {
        let is_for_tests = TEST_ONLY.iter().any(|name| condition.path().is_ident(name));
        return is_for_tests.then_some(false);
    };
    let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
    let answers: Vec<Option<bool>> = inner.iter().map(holds).collect();
    // Of `any` and `all`: the answer that decides alone.
    let decided_by = |decisive: bool| {
        if answers.contains(&Some(decisive)) {
            Some(decisive)
        } else if answers.contains(&None) {
            None
        } else {
            Some(!decisive)
        }
    };
    match list.path.get_ident()?.to_string().as_str() {
        "not" => answers.first()?.map(|answer| !answer),
        "any" => decided_by(true),
        "all" => decided_by(false),
        _ => None,
    }
}

macro_rules! attributes {
    ($node:expr, $($kind:path),+) => {
        match $node {
            $($kind(node) => &node.attrs,)+
            _ => &[],
        }
    };
}

pub(super) fn attributes_of_item(item: &Item) -> &[Attribute] {
    use Item::*;
    attributes!(
        item,
        Const,
        Enum,
        ExternCrate,
        Fn,
        ForeignMod,
        Impl,
        Macro,
        Mod,
        Static,
        Struct,
        Trait,
        TraitAlias,
        Type,
        Union,
        Use
    )
}

pub(super) fn attributes_in_impl(item: &ImplItem) -> &[Attribute] {
    use ImplItem::*;
    attributes!(item, Const, Fn, Type, Macro)
}

pub(super) fn attributes_in_trait(item: &TraitItem) -> &[Attribute] {
    use TraitItem::*;
    attributes!(item, Const, Fn, Type, Macro)
}
