//! A plug-in that is loaded for one run.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::compile::Plugin;
use crate::error::ModuleError;
use crate::guard::{self, Watch};
use crate::interface::{Answer, BRIDGE, Calls, Event};
use crate::scratch::Scratch;
use crate::state::State;

/// A plug-in, loaded once for each run and choice of parameters: a module's variables are the library's own, so that
/// no run sees those of another.
#[derive(Debug)]
pub struct Library {
    pub(crate) file: String,
    pub(crate) calls: Calls,
    state: Option<State>,
    /// A module is called by one thread at a time, whatever its user does.
    turn: Mutex<()>,
    watch: Watch,
    _library: libloading::Library,
}

/// A parameter of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value now.
    pub value: String,
    /// The text of `MODULE_PARM_DESC`.
    pub text: String,
}

impl Library {
    /// Loads a plug-in, sets its parameters, and registers its congestion control.
    ///
    /// # Errors
    /// It is no plug-in of this version; there is no such parameter, or it refuses its value; the module does not
    /// register.
    pub fn load(plugin: &Plugin, parameters: &Map<String, Value>) -> Result<Self, ModuleError> {
        guard::install();
        let file = plugin.file.clone();
        let unusable = |error: String| ModuleError::of(&file, format!("it is no plug-in: {error}"), BUILD);
        // Of its own file, since a library that is loaded twice from one is the same twice.
        let folder = Scratch::new().map_err(|error| unusable(error.to_string()))?;
        let copy = folder.path().join("plugin.so");
        std::fs::write(&copy, &plugin.bytes).map_err(|error| unusable(error.to_string()))?;
        // SAFETY: the constructors of a plug-in enter its parameters in a list. What else a user's library does on
        // loading is the user's.
        let library =
            unsafe { libloading::Library::new(&copy) }.map_err(|error| unusable(error.to_string()))?;
        let calls = calls(&library).map_err(|error| unusable(error.to_string()))?;
        let (state, turn, watch) = (plugin.state.clone(), Mutex::default(), Watch::start());
        let loaded = Self { file, calls, state, turn, watch, _library: library };
        loaded.register(parameters)?;
        Ok(loaded)
    }

    /// The name that the module registers.
    #[must_use]
    pub fn name(&self) -> String {
        // SAFETY: the module is registered, and its name ends in zero.
        text(unsafe { (self.calls.name)() })
    }

    /// Whether the module sets the window itself in recovery too (`cong_control`).
    #[must_use]
    pub fn has_cong_control(&self) -> bool {
        // SAFETY: the module is registered.
        unsafe { (self.calls.has_cong_control)() != 0 }
    }

