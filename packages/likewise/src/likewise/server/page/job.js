// Long work that a view began: a sentence when it ends.  How far it is stands in the line of all views.

import { undoing } from "./actions.js";
import { h } from "./dom.js";
import * as live from "./live.js";
import { t } from "./texts.js";
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
  const el = h("div", { class: "job", hidden: true, role: "status" }, h("p", {}, stage, " ", detail));
  let ours = 0; // the number of the job shown
  /** @type {Map<number, () => void>} ends that were told before their beginning was */
  const early = new Map();
  /** @param {string} text @param {string} more */
  const say = (text, more) => {
    el.hidden = false;
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
  /** @param {string} what @returns {what is K} */
  const shown = (what) => kinds.some((kind) => kind === what);
  /** @param {Done} done @returns {done is EndOf<K>} */
  const isShown = (done) => shown(done.what);
  live.on("done", (data) => {
    if (!isShown(data)) return;
    end(data.job, () => {
      const told = ended(data);
      say(t.collection.done, told);
      toast(told, "action" in data ? undoing(data.action) : {});
    });
  });
  live.on("failed", (data) => {
    if (!shown(data.what)) return;
    end(data.job, () => {
      say(data.stopped ? t.collection.stopped : t.collection.failed, data.stopped ? t.collection.kept : data.message);
      toast(data.stopped ? t.collection.stoppedKept : data.message, { bad: !data.stopped });
    });
  });
  live.on("lost", () => {
    if (ours) say(t.collection.gone, t.collection.kept);
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
      el.hidden = true; // what it says is of the one before
    },
    /** A job that was under way when the view was opened. @param {{what: string}|null} running */
    running: (running) => {
      if (!ours && running && shown(running.what)) ours = -1;
    },
  };
}
