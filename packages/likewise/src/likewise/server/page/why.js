// Why a picture matched, by what ranked it: light where a network sees them alike, lines where
// visual words do, and the reasons of typed words.

import { api, ApiError, messageOf } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, icon, s } from "./dom.js";
import { percent, score } from "./format.js";
import { heatMaps } from "./heat.js";
import * as known from "./known.js";
import { canStrike, strike } from "./reasons.js";
import { go, hasPicture, queryOf, shut } from "./state.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";
import { lacksWords } from "./visual-words.js";
import { working } from "./working.js";

/** @typedef {import("./types.js").Explanation} Explanation */

const SIDE = 500; // the common side of both pictures in the drawing
const BETWEEN = 36;
const PLACES = 3; // of a word in a picture that are joined; more would be a hatching

export class Why {
  /** @param {(id: string) => import("./types.js").Item|null} find an answer that is shown */
  constructor(find) {
    this.find = find;
    /** @type {ReturnType<typeof dialog>|null} */
    this.open = null;
    this.id = "";
  }

  /** @param {import("./state.js").State} state */
  async show(state) {
    const id = state.why;
    if (!id) {
      this.id = "";
      this.open?.close();
      return;
    }
    if (id === this.id) return;
    this.id = id;
    this.open ??= dialog(t.whyMatched, "why", () => {
      this.open = null;
      if (this.id) {
        this.id = "";
        shut({ why: "" });
      }
    });
    const { body } = this.open;
    if (!hasPicture(state)) {
      this.#sayReasons(state, body);
      return;
    }
    fill(body, h("p", { class: "empty", role: "status" }, t.why.looking));
    await this.#explain(state);
  }

  /** Typed words: the reasons, each with a way to strike it out. @param {import("./state.js").State} state @param {HTMLElement} body */
  #sayReasons(state, body) {
    const item = this.find(state.why);
    if (!item?.reasons?.length) {
      fill(body, h("p", { class: "empty" }, item ? t.why.noReason : t.why.notLoaded));
      return;
    }
    fill(body,
      h("p", { class: "lead" }, t.why.lead(item.name, state.text)),
      h("ul", { class: "reason-list" }, ...item.reasons.map((reason) => h("li", {}, h("span", {}, reason.text),
        canStrike(reason) && h("button", { type: "button", class: "small", "aria-label": t.reasons.offOne(reason.text), onclick: () => {
          this.open?.close();
          strike(reason);
        } }, icon("close"), t.reasons.off)))));
  }

  /** @param {import("./state.js").State} state */
  async #explain(state) {
    const id = state.why;
    const body = this.open?.body;
    if (!body) return;
    try {
      const [found, picture] = await Promise.all([api.explain(queryOf(state), id, state.by || "default"), api.picture(id)]);
      if (this.id !== id) return;
      const asked = state.q ? `/api/pictures/${encodeURIComponent(state.q)}/image` : `/api/uploads/${encodeURIComponent(state.up)}/image`;
      const reasons = this.find(id)?.reasons ?? [];
      const closer = h("button", { type: "button", onclick: () => go({ why: "", look: picture.id }, { replace: true }) }, icon("look"), t.viewLarge);
      fill(body, ...(found.in_query
        ? heatMaps(found, { address: asked, size: found.query_size, name: "" }, { address: picture.image, size: found.picture_size, name: picture.name }, closer)
        : [...drawn(found, asked, picture), h("p", { class: "buttons" }, closer)]),
      reasons.length > 0 && h("p", {}, t.why.forWords(state.text, reasons.map((one) => one.text))));
    } catch (error) {
      if (this.id !== id) return;
      if (error instanceof ApiError && error.kind === "no_places") await this.#sayWhole(body);
      else fill(body, h("p", { class: "empty", role: "alert" }, messageOf(error)));
    }
  }

  /** What ranked knows no places: that is said, and nothing else is shown in its stead. @param {HTMLElement} body */
  async #sayWhole(body) {
    const offers = lacksWords(await known.collection.get());
    const start = h("button", { type: "button", class: "main", "data-needs": "manage", disabled: working.on, onclick: async () => {
      try {
        start.disabled = true;
        await api.describe();
        this.open?.close();
        known.collection.forget();
        working.ask();
        toast(t.why.describing);
      } catch (error) {
        start.disabled = false;
        complain(error);
      }
    } }, icon("why"), t.visualWords.describe);
    fill(body, h("div", { class: "empty" }, icon("why"), h("h2", {}, t.why.whole),
      h("p", {}, `${t.why.wholeHow} ${offers ? `${t.visualWords.use} ${t.visualWords.cost}` : t.why.rankByWords}`), offers && start));
  }
}

