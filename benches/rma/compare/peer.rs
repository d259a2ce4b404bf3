//! The peers: MPI libraries from PyPI in a folder of their own, this library's C interface beside them,
//! and our C twins of the suites (`benches/peers`), built by their compiler wrappers.

use super::leftovers;
use super::rounds::Job;
use crate::driver;
use crate::process::{self, Ended};
use crate::suites::Suite;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time for each step of the installation.
const INSTALL: Duration = Duration::from_secs(300);
const TWINS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers");

/// An MPI library for C programs.
pub struct Kind {
    pub name: &'static str,
    /// The package of PyPI that has it, and the name of its folder.
    package: &'static str,
    version: &'static str,
    /// The variable of the environment that names where it is installed already.
    variable: &'static str,
    /// Its compiler wrapper.
    compiler: &'static str,
    /// Its launcher, and the options that it needs, so that it starts more ranks than cores, as any user,
    /// and leaves the binding to cores to the twins.
    launcher: &'static [&'static str],
}

pub const MPICH: usize = 0;
pub const OPEN_MPI: usize = 1;
/// This library's own C interface, which is built here instead of coming from PyPI.
pub const C: usize = 2;
pub const KINDS: [Kind; 3] = [
    Kind {
        name: "MPICH",
        package: "mpich",
        version: "5.0.2",
        variable: "ONESIDED_MPICH",
        compiler: "mpicc",
        launcher: &["mpiexec", "-bind-to", "none"],
    },
    Kind {
        name: "Open MPI",
        package: "openmpi",
        version: "5.0.11",
        variable: "ONESIDED_OPENMPI",
        compiler: "mpicc",
        launcher: &["mpiexec", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"],
    },
    Kind {
        name: "onesided in C",
        package: "onesided",
        version: env!("CARGO_PKG_VERSION"),
        variable: "",
        compiler: "rmacc",
        launcher: &["rmarun"],
    },
];

/// A peer that is installed, with the twins built for it.
pub struct Peer {
    pub kind: &'static Kind,
    /// Its prefix.
    folder: PathBuf,
    temporary: PathBuf,
    /// The program of the twins.
    twins: PathBuf,
    /// Whether the user has installed it.
    installed: bool,
}

impl Kind {
    /// Name and version.
    pub fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Installs the peer, unless that has been done, and builds the twins.
    pub fn set_up(&'static self, folder: &Path) -> Result<Peer, String> {
        let prefix = std::env::vars_os().find(|(name, _)| name == self.variable);
        let peer = Peer {
            kind: self,
            installed: prefix.is_some(),
            folder: prefix.map_or_else(|| folder.join(self.package), |(_, prefix)| prefix.into()),
            temporary: folder.join(format!("tmp-{}", self.package)),
            twins: folder.join(format!("twins-{}", self.package)),
        };
        fs::create_dir_all(&peer.temporary)
            .map_err(|problem| format!("{}: {problem}", peer.temporary.display()))?;
        peer.install()?;
        peer.build()?;
        Ok(peer)
    }
}

impl Peer {
    fn install(&self) -> Result<(), String> {
        match self.kind.name {
            name if name == KINDS[C].name => self.build_own(),
            _ if self.installed => Ok(()),
            _ => self.install_from_pypi(),
        }
    }

    /// Builds this library's C interface as it is now.
    fn build_own(&self) -> Result<(), String> {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--locked", "--release", "--package", "onesided-capi"]);
        cargo.args(["--", "--prefix"]).arg(&self.folder);
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        self.step("building the C interface", &mut cargo)
    }

    fn install_from_pypi(&self) -> Result<(), String> {
        let requirement = format!("{}=={}", self.kind.package, self.kind.version);
        let stamp = self.folder.join("installed");
        if fs::read_to_string(&stamp).is_ok_and(|text| text == requirement) {
            return Ok(());
        }
        eprintln!("installing {requirement} in {}", self.folder.display());
        let mut python = Command::new("python3");
        python.args(["-m", "venv", "--clear"]).arg(&self.folder);
        self.step("python3 -m venv", &mut python)?;
        let mut pip = Command::new(self.folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip.args(["--retries", "1", "--timeout", "15", &requirement]);
        self.step("pip install", &mut pip)?;
        fs::write(&stamp, requirement).map_err(|problem| format!("{}: {problem}", stamp.display()))
    }

    fn build(&self) -> Result<(), String> {
        self.compile(&[], &self.twins)
    }

    /// The program of the twins.
    pub fn twins(&self) -> &Path {
        &self.twins
    }

    /// The same, compiled with these options, beside it.
    pub fn twins_with(&self, name: &str, options: &[&str]) -> Result<PathBuf, String> {
        let twins = self.twins.with_extension(name);
        self.compile(options, &twins)?;
        Ok(twins)
    }

    fn compile(&self, options: &[&str], to: &Path) -> Result<(), String> {
        let mut sources = Vec::new();
        collect(Path::new(TWINS), &mut sources).map_err(|problem| format!("{TWINS}: {problem}"))?;
        let mut cc = Command::new(self.folder.join("bin").join(self.kind.compiler));
        // The optimisation of rustc for the other side: no instructions that only this machine has.
        cc.args(["-std=gnu11", "-O3", "-Wall", "-Wextra", "-I", TWINS, "-o"]);
        cc.arg(to).args(sources).arg("-lm").args(options);
        self.step("building the twins (is there a C compiler `cc`?)", &mut cc)
    }

    /// One step of the installation; its problem is the last line that it wrote.
    fn step(&self, what: &str, command: &mut Command) -> Result<(), String> {
        match self.limited(command, INSTALL) {
            Ok(ended) => match ended.problem() {
                None => Ok(()),
                Some(problem) => Err(format!("{what}: {problem}: {}", self.last_words())),
            },
            Err(problem) => Err(format!("{what}: {problem}")),
        }
    }

    /// Runs a suite of the twins.
    pub fn run(&self, job: Job, limit: Duration, arguments: &[String]) -> std::io::Result<Ended> {
        self.start(&[], &self.twins, job, limit, (arguments, &[]))
    }

    /// Runs twins by the launcher with these options.
    pub fn run_with(
        &self,
        options: &[&str],
        twins: &Path,
        job: Job,
        arguments: &[String],
    ) -> std::io::Result<Ended> {
        self.start(options, twins, job, INSTALL, (arguments, &[]))
    }

    /// Runs a suite of the twins of `own`, this library, in a job of this MPI, from which it takes the windows.
    pub fn run_preloaded(
        &self,
        own: &Peer,
        job: Job,
        limit: Duration,
        arguments: &[String],
    ) -> std::io::Result<Ended> {
        let library = own.folder.join("lib/onesided/libonesided_node.so");
        let variables = [("LD_PRELOAD", library), ("LD_LIBRARY_PATH", self.folder.join("lib"))];
        self.start(&[], &own.twins, job, limit, (arguments, &variables))
    }

    /// Runs a suite of this program, whose ranks join the job of this MPI.
    pub fn run_own(
        &self,
        job: Job,
        limit: Duration,
        arguments: &[String],
    ) -> std::io::Result<Ended> {
        self.start(&[], &driver::own(), job, limit, (arguments, &[]))
    }

    /// Starts a program by this MPI's launcher, with some more options.
    fn start(
        &self,
        more: &[&str],
        program: &Path,
        (suite, ranks): Job,
        limit: Duration,
        (arguments, variables): (&[String], &[(&str, PathBuf)]),
    ) -> std::io::Result<Ended> {
        let [launcher, options @ ..] = self.kind.launcher else {
            unreachable!("every kind has a launcher")
        };
        let mut command = Command::new(self.folder.join("bin").join(launcher));
        command.args(options).args(more).args(["-n", &ranks.to_string()]);
        command.arg(program).args(arguments);
        command.env("ONESIDED_MPI", self.folder.join("lib/libmpi_abi.so.1"));
        variables.iter().for_each(|(name, value)| _ = command.env(name, value));
        match suite {
            Suite::ForeignNode => {}
            // MPICH then treats one machine as two nodes.
            Suite::ForeignNodes => _ = command.env("MPIR_CVAR_NUM_CLIQUES", "2"),
            // What is measured is that MPI.
            _ => _ = command.env("ONESIDED_NODE", "none"),
        }
        if suite == Suite::ForeignFar {
            // MPICH then uses its network between ranks of one machine, too.
            command.env("MPIR_CVAR_NOLOCAL", "1");
        }
        // PyPI's Open MPI asks twice whether its user is root: the second time by the environment.
        command.env("TMPDIR", &self.temporary).env("OMPI_ALLOW_RUN_AS_ROOT", "1");
        command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let before = leftovers::names();
        let ended = self.limited(&mut command, limit);
        leftovers::remove_since(&before, &self.temporary);
        ended
    }

    fn limited(&self, command: &mut Command, limit: Duration) -> Result<Ended, std::io::Error> {
        process::run(command.stderr(File::create(self.log())?), limit)
    }

    fn log(&self) -> PathBuf {
        self.temporary.with_extension("log")
    }

    /// The last line with words that it wrote to stderr.
    pub fn last_words(&self) -> String {
        let text = fs::read_to_string(self.log()).unwrap_or_default();
        text.lines()
            .rfind(|line| line.contains(char::is_alphanumeric))
            .unwrap_or_default()
            .to_owned()
    }
}

/// The C files in a folder and below.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "c") {
            files.push(path);
        }
    }
    Ok(())
}
