// Carries out orders of the page next to it: a message { act, order, port } is answered at the port, by { progress } in
// a run, in seconds of virtual time, and by { answer, files } or { failure } at its end.
import { Core } from "./core.js";

/** Milliseconds between two reports of progress. */
const INTERVAL = 100;

let reported = 0;
let port;
function progress(seconds) {
  if (performance.now() - reported < INTERVAL) return;
  reported = performance.now();
  port.postMessage({ progress: seconds });
}

/** The program, compiled while it arrives, where the server names its type. */
async function compiled() {
  const response = await fetch("lasthop.wasm");
  if (!response.ok) throw new Error(`lasthop.wasm: the server answers ${response.status}`);
  const isTyped = response.headers.get("content-type") === "application/wasm";
  return isTyped ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

const core = compiled().then((program) => Core.of(program, progress));

addEventListener("message", async ({ data: { act, order, port: to } }) => {
  port = to;
  try {
    to.postMessage((await core).do(act, order));
  } catch (error) {
    to.postMessage({ failure: String(error) });
  }
});
