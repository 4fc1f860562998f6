//! The modules of packages, read from their sources: which names each has, and where they are defined.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use syn::{Attribute, Expr, Item, Lit, Meta, UseTree, Visibility};

use super::built::{attributes_of_item, is_built};

/// A path's segments. An empty first one stands for leading colons.
pub(super) type Segments = Vec<String>;

/// A package's library or program: the name that others know it by, if they do, and its first file.
pub(super) struct Package {
    pub(super) name: Option<String>,
    pub(super) root: String,
}

/// A module of a file, within a file, or a block that has items of its own.
struct Module {
    file: String,
    parent: Option<usize>,
    is_block: bool,
    names: BTreeMap<String, Vec<Definition>>,
    globs: Vec<Segments>,
}

enum Definition {
    Own,
    Module(usize),
    Import(Segments),
}

/// What a path leads to.
pub(super) enum Target {
    /// An item, and the module that defines it.
    Item {
        module: usize,
        name: String,
    },
    Module(usize),
    /// Something of a crate that is not of this workspace, or no item at all.
    Outside(Segments),
}

#[derive(Default)]
pub(super) struct Tree {
    modules: Vec<Module>,
    packages: BTreeMap<String, usize>,
    /// Files of which only tests know.
    pub(super) test_roots: BTreeSet<String>,
}

/// A file's syntax, and the module that it is.
pub(super) struct Source {
    pub(super) module: usize,
    pub(super) syntax: syn::File,
}

/// Where the files of a module's children are looked for.
struct Place {
    children: PathBuf,
    /// What `#[path]` is relative to.
    named: PathBuf,
}

type Text<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads the packages, with `text` for the content of a file.
pub(super) fn read(packages: &[Package], text: Text) -> (Tree, Vec<Source>) {
    let mut tree = Tree::default();
    let mut sources = Vec::new();
    for package in packages {
        let module = tree.add(&package.root, None, false);
        tree.packages.extend(package.name.clone().map(|name| (name, module)));
        tree.read_file(module, true, text, &mut sources);
    }
    (tree, sources)
}

impl Tree {
    pub(super) fn file(&self, module: usize) -> &str {
        &self.modules[module].file
    }

    /// Whether `module` is `above`, or in it.
    pub(super) fn is_within(&self, module: usize, above: usize) -> bool {
        let mut at = Some(module);
        while let Some(current) = at {
            if current == above {
                return true;
            }
            at = self.modules[current].parent;
        }
        false
    }

    /// The module named `name` in `module` that stands in the same file.
    pub(super) fn inline(&self, module: usize, name: &str) -> Option<usize> {
        let is_here = |&child: &usize| self.modules[child].file == self.modules[module].file;
        self.modules[module].names.get(name)?.iter().find_map(|definition| match definition {
            Definition::Module(child) => Some(*child).filter(is_here),
            _ => None,
        })
    }

    /// A module for a block, if it has items of its own.
    pub(super) fn block(&mut self, module: usize, block: &syn::Block) -> Option<usize> {
        let items = block.stmts.iter().filter_map(|statement| match statement {
            syn::Stmt::Item(item) if is_built(attributes_of_item(item)) => Some(item),
            _ => None,
        });
        let items: Vec<&Item> = items.collect();
        if items.is_empty() {
            return None;
        }
        let file = self.modules[module].file.clone();
        let inner = self.add(&file, Some(module), true);
        for item in items {
            self.define(inner, item);
        }
        Some(inner)
    }

    fn add(&mut self, file: &str, parent: Option<usize>, is_block: bool) -> usize {
        let (names, globs) = Default::default();
        self.modules.push(Module { file: file.into(), parent, is_block, names, globs });
        self.modules.len() - 1
    }

    fn name(&mut self, module: usize, name: impl ToString, definition: Definition) {
        self.modules[module].names.entry(name.to_string()).or_default().push(definition);
    }

