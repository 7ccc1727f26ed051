// Long work somewhere in a view: a bar while it runs, a sentence when it ends.

import { h } from "./dom.js";
import { count } from "./format.js";
import * as live from "./live.js";
import { toast } from "./toast.js";

/** @typedef {import("./live.js").Done} Done */
/**
 * Of the ends of work, those of some kinds.
 * @template {Done["what"]} K
 * @template {Done} [D=Done]
 * @typedef {D extends Done ? K extends D["what"] ? D : never : never} EndOf
 */

/**
 * @template {Done["what"]} K
 * @param {K[]} kinds of work it shows
 * @param {(done: EndOf<K>) => string} ended what to say of it
 */
export function jobBox(kinds, ended) {
  const stage = h("b", {});
  const detail = h("span", { class: "soft" });
  const bar = h("progress", { "aria-label": "Progress" });
  const el = h("div", { class: "job", hidden: true, role: "status" }, h("p", {}, stage, " ", detail), bar);
  let ours = 0; // the number of the job shown
  /** @type {Map<number, () => void>} ends that were told before their beginning was */
  const early = new Map();
  /** @param {string} text @param {string} more @param {boolean} running */
  const say = (text, more, running) => {
    el.hidden = false;
    bar.hidden = !running;
    stage.textContent = text;
    detail.textContent = more;
  };
  /** @param {number} job @param {() => void} tell */
  const end = (job, tell) => {
    // A quick job's end can be told before the answer that says it began.
    if (ours !== job && ours !== -1) early.set(job, tell);
    else tell();
    ours = 0;
  };
  live.on("progress", (data) => {
    if (!ours || (ours > 0 && data.job !== ours)) return;
    say(data.stage.charAt(0).toUpperCase() + data.stage.slice(1), data.total ? `${count(data.done)} of ${count(data.total)}` : count(data.done), true);
    if (data.total) [bar.max, bar.value] = [data.total, data.done];
    else bar.removeAttribute("value");
  });
  /** @param {string} what @returns {what is K} */
  const shown = (what) => kinds.some((kind) => kind === what);
  /** @param {Done} done @returns {done is EndOf<K>} */
  const isShown = (done) => shown(done.what);
  live.on("done", (data) => {
    if (!isShown(data)) return;
    end(data.job, () => {
      const told = ended(data);
      say("Done.", told, false);
      toast(told);
    });
  });
  live.on("failed", (data) => {
    if (!shown(data.what)) return;
    end(data.job, () => {
      say("It stopped.", data.message, false);
      toast(data.message, { bad: true });
    });
  });
  live.on("lost", () => {
    if (ours) say("The server went away.", "What was done by then is kept.", false);
    ours = 0;
  });
  return {
    el,
    /** @param {number} job its number; 0: one that ran before this page looked */
    started: (job) => {
      const over = early.get(job);
      if (over) {
        early.delete(job);
        over();
        return;
      }
      ours = job || -1;
      say("Starting", "", true);
      bar.removeAttribute("value");
    },
    /** A job that was under way when the view was opened. @param {{what: string}|null} running */
    running: (running) => {
      if (!ours && running && shown(running.what)) {
        ours = -1;
        say(running.what.charAt(0).toUpperCase() + running.what.slice(1), "", true);
        bar.removeAttribute("value");
      }
    },
  };
}
