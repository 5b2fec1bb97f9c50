// The core in WebAssembly behind one function. `crates/wasm/src/lib.rs` describes its memory.

/** Bytes of the length before the JSON. */
const HEAD = 4;

export class Core {
  /** The core of a compiled program. A run calls `progress` with its virtual time, in seconds. */
  static async of(program, progress = () => {}) {
    const { exports } = await WebAssembly.instantiate(program, { page: { progress } });
    return new Core(exports);
  }

  constructor(exports) {
    this.exports = exports;
  }

  /**
   * The answer to an order of `lasthop_run`, `lasthop_case`, `lasthop_check` or `lasthop_change`, and the files that
   * come with it.
   */
  do(act, order) {
    const given = new TextEncoder().encode(JSON.stringify(order));
    const start = this.exports.lasthop_allocate(given.length);
    new Uint8Array(this.exports.memory.buffer, start, given.length).set(given);
    const packed = BigInt.asUintN(64, this.exports[`lasthop_${act}`](start, given.length));
    this.exports.lasthop_release(start, given.length);
    const [place, length] = [Number(packed >> 32n), Number(packed & 0xffffffffn)];
    const bytes = new Uint8Array(this.exports.memory.buffer, place, length).slice();
    this.exports.lasthop_release(place, length);
    return read(bytes);
  }
}

/** The answer, and the contents of each of its files. */
function read(bytes) {
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const answer = JSON.parse(new TextDecoder().decode(bytes.subarray(HEAD, HEAD + length)));
  let at = HEAD + length;
  const files = (answer.files ?? []).map(({ name, bytes: size }) => ({
    name,
    contents: bytes.slice(at, (at += size)),
  }));
  return { answer, files };
}
