//! Giving up every right that is not needed once interfaces and sockets are open.

use crate::socket::check;
use std::ffi::CString;
use std::fmt;
use std::io;
use std::mem::zeroed;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// What to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The user to run as if the process is root's.
    pub user: String,
    /// A directory to be locked into, which nobody but root may write to; only root can do that.
    pub chroot: Option<PathBuf>,
}

impl Default for Target {
    fn default() -> Self {
        Target { user: "nobody".to_owned(), chroot: None }
    }
}

/// Gives up root, groups, capabilities and the way back to them, and checks that they are gone.
///
/// Started as root, the process becomes `target.user`. Started as somebody else, it keeps its user
/// and gives up what capabilities it was given. In both cases: no program that it starts can gain
/// rights (`no_new_privs`), and no other process of the user can read its memory (not dumpable).
///
/// Call it before the first thread is started: Linux keeps rights by thread.
///
/// # Errors
/// [`DropError`]. The process must not go on then, as some rights may be gone and others not.
pub fn drop_privileges(target: &Target) -> Result<(), DropError> {
    let threads = std::fs::read_dir("/proc/self/task")
        .map_err(DropError::os("count the threads in /proc/self/task"))?
        .count();
    if threads != 1 {
        return Err(DropError::Threads { threads });
    }
    // SAFETY: no pointers are passed, and it cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let user = if is_root {
        let user = User::by_name(&target.user)?;
        if user.uid == 0 || user.gid == 0 {
            return Err(DropError::RootAgain { user: target.user.clone() });
        }
        if let Some(dir) = &target.chroot {
            enter_chroot(dir)?;
        }
        drop_bounding_set()?;
        user.become_it()?;
        Some(user)
    } else if target.chroot.is_some() {
        return Err(DropError::ChrootNeedsRoot);
    } else {
        None
    };
    prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong)
        .map_err(DropError::os("PR_CAP_AMBIENT_CLEAR_ALL"))?;
    Capabilities::none().set().map_err(DropError::os("capset"))?;
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(DropError::os("PR_SET_NO_NEW_PRIVS"))?;
    // After the user has changed, because that sets it anew.
    prctl(libc::PR_SET_DUMPABLE, 0).map_err(DropError::os("PR_SET_DUMPABLE"))?;
    verify(user.as_ref())
}

/// Returns the user and group numbers that [`drop_privileges`] would take for `user`, so that files
/// can be given to them before.
///
/// # Errors
/// [`DropError::NoSuchUser`], or the system's.
pub fn user_ids(user: &str) -> Result<(u32, u32), DropError> {
    User::by_name(user).map(|u| (u.uid, u.gid))
}

/// A user of the system's data base.
struct User {
    uid: libc::uid_t,
    gid: libc::gid_t,
}

impl User {
    fn by_name(name: &str) -> Result<Self, DropError> {
        let no_such = || DropError::NoSuchUser { user: name.to_owned() };
        let c_name = CString::new(name).map_err(|_| no_such())?;
        // More than any entry of sane size needs; ERANGE says so if not.
        let mut strings = vec![0 as libc::c_char; 64 * 1024];
        // SAFETY: all zeros is a value of this structure of integers and pointers.
        let mut entry = unsafe { zeroed::<libc::passwd>() };
        let mut found = std::ptr::null_mut();
        // SAFETY: the name is terminated, the buffer has its true length, and all outlive the call.
        let code = unsafe {
            libc::getpwnam_r(
                c_name.as_ptr(),
                &mut entry,
                strings.as_mut_ptr(),
                strings.len(),
                &mut found,
            )
        };
        match code {
            0 if found.is_null() => Err(no_such()),
            0 => Ok(User { uid: entry.pw_uid, gid: entry.pw_gid }),
            // getpwnam_r(3): these too are said of a user that does not exist.
            libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM => Err(no_such()),
            code => Err(DropError::Os {
                call: "getpwnam_r",
                source: io::Error::from_raw_os_error(code),
            }),
        }
    }

    /// Groups first: the right to change them goes with the user.
    fn become_it(&self) -> Result<(), DropError> {
        // SAFETY: a null list of length zero.
        check(unsafe { libc::setgroups(0, std::ptr::null()) })
            .map_err(DropError::os("setgroups"))?;
        // SAFETY: no pointers are passed.
        check(unsafe { libc::setresgid(self.gid, self.gid, self.gid) })
            .map_err(DropError::os("setresgid"))?;
        // SAFETY: no pointers are passed.
        check(unsafe { libc::setresuid(self.uid, self.uid, self.uid) })
            .map_err(DropError::os("setresuid"))?;
        Ok(())
    }
}

/// Locks the process into a directory that only root can change.
fn enter_chroot(dir: &PathBuf) -> Result<(), DropError> {
    let metadata = std::fs::metadata(dir).map_err(DropError::os("look at the chroot directory"))?;
    if !metadata.is_dir() || metadata.uid() != 0 || metadata.mode() & 0o022 != 0 {
        return Err(DropError::UnsafeChroot { dir: dir.clone() });
    }
    std::os::unix::fs::chroot(dir).map_err(DropError::os("chroot"))?;
    std::env::set_current_dir("/").map_err(DropError::os("chdir into the chroot directory"))
}

/// Takes every capability out of the set that no `exec` can go beyond.
fn drop_bounding_set() -> Result<(), DropError> {
    // The kernel has no more than 64, and says EINVAL past its last (capabilities(7)).
    for capability in 0..64 {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            Ok(_) => {}
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => break,
            Err(e) => return Err(DropError::Os { call: "PR_CAPBSET_DROP", source: e }),
        }
    }
    Ok(())
}

