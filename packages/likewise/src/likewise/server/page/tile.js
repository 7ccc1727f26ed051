// One picture in the grid: a link that asks about it, its score and date, and what can be said of it.

import { thumbnail } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { score } from "./format.js";
import { canStrike, chip } from "./reasons.js";
import { t } from "./texts.js";

/** @typedef {import("./types.js").Item} Item */
/**
 * @typedef {object} TileActions
 * @property {(item: Item) => string} href
 * @property {(item: Item) => void} ask
 * @property {(item: Item) => void} look
 * @property {(item: Item) => void} why
 * @property {(item: Item, verdict: import("./types.js").Verdict) => void} judge
 */

const REASONS = 3; // on a tile; the closer look at why has them all
const TOUCH = matchMedia("(hover: none)");

export class Tile {
  /**
   * @param {Item} item
   * @param {TileActions} actions
   */
  constructor(item, actions) {
    this.item = item;
    this.actions = actions;
    this.img = h("img", { alt: "", decoding: "async", draggable: "false" });
    this.img.addEventListener("load", () => this.el.classList.add("seen"));
    this.img.addEventListener("error", () => {
      if (this.img.getAttribute("src")) this.el.classList.add("gone");
    });
    this.link = h("a", { class: "pic", tabindex: "-1", draggable: "false", onclick: (/** @type {MouseEvent} */ event) => this.#click(event) },
      this.img, h("span", { class: "lost", "aria-hidden": "true" }, item.name));
    this.score = h("span", { class: "score", "aria-hidden": "true" });
    this.when = h("span", { class: "when", "aria-hidden": "true" });
    this.mark = h("span", { class: "verdict", "aria-hidden": "true" });
    /** @type {HTMLButtonElement[]} */
    this.buttons = [];
    this.asked = false;
    this.own = false;
    this.reasons = h("div", { class: "tile-reasons" });
    this.reasonKey = "";
    /** @type {HTMLElement|null} */
    this.marks = null;
    this.el = h("div", { class: "tile", role: "gridcell" }, this.link, this.mark,
      h("div", { class: "facts" }, this.reasons, this.score, this.when));
    // Thousands of tiles pass by; only those one turns to get their buttons.
    const equip = () => this.#equip();
    this.el.addEventListener("pointerenter", equip);
    this.el.addEventListener("focusin", equip);
    if (TOUCH.matches) equip();
  }

  #equip() {
    if (this.buttons.length) return;
    const { actions } = this;
    this.buttons = [
      this.#button("plus", t.tile.more, () => actions.judge(this.item, "liked")),
      this.#button("minus", t.tile.less, () => actions.judge(this.item, "disliked")),
      this.#button("why", t.whyMatched, () => actions.why(this.item)),
      this.#button("look", t.viewLarge, () => actions.look(this.item)),
    ];
    const [more, less, reason, large] = this.buttons;
    this.el.append(h("div", { class: "acts" }, more, less), h("div", { class: "acts more" }, reason, large));
    this.#label();
  }

  #label() {
    for (const button of this.buttons) {
      const kind = button.className;
      button.hidden = kind === "why" ? !this.asked : kind !== "look" && (!this.asked || this.own);
      button.setAttribute("aria-label", t.tile.named(button.title, this.item.name));
      if (kind === "plus") button.setAttribute("aria-pressed", String(this.item.verdict === "liked"));
      if (kind === "minus") button.setAttribute("aria-pressed", String(this.item.verdict === "disliked"));
    }
  }

  /**
   * @param {string} name
   * @param {string} label
   * @param {() => void} act
   */
  #button(name, label, act) {
    return h("button", { type: "button", tabindex: "-1", class: name, title: label, onclick: act }, icon(name));
  }

  /** @param {MouseEvent} event */
  #click(event) {
    // Other buttons and modifiers mean "in a new tab", which the browser does by itself.
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    this.actions.ask(this.item);
  }

  /**
   * Show an item in its place.
   * @param {Item} item
   * @param {number} place from 0
   * @param {boolean} asked whether these are answers to a query
   * @param {boolean} own whether it is the asked picture itself, which cannot be judged
   */
  update(item, place, asked, own) {
    this.item = item;
    this.link.href = this.actions.href(item);
    this.score.textContent = item.score === undefined ? "" : score(item.score);
    const day = t.dated(item.date, item.date_source);
    this.when.textContent = day;
    this.el.dataset.source = item.date_source ?? "";
    this.showMarks();
    this.el.classList.toggle("liked", item.verdict === "liked");
    this.el.classList.toggle("disliked", item.verdict === "disliked");
    this.el.classList.toggle("own", own);
    this.mark.replaceChildren(...(item.verdict ? [icon(item.verdict === "liked" ? "plus" : "minus")] : []));
    this.#showReasons(item.reasons ?? []);
    this.asked = asked;
    this.own = own;
    this.#label();
    const said = [item.name];
    if (own) said.push(t.tile.asked);
    if (item.score !== undefined) said.push(t.tile.place(place + 1), t.tile.score(item.score));
    if (item.date) said.push(day);
    if (item.favourite) said.push(t.marks.isFavourite);
    if (item.stars) said.push(t.marks.nStars(item.stars));
    if (item.hidden) said.push(t.marks.isHidden);
    for (const reason of item.reasons ?? []) said.push(reason.text);
    if (item.verdict) said.push(item.verdict === "liked" ? t.tile.liked : t.tile.disliked);
    this.link.setAttribute("aria-label", said.join(", "));
  }

  /** What a person thinks of it. */
  showMarks() {
    const { stars, favourite, hidden } = this.item;
    this.el.classList.toggle("is-hidden", Boolean(hidden));
    if (!stars && !favourite && !hidden) {
      this.marks?.remove();
      this.marks = null;
      return;
    }
    this.marks ??= this.el.appendChild(h("span", { class: "tile-marks", "aria-hidden": "true" }));
    fill(this.marks, favourite && icon("heart"), stars ? h("b", {}, "★".repeat(stars)) : null, hidden && icon("hide"));
  }

  /** @param {import("./types.js").Reason[]} reasons */
  #showReasons(reasons) {
    const key = reasons.map((one) => one.text).join("\n");
    if (key === this.reasonKey) return; // most tiles stay as they are
    this.reasonKey = key;
    // What was liked has its mark, and that all of them are like the asked picture is no news.
    this.reasons.replaceChildren(...reasons.filter(canStrike).slice(0, REASONS).map(chip));
  }

  /** @param {number} left @param {number} width @param {number} height */
  place(left, width, height) {
    const { style } = this.el;
    style.left = `${left}px`;
    style.width = `${width}px`;
    style.height = `${height}px`;
    this.el.classList.toggle("narrow", width < 96);
    this.el.classList.toggle("low", width < 120 || height < 100);
  }

  /** Start loading, sharp enough for the box; a larger one replaces a smaller one only. */
  load() {
    const wanted = thumbnail(this.item, Math.max(parseFloat(this.el.style.width), parseFloat(this.el.style.height)));
    const has = this.img.getAttribute("src");
    if (has === wanted || has?.endsWith("640")) return;
    this.img.src = wanted;
  }
}
