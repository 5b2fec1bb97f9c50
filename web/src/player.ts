// The player: packets along the path in slow motion, from the records of a run. A time of the run is shown; playing
// moves it.

import { CrossingIndex } from "./crossingIndex.ts";
import type { Crossings, Flow, Story } from "./model.ts";
import { element } from "./panel.ts";
import { PathPicture } from "./pathPicture.ts";
import type { TimeRange } from "./range.ts";
import { lowerBound } from "./search.ts";
import { amount, duration, number } from "./units.ts";

/** Seconds of the run for each second of the clock. */
const SPEEDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000];
const FIRST_SPEED = 4;

/** Times are whole nanoseconds, which seconds hold nearly. */
const HALF_NS = 0.5e-9;

/** Longest time between two pictures that moves the run: after a pause of the browser the player does not jump. */
const LONGEST_STEP_S = 0.1;

export class Player {
  private readonly figure = element("figure", "player");
  private readonly index: CrossingIndex;
  private readonly picture: PathPicture;
  private readonly clock = element("output", "clock");
  private readonly windows = element("span", "windows");
  private readonly story = element("p", "now");
  private readonly play: HTMLButtonElement;
  private readonly slider = document.createElement("input");
  private readonly last: number;
  /** The events of the flow's stories, in the order in which they begin. */
  private readonly events: Story["events"];
  private at = 0;
  private speed = FIRST_SPEED;
  private playing = false;
  private frame = 0;
  private before = 0;

  constructor(
    host: HTMLElement,
    private readonly crossings: Crossings,
    private readonly flow: Flow,
    private readonly range: TimeRange,
  ) {
    this.index = new CrossingIndex(crossings);
    this.picture = new PathPicture(crossings, this.index);
    this.events = flow.stories.flatMap((story) => story.events).sort((one, other) => one.from - other.from);
    this.last = this.index.end.reduce((latest, end) => Math.max(latest, end), 0);
    this.play = this.button("Play", "Play or pause (space)", () => this.toggle());
    this.build(host);
    range.watchSeek((at) => {
      this.pause();
      this.show(at);
    });
    this.show(crossings.time[0]);
  }

  resize(width: number): void {
    this.picture.resize(width);
    this.picture.draw(this.at);
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.figure.remove();
  }

  private build(host: HTMLElement): void {
    this.figure.tabIndex = 0;
    this.figure.setAttribute(
      "aria-label",
      "Player: packets along the path. Space plays, arrows step, L goes to the next loss.",
    );
    const controls = element("div", "controls");
    controls.setAttribute("role", "toolbar");
    controls.append(
      this.play,
      this.button("◂ event", "Step to the previous event (left arrow)", () =>
        this.step(this.index.previousEvent(this.at)),
      ),
      this.button("event ▸", "Step to the next event (right arrow)", () => this.step(this.index.nextEvent(this.at))),
      this.button("next loss ▸", "Go to the next loss (L)", () => this.step(this.index.nextLoss(this.at))),
      this.speeds(),
      this.clock,
      this.windows,
    );
    this.slider.type = "range";
    Object.assign(this.slider, { min: "0", max: String(this.last), step: "any" });
    this.slider.setAttribute("aria-label", "Time of the run");
    this.slider.addEventListener("input", () => (this.pause(), this.show(Number(this.slider.value))));
    this.story.setAttribute("aria-live", "polite");
    this.figure.append(
      element("figcaption", "", "Packets along the path"),
      controls,
      this.slider,
      this.picture.element,
      this.story,
    );
    if (this.crossings.left_out) {
      this.figure.append(element("p", "hint", `${number(this.crossings.left_out)} later crossings are left out.`));
    }
    this.figure.addEventListener("keydown", (event) => this.onKey(event));
    host.append(this.figure);
  }

  private button(words: string, title: string, act: () => void): HTMLButtonElement {
    const made = element("button", "", words) as HTMLButtonElement;
    made.type = "button";
    made.title = title;
    made.addEventListener("click", act);
    return made;
  }

