// Sums of products of signed bytes and words, modulo 2^32, for one to eight queries at a time.
//
// A workgroup has 64 rows: 8 bands of 32 threads, and 8 rows for each thread. Along the columns it
// goes in tiles of 512. A tile's words of all queries are copied to shared memory once and serve 64 rows;
// of a row the 32 threads of a band read 32 neighbouring 32-bit words, four columns each, at once. In
// the end each row's 32 threads are added up, and the sums go to memory by atomic addition, so that
// several workgroups can share the columns.
//
// shader.rs puts before this: `Words`, a word for each of up to 4 queries; QUERIES; HALVES, the number
// of `Words` for all of them; CHUNK, how many tiles a workgroup takes. And it writes out the lines
// marked `@`, which would be loops over arrays: a driver that leaves such a loop standing puts the array
// into slow memory.

struct Part {
    // Rows of this buffer.
    rows: u32,
    // 32-bit words from one to the next.
    stride: u32,
    // Tiles of columns.
    tiles: u32,
    // The first row's number in the whole table.
    first_row: u32,
}

@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<uniform> part: Part;
// By tiles, in these by steps of 128 columns, then by the place 0 to 3 of a column in its 32-bit word, then
// by halves of the queries, then by threads.
@group(1) @binding(0) var<storage, read> vectors: array<Words>;
// By rows, then by queries.
@group(1) @binding(1) var<storage, read_write> sums: array<atomic<u32>>;

const THREADS = 256u;
const LANES = 32u;
const STEPS = 4u;
const TILE = 512u * HALVES;

var<workgroup> near: array<Words, TILE>;

// A byte of a 32-bit word, with its sign: `left` is 24, 16, 8 or 0 for the first to the last.
fn byte(word: u32, left: u32) -> u32 {
    return bitcast<u32>(bitcast<i32>(word << left) >> 24u);
}

// Adds up what the threads of each band have left for two rows, `pair` and the next.
fn add_up(thread: u32, first_row: u32, pair: u32) {
    if (thread < 16u * HALVES) {
        var total = Words();
        for (var i = 0u; i < LANES; i++) {
            // Each thread starts elsewhere, so that they do not ask the same bank of memory.
            total += near[thread * LANES + ((i + thread) % LANES)];
        }
        let band = thread / (2u * HALVES);
        let row = first_row + band * 8u + pair + (thread / HALVES) % 2u;
        if (row < part.rows) {
            let out = (part.first_row + row) * QUERIES + (thread % HALVES) * 4u;
            // @add
        }
    }
}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let lane = thread % LANES;
    let band = thread / LANES;
    let first_row = group.x * 64u;
    let row = first_row + band * 8u;
    // Rows beyond the last are the last once more, and not written.
    let last = part.rows - 1u;
    // @rows
    let end = min((group.y + 1u) * CHUNK, part.tiles);
    for (var tile = group.y * CHUNK; tile < end; tile++) {
        workgroupBarrier();
        for (var i = thread; i < TILE; i += THREADS) {
            near[i] = vectors[tile * TILE + i];
        }
        workgroupBarrier();
        for (var step = 0u; step < STEPS; step++) {
            // Beyond a row's end this reads the next row, times a word of zero.
            let column = (tile * STEPS + step) * LANES;
            let at = step * 4u * HALVES * LANES + lane;
            // @multiply
        }
    }
    // @leave
}
