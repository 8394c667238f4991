//! placeholder until the developer tool lands
fn main(){}