/// Calls `prctl` with one argument and zeros, which is how every option used here wants it.
fn prctl(option: libc::c_int, argument: libc::c_ulong) -> io::Result<libc::c_int> {
    let zero: libc::c_ulong = 0;
    // SAFETY: none of the options used here takes a pointer.
    check(unsafe { libc::prctl(option, argument, zero, zero, zero) })
}

/// A thread's effective, permitted and inheritable capabilities: `_LINUX_CAPABILITY_VERSION_3` of
/// `linux/capability.h`, two words of 32 each.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct Capabilities([[u32; 3]; 2]);

/// The header of both calls; thread 0 is the calling one.
#[repr(C)]
struct CapabilityHeader {
    version: u32,
    thread: libc::c_int,
}

impl Capabilities {
    const fn none() -> Self {
        Capabilities([[0; 3]; 2])
    }

    const fn header() -> CapabilityHeader {
        CapabilityHeader { version: 0x2008_0522, thread: 0 }
    }

    fn set(&self) -> io::Result<()> {
        let header = Self::header();
        // SAFETY: both structures have the kernel's layout for this version and are readable.
        let n = unsafe { libc::syscall(libc::SYS_capset, &raw const header, self.0.as_ptr()) };
        check(n as libc::c_int).map(|_| ())
    }

    fn get() -> io::Result<Self> {
        let (mut header, mut sets) = (Self::header(), Self::none());
        // SAFETY: both structures have the kernel's layout for this version and are writable.
        let n = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.0.as_mut_ptr()) };
        check(n as libc::c_int).map(|_| sets)
    }
}

/// Looks whether it is really gone, and tries to get it back.
fn verify(user: Option<&User>) -> Result<(), DropError> {
    let kept = |what| Err(DropError::StillThere { what });
    if let Some(user) = user {
        let (mut ids, mut groups) = ([0; 3], [0; 3]);
        let [r, e, s] = &mut ids;
        // SAFETY: three writable places each.
        check(unsafe { libc::getresuid(r, e, s) }).map_err(DropError::os("getresuid"))?;
        let [r, e, s] = &mut groups;
        // SAFETY: as above.
        check(unsafe { libc::getresgid(r, e, s) }).map_err(DropError::os("getresgid"))?;
        if ids != [user.uid; 3] || groups != [user.gid; 3] {
            return kept("the old user or group");
        }
        // SAFETY: length zero asks for the count only.
        let others = check(unsafe { libc::getgroups(0, std::ptr::null_mut()) })
            .map_err(DropError::os("getgroups"))?;
        if others != 0 {
            return kept("supplementary groups");
        }
        // SAFETY: no pointers are passed; these must fail.
        if unsafe { libc::setresuid(0, 0, 0) } == 0 || unsafe { libc::setresgid(0, 0, 0) } == 0 {
            return kept("a way back to root");
        }
    }
    if Capabilities::get().map_err(DropError::os("capget"))? != Capabilities::none() {
        return kept("capabilities");
    }
    let no_new =
        prctl(libc::PR_GET_NO_NEW_PRIVS, 0).map_err(DropError::os("PR_GET_NO_NEW_PRIVS"))?;
    if no_new != 1 {
        return kept("the right to gain rights by exec");
    }
    let dumpable = prctl(libc::PR_GET_DUMPABLE, 0).map_err(DropError::os("PR_GET_DUMPABLE"))?;
    if dumpable != 0 {
        return kept("readable memory");
    }
    Ok(())
}

/// Why the process could not give its rights up. It must end then.
#[derive(Debug)]
#[non_exhaustive]
pub enum DropError {
    /// There are several threads already.
    Threads {
        /// How many.
        threads: usize,
    },
    /// The user does not exist.
    NoSuchUser {
        /// The name.
        user: String,
    },
    /// The user to become is root, or of root's group.
    RootAgain {
        /// The name.
        user: String,
    },
    /// Others than root may change the directory to be locked into.
    UnsafeChroot {
        /// The directory.
        dir: PathBuf,
    },
    /// A chroot was asked for by somebody who is not root.
    ChrootNeedsRoot,
    /// Something that was given up is still there.
    StillThere {
        /// What.
        what: &'static str,
    },
    /// The system refused.
    Os {
        /// What was tried.
        call: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl DropError {
    fn os(call: &'static str) -> impl FnOnce(io::Error) -> DropError {
        move |source| DropError::Os { call, source }
    }
}

impl fmt::Display for DropError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot give up the rights of start-up: ")?;
        match self {
            DropError::Threads { threads } => {
                write!(f, "{threads} threads are running, it has to be done before the second")
            }
            DropError::NoSuchUser { user } => write!(
                f,
                "there is no user `{user}`: create it (`useradd --system {user}`) or configure \
                 another one"
            ),
            DropError::RootAgain { user } => {
                write!(f, "user `{user}` is root or of root's group: configure another one")
            }
            DropError::UnsafeChroot { dir } => write!(
                f,
                "{} is no directory that only root can change: `chown root` and `chmod go-w` it",
                dir.display()
            ),
            DropError::ChrootNeedsRoot => {
                f.write_str("only root can be locked into a directory: start as root, or without")
            }
            DropError::StillThere { what } => write!(f, "{what} remained"),
            DropError::Os { call, source } => write!(f, "{call}: {source}"),
        }
    }
}

impl std::error::Error for DropError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            DropError::Os { source, .. } => Some(source),
            _ => None,
        }
    }
}
