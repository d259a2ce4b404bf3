//! Building an example or a binary of the Cargo project at hand, as `cargo run` would.

use crate::launcher::args::Target;
use crate::launcher::report::Refusal;
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Builds the target in release mode; returns the program, followed by `arguments`.
///
/// Cargo's own messages go to standard error as usual. This happens before signals are blocked, so
/// Ctrl-C ends a build as usual.
pub fn build(target: &Target, arguments: &[OsString]) -> Result<Vec<OsString>, Refusal> {
    let cannot = |error| Refusal::system("cannot run cargo", error);
    let mut cargo = command(target).spawn().map_err(cannot)?;
    let messages = cargo.stdout.take().map(BufReader::new);
    let lines = messages.into_iter().flat_map(BufRead::lines).map_while(Result::ok);
    let program = lines.filter_map(|line| executable(&line, target)).last();
    let status = cargo.wait().map_err(cannot)?;
    match (status.success(), program) {
        (true, Some(program)) => {
            let program = OsString::from(program);
            Ok(std::iter::once(program).chain(arguments.iter().cloned()).collect())
        }
        (true, None) => {
            let Target { kind, name, .. } = target;
            Err(Refusal::Launcher(format!("cargo built no executable for {kind} '{name}'")))
        }
        (false, _) => Err(Refusal::Build {
            what: format!("{} '{}'", target.kind, target.name),
            code: status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(101),
        }),
    }
}

fn command(target: &Target) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--message-format=json-render-diagnostics"]);
    cargo.arg(format!("--{}={}", target.kind, target.name));
    let package = target.package.clone().or_else(|| owner(&metadata()?, target));
    cargo.args(package.iter().map(|package| format!("--package={package}")));
    cargo.args(target.features.iter().map(|features| format!("--features={features}")));
    cargo.stdin(Stdio::null()).stdout(Stdio::piped());
    cargo
}

/// Cargo's description of the packages of the workspace.
fn metadata() -> Option<Value> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--no-deps", "--format-version=1"]).stdin(Stdio::null());
    serde_json::from_slice(&cargo.stderr(Stdio::null()).output().ok()?.stdout).ok()
}

/// The one package of the workspace that has the target: Cargo would look in the package of this folder
/// alone. `None` if several have it, or none: Cargo has the rule, or the message, for that.
fn owner(metadata: &Value, target: &Target) -> Option<String> {
    let is_ours = |built: &Value| {
        let kinds = built["kind"].as_array();
        built["name"] == *target.name
            && kinds.is_some_and(|kinds| kinds.contains(&target.kind.into()))
    };
    let has_it = |package: &&Value| {
        package["targets"].as_array().is_some_and(|targets| targets.iter().any(is_ours))
    };
    let mut owners = metadata["packages"].as_array()?.iter().filter(has_it);
    let owner = owners.next()?["name"].as_str()?;
    owners.next().is_none().then(|| owner.to_owned())
}

/// The executable that one line of Cargo's messages reports for the target, if it does.
fn executable(line: &str, target: &Target) -> Option<String> {
    let message: Value = serde_json::from_str(line).ok()?;
    let built = message.get("target")?;
    let kinds = built.get("kind")?.as_array()?;
    let ours = message.get("reason")?.as_str()? == "compiler-artifact"
        && built.get("name")?.as_str()? == target.name
        && kinds.iter().any(|kind| kind == target.kind);
    ours.then(|| message.get("executable")?.as_str().map(str::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        Target { kind: "example", name: "hello".into(), package: None, features: Vec::new() }
    }

    #[test]
    fn the_executable_of_the_target_is_found() {
        let line = r#"{"reason":"compiler-artifact","target":{"kind":["example"],"name":"hello"},
                       "executable":"/t/release/examples/hello"}"#;
        assert_eq!(executable(line, &target()), Some("/t/release/examples/hello".into()));
    }

    #[test]
    fn a_target_is_looked_for_in_the_whole_workspace() {
        let package = |name: &str, kind: &str, target: &str| serde_json::json!({ "name": name, "targets": [{ "kind": [kind], "name": target }] });
        let of =
            |packages: &[Value]| owner(&serde_json::json!({ "packages": packages }), &target());
        let (library, examples) = (package("a", "lib", "hello"), package("b", "example", "hello"));
        assert_eq!(of(&[library.clone(), examples.clone()]), Some("b".into()));
        assert_eq!(of(&[library, package("c", "example", "heat")]), None);
        assert_eq!(of(&[examples, package("c", "example", "hello")]), None);
        assert_eq!(owner(&Value::Null, &target()), None);
    }

    #[test]
    fn other_messages_are_passed_over() {
        for line in [
            "",
            "warning: something",
            r#"{"reason":"build-finished","success":true}"#,
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"hello"},"executable":null}"#,
            r#"{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"hello"},"executable":"/x"}"#,
            r#"{"reason":"compiler-artifact","target":{"kind":["example"],"name":"a"},"executable":"/x"}"#,
        ] {
            assert_eq!(executable(line, &target()), None, "{line}");
        }
    }
}
