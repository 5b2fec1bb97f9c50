// The keys of the diagrams and of the player, as a table that "?" opens.

import { element } from "./panel.ts";

type Keys = [keys: string, meaning: string][];

/** Keys of a diagram that has the focus. Those before `n` are of Wireshark's TCP stream graphs. */
export const DIAGRAM: Keys = [
  ["+ −", "zoom in, zoom out"],
  ["x X", "zoom in, zoom out in time only"],
  ["y Y", "zoom in, zoom out in height, which then no longer follows what is in sight"],
  ["0 Home", "show all, at the height of all"],
  ["← →", "move by a tenth, with Shift by a hundredth"],
  ["↑ ↓", "move up, move down, with Shift less"],
  ["PgUp PgDn", "next flow, previous flow"],
  ["d", "the flow in the opposite direction"],
  ["g", "go to the segment under the mouse, else to the field for its number"],
  ["z", "the mouse drags, or zooms"],
  ["t", "times from the beginning of the run, or from the first segment of the flow"],
  ["s", "relative or absolute sequence numbers: says that the records have relative ones only"],
  ["space", "crosshairs"],
  ["1", "round trips"],
  ["2", "throughput"],
  ["3", "time sequence as in the books of Stevens"],
  ["4", "time sequence as by tcptrace"],
  ["5", "congestion; of a capture, the window that the peer offers"],
  ["n p", "the next segment, the previous segment, with its text"],
  ["r", "the next retransmission"],
];

/** Keys of the player that has the focus. */
const PLAYER: Keys = [
  ["space", "play, pause"],
  ["← →", "the previous event, the next event"],
  ["l", "the next loss"],
  ["Home End", "the first packet, the last packet"],
];

/** The button that shows the keys, and the dialog that it opens. */
export class KeysHelp {
  readonly button = element("button", "", "Keys (?)") as HTMLButtonElement;
  private readonly dialog = document.createElement("dialog");
  private readonly onKey = (event: KeyboardEvent) => {
    const types = event.target instanceof Element && event.target.matches("input, textarea, select");
    if (event.key !== "?" || types) return;
    event.preventDefault();
    this.open();
  };

  constructor(host: HTMLElement) {
    this.button.type = "button";
    this.button.addEventListener("click", () => this.open());
    const close = element("button", "", "Close") as HTMLButtonElement;
    close.addEventListener("click", () => this.dialog.close());
    this.dialog.className = "keys";
    this.dialog.setAttribute("aria-label", "Keys");
    this.dialog.append(
      element("h2", "", "Keys of a diagram that has the focus"),
      tableOf(DIAGRAM),
      element("h2", "", "Keys of the player"),
      tableOf(PLAYER),
      close,
    );
    host.append(this.dialog);
    document.addEventListener("keydown", this.onKey);
  }

  destroy(): void {
    document.removeEventListener("keydown", this.onKey);
    this.dialog.remove();
  }

  private open(): void {
    if (!this.dialog.open) this.dialog.showModal();
  }
}

function tableOf(keys: Keys): HTMLElement {
  const table = element("table");
  for (const [key, meaning] of keys) {
    const row = element("tr");
    const name = element("th");
    name.setAttribute("scope", "row");
    name.append(...key.split(" ").map((one) => element("kbd", "", one)));
    row.append(name, element("td", "", meaning));
    table.append(row);
  }
  return table;
}
