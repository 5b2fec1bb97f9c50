// Events of a connection, in words, and its use of time. Pressing a line shows its time in the diagrams.

import type { Flow, Story } from "./model.ts";
import { element } from "./panel.ts";
import { duration } from "./units.ts";

/** Number of events of a longer story that are shown at first. */
const FIRST = 12;

/** Margin around an event, as a share of its length, and the minimum in seconds. */
const AROUND = { share: 0.15, least: 0.25 };

/** Number of flows above which only the story of the flow in the diagrams is shown. */
const MOST_STORIES = 12;

type Show = (from: number, to: number) => void;

/**
 * The stories of all flows, each under its name; that of the flow `open` is unfolded, others are built when they are.
 */
export function storiesOf(
  flows: Flow[],
  open: number,
  show: (flow: number, from: number, to: number) => void,
): HTMLElement {
  const section = element("section", "stories");
  flows.forEach((flow, place) => {
    if (!flow.stories.some((one) => one.events.length)) return;
    if (flows.length > MOST_STORIES && place !== open) return;
    const folded = document.createElement("details");
    folded.append(element("summary", "", flows.length > 1 ? `What happened to ${flow.name}` : "What happened"));
    const build = () => {
      if (folded.childElementCount === 1) folded.append(story(flow.stories, (from, to) => show(place, from, to)));
    };
    folded.addEventListener("toggle", build);
    folded.open = place === open;
    if (folded.open) build();
    section.append(folded);
  });
  return section;
}

function story(stories: Story[], show: Show): HTMLElement {
  const section = element("section", "story");
  for (const one of stories) {
    if (!one.events.length) continue;
    if (stories.length > 1) section.append(element("h3", "", `Connection ${one.connection}`));
    section.append(whole(one), events(one, show), shares(one));
  }
  return section;
}

function whole(one: Story): HTMLElement {
  const list = element("ul", "whole");
  list.append(...one.facts.map((fact) => element("li", "", fact)));
  return list;
}

function events(one: Story, show: Show): HTMLElement {
  const list = element("ol", "events");
  one.events.forEach((event, place) => {
    const item = element("li", place < FIRST ? event.kind : `${event.kind} later`);
    const at = element("button", "at", `${event.from.toFixed(3)} s`);
    at.title = "Show this moment in the diagrams";
    at.addEventListener("click", () => {
      const room = Math.max((event.to - event.from) * AROUND.share, AROUND.least);
      show(event.from - room, event.to + room);
    });
    item.append(at, element("span", "", event.text));
    list.append(item);
  });
  const hidden = Math.max(one.events.length - FIRST, 0);
  if (hidden) list.append(more(list, hidden));
  if (one.left_out) list.append(element("li", "", `${one.left_out} more: lasthop explain prints them`));
  return list;
}

function more(list: HTMLElement, hidden: number): HTMLElement {
  const item = element("li", "more");
  const button = element("button", "", `${hidden} more events`);
  button.addEventListener("click", () => {
    list.classList.add("all");
    item.remove();
  });
  item.append(button);
  return item;
}

/** A bar for each thing that took time, as long as its share. */
function shares(one: Story): HTMLElement {
  const table = element("table", "shares");
  const whole = one.shares.reduce((sum, share) => sum + share.seconds, 0);
  for (const { kind, seconds, words } of one.shares) {
    const row = element("tr", kind);
    const bar = element("div", "share");
    bar.style.width = `${(100 * seconds) / whole}%`;
    const cell = element("td", "bar");
    cell.append(bar);
    row.append(element("td", "number", duration(seconds)), cell, element("td", "", words));
    table.append(row);
  }
  return table;
}