    /// `owns_folder`: its children lie beside it, as those of `mod.rs` do, and not in a folder with its name.
    fn read_file(&mut self, module: usize, owns_folder: bool, text: Text, sources: &mut Vec<Source>) {
        let file = self.modules[module].file.clone();
        let content = text(&file).unwrap_or_else(|| panic!("{file}: no such file"));
        let syntax = syn::parse_file(&content).unwrap_or_else(|error| panic!("{file}: {error}"));
        let folder = Path::new(&file).parent().unwrap_or(Path::new("")).to_owned();
        let children = if owns_folder { folder.clone() } else { Path::new(&file).with_extension("") };
        self.read_items(module, &syntax.items, &Place { children, named: folder }, text, sources);
        sources.push(Source { module, syntax });
    }

    fn read_items(&mut self, module: usize, items: &[Item], place: &Place, text: Text, sources: &mut Vec<Source>) {
        for item in items {
            let is_built = is_built(attributes_of_item(item));
            match item {
                Item::Mod(child) => match &child.content {
                    Some((_, items)) if is_built => {
                        let file = self.modules[module].file.clone();
                        let id = self.add(&file, Some(module), false);
                        self.name(module, &child.ident, Definition::Module(id));
                        let folder = place.children.join(child.ident.to_string());
                        let place = Place { children: folder.clone(), named: folder };
                        self.read_items(id, items, &place, text, sources);
                    }
                    Some(_) => {}
                    None => {
                        let (file, owns_folder) = find(child, place, text);
                        if is_built {
                            let id = self.add(&file, Some(module), false);
                            self.name(module, &child.ident, Definition::Module(id));
                            self.read_file(id, owns_folder, text, sources);
                        } else {
                            self.test_roots.insert(file);
                        }
                    }
                },
                _ if is_built => self.define(module, item),
                _ => {}
            }
        }
    }

    /// Adds the names that an item other than a module brings.
    fn define(&mut self, module: usize, item: &Item) {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::TraitAlias(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            Item::Macro(item) if let Some(name) = &item.ident => name,
            Item::Use(item) => {
                for leaf in leaves(item) {
                    match leaf.name {
                        Some(name) => self.name(module, name, Definition::Import(leaf.path)),
                        None => self.modules[module].globs.push(leaf.path),
                    }
                }
                return;
            }
            _ => return,
        };
        self.name(module, name, Definition::Own);
    }

    /// What a path means in a module.
    pub(super) fn resolve(&self, module: usize, path: &[String]) -> Vec<Target> {
        self.lead(module, path, &mut Vec::new())
    }

    fn lead(&self, module: usize, path: &[String], seen: &mut Vec<(usize, String)>) -> Vec<Target> {
        let mut scope = module;
        let outside = || vec![Target::Outside(path.iter().filter(|segment| !segment.is_empty()).cloned().collect())];
        match path[0].as_str() {
            "crate" => {
                while let Some(parent) = self.modules[scope].parent {
                    scope = parent;
                }
                return self.walk(scope, &path[1..], seen);
            }
            "self" | "super" => {
                while self.modules[scope].is_block {
                    scope = self.modules[scope].parent.expect("a block stands in a module");
                }
                return self.walk(scope, path, seen);
            }
            "Self" | "" => return outside(),
            _ => {}
        }
        loop {
            let found = self.find(scope, path, seen);
            if !found.is_empty() {
                return found;
            }
            match self.modules[scope].parent {
                Some(parent) if self.modules[scope].is_block => scope = parent,
                _ => break,
            }
        }
        match self.packages.get(&path[0]) {
            Some(&root) => self.walk(root, &path[1..], seen),
            None => outside(),
        }
    }

    fn walk(&self, module: usize, path: &[String], seen: &mut Vec<(usize, String)>) -> Vec<Target> {
        match path.first().map(String::as_str) {
            None => vec![Target::Module(module)],
            Some("self") => self.walk(module, &path[1..], seen),
            Some("super") => self.walk(self.modules[module].parent.unwrap_or(module), &path[1..], seen),
            Some(name) => match self.find(module, path, seen) {
                // Of a macro's making.
                found if found.is_empty() => vec![Target::Item { module, name: name.into() }],
                found => found,
            },
        }
    }

