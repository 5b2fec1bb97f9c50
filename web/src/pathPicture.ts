// The picture of a path at one time: nodes, links, and each packet where it is. Data are bars, ACKs are dots, lost ones
// crosses.

import type { CrossingIndex } from "./crossingIndex.ts";
import type { Crossings } from "./model.ts";
import { placesOf, type Place } from "./pathLayout.ts";
import { BLACK, BLUE, GREY, MAGENTA, ORANGE, RED, SERIES, TEAL } from "./style.ts";
import { number } from "./units.ts";

const HEIGHT = 190;
const MARGIN = { side: 90, top: 26 };
/** Distance of a direction's lane from the middle of its link, in pixels. */
const LANE = 16;
/** Places for waiting packets beside the start of a lane; more are told as a number. */
const MOST_WAITING = 14;
const NODE = 11;

type Context = CanvasRenderingContext2D;

interface Lane {
  from: Place;
  to: Place;
  name: string;
}

export class PathPicture {
  readonly element = document.createElement("canvas");
  /** Packets in the present picture, and those of them that are lost. */
  packets = 0;
  lost = 0;
  private readonly places: Map<string, Place>;
  private readonly lanes: Lane[];
  private readonly height: number;
  private width = 900;
  private lossRow = -1;

  constructor(
    private readonly crossings: Crossings,
    private readonly index: CrossingIndex,
  ) {
    this.places = placesOf(crossings.links);
    const rows = Math.max(...columnSizes([...this.places.values()]), 1);
    this.height = HEIGHT + 60 * (rows - 1);
    this.lanes = crossings.links.map((link) => ({
      from: this.places.get(link.from)!,
      to: this.places.get(link.to)!,
      name: `${link.name}.${link.direction}`,
    }));
    this.element.setAttribute("role", "img");
    this.element.setAttribute(
      "aria-label",
      `Path of ${[...this.places.keys()].join(", ")}; the text below tells what happens.`,
    );
    this.resize(this.width);
  }

  resize(width: number): void {
    const ratio = window.devicePixelRatio || 1;
    this.width = Math.max(width, 300);
    this.element.width = this.width * ratio;
    this.element.height = this.height * ratio;
    this.element.style.width = `${this.width}px`;
    this.element.style.height = `${this.height}px`;
  }

  draw(at: number): void {
    const context = this.element.getContext("2d")!;
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.drawLinks(context);
    const waiting = this.lanes.map(() => 0);
    this.lost = 0;
    this.lossRow = -1;
    const underWay = this.index.underWay(at);
    this.packets = underWay.length;
    for (const row of underWay) this.drawPacket(context, row, at, waiting);
    this.lanes.forEach((lane, place) => this.drawQueueLength(context, lane, waiting[place] - 1));
    for (const place of this.places.values()) this.drawNode(context, place);
  }

  /** Losses in the present picture, in words. */
  lossWords(): string {
    if (this.lossRow < 0) return "";
    const { link, why, words, start, packet, kind, kinds } = this.crossings;
    const what =
      kinds[kind[this.lossRow]] === "data"
        ? `data from byte ${number(start[this.lossRow])}`
        : kinds[kind[this.lossRow]];
    const reason = words[why[this.lossRow]] || "lost";
    const lane = this.lanes[link[this.lossRow]].name;
    return `Packet ${number(packet[this.lossRow])} (${what}) is lost on ${lane}: ${reason}`;
  }

  private drawPacket(context: Context, row: number, at: number, waiting: number[]): void {
    const { link, transmitted, delivered } = this.crossings;
    const lane = this.lanes[link[row]];
    if (this.index.isLost(row) && at >= this.index.end[row])
      return this.drawLoss(context, row, at, lane, waiting[link[row]]);
    if (!(transmitted[row] <= at)) {
      // The first is in transmission.
      const place = waiting[link[row]]++ - 1;
      if (place < MOST_WAITING)
        this.drawMark(context, row, ...(place < 0 ? this.onLane(lane, 0) : this.queuePlace(lane, place)));
      return;
    }
    const until = Number.isNaN(delivered[row]) ? this.index.end[row] : delivered[row];
    const share = until > transmitted[row] ? (at - transmitted[row]) / (until - transmitted[row]) : 1;
    this.drawMark(context, row, ...this.onLane(lane, Math.min(share, 1)));
  }

