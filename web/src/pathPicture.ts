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
/** Places for waiting packets next to the start of a lane; more are shown as a number. */
const MOST_WAITING = 14;
/** Distance between waiting packets, and of the first from the start of its lane, in pixels. */
const QUEUE = { step: 9, first: 14, aside: 20 };
const NODE = 11;

/** What a packet is drawn as: the colours of data by flow, then these. */
const STYLES = [...SERIES, MAGENTA, BLACK, TEAL];
const [AGAIN, OTHER, ACK] = [SERIES.length, SERIES.length + 1, SERIES.length + 2];

type Context = CanvasRenderingContext2D;

/** One direction of a link: from where to where its packets move, in pixels. */
interface Lane {
  from: Place;
  to: Place;
  name: string;
  x: number;
  y: number;
  across: number;
  down: number;
  /** 1 to the right, −1 to the left. */
  way: 1 | -1;
}

export class PathPicture {
  readonly element = document.createElement("canvas");
  /** Packets in the present picture, and those of them that are lost. */
  packets = 0;
  lost = 0;
  private readonly places: Map<string, Place>;
  private readonly lanes: Lane[];
  private readonly height: number;
  /** Nodes and links, which do not move. */
  private readonly ground = document.createElement("canvas");
  /** The style of each crossing, a place in `STYLES`. */
  private readonly styles: Uint8Array;
  /** Positions of the packets in the present picture, x and y in turn, by style; and of those with a frame. */
  private readonly marks: number[][] = STYLES.map(() => []);
  private readonly framed: number[] = [];
  private readonly waiting: number[];
  private width = 900;
  private lossRow = -1;

  constructor(
    private readonly crossings: Crossings,
    private readonly index: CrossingIndex,
  ) {
    this.places = placesOf(crossings.links);
    const rows = Math.max(...columnSizes([...this.places.values()]), 1);
    this.height = HEIGHT + 60 * (rows - 1);
    this.lanes = crossings.links.map((link) => {
      const [from, to] = [this.places.get(link.from)!, this.places.get(link.to)!];
      const name = `${link.name}.${link.direction}`;
      return { from, to, name, x: 0, y: 0, across: 0, down: 0, way: to.x < from.x ? -1 : 1 };
    });
    this.waiting = this.lanes.map(() => 0);
    this.styles = Uint8Array.from(crossings.kind, (_, row) => styleOf(crossings, row));
    this.element.setAttribute("role", "img");
    this.element.setAttribute(
      "aria-label",
      `Path of ${[...this.places.keys()].join(", ")}; the text below describes what happens.`,
    );
    this.resize(this.width);
  }

