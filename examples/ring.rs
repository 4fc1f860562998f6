//! The smallest complete program: a token goes round the ring, and every rank adds its number to it.
//!
//! `cargo run --example ring` runs it alone; `lathide run -n 4 target/debug/examples/ring` on four ranks.

use lathide::Tag;

const TOKEN: Tag = Tag(1);

fn main() -> lathide::Result<()> {
    let node = lathide::init()?;
    let (rank, size) = (node.rank(), node.size());
    let (left, right) = (rank.on_ring(-1, size), rank.on_ring(1, size));

    let arriving = node.initread(left, TOKEN, vec![0_u64])?;
    if rank == 0 {
        node.initwrite(right, TOKEN, vec![0_u64])?.wait()?;
        let token = arriving.wait()?;
        assert_eq!(token[0], (0..u64::from(size)).sum::<u64>(), "every rank adds its number once");
        println!("the token came back with {} from {size} ranks", token[0]);
    } else {
        let mut token = arriving.wait()?;
        token[0] += u64::from(rank.0);
        node.initwrite(right, TOKEN, token)?.wait()?;
    }
    node.finalize()
}
