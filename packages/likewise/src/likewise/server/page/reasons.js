// Why pictures answer to typed words: each reason can be struck out, and counted again.

import { fill, h, icon } from "./dom.js";
import { current, go } from "./state.js";
import { t } from "./texts.js";

/** @typedef {import("./types.js").Reason} Reason */
/** @typedef {{key: string, text: string}} Said a reason as it is shown */

const SHOWN = 8;
/** Kinds that are no guess: a minus or an undo takes them back. */
const SURE = ["liked", "like"];
const LOOKS = "looks like: "; // as the server says it
/** How a reason in the address is said, where the page did not see it said. */
const KINDS = t.reasons.kinds;

/** @type {Map<string, string>} how reasons were said when they were struck out */
const told = new Map();

/** @param {import("./state.js").State} state @returns {string[]} keys of reasons that do not count */
export const struck = (state) => state.without.split("\n").filter(Boolean);

/** @param {Said} reason */
export function strike(reason) {
  told.set(reason.key, reason.text);
  const keys = new Set([...struck(current()), reason.key]);
  go({ without: [...keys].join("\n"), above: null, why: "" });
}

/** @param {string} key */
function countAgain(key) {
  go({ without: struck(current()).filter((one) => one !== key).join("\n"), above: null });
}

/** @param {Reason} reason */
export const canStrike = (reason) => !SURE.includes(reason.kind);

/** What a picture looks like has several names, each a reason of its own. @param {Reason} reason @returns {Said[]} */
function parts(reason) {
  if (reason.kind !== "looks" || !reason.text.startsWith(LOOKS)) return [reason];
  return reason.text.slice(LOOKS.length).split(", ").map((name) => ({ key: `looks:${name}`, text: `${LOOKS}${name}` }));
}

/** @param {Said} reason @param {number} [tab] */
const cross = (reason, tab = 0) => h("button", {
  type: "button", class: "strike", tabindex: tab, "aria-label": t.reasons.offOne(reason.text), title: t.reasons.off,
  onclick: (/** @type {Event} */ event) => {
    event.stopPropagation();
    strike(reason);
  },
}, icon("close"));

/** One reason on its picture. @param {Reason} reason */
export const chip = (reason) => h("span", { class: "reason", title: reason.text }, h("span", {}, reason.text), canStrike(reason) && cross(reason, -1));

/** Above the pictures: the reasons there are, those that do not count, and what would make it better. */
export class ReasonsBar {
  constructor() {
    this.el = h("section", { class: "reasons-bar", "aria-label": t.reasons.why, hidden: true });
  }

  /**
   * @param {import("./state.js").State} state
   * @param {readonly import("./types.js").Item[]} items
   * @param {string|null} hint
   */
  show(state, items, hint) {
    this.el.hidden = !state.text;
    if (!state.text) return;
    /** @type {Map<string, {said: Said, n: number}>} */
    const seen = new Map();
    for (const item of items) {
      for (const reason of item.reasons ?? []) {
        if (!canStrike(reason)) continue;
        for (const said of parts(reason)) {
          const known = seen.get(said.key) ?? { said, n: 0 };
          known.n += 1;
          seen.set(said.key, known);
        }
      }
    }
    const all = [...seen.values()].sort((a, b) => Number(a.said.key.startsWith("looks")) - Number(b.said.key.startsWith("looks")) || b.n - a.n).slice(0, SHOWN);
    const off = struck(state);
    fill(this.el,
      all.length > 0 && h("p", { class: "chips" }, h("span", { class: "soft" }, t.reasons.foundBy), ...all.map(({ said }) => h("span", { class: "chip reason-chip" }, said.text, cross(said)))),
      off.length > 0 && h("p", { class: "chips" }, h("span", { class: "soft" }, t.reasons.ignored), ...off.map((key) => {
        const text = told.get(key) ?? key.replace(/^(\w+):/, (whole, kind) => KINDS[kind] ?? whole);
        return h("button", { type: "button", class: "chip off", "aria-label": t.reasons.onOne(text), title: t.reasons.on, onclick: () => countAgain(key) }, h("s", {}, text), icon("undo"));
      })),
      hint && h("p", { class: "soft better" }, `${hint.charAt(0).toUpperCase()}${hint.slice(1)}`));
  }
}