  /** A lost packet falls out of its queue, or off its link, and fades. */
  private drawLoss(context: Context, row: number, at: number, lane: Lane, waiting: number): void {
    const { transmitted } = this.crossings;
    const age = (at - this.index.end[row]) / this.index.linger;
    const [x, y] = Number.isNaN(transmitted[row])
      ? this.queuePlace(lane, Math.min(waiting, MOST_WAITING))
      : this.onLane(lane, 0.5);
    this.lost++;
    this.lossRow = row;
    context.globalAlpha = 1 - 0.8 * Math.min(age, 1);
    context.strokeStyle = RED;
    context.lineWidth = 2.5;
    const [left, top, size] = [x, y + 12 + 34 * age, 6];
    context.beginPath();
    context.moveTo(left - size, top - size);
    context.lineTo(left + size, top + size);
    context.moveTo(left - size, top + size);
    context.lineTo(left + size, top - size);
    context.stroke();
    context.globalAlpha = 1;
  }

  private drawMark(context: Context, row: number, x: number, y: number): void {
    const { kind, kinds, again, flow, why, words } = this.crossings;
    const name = kinds[kind[row]];
    if (name === "ack") {
      context.fillStyle = TEAL;
      context.beginPath();
      context.arc(x, y, 3, 0, 2 * Math.PI);
      return context.fill();
    }
    context.fillStyle = again[row] ? MAGENTA : name === "data" ? SERIES[flow[row] % SERIES.length] : BLACK;
    context.fillRect(x - 3, y - 6, 6, 12);
    if (!words[why[row]]) return;
    context.strokeStyle = ORANGE;
    context.lineWidth = 1.5;
    context.strokeRect(x - 4.5, y - 7.5, 9, 15);
  }

  private drawQueueLength(context: Context, lane: Lane, count: number): void {
    if (count <= 0) return;
    const [x, y] = this.queuePlace(lane, Math.min(count, MOST_WAITING) + 1);
    context.fillStyle = GREY;
    context.font = "12px sans-serif";
    context.textAlign = this.leftward(lane) ? "right" : "left";
    context.fillText(`${number(count)} wait`, x, y + 4);
  }

  private drawLinks(context: Context): void {
    context.strokeStyle = "#C8C8C8";
    context.lineWidth = 1;
    for (const lane of this.lanes) {
      const [x0, y0] = this.onLane(lane, 0);
      const [x1, y1] = this.onLane(lane, 1);
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
      context.fillStyle = GREY;
      context.font = "12px sans-serif";
      context.textAlign = "center";
      context.fillText(lane.name, (x0 + x1) / 2, (y0 + y1) / 2 + (this.leftward(lane) ? 22 : -14));
    }
  }

  private drawNode(context: Context, place: Place): void {
    const [x, y] = this.at(place);
    context.fillStyle = BLUE;
    context.beginPath();
    context.arc(x, y, NODE, 0, 2 * Math.PI);
    context.fill();
    context.fillStyle = BLACK;
    context.font = "600 13px sans-serif";
    context.textAlign = place.x === 0 ? "right" : place.x === 1 ? "left" : "center";
    const offset = place.x === 0 ? -NODE - 6 : place.x === 1 ? NODE + 6 : 0;
    context.fillText(place.name, x + offset, offset ? y + 4 : y - NODE - 8);
  }

  private at(place: Place): [number, number] {
    const across = this.width - 2 * MARGIN.side;
    return [MARGIN.side + place.x * across, MARGIN.top + place.y * (this.height - 2 * MARGIN.top)];
  }

  private leftward(lane: Lane): boolean {
    return lane.to.x < lane.from.x;
  }

  /** A place on the lane of a direction: to the right above the link, to the left below it. */
  private onLane(lane: Lane, share: number): [number, number] {
    const [x0, y0] = this.at(lane.from);
    const [x1, y1] = this.at(lane.to);
    const side = this.leftward(lane) ? LANE : -LANE;
    return [x0 + (x1 - x0) * (0.02 + 0.96 * share), y0 + (y1 - y0) * share + side];
  }

  /** The place of a waiting packet: one after another along its lane's start, outside of the lane. */
  private queuePlace(lane: Lane, place: number): [number, number] {
    const [x, y] = this.onLane(lane, 0);
    const along = (this.leftward(lane) ? -1 : 1) * (14 + 9 * place);
    return [x + along, y + (this.leftward(lane) ? 20 : -20)];
  }
}

function columnSizes(places: Place[]): number[] {
  const sizes = new Map<number, number>();
  for (const { x } of places) sizes.set(x, (sizes.get(x) ?? 0) + 1);
  return [...sizes.values()];
}
