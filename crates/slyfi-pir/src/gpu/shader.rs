//! The program for a number of queries.

use core::fmt::Write;

use crate::gpu::plan::CHUNK;

/// The numbers of queries that there is a program for.
pub(super) const SIZES: [usize; 4] = [1, 2, 4, 8];

/// The rows that a thread has.
const THREAD_ROWS: usize = 8;

const SKELETON: &str = include_str!("product.wgsl");

/// `product.wgsl` for `queries` queries, one of [`SIZES`], with the marked lines written out.
pub(super) fn source(queries: usize) -> String {
    let (words, halves) = match queries {
        1 => ("u32", 1),
        2 => ("vec2<u32>", 1),
        4 => ("vec4<u32>", 1),
        _ => ("vec4<u32>", 2),
    };
    // Writing to a string cannot fail.
    let mut head = String::new();
    let _ = writeln!(head, "alias Words = {words};");
    let _ = writeln!(head, "const QUERIES = {queries}u;");
    let _ = writeln!(head, "const HALVES = {halves}u;");
    let _ = writeln!(head, "const CHUNK = {CHUNK}u;");

    let mut add = String::new();
    match queries {
        1 => add += "atomicAdd(&sums[out], total);\n",
        _ => {
            for (at, name) in ["x", "y", "z", "w"].iter().enumerate().take(queries) {
                let _ = writeln!(add, "atomicAdd(&sums[out + {at}u], total.{name});");
            }
        }
    }

    let mut rows = String::new();
    for r in 0..THREAD_ROWS {
        let _ = writeln!(rows, "let row{r} = min(row + {r}u, last) * part.stride + lane;");
        for h in 0..halves {
            let _ = writeln!(rows, "var sum{r}_{h} = Words();");
        }
    }

    let mut multiply = String::new();
    for r in 0..THREAD_ROWS {
        let _ = writeln!(multiply, "let word{r} = table[row{r} + column];");
    }
    for k in 0..4 {
        for h in 0..halves {
            let from = k * halves + h;
            let _ = writeln!(multiply, "let x{k}_{h} = near[at + {from}u * LANES];");
        }
    }
    for r in 0..THREAD_ROWS {
        for k in 0..4 {
            let left = 24 - 8 * k;
            let _ = writeln!(multiply, "let byte{r}_{k} = byte(word{r}, {left}u);");
            for h in 0..halves {
                let _ = writeln!(multiply, "sum{r}_{h} += byte{r}_{k} * x{k}_{h};");
            }
        }
    }

    let mut leave = String::new();
    for pair in (0..THREAD_ROWS).step_by(2) {
        leave += "workgroupBarrier();\n";
        for i in 0..2 {
            for h in 0..halves {
                let slot = i * halves + h;
                let at = format!("(band * 2u * HALVES + {slot}u) * LANES + lane");
                let _ = writeln!(leave, "near[{at}] = sum{}_{h};", pair + i);
            }
        }
        let _ = writeln!(leave, "workgroupBarrier();\nadd_up(thread, first_row, {pair}u);");
    }

    let body = SKELETON
        .replace("// @add", &add)
        .replace("// @rows", &rows)
        .replace("// @multiply", &multiply)
        .replace("// @leave", &leave);
    head + &body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marked_line_is_written_out() {
        for queries in SIZES {
            let source = source(queries);
            assert!(!source.contains("// @"), "{queries}");
            let products = source.matches(" * x").count();
            assert_eq!(products, THREAD_ROWS * 4 * queries.div_ceil(4), "{queries}");
        }
    }
}
