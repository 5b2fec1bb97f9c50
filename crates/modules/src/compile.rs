//! From the files of a module to a plug-in, by the system's C compiler.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use tcp::congestion::Module;

use crate::error::ModuleError;
use crate::headers;
use crate::scratch::Scratch;
use crate::state::State;

/// A compiled module: the bytes of a shared library.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// The file that it was made of.
    pub file: String,
    /// The library.
    pub bytes: Arc<[u8]>,
    /// The struct of the module's own state whose variables are recorded.
    pub state: Option<State>,
}

/// Compiles the files of a module for a run, or takes the plug-in that they are. Debug information is made and read
/// only where the choice of the module names its state.
///
/// # Errors
/// There is no compiler, or it refuses the file: with its line and the compiler's words. The module names a struct for
/// its state that is not there.
pub fn compile(module: &Module) -> Result<Plugin, ModuleError> {
    let bytes = library(module, !module.state.is_empty())?;
    let state = State::named(module, &bytes)?;
    Ok(Plugin { file: module.file.clone(), bytes: bytes.into(), state })
}

/// Compiles the files of a module for later runs, with debug information. The state is the struct that it names, or
/// else the one to which most of its functions have a pointer.
///
/// # Errors
/// As [`compile`].
pub fn build(module: &Module) -> Result<Plugin, ModuleError> {
    let bytes = library(module, true)?;
    let state = State::named(module, &bytes)?.or_else(|| State::likeliest(&bytes));
    Ok(Plugin { file: module.file.clone(), bytes: bytes.into(), state })
}

/// The bytes of a plug-in, with debug information or without.
fn library(module: &Module, debug: bool) -> Result<Vec<u8>, ModuleError> {
    let main = file_name(&module.file);
    if let Some(bytes) = module.plugin() {
        return Ok(bytes);
    }
    let compiler = compiler(&module.file)?;
    let text = module.sources.get(main).map_or("", String::as_str);
    // Only `cong_control` changed its arguments.
    let kernels = if text.contains("cong_control") { KERNELS } else { &KERNELS[..1] };
    let mut refused: Option<Refused> = None;
    for kernel in kernels {
        match attempt(&compiler, main, &module.sources, kernel, debug) {
            Ok(bytes) => return Ok(bytes),
            Err(later) if refused.as_ref().is_none_or(|earlier| later.errors() < earlier.errors()) => {
                refused = Some(later);
            }
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_default().error(&module.file))
}

/// The versions of Linux whose interface the headers have, the newest first.
const KERNELS: &[&str] = &["KERNEL_VERSION(6,12,0)", "KERNEL_VERSION(6,1,0)"];

/// As Linux compiles its own: numbers that overflow wrap around, and pointers of any type may meet.
const FLAGS: &[&str] =
    &["-O2", "-fPIC", "-std=gnu11", "-fno-strict-aliasing", "-fwrapv", "-fvisibility=hidden", "-fno-common"];

/// What would be a fault in the kernel too.
const STRICT: &[&str] = &[
    "-nostdinc",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
];

/// The compiler's words.
#[derive(Debug, Default)]
struct Refused {
    words: String,
}

impl Refused {
    fn errors(&self) -> usize {
        self.words.matches("error:").count()
    }

    /// The first error: "tcp_mine.c:12:5: error: …", or a function that the linker has not found.
    fn error(&self, file: &str) -> ModuleError {
        let help = "mend it, or name what the headers lack in an issue: docs/recipes/your-linux-module.md";
        let found = self.words.lines().find_map(|line| {
            let (place, message) =
                line.split_once(": error: ").or_else(|| line.split_once(": fatal error: "))?;
            let mut parts = place.split(':');
            Some((parts.next()?, parts.next()?.parse::<usize>().ok()?, message))
        });
        if let Some((name, line, message)) = found {
            let message = format!("the compiler refuses it: {message}");
            let shown = Path::new(file).with_file_name(name).display().to_string();
            return ModuleError { line: Some(line), ..ModuleError::of(&shown, message, help) };
        }
        let missing = self.words.split_once("undefined reference to").map(|(_, rest)| rest);
        let missing = missing.and_then(|rest| rest.split(['`', '\'']).nth(1));
        match missing {
            Some("lasthop_module_init") => {
                ModuleError::of(file, "the file has no module_init(…)", "end it as a kernel module ends")
            }
            Some(missing) => {
                ModuleError::of(file, format!("{missing} is a function that lasthop does not have"), help)
            }
            None => ModuleError::of(file, format!("the compiler refuses it: {}", self.words.trim()), help),
        }
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The C compiler: the environment's `CC`, or the first that there is.
fn compiler(file: &str) -> Result<String, ModuleError> {
    let named = std::env::var("CC").ok().filter(|named| !named.is_empty());
    let candidates = named.iter().map(String::as_str).chain(["cc", "gcc", "clang"]);
    let works = |name: &&str| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    let found = candidates.into_iter().find(works).map(ToOwned::to_owned);
    found.ok_or_else(|| {
        let message = "there is no C compiler: neither cc nor gcc nor clang";
        ModuleError::of(file, message, "install one (Debian: apt-get install gcc), or name it in CC")
    })
}

fn attempt(
    compiler: &str,
    main: &str,
    sources: &BTreeMap<String, String>,
    kernel: &str,
    debug: bool,
) -> Result<Vec<u8>, Refused> {
    let failed = |error: std::io::Error| Refused { words: error.to_string() };
    let folder = Scratch::new().map_err(failed)?;
    let at = folder.path();
    headers::write(at).map_err(failed)?;
    let module = at.join("module");
    fs::create_dir(&module).map_err(failed)?;
    for (name, text) in sources {
        fs::write(module.join(name), text).map_err(failed)?;
    }
    let kernel = format!("-DLASTHOP_KERNEL={kernel}");
    let mut objects = Vec::new();
    for name in sources.keys().filter(|name| name.ends_with(".c")) {
        let object = format!("{name}.o");
        let modname = format!("-DKBUILD_MODNAME=\"{}\"", name.trim_end_matches(".c"));
        let mut command = Command::new(compiler);
        command.current_dir(&module).args(FLAGS).args(STRICT).args(["-I../include", &kernel, &modname]);
        if name == main {
            command.arg("-DLASTHOP_MAIN");
        }
        if name == main && debug {
            // Of the file that has the state; without the name of the folder, which is a new one each time.
            command.args(["-g".to_owned(), format!("-fdebug-prefix-map={}=.", at.display())]);
        }
        run(command.args(["-c", name, "-o", &object]))?;
        objects.push(object);
    }
    let mut link = Command::new(compiler);
    link.current_dir(&module).args(FLAGS).args([
        "-I../include",
        "-I..",
        &kernel,
        "-shared",
        "-o",
        "plugin.so",
    ]);
    if cfg!(not(target_vendor = "apple")) {
        link.arg("-Wl,-z,defs");
        link.args((!debug).then_some("-s"));
    }
    run(link.arg("../bridge.c").args(&objects))?;
    fs::read(module.join("plugin.so")).map_err(failed)
}

fn run(command: &mut Command) -> Result<(), Refused> {
    let ended = command.env("LC_ALL", "C").output().map_err(|error| Refused { words: error.to_string() })?;
    if ended.status.success() {
        return Ok(());
    }
    Err(Refused { words: String::from_utf8_lossy(&ended.stderr).into_owned() })
}
