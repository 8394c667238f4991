//! Loops compiled for the processor's vector unit.

/// Runs `f` compiled for the best vector unit that the machine has.
///
/// `f` is a closure marked `#[inline(always)]`, and so is what it calls: only what is inlined is
/// compiled anew. It is taken as [`FnMut`] because the compiler calls an [`FnOnce`] through a shim
/// that carries no such mark.
#[inline(always)]
pub(crate) fn vectorised(f: impl FnMut()) {
    struct Loop<F>(F);

    impl<F: FnMut()> pulp::NullaryFnOnce for Loop<F> {
        type Output = ();

        #[inline(always)]
        fn call(mut self) {
            (self.0)();
        }
    }

    pulp::Arch::new().dispatch(Loop(f));
}
