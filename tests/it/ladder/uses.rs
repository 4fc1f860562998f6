//! Which names each file takes of which others.

use std::collections::{BTreeMap, BTreeSet};

use syn::buffer::Cursor;
use syn::parse::{Parse, ParseStream};
use syn::visit::{self, Visit};
use syn::{Attribute, ItemUse, Meta};

use super::built::{attributes_in_impl, attributes_in_trait, attributes_of_item, is_built};
use super::read::{Package, Segments, Source, Target, Tree, is_offered, leaves, read};

/// What files take of each other and of other crates.
#[derive(Default)]
pub(super) struct Imports {
    pub(super) files: BTreeSet<String>,
    pub(super) test_roots: BTreeSet<String>,
    /// (who takes, from whom): what.
    pub(super) arrows: BTreeMap<(String, String), BTreeSet<String>>,
    /// Paths to other crates, and macros of nobody here, by file.
    pub(super) outside: BTreeMap<String, BTreeSet<String>>,
}

/// Reads the packages' imports, with `text` for the content of a file.
pub(super) fn imports(packages: &[Package], text: &dyn Fn(&str) -> Option<String>) -> Imports {
    let (mut tree, sources) = read(packages, text);
    let mut imports = Imports { test_roots: std::mem::take(&mut tree.test_roots), ..Imports::default() };
    for Source { module, syntax } in &sources {
        imports.files.insert(tree.file(*module).into());
        let mut reader = Reader { tree: &mut tree, module: *module, imports: &mut imports };
        syntax.items.iter().for_each(|item| reader.visit_item(item));
    }
    imports
}

struct Reader<'a> {
    tree: &'a mut Tree,
    /// In which paths are looked up.
    module: usize,
    imports: &'a mut Imports,
}

impl Reader<'_> {
    fn path(&mut self, path: &[String]) {
        for target in self.tree.resolve(self.module, path) {
            match target {
                Target::Item { module, name } => self.arrow(module, name),
                // A name alone is a variable, or of the prelude.
                Target::Outside(path) if path.len() > 1 => self.outside(path.join("::")),
                // What is taken of a module is named where it is used.
                Target::Module(_) | Target::Outside(_) => {}
            }
        }
    }

    fn arrow(&mut self, to: usize, name: String) {
        let (from, to) = (self.tree.file(self.module), self.tree.file(to));
        if from != to {
            self.imports.arrows.entry((from.into(), to.into())).or_default().insert(name);
        }
    }

    fn outside(&mut self, path: String) {
        self.imports.outside.entry(self.tree.file(self.module).into()).or_default().insert(path);
    }

    fn import(&mut self, item: &ItemUse) {
        for leaf in leaves(item) {
            for target in self.tree.resolve(self.module, &leaf.path) {
                match target {
                    // To offer a name of a module further down is not yet to use it.
                    Target::Item { module, .. } if is_offered(item) && self.tree.is_within(module, self.module) => {}
                    Target::Item { module, name } => self.arrow(module, name),
                    Target::Outside(path) if leaf.is_glob() => self.outside(format!("{}::*", path.join("::"))),
                    Target::Outside(path) => self.outside(path.join("::")),
                    Target::Module(_) => {}
                }
            }
        }
    }

    fn words(&mut self, words: syn::Result<Words>) -> Vec<String> {
        let Words { paths, texts } = words.unwrap_or_default();
        paths.iter().for_each(|path| self.path(path));
        texts
    }

    fn within(&mut self, module: Option<usize>, visit: impl FnOnce(&mut Self)) {
        let outer = self.module;
        self.module = module.unwrap_or(outer);
        visit(self);
        self.module = outer;
    }
}

/// Visits a node unless it is there for tests only.
macro_rules! only_built {
    ($($method:ident($kind:ty), $attributes:expr;)+) => {
        $(fn $method(&mut self, node: &'ast $kind) {
            let attributes: fn(&$kind) -> &[Attribute] = $attributes;
            if is_built(attributes(node)) {
                visit::$method(self, node);
            }
        })+
    };
}

