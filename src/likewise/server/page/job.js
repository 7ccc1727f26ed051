// Long work somewhere in a view: a bar while it runs, a sentence when it ends.

import { h } from "./dom.js";
import { count } from "./format.js";
import * as live from "./live.js";
import { toast } from "./toast.js";

/**
 * @param {string[]} kinds of work it shows
 * @param {(done: Record<string, any>) => string} ended what to say of it
 */
export function jobBox(kinds, ended) {
  const stage = h("b", {});
  const detail = h("span", { class: "soft" });
  const bar = h("progress", { "aria-label": "Progress" });
  const el = h("div", { class: "job", hidden: true, role: "status" }, h("p", {}, stage, " ", detail), bar);
  let ours = false;
  /** @param {string} text @param {string} more @param {boolean} running */
  const say = (text, more, running) => {
    el.hidden = false;
    bar.hidden = !running;
    stage.textContent = text;
    detail.textContent = more;
  };
  live.on("progress", (data) => {
    if (!ours) return;
    say(data.stage.charAt(0).toUpperCase() + data.stage.slice(1), data.total ? `${count(data.done)} of ${count(data.total)}` : count(data.done), true);
    if (data.total) [bar.max, bar.value] = [data.total, data.done];
    else bar.removeAttribute("value");
  });
  live.on("done", (data) => {
    if (!kinds.includes(data.what)) return;
    ours = false;
    const told = ended(data);
    say("Done.", told, false);
    toast(told);
  });
  live.on("failed", (data) => {
    if (!ours) return;
    ours = false;
    say("It stopped.", data.message, false);
    toast(data.message, { bad: true });
  });
  return {
    el,
    started: () => {
      ours = true;
      say("Starting", "", true);
      bar.removeAttribute("value");
    },
  };
}
