//! Whether the device still works.

use std::sync::{Arc, OnceLock};

use crate::accelerator::AcceleratorError;

/// The first thing that went wrong with a device, if any did: it stays.
///
/// The driver reports some faults on another thread and after the call that they belong to, so whoever
/// is about to hand out a result looks here first.
#[derive(Clone, Default)]
pub(super) struct Fault(Arc<OnceLock<String>>);

impl Fault {
    /// Notes a fault, unless an earlier one is known.
    pub(super) fn set(&self, why: impl Into<String>) {
        self.0.get_or_init(|| why.into());
    }

    /// # Errors
    /// [`AcceleratorError::Failed`] if there was a fault.
    pub(super) fn check(&self) -> Result<(), AcceleratorError> {
        match self.0.get() {
            None => Ok(()),
            Some(why) => Err(AcceleratorError::Failed(why.clone())),
        }
    }

    /// Notes a fault and returns it, or the one before it.
    pub(super) fn fail(&self, why: impl Into<String>) -> AcceleratorError {
        let first = self.0.get_or_init(|| why.into());
        AcceleratorError::Failed(first.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fault_stays() {
        let fault = Fault::default();
        assert_eq!(fault.check(), Ok(()));
        let first = AcceleratorError::Failed("lost".into());
        assert_eq!(fault.fail("lost"), first);
        fault.set("and then some");
        assert_eq!(fault.check(), Err(first.clone()));
        assert_eq!(fault.clone().fail("late"), first);
    }
}
