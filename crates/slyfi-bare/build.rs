//! Tells the linker that `slyfi-image` has no system under it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/bin/image/link.ld");
    println!("cargo::rerun-if-changed=src/bin/image/boot.s");
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let script = format!("-Wl,-T,{folder}/src/bin/image/link.ld");
    for argument in [
        "-nostartfiles",
        "-nostdlib",
        "-static",
        // Comes after rustc's own `-pie`, and the last one counts.
        "-no-pie",
        "-Wl,--build-id=none",
        "-Wl,-z,norelro",
        "-Wl,-z,max-page-size=4096",
        "-Wl,--no-eh-frame-hdr",
        "-Wl,-z,noexecstack",
        &script,
    ] {
        println!("cargo::rustc-link-arg-bin=slyfi-image={argument}");
    }
}