    /// The struct of the module's own state whose variables are recorded.
    #[must_use]
    pub const fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// The parameters, in the order of the file.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut parameters: Vec<_> = (0..).map_while(|place| self.parameter(place)).collect();
        parameters.reverse();
        parameters
    }

    /// Calls the module for an event of a connection.
    ///
    /// # Errors
    /// The module has crashed or did not return.
    pub(crate) fn call(
        &self,
        connection: *mut c_void,
        event: &Event,
        answer: &mut Answer,
    ) -> Result<(), ModuleError> {
        let ended = self.guarded(|| {
            // SAFETY: the connection is one of this plug-in's, and no other call is going on.
            unsafe { (self.calls.event)(connection, event, answer) }
        });
        if ended == 0 { Ok(()) } else { Err(self.crash(ended).at(event.kind.function())) }
    }

    fn guarded(&self, call: impl FnOnce() -> c_int) -> c_int {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.watch.over(|| guard::guarded(self.calls.escape, call))
    }

    fn register(&self, parameters: &Map<String, Value>) -> Result<(), ModuleError> {
        // SAFETY: it takes nothing and returns a number.
        let bridge = unsafe { (self.calls.bridge)() };
        if bridge != BRIDGE {
            let message =
                format!("the plug-in is for version {bridge} of the bridge, and this lasthop has {BRIDGE}");
            return Err(ModuleError::of(&self.file, message, BUILD));
        }
        for (name, value) in parameters {
            self.set(name, value)?;
        }
        // SAFETY: it registers the module.
        let failed = self.guarded(|| unsafe { (self.calls.load)() });
        let message = match failed {
            0 => return Ok(()),
            1 => "module_init has registered no congestion control".to_owned(),
            signal if signal > 1 => return Err(self.crash(signal).at("module_init")),
            error => format!("module_init has failed with error {}", -error),
        };
        let help =
            "register a struct tcp_congestion_ops with ssthresh, undo_cwnd, and cong_avoid or cong_control";
        Err(ModuleError::of(&self.file, message, help).at("module_init"))
    }

    fn set(&self, name: &str, value: &Value) -> Result<(), ModuleError> {
        let known = || self.parameters().into_iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
        let place = (0..).map_while(|place| self.parameter(place)).position(|known| known.name == name);
        let Some(place) = place.and_then(|place| u32::try_from(place).ok()) else {
            let known = known();
            let help = if known.is_empty() { "it has none".to_owned() } else { format!("it has {known}") };
            return Err(
                ModuleError::of(&self.file, format!("the module has no parameter {name}"), help).at(name)
            );
        };
        let written = match value {
            Value::Bool(is) => u8::from(*is).to_string(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let text = CString::new(written.as_str()).unwrap_or_default();
        // SAFETY: the parameter exists, and the text ends in zero.
        match unsafe { (self.calls.parameter_set)(place, text.as_ptr()) } {
            0 => Ok(()),
            _ => {
                let message = format!("the module refuses {written} for {name}");
                Err(ModuleError::of(&self.file, message, "give a number within the limits of its type")
                    .at(name))
            }
        }
    }

    fn parameter(&self, place: u32) -> Option<Parameter> {
        let mut value = [0 as c_char; LONGEST_VALUE];
        // SAFETY: the list's texts end in zero; a value is written where the parameter exists, with room to spare.
        unsafe {
            let name = (self.calls.parameter_name)(place);
            if name.is_null() {
                return None;
            }
            (self.calls.parameter_get)(place, value.as_mut_ptr());
            Some(Parameter {
                name: text(name),
                value: text(value.as_ptr()),
                text: text((self.calls.parameter_text)(place)),
            })
        }
    }

    fn crash(&self, ended: c_int) -> ModuleError {
        let help = "mend it: C code that fails here would stop a kernel";
        let message = match ended {
            -1 => {
                // SAFETY: the text of the plug-in ends in zero.
                format!("the module has stopped at {}", text(unsafe { (self.calls.bug_text)() }))
            }
            libc::SIGFPE => "the module divides by zero".to_owned(),
            libc::SIGSEGV | libc::SIGBUS => {
                "the module uses memory that is not its own (a null pointer?)".to_owned()
            }
            ended if ended == guard::ENDLESS as c_int => "the module has not returned within 10 s".to_owned(),
            other => format!("the module was ended by signal {other}"),
        };
        ModuleError::of(&self.file, message, help)
    }
}

fn calls(library: &libloading::Library) -> Result<Calls, libloading::Error> {
    macro_rules! symbol {
        ($name:literal) => {
            // SAFETY: the plug-in declares the function so (`c/bridge.c`); its version is compared before all others
            // are called.
            unsafe { *library.get(concat!("lasthop_", $name, "\0").as_bytes())? }
        };
    }
    Ok(Calls {
        bridge: symbol!("bridge"),
        load: symbol!("load"),
        name: symbol!("name"),
        has_cong_control: symbol!("has_cong_control"),
        connection_size: symbol!("connection_size"),
        event: symbol!("event"),
        escape: symbol!("escape"),
        bug_text: symbol!("bug_text"),
        private: symbol!("private"),
        parameter_name: symbol!("parameter_name"),
        parameter_text: symbol!("parameter_text"),
        parameter_get: symbol!("parameter_get"),
        parameter_set: symbol!("parameter_set"),
    })
}

/// A text of C.
fn text(pointer: *const c_char) -> String {
    // SAFETY: callers pass texts that end in zero and live as long as the library.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// More than any number has digits; a kernel gives a page.
const LONGEST_VALUE: usize = 4096;

const BUILD: &str = "make it by lasthop cc build";
