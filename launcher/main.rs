//! The program `rmarun`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(onesided::launcher::main(std::env::args_os()))
}
