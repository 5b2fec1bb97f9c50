// Reads columns of numbers as `crates/view/src/packing.rs` writes them: differences of whole numbers in bytes of seven
// bits.

/** Position of a column among the packed bytes. */
export interface Packed {
  at: number;
  bytes: number;
  count: number;
}

/** The numbers of a column. Exact below 2^53: 104 days in nanoseconds, 9 petabytes. */
export function unpack(bytes: Uint8Array, column: Packed): Float64Array {
  const numbers = new Float64Array(column.count);
  let at = column.at;
  let last = 0;
  for (let row = 0; row < column.count; row++) {
    // Most differences have one byte to three, for which arithmetic of 32 bits suffices.
    let value = bytes[at++];
    if (value & 0x80) {
      value = (value & 0x7f) | (bytes[at] << 7);
      if (bytes[at++] & 0x80) {
        value = (value & 0x3fff) | (bytes[at] << 14);
        if (bytes[at++] & 0x80) {
          value &= 0x1fffff;
          let scale = 128 ** 3;
          let byte: number;
          do {
            byte = bytes[at++];
            value += (byte & 0x7f) * scale;
            scale *= 128;
          } while (byte & 0x80);
          // Zigzag: odd numbers are negative.
          last += value % 2 === 0 ? value / 2 : -(value + 1) / 2;
          numbers[row] = last;
          continue;
        }
      }
    }
    last += (value >>> 1) ^ -(value & 1);
    numbers[row] = last;
  }
  return numbers;
}

/** The packed bytes from their text in the page: base64 of a deflated stream. */
export async function inflate(text: string): Promise<Uint8Array> {
  const letters = atob(text);
  const deflated = new Uint8Array(letters.length);
  for (let place = 0; place < letters.length; place++) deflated[place] = letters.charCodeAt(place);
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The two parts of the server's answer: a line of JSON, and the packed bytes. */
export function indexAndColumns(answer: Uint8Array): { index: unknown; columns: Uint8Array } {
  const end = answer.indexOf("\n".charCodeAt(0));
  return { index: JSON.parse(new TextDecoder().decode(answer.subarray(0, end))), columns: answer.subarray(end + 1) };
}
