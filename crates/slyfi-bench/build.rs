//! Builds the shim for Intel's ipsec-mb where its header is installed; without it the suites say
//! that this peer was not measured.

fn main() {
    #[cfg(feature = "peers")]
    ipsec_mb();
}

#[cfg(feature = "peers")]
fn ipsec_mb() {
    println!("cargo::rerun-if-changed=src/peers/ipsec_mb.c");
    let built = cc::Build::new()
        .file("src/peers/ipsec_mb.c")
        .opt_level(2)
        .cargo_warnings(false)
        .try_compile("slyfi_ipsec_mb");
    match built {
        Ok(()) => {
            println!("cargo::rustc-link-lib=IPSec_MB");
            println!("cargo::rustc-cfg=has_ipsec_mb");
        }
        Err(_) => println!(
            "cargo::warning=ipsec-mb will not be measured: install Debian's libipsec-mb-dev"
        ),
    }
}
