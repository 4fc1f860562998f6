//! The public interface of the library, held against the list in `tests/public-api.txt`: nothing becomes public, changes or goes
//! unsaid. What stands in the list below `join` and `wire` is the launcher's door (`lathide::launcher`).
//!
//! Every item that is plainly `pub` counts: the lint `unreachable_pub` sees to it that programs reach it.

use std::fs;
use std::path::Path;

use quote::ToTokens;
use syn::{Fields, ImplItem, Item, Signature, TraitItem, Visibility};

use crate::ladder::is_built;
use crate::tidy::{is_of_tests, root, sources};

/// Renews the list instead.
const RENEW: &str = "LATHIDE_RENEW_API";
const LIST: &str = "tests/public-api.txt";
/// Packages of their own.
const OTHERS: [&str; 3] = ["runtime/cli", "runtime/models", "runtime/sys"];

#[test]
fn nothing_public_changes_unsaid() {
    let mut found = Vec::new();
    for path in sources("runtime") {
        let name = path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
        let is_test = is_of_tests(Path::new(&name)) || name.starts_with("runtime/fuzz");
        if OTHERS.iter().any(|other| name.starts_with(other)) || is_test || name.contains("/schedules/") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a readable file");
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let module =
            name.trim_start_matches("runtime/").trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
        items(&module, &syntax.items, &mut found);
    }
    found.sort();
    found.dedup();
    let found = found.join("\n") + "\n";
    let list = root().join(LIST);
    if std::env::var_os(RENEW).is_some() {
        fs::write(&list, &found).expect("a writable list");
    }
    let known = fs::read_to_string(&list).unwrap_or_default();
    let missing = |of: &str, in_: &str, sign: &str| -> Vec<String> {
        of.lines()
            .filter(|line| !in_.lines().any(|other| other == *line))
            .map(|line| format!("{sign} {line}"))
            .collect()
    };
    let changes = [missing(&known, &found, "-"), missing(&found, &known, "+")].concat();
    assert!(
        changes.is_empty(),
        "the public interface has changed; if that is wanted, {RENEW}=1 renews {LIST}, and CHANGELOG.md says it:\n{}",
        changes.join("\n")
    );
}

fn items(module: &str, all: &[Item], found: &mut Vec<String>) {
    for item in all {
        match item {
            Item::Const(item) if is_public(&item.vis) => {
                found.push(format!("{module}: const {}: {}", item.ident, plain(&item.ty)));
            }
            Item::Enum(item) if is_public(&item.vis) => {
                let name = format!("{}{}", item.ident, plain(&item.generics));
                found.push(format!("{module}: enum {name}"));
                for variant in &item.variants {
                    found.push(format!("{module}: {name}::{}{}", variant.ident, of_variant(&variant.fields)));
                }
            }
            Item::Fn(item) if is_public(&item.vis) => found.push(format!("{module}: {}", signature(&item.sig))),
            Item::Impl(item) if item.trait_.is_none() && is_built(&item.attrs) => {
                let of = plain(&item.self_ty);
                for inner in &item.items {
                    match inner {
                        ImplItem::Fn(function) if is_public(&function.vis) => {
                            found.push(format!("{module}: {of}: {}", signature(&function.sig)));
                        }
                        ImplItem::Const(constant) if is_public(&constant.vis) => {
                            found.push(format!("{module}: {of}: const {}: {}", constant.ident, plain(&constant.ty)));
                        }
                        _ => {}
                    }
                }
            }
            Item::Mod(item) if is_built(&item.attrs) => {
                if let Some((_, inner)) = &item.content {
                    items(&format!("{module}::{}", item.ident), inner, found);
                }
            }
            Item::Struct(item) if is_public(&item.vis) => {
                let name = format!("{}{}", item.ident, plain(&item.generics));
                found.push(format!("{module}: struct {name}"));
                for field in item.fields.iter().filter(|field| is_public(&field.vis)) {
                    let field_name = field.ident.as_ref().map_or("0".to_owned(), ToString::to_string);
                    found.push(format!("{module}: {name}.{field_name}: {}", plain(&field.ty)));
                }
            }
            Item::Trait(item) if is_public(&item.vis) => {
                let name = format!("{}{}", item.ident, plain(&item.generics));
                found.push(format!("{module}: trait {name}: {}", plain(&item.supertraits)));
                for inner in &item.items {
                    match inner {
                        TraitItem::Fn(function) => {
                            found.push(format!("{module}: {name}: {}", signature(&function.sig)))
                        }
                        TraitItem::Const(constant) => {
                            found.push(format!("{module}: {name}: const {}: {}", constant.ident, plain(&constant.ty)));
                        }
                        _ => {}
                    }
                }
            }
            Item::Type(item) if is_public(&item.vis) => {
                found.push(format!("{module}: type {}{} = {}", item.ident, plain(&item.generics), plain(&item.ty)));
            }
            Item::Use(item) if is_public(&item.vis) && matches!(module, "lib" | "launcher") => {
                found.push(format!("{module}: use {}", plain(&item.tree)));
            }
            _ => {}
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// A variant's fields.
fn of_variant(fields: &Fields) -> String {
    let field = |field: &syn::Field| match &field.ident {
        Some(name) => format!("{name}: {}", plain(&field.ty)),
        None => plain(&field.ty),
    };
    let all: Vec<String> = fields.iter().map(field).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

fn signature(signature: &Signature) -> String {
    plain(signature)
}

/// As it would be typed, more or less: tokens come with a space between any two.
fn plain(syntax: &impl ToTokens) -> String {
    let mut text = syntax.to_token_stream().to_string();
    for (spaced, tight) in [
        (" :: ", "::"),
        (" < ", "<"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" ,", ","),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("& ", "&"),
        (" : ", ": "),
        ("' ", "'"),
        (" ;", ";"),
        ("[ ", "["),
        (" ]", "]"),
    ] {
        text = text.replace(spaced, tight);
    }
    text
}
