// The learning curve: how often the profile was right before it was told, beside plain weights.

import { h, s } from "./dom.js";
import { percent } from "./format.js";
import { t } from "./texts.js";

/** @typedef {import("./types.js").CurvePoint} CurvePoint */

const HEIGHT = 220;
const LEFT = 52;
const BOTTOM = 30;
const POINTS = 240; // more could not be told apart

/** @param {CurvePoint[]} points */
export function curve(points) {
  const across = innerWidth < 640 ? 360 : 640; // about the pixels it gets, so that letters keep their size
  const step = Math.max(1, Math.ceil(points.length / POINTS));
  const kept = points.map((_, i) => i).filter((i) => i % step === 0 || i === points.length - 1);
  const values = kept.flatMap((i) => [points[i].learned, points[i].plain]);
  const low = Math.max(0, Math.floor(Math.min(...values) * 10 - 0.5) / 10);
  const high = Math.min(1, Math.ceil(Math.max(...values) * 10 + 0.5) / 10);
  const span = Math.max(high - low, 0.1);
  /** @param {number} i @param {number} value */
  const at = (i, value) => {
    const x = LEFT + ((across - LEFT - 10) * i) / Math.max(1, points.length - 1);
    const y = 10 + (HEIGHT - BOTTOM - 10) * (1 - (value - low) / span);
    return [x, y];
  };
  /** @param {"learned"|"plain"} kind */
  const line = (kind) => {
    const spots = kept.map((i) => at(i, points[i][kind]).map((n) => n.toFixed(1)).join(" "));
    // A single judgement is a dot: a line of no length with round ends.
    return s("path", { class: kind, d: `M${(spots.length > 1 ? spots : [...spots, ...spots]).join("L")}` });
  };
  const ticks = [0, 0.5, 1].map((part) => low + span * part);
  const last = points[points.length - 1];
  return h("figure", { class: "curve" },
    h("figcaption", {},
      key("learned", t.curve.learned(last.learned)), key("plain", t.curve.plain(last.plain))),
    s("svg", { viewBox: `0 0 ${across} ${HEIGHT}`, role: "img", "aria-label": t.curve.label(points.length, last.learned, last.plain) },
      ...ticks.flatMap((value) => {
        const [, y] = at(0, value);
        return [s("line", { class: "tick", x1: LEFT, x2: across - 10, y1: y, y2: y }), s("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, percent(value))];
      }),
      s("text", { x: LEFT, y: HEIGHT - 4 }, across > 400 ? t.curve.first : t.curve.firstShort), s("text", { x: across - 10, y: HEIGHT - 4, "text-anchor": "end" }, t.judgements(points.length)),
      line("plain"), line("learned")));
}

/** @param {string} kind @param {string} text */
const key = (kind, text) => h("span", {}, s("svg", { class: "key", viewBox: "0 0 24 8", "aria-hidden": "true" }, s("path", { class: kind, d: "M2 4H22" })), text);
