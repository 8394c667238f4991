//! Classic BPF programs of one shape: a list of tests, and a verdict if all of them hold.

use crate::socket;
use std::io;
use std::os::fd::BorrowedFd;

/// One step of a program.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// Runs an instruction.
    Do {
        /// Operation code.
        code: u32,
        /// Its operand.
        k: u32,
    },
    /// Goes on if the accumulator is this.
    Equal(u32),
    /// Goes on if the accumulator is anything else.
    Other(u32),
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Drop,
}

/// Loads `width` (`BPF_B`, `BPF_H`, `BPF_W`) at `offset`, big-endian. Outside the packet: dropped.
pub(crate) const fn load(width: u32, offset: u32) -> Step {
    Step::Do { code: libc::BPF_LD | width | libc::BPF_ABS, k: offset }
}

/// Builds the program: `then` for packets of which every test holds, the opposite for others.
///
/// # Source
/// Linux `Documentation/networking/filter.rst`.
fn program(steps: &[Step], then: Verdict) -> Vec<libc::sock_filter> {
    let instruction = |code: u32, jt: usize, jf: usize, k: u32| libc::sock_filter {
        code: code as u16,
        jt: jt as u8,
        jf: jf as u8,
        k,
    };
    let otherwise = steps.len() + 1;
    let jump = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let give = libc::BPF_RET | libc::BPF_K;
    let (all, none) = (u32::MAX, 0);
    let (hold, fail) = if then == Verdict::Pass { (all, none) } else { (none, all) };
    let mut code: Vec<_> = steps
        .iter()
        .enumerate()
        .map(|(i, step)| match *step {
            Step::Do { code, k } => instruction(code, 0, 0, k),
            Step::Equal(k) => instruction(jump, 0, otherwise - i - 1, k),
            Step::Other(k) => instruction(jump, otherwise - i - 1, 0, k),
        })
        .collect();
    code.extend([instruction(give, 0, 0, hold), instruction(give, 0, 0, fail)]);
    code
}

/// Attaches a program to a socket, in place of the one that it has.
pub(crate) fn attach(fd: BorrowedFd<'_>, steps: &[Step], then: Verdict) -> io::Result<()> {
    let mut program = program(steps, then);
    let attachment = libc::sock_fprog {
        // A few dozen instructions, which jumps of a byte reach too.
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // The kernel copies the program within the call.
    socket::set_option(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &attachment)
}