impl<'ast> Visit<'ast> for Reader<'_> {
    only_built! {
        visit_item(syn::Item), attributes_of_item;
        visit_impl_item(syn::ImplItem), attributes_in_impl;
        visit_trait_item(syn::TraitItem), attributes_in_trait;
        visit_field(syn::Field), |node| &node.attrs;
        visit_variant(syn::Variant), |node| &node.attrs;
        visit_field_value(syn::FieldValue), |node| &node.attrs;
        visit_arm(syn::Arm), |node| &node.attrs;
        visit_local(syn::Local), |node| &node.attrs;
        visit_stmt_macro(syn::StmtMacro), |node| &node.attrs;
    }

    fn visit_item_mod(&mut self, node: &'ast syn::ItemMod) {
        if let Some((_, items)) = &node.content {
            let module = self.tree.inline(self.module, &node.ident.to_string());
            self.within(module, |reader| items.iter().for_each(|item| reader.visit_item(item)));
        }
    }

    fn visit_block(&mut self, node: &'ast syn::Block) {
        let module = self.tree.block(self.module, node);
        self.within(module, |reader| visit::visit_block(reader, node));
    }

    fn visit_item_use(&mut self, node: &'ast ItemUse) {
        self.import(node);
    }

    fn visit_path(&mut self, node: &'ast syn::Path) {
        self.path(&segments(node));
        visit::visit_path(self, node);
    }

    fn visit_item_macro(&mut self, node: &'ast syn::ItemMacro) {
        // What a macro's definition says is resolved where it is used.
        if node.ident.is_none() {
            visit::visit_item_macro(self, node);
        }
    }

    fn visit_macro(&mut self, node: &'ast syn::Macro) {
        if let Some(name) = node.path.get_ident() {
            let name = name.to_string();
            if matches!(self.tree.resolve(self.module, std::slice::from_ref(&name))[..], [Target::Outside(_)]) {
                self.outside(name);
            }
        }
        self.visit_path(&node.path);
        self.words(node.parse_body());
    }

    fn visit_attribute(&mut self, node: &'ast Attribute) {
        match &node.meta {
            Meta::List(list) if !list.path.is_ident("cfg") => {
                // Derives take paths as texts.
                let texts = self.words(list.parse_args());
                let paths = texts.iter().filter_map(|text| syn::parse_str::<syn::Path>(text.trim_matches('"')).ok());
                paths.filter(|path| path.segments.len() > 1).for_each(|path| self.path(&segments(&path)));
            }
            Meta::List(_) | Meta::NameValue(_) => {}
            Meta::Path(path) => self.visit_path(path),
        }
    }
}

fn segments(path: &syn::Path) -> Segments {
    let colons = path.leading_colon.as_ref().map(|_| String::new());
    colons.into_iter().chain(path.segments.iter().map(|segment| segment.ident.to_string())).collect()
}

/// The paths in tokens without a grammar, those of a macro's call or of an attribute; and the literals there.
#[derive(Default)]
pub(super) struct Words {
    pub(super) paths: Vec<Segments>,
    texts: Vec<String>,
}

impl Parse for Words {
    fn parse(input: ParseStream) -> syn::Result<Words> {
        input.step(|start| {
            let mut words = Words::default();
            let end = words.collect(*start);
            Ok((words, end))
        })
    }
}

impl Words {
    fn collect<'a>(&mut self, mut at: Cursor<'a>) -> Cursor<'a> {
        let mut is_member = false;
        while !at.eof() {
            let mut follows_dot = false;
            if let Some((first, mut next)) = at.ident() {
                let mut path = vec![first.to_string()];
                while let Some((segment, after)) = colons(next).and_then(Cursor::ident) {
                    path.push(segment.to_string());
                    next = after;
                }
                // A field or method is nobody's name.
                if !is_member {
                    self.paths.push(path);
                }
                at = next;
            } else if let Some((literal, next)) = at.literal() {
                self.texts.push(literal.to_string());
                at = next;
            } else if let Some((inside, _, _, next)) = at.any_group() {
                self.collect(inside);
                at = next;
            } else if let Some((_, next)) = at.token_tree() {
                // Two dots are a range.
                follows_dot = !is_member && at.punct().is_some_and(|(punct, _)| punct.as_char() == '.');
                at = next;
            }
            is_member = follows_dot;
        }
        at
    }
}

/// What follows `::`.
fn colons(at: Cursor<'_>) -> Option<Cursor<'_>> {
    fn colon(at: Cursor<'_>) -> Option<Cursor<'_>> {
        at.punct().filter(|(punct, _)| punct.as_char() == ':').map(|(_, next)| next)
    }
    colon(at).and_then(colon)
}