    fn find(&self, module: usize, path: &[String], seen: &mut Vec<(usize, String)>) -> Vec<Target> {
        let (name, rest) = (&path[0], &path[1..]);
        let here = &self.modules[module];
        let Some(definitions) = here.names.get(name) else {
            return self.find_by_glob(module, path, seen);
        };
        // Only a module has a path below it that is not its own; a function may have the same name.
        let is_module = |definition: &&Definition| matches!(definition, Definition::Module(_));
        if let (false, Some(Definition::Module(child))) = (rest.is_empty(), definitions.iter().find(is_module)) {
            return self.walk(*child, rest, seen);
        }
        let mut found = Vec::new();
        for definition in definitions {
            match definition {
                Definition::Own => found.push(Target::Item { module, name: name.clone() }),
                Definition::Module(child) => found.extend(self.walk(*child, rest, seen)),
                Definition::Import(path) => {
                    // `use bytes::bytes` does not lead to itself, but to the crate.
                    let step = (module, path.join("::"));
                    if !seen.contains(&step) {
                        seen.push(step);
                        found.extend(self.lead(module, &[path.as_slice(), rest].concat(), seen));
                        seen.pop();
                    }
                }
            }
        }
        found
    }

    fn find_by_glob(&self, module: usize, path: &[String], seen: &mut Vec<(usize, String)>) -> Vec<Target> {
        let mut found = Vec::new();
        for glob in &self.modules[module].globs {
            let step = (module, format!("{}::*", glob.join("::")));
            if seen.contains(&step) {
                continue;
            }
            seen.push(step);
            for target in self.lead(module, glob, seen) {
                if let Target::Module(other) = target {
                    found.extend(self.find(other, path, seen));
                }
            }
            seen.pop();
        }
        found
    }
}

/// The file of `mod child;`, and whether its children lie beside it.
fn find(child: &syn::ItemMod, place: &Place, text: Text) -> (String, bool) {
    let value = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(literal) if let Lit::Str(path) = &literal.lit => Some(path.value()),
            _ => None,
        },
        _ => None,
    };
    if let Some(path) = child.attrs.iter().find_map(value) {
        return (plain(&place.named.join(path)), true);
    }
    let name = child.ident.to_string();
    let beside = plain(&place.children.join(format!("{name}.rs")));
    if text(&beside).is_some() { (beside, false) } else { (plain(&place.children.join(name).join("mod.rs")), true) }
}

/// A path without `..`.
fn plain(path: &Path) -> String {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain.to_string_lossy().into_owned()
}

/// One name of a `use`; without a name it takes all that the path has.
pub(super) struct Leaf {
    pub(super) path: Segments,
    name: Option<String>,
}

impl Leaf {
    pub(super) fn is_glob(&self) -> bool {
        self.name.is_none()
    }
}

pub(super) fn leaves(item: &syn::ItemUse) -> Vec<Leaf> {
    let mut found = Vec::new();
    let start = if item.leading_colon.is_some() { vec![String::new()] } else { Vec::new() };
    gather(&item.tree, start, &mut found);
    found
}

fn gather(tree: &UseTree, mut path: Segments, found: &mut Vec<Leaf>) {
    match tree {
        UseTree::Path(step) => {
            path.push(step.ident.to_string());
            gather(&step.tree, path, found);
        }
        UseTree::Name(leaf) => {
            if leaf.ident != "self" {
                path.push(leaf.ident.to_string());
            }
            let name = path.last().cloned();
            found.push(Leaf { path, name });
        }
        UseTree::Rename(leaf) => {
            if leaf.ident != "self" {
                path.push(leaf.ident.to_string());
            }
            found.push(Leaf { path, name: Some(leaf.rename.to_string()) });
        }
        UseTree::Glob(_) => found.push(Leaf { path, name: None }),
        UseTree::Group(group) => group.items.iter().for_each(|tree| gather(tree, path.clone(), found)),
    }
}

/// Whether a name that is brought in is for others, too.
pub(super) fn is_offered(item: &syn::ItemUse) -> bool {
    !matches!(item.vis, Visibility::Inherited)
}