  resize(width: number): void {
    const ratio = window.devicePixelRatio || 1;
    this.width = Math.max(width, 300);
    for (const canvas of [this.element, this.ground]) {
      canvas.width = this.width * ratio;
      canvas.height = this.height * ratio;
      canvas.getContext("2d")!.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.element.style.width = `${this.width}px`;
    this.element.style.height = `${this.height}px`;
    for (const lane of this.lanes) this.layOut(lane);
    const context = this.ground.getContext("2d")!;
    this.drawLinks(context);
    for (const place of this.places.values()) this.drawNode(context, place);
  }

  draw(at: number): void {
    const context = this.element.getContext("2d")!;
    context.clearRect(0, 0, this.width, this.height);
    context.drawImage(this.ground, 0, 0, this.width, this.height);
    this.lost = 0;
    this.lossRow = -1;
    this.waiting.fill(0);
    for (const marks of this.marks) marks.length = 0;
    this.framed.length = 0;
    const underWay = this.index.underWay(at);
    this.packets = underWay.length;
    for (const row of underWay) this.placePacket(context, row, at);
    this.drawMarks(context);
    this.lanes.forEach((lane, place) => this.drawQueueLength(context, lane, this.waiting[place] - 1));
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

  /** Finds the place of a packet at a time; a lost one is drawn at once. */
  private placePacket(context: Context, row: number, at: number): void {
    const { link, transmitted } = this.crossings;
    const place = link[row];
    const lane = this.lanes[place];
    if (this.index.isLost(row) && at >= this.index.end[row])
      return this.drawLoss(context, row, at, lane, this.waiting[place]);
    if (!(transmitted[row] <= at)) {
      // The first is in transmission.
      const before = this.waiting[place]++ - 1;
      if (before < 0) this.addMark(row, lane.x, lane.y);
      else if (before < MOST_WAITING) this.addMark(row, queueX(lane, before), queueY(lane));
      return;
    }
    const length = this.index.end[row] - transmitted[row];
    const share = length > 0 ? Math.min((at - transmitted[row]) / length, 1) : 1;
    this.addMark(row, lane.x + share * lane.across, lane.y + share * lane.down);
  }

  private addMark(row: number, x: number, y: number): void {
    this.marks[this.styles[row]].push(x, y);
    if (this.styles[row] !== ACK && this.crossings.words[this.crossings.why[row]]) this.framed.push(x, y);
  }

  /** A lost packet falls out of its queue, or off its link, and fades. */
  private drawLoss(context: Context, row: number, at: number, lane: Lane, waiting: number): void {
    const isOfQueue = Number.isNaN(this.crossings.transmitted[row]);
    const age = (at - this.index.end[row]) / this.index.linger;
    const left = isOfQueue ? queueX(lane, Math.min(waiting, MOST_WAITING)) : lane.x + 0.5 * lane.across;
    const top = (isOfQueue ? queueY(lane) : lane.y + 0.5 * lane.down) + 12 + 34 * age;
    const size = 6;
    this.lost++;
    this.lossRow = row;
    context.globalAlpha = 1 - 0.8 * Math.min(age, 1);
    context.strokeStyle = RED;
    context.lineWidth = 2.5;
    context.beginPath();
    context.moveTo(left - size, top - size);
    context.lineTo(left + size, top + size);
    context.moveTo(left - size, top + size);
    context.lineTo(left + size, top - size);
    context.stroke();
    context.globalAlpha = 1;
  }

  /** Draws the packets style by style: a canvas takes long to change its colour for each. */
  private drawMarks(context: Context): void {
    this.marks.forEach((places, style) => {
      if (!places.length) return;
      context.fillStyle = STYLES[style];
      if (style === ACK) return drawDots(context, places);
      for (let place = 0; place < places.length; place += 2)
        context.fillRect(places[place] - 3, places[place + 1] - 6, 6, 12);
    });
    context.strokeStyle = ORANGE;
    context.lineWidth = 1.5;
    for (let place = 0; place < this.framed.length; place += 2)
      context.strokeRect(this.framed[place] - 4.5, this.framed[place + 1] - 7.5, 9, 15);
  }

  private drawQueueLength(context: Context, lane: Lane, count: number): void {
    if (count <= 0) return;
    context.fillStyle = GREY;
    context.font = "12px sans-serif";
    context.textAlign = lane.way < 0 ? "right" : "left";
    context.fillText(`${number(count)} wait`, queueX(lane, Math.min(count, MOST_WAITING) + 1), queueY(lane) + 4);
  }

  private drawLinks(context: Context): void {
    context.strokeStyle = "#C8C8C8";
    context.lineWidth = 1;
    for (const { x, y, across, down, way, name } of this.lanes) {
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + across, y + down);
      context.stroke();
      context.fillStyle = GREY;
      context.font = "12px sans-serif";
      context.textAlign = "center";
      context.fillText(name, x + across / 2, y + down / 2 + (way < 0 ? 22 : -14));
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

  /** Places a lane in the picture: to the right above the link, to the left below it. */
  private layOut(lane: Lane): void {
    const [x0, y0] = this.at(lane.from);
    const [x1, y1] = this.at(lane.to);
    lane.x = x0 + 0.02 * (x1 - x0);
    lane.across = 0.96 * (x1 - x0);
    lane.y = y0 - lane.way * LANE;
    lane.down = y1 - y0;
  }
}

/** The place of a waiting packet: one after another along its lane's start, outside of the lane. */
function queueX(lane: Lane, place: number): number {
  return lane.x + lane.way * (QUEUE.first + QUEUE.step * place);
}

function queueY(lane: Lane): number {
  return lane.y - lane.way * QUEUE.aside;
}

function styleOf({ kind, kinds, again, flow }: Crossings, row: number): number {
  const name = kinds[kind[row]];
  if (name === "ack") return ACK;
  if (again[row]) return AGAIN;
  return name === "data" ? flow[row] % SERIES.length : OTHER;
}

function drawDots(context: Context, places: number[]): void {
  context.beginPath();
  for (let place = 0; place < places.length; place += 2) {
    context.moveTo(places[place] + 3, places[place + 1]);
    context.arc(places[place], places[place + 1], 3, 0, 2 * Math.PI);
  }
  context.fill();
}

function columnSizes(places: Place[]): number[] {
  const sizes = new Map<number, number>();
  for (const { x } of places) sizes.set(x, (sizes.get(x) ?? 0) + 1);
  return [...sizes.values()];
}
