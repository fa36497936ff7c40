//! Fetches Autobahn's test suite, which asks WebSocket servers hard questions. It runs on Python 2.7 only;
//! where that is missing, the test that wants it says so.

use std::ffi::OsString;
use std::process::Command;

/// The one that the test's expectations were written with.
const PACKAGE: &str = "autobahntestsuite==25.10.1";
/// Several Pythons side by side, as pyenv has them, are told apart by this.
const CHOICE: (&str, &str) = ("PYENV_VERSION", "2.7.18");

/// What the test is told: where it is, and which Python runs it. Empty where it cannot be had.
pub fn fetch() -> Vec<(&'static str, OsString)> {
    let Ok(current) = std::env::current_exe() else { return Vec::new() };
    let folder = current.with_file_name("autobahn");
    let stamp = folder.join("package.txt");
    let is_there = || std::fs::read_to_string(&stamp).is_ok_and(|package| package == PACKAGE);
    if !is_there() {
        println!("    asking PyPI for {PACKAGE}");
        let mut pip = Command::new("python2.7");
        pip.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&folder).arg(PACKAGE);
        let fetched = pip.env(CHOICE.0, CHOICE.1).output();
        if !fetched.is_ok_and(|output| output.status.success()) {
            return Vec::new();
        }
        // Installed like this, a package that others extend lacks the file that makes it one.
        let made = std::fs::write(folder.join("zope/__init__.py"), "");
        if made.and_then(|()| std::fs::write(&stamp, PACKAGE)).is_err() {
            return Vec::new();
        }
    }
    vec![("REJOIN_AUTOBAHN", folder.into()), (CHOICE.0, CHOICE.1.into())]
}
