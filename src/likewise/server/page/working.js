// Long work while somebody looks at pictures: one line with a bar above them.

import { h } from "./dom.js";
import { count } from "./format.js";
import * as live from "./live.js";

const NAMES = /** @type {Record<string, string>} */ ({ add: "Looking for pictures", sync: "Looking for changes" });

/** @param {() => void} changed work began or ended */
export function workingLine(changed) {
  const stage = h("b", {});
  const detail = h("span", { class: "soft" });
  const bar = h("progress", { "aria-label": "Progress" });
  // Not a live region: it changes all the time, and the Collection view speaks for it.
  const el = h("div", { class: "job working", hidden: true }, h("p", {}, stage, " ", detail), bar);
  let last = 0; // the newest job that has ended
  /** @param {boolean} on */
  const turn = (on) => {
    if (el.hidden !== on) return;
    el.hidden = !on;
    changed();
  };
  live.on("progress", (data) => {
    if (data.job <= last) return;
    stage.textContent = data.stage.charAt(0).toUpperCase() + data.stage.slice(1);
    detail.textContent = data.total ? `${count(data.done)} of ${count(data.total)}` : count(data.done);
    if (data.total) [bar.max, bar.value] = [data.total, data.done];
    else bar.removeAttribute("value");
    turn(true);
  });
  for (const event of /** @type {const} */ (["done", "failed"])) {
    live.on(event, (data) => {
      last = Math.max(last, data.job);
      turn(false);
    });
  }
  live.on("lost", () => {
    last = 0; // a server that is started again counts its jobs from one
    turn(false);
  });
  return {
    el,
    get on() {
      return !el.hidden;
    },
    /** What the collection says is under way: 0 is the work of another program. @param {import("./types.js").Running|null} job */
    know: (job) => {
      if (!job) turn(false); // its end was not heard
      if (!job || (job.job && job.job <= last) || !el.hidden) return;
      stage.textContent = NAMES[job.what] ?? job.what.charAt(0).toUpperCase() + job.what.slice(1);
      detail.textContent = "";
      bar.removeAttribute("value");
      turn(true);
    },
  };
}