/**
 * @param {Explanation} found
 * @param {string} asked address of the asked picture
 * @param {import("./types.js").Picture} picture
 */
function drawn(found, asked, picture) {
  if (!found.words.length) {
    return [h("p", { class: "empty" }, t.why.nothing(picture.name))];
  }
  const upright = innerWidth < 720;
  const [qw, qh] = found.query_size;
  const [pw, ph] = found.picture_size;
  // Both get the same height side by side, or the same width one above the other.
  const scales = upright ? [SIDE / qw, SIDE / pw] : [SIDE / qh, SIDE / ph];
  const first = [qw * scales[0], qh * scales[0]];
  const second = [pw * scales[1], ph * scales[1]];
  const shift = upright ? [0, first[1] + BETWEEN] : [first[0] + BETWEEN, 0];
  const width = upright ? SIDE : shift[0] + second[0];
  const height = upright ? shift[1] + second[1] : SIDE;
  const most = Math.max(...found.words.map((word) => word.contribution), 1e-12);
  const sum = found.words.reduce((total, word) => total + word.contribution, 0);

  const groups = found.words.map((word, number) => {
    const group = s("g", { class: "match" });
    group.style.setProperty("--strength", String(0.25 + (0.75 * word.contribution) / most));
    group.style.setProperty("--hue", String((number * 137.5) % 360));
    const from = word.query.map(([x, y]) => [x * scales[0], y * scales[0]]);
    const to = word.picture.map(([x, y]) => [x * scales[1] + shift[0], y * scales[1] + shift[1]]);
    for (const [x, y] of from.slice(0, PLACES)) {
      for (const [u, v] of to.slice(0, PLACES)) group.append(s("line", { x1: x, y1: y, x2: u, y2: v }));
    }
    for (const [x, y] of [...from, ...to]) group.append(s("circle", { cx: x, cy: y, r: 6 }));
    return group;
  });
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "matches", "aria-label": t.why.drawing(picture.name, found.words.length) },
    s("image", { href: asked, width: first[0], height: first[1], preserveAspectRatio: "none" }),
    s("image", { href: picture.image, x: shift[0], y: shift[1], width: second[0], height: second[1], preserveAspectRatio: "none" }),
    ...groups);

  /** @param {number} number -1: all alike */
  const point = (number) => {
    svg.classList.toggle("pointing", number >= 0);
    groups.forEach((group, i) => group.classList.toggle("on", i === number));
  };
  const list = h("ol", { class: "shared", "aria-label": t.why.list },
    ...found.words.map((word, number) => {
      const bar = h("i");
      bar.style.width = `${(100 * word.contribution) / most}%`;
      const swatch = h("span", { class: "swatch" });
      swatch.style.setProperty("--hue", String((number * 137.5) % 360));
      return h("li", {}, h("button", {
        type: "button", class: "quiet",
        onmouseenter: () => point(number), onmouseleave: () => point(-1), onfocus: () => point(number), onblur: () => point(-1),
      }, swatch, h("span", { class: "bar" }, bar), h("span", {}, found.score ? percent(word.contribution / found.score) : score(word.contribution))));
    }));
  return [
    h("p", { class: "lead" }, t.why.common(found.shared),
      h("span", { class: "soft" }, t.why.below(found.words.length, found.score > 0 ? Math.min(1, sum / found.score) : null, found.score, found.exact))),
    svg, list,
  ];
}