  private speeds(): HTMLElement {
    const label = element("label", "", "speed ");
    const select = document.createElement("select");
    select.append(
      ...SPEEDS.map((speed, place) => new Option(speedWords(speed), String(place), false, place === this.speed)),
    );
    select.addEventListener("change", () => (this.speed = Number(select.value)));
    label.append(select);
    return label;
  }

  private onKey(event: KeyboardEvent): void {
    if (event.target instanceof HTMLSelectElement || event.ctrlKey || event.metaKey || event.altKey) return;
    const acts: Record<string, () => void> = {
      " ": () => this.toggle(),
      ArrowRight: () => this.step(this.index.nextEvent(this.at)),
      ArrowLeft: () => this.step(this.index.previousEvent(this.at)),
      l: () => this.step(this.index.nextLoss(this.at)),
      Home: () => this.step(this.crossings.time[0]),
      End: () => this.step(this.last),
    };
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    // A button has its own meaning for the space bar.
    if (!act || (event.key === " " && event.target instanceof HTMLButtonElement)) return;
    event.preventDefault();
    act();
  }

  private toggle(): void {
    if (this.playing) return this.pause();
    if (this.at >= this.last) this.show(this.crossings.time[0]);
    this.playing = true;
    this.play.textContent = "Pause";
    this.before = performance.now();
    this.frame = requestAnimationFrame((now) => this.move(now));
  }

  private pause(): void {
    this.playing = false;
    this.play.textContent = "Play";
    cancelAnimationFrame(this.frame);
  }

  private step(to: number | null): void {
    this.pause();
    if (to !== null) this.show(to);
    else this.story.textContent = "There is no later one.";
  }

  private move(now: number): void {
    const passed = Math.min(Math.max(now - this.before, 0) / 1000, LONGEST_STEP_S);
    this.before = now;
    this.show(Math.min(this.at + passed * SPEEDS[this.speed], this.last));
    if (this.at >= this.last) return this.pause();
    if (this.playing) this.frame = requestAnimationFrame((later) => this.move(later));
  }

  /** Shows a time of the run in the picture, the clock, the story and the diagrams. */
  private show(at: number): void {
    this.at = at;
    this.picture.draw(at);
    this.clock.textContent = `${at.toFixed(6).replace(/(\d{3})$/, " $1")} s`;
    this.slider.value = String(at);
    this.windows.textContent = this.windowsAt(at);
    const story = this.storyAt(at);
    if (this.story.textContent !== story) this.story.textContent = story;
    this.range.mark(at);
    this.figure.dataset.at = String(at);
    this.figure.dataset.packets = String(this.picture.packets);
    this.figure.dataset.lost = String(this.picture.lost);
  }

  private windowsAt(at: number): string {
    const { decisions, flight } = this.flow;
    const row = decisions ? lowerBound(decisions.time, at + HALF_NS) - 1 : -1;
    const sent = lowerBound(flight.time, at + HALF_NS) - 1;
    const parts = row < 0 ? [] : [`cwnd ${amount(decisions!.cwnd[row], "bytes")}`];
    if (sent >= 0) parts.push(`in flight ${amount(flight.bytes[sent], "bytes")}`);
    return parts.join(", ");
  }

  /** The present event of `lasthop explain`, or else the last event. */
  private storyAt(at: number): string {
    const lost = this.picture.lossWords();
    if (lost) return lost;
    const begun = this.events.findLast((event) => event.from <= at + HALF_NS);
    const event = this.events.findLast((one) => one.from <= at + HALF_NS && one.to >= at) ?? begun;
    return event ? `${duration(event.from)}: ${event.text}` : "";
  }
}

function speedWords(speed: number): string {
  if (speed === 1) return "as it was";
  return speed < 1 ? `1/${number(Math.round(1 / speed))}` : `× ${number(speed)}`;
}
