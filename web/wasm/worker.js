// Carries out orders of the page beside it: a message { act, order, port } is answered at the port, by { progress } in
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

const program = fetch("lasthop.wasm").then((response) => {
  if (!response.ok) throw new Error(`lasthop.wasm: the server answers ${response.status}`);
  return response.arrayBuffer();
});
const core = program.then((bytes) => Core.of(bytes, progress));

addEventListener("message", async ({ data: { act, order, port: to } }) => {
  port = to;
  try {
    to.postMessage((await core).do(act, order));
  } catch (error) {
    to.postMessage({ failure: String(error) });
  }
});
