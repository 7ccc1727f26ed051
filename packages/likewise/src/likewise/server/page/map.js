// The map: every picture at its place in the learned plane.

import { api, messageOf } from "./api.js";
import { Chart } from "./chart.js";
import { fill, h, icon, settled } from "./dom.js";
import { jobBox } from "./job.js";
import * as known from "./known.js";
import * as live from "./live.js";
import { legend, paint } from "./map-colours.js";
import { empty } from "./search.js";
import { selection } from "./selection.js";
import { Sheets } from "./sheets.js";
import { asking, current, go, hasPicture, queryOf } from "./state.js";
import { t } from "./texts.js";
import { title } from "./title.js";
import { complain, toast } from "./toast.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./types.js").MapPoints} MapPoints */

export class MapView {
  constructor() {
    this.canvas = h("canvas", { class: "chart", tabindex: "0", role: "application", "aria-label": t.map.label, "aria-describedby": "map-how" });
    this.chart = new Chart(this.canvas, {
      sprite: (i, side) => this.sheets?.sprite(i, side) ?? null,
      moved: () => this.#moved(),
      picked: (i) => this.#ask(i),
      caught: (indices, more) => this.#caught(indices, more),
      hovered: (i) => this.#named(i),
    });
    this.names = h("select", { id: "map-name", onchange: () => go({ map: this.names.value, at: "" }) });
    this.paint = h("select", { id: "map-paint", onchange: () => go({ paint: this.paint.value }, { replace: true }) },
      ...t.map.paints.map(([value, text]) => h("option", { value }, text)));
    this.lay = h("button", { type: "button", class: "small", "aria-pressed": "false", title: t.map.exactHow, onclick: () => go({ lay: current().lay ? "" : "true", at: "" }, { replace: true }) }, icon("select"), t.map.exact);
    this.lasso = h("button", { type: "button", class: "small", "aria-pressed": "false", onclick: () => this.#lasso(!this.chart.lassoing) }, icon("lasso"), t.map.lasso);
    this.learn = h("button", { type: "button", class: "small", "data-needs": "manage", onclick: () => this.#learn() }, icon("map"), t.map.redraw);
    this.legend = h("div", { class: "legend", "aria-live": "polite" });
    this.told = h("p", { class: "chart-name", role: "status" });
    this.about = h("p", { class: "soft map-about" });
    this.how = h("p", { id: "map-how", class: "spoken" }, t.map.how);
    this.state = h("div", { class: "state" });
    this.frame = h("div", { class: "chart-frame" }, this.canvas, this.told,
      h("div", { class: "chart-tools" },
        h("button", { type: "button", class: "round", "aria-label": t.map.closer, onclick: () => this.chart.steer("+") }, icon("plus")),
        h("button", { type: "button", class: "round", "aria-label": t.map.farther, onclick: () => this.chart.steer("-") }, icon("minus")),
        h("button", { type: "button", class: "round", "aria-label": t.map.all, onclick: () => this.chart.fit() }, icon("look"))));
    this.job = jobBox(["learn map"], (done) => done.told);
    this.el = h("div", { class: "map-view" },
      h("header", { class: "map-head" }, h("h1", {}, t.map.title),
        h("div", { class: "how" }, h("label", { for: "map-name" }, t.map.which), this.names,
          h("label", { for: "map-paint" }, t.map.colourBy), this.paint, this.lay, this.lasso, this.learn),
        this.about),
      this.how, this.legend, h("div", {}, this.state, this.job.el), this.frame);
    // Keys work wherever the keyboard stands on nothing of its own.
    addEventListener("keydown", (event) => {
      if (current().view !== "map" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      const at = document.activeElement;
      if (at === this.canvas || at === document.body || at?.id === "main") this.#key(event);
    }, { capture: true });
    selection.onChange(() => this.#marks());
    live.on("changed", settled(async () => {
      if (current().view !== "map") return;
      await this.#load(current(), true);
      await this.#paint(current());
    }, 700));
    document.addEventListener("likewise-theme", () => this.#colours());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#colours());
    /** @type {MapPoints|null} */
    this.map = null;
    /** @type {Sheets|null} */
    this.sheets = null;
    /** @type {Map<string, number>} */
    this.rows = new Map();
    this.painted = "";
    this.laid = "";
    this.made = "";
    this.space = "";
    this.profile = "default";
    this.turn = 0;
    this.remember = settled(() => {
      const { x, y, zoom } = this.chart.window;
      if (current().view === "map") go({ at: [x, y, zoom].map((n) => Number(n.toPrecision(5))).join(",") }, { replace: true });
    }, 300);
  }

  /** @param {State} state @param {State|null} [before] */
  async show(state, before = null) {
    title(t.map.title);
    this.#colours();
    this.paint.value = state.paint;
    const arrived = before?.view !== "map";
    if (!this.map || arrived || state.map !== before?.map) await this.#load(state, Boolean(this.map));
    if (this.map && this.laid !== this.#layOf(state)) this.#place(this.map, state);
    if (this.map) this.#look(current());
    if (arrived) this.canvas.focus({ preventScroll: true }); // keys work without a click
    await this.#paint(current());
  }

  /** @param {State} state @param {boolean} again the same map, which may have grown */
  async #load(state, again) {
    const turn = ++this.turn;
    if (!again) fill(this.state, h("p", { class: "empty", role: "status" }, t.map.loading));
    try {
      const models = (await api.models()).items.filter((one) => one.kind === "map");
      const about = await known.collection.get();
      if (turn !== this.turn) return;
      const one = models.find((model) => model.name === state.map) ?? models.find((model) => !model.stale) ?? models[0];
      fill(this.names, ...models.map((model) => h("option", { value: model.name }, model.name)));
      this.learn.hidden = !about.pictures;
      if (!one) {
        this.#nothing(about.pictures);
        return;
      }
      const map = await api.map(one.name);
      if (turn !== this.turn) return;
      fill(this.state);
      this.frame.hidden = false;
      this.names.value = one.name;
      this.about.textContent = one.told;
      if (state.map && state.map !== one.name) toast(t.map.noSuch(state.map, one.name));
      this.painted = ""; // tags and rankings may have changed even where the map has not
      if (this.map && map.name === this.map.name && map.version === this.map.version && one.made === this.made) return;
      this.made = one.made;
      this.space = one.space;
      this.profile = one.profile;
      this.#place(map, state);
    } catch (error) {
      if (turn !== this.turn) return;
      fill(this.state, empty(t.failed, messageOf(error), t.tryAgain, () => this.show(current()), true));
      this.frame.hidden = true;
    }
  }

  /** @param {number} pictures */
  #nothing(pictures) {
    this.frame.hidden = true;
    this.about.textContent = "";
    this.map = null;
    this.sheets?.close();
    this.sheets = null;
    if (!pictures) fill(this.state, empty(t.map.noPictures, t.map.noPicturesHow, t.addFolder, () => go({ view: "collection" })));
    else fill(this.state, empty(t.map.none, t.map.noneHow, t.map.draw, () => this.#learn()));
    this.learn.hidden = true;
  }

  /** How a map is laid out. @param {State} state */
  #layOf(state) {
    return state.lay === "true" || !this.map?.columns ? "true" : "tidy";
  }

  /** @param {MapPoints} map @param {State} state */
  #place(map, state) {
    const same = map === this.map; // only laid out anew: pictures glide to their other places
    if (!same) {
      this.sheets?.close();
      this.sheets = new Sheets(map, () => this.chart.draw());
    }
    this.map = map;
    this.laid = this.#layOf(state);
    this.lay.hidden = !map.columns;
    this.lay.setAttribute("aria-pressed", String(this.laid === "true"));
    const { columns, rows } = map;
    const colours = this.chart.colours;
    this.rows = new Map(map.ids.map((id, i) => [id, i]));
    const window = windowOf(state);
    if (this.laid === "tidy" && columns && rows) this.chart.place(Float32Array.from(columns), Float32Array.from(rows), { room: 1, glide: same, window });
    else this.chart.place(Float32Array.from(map.x), Float32Array.from(map.y), { glide: same, window });
    this.chart.colours = colours?.length === map.ids.length ? colours : null;
    this.canvas.setAttribute("aria-label", t.map.labelN(map.ids.length));
    this.#marks();
  }

  /** @param {State} state */
  #look(state) {
    const next = windowOf(state);
    if (JSON.stringify(next) !== JSON.stringify(this.chart.window)) this.chart.look(next);
    this.chart.draw();
  }

  #moved() {
    this.sheets?.calm();
    this.remember();
  }

  /** The page's colours, for a canvas that has none of its own. */
  #colours() {
    // A property that depends on light and dark is worked out where it is used: .chart-frame has it.
    this.chart.accent = getComputedStyle(this.frame).color;
    const [r, g, b] = (getComputedStyle(this.frame).borderTopColor.match(/[\d.]+/g) ?? []).map(Number);
    if (b !== undefined) this.chart.ink = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
    this.chart.draw();
  }

  /** @param {State} state */
  async #paint(state) {
    const { map } = this;
    if (!map) return;
    const wanted = JSON.stringify([map.name, map.version, state.paint, state.paint === "likeness" ? [state.q, state.up, state.region, state.by] : 0]);
    if (wanted === this.painted) return;
    this.painted = wanted;
    try {
      if (state.paint === "likeness" && !hasPicture(state)) {
        this.chart.colours = null;
        fill(this.legend, h("p", { class: "soft" }, t.map.askFirst));
      } else {
        const made = await paint(map, state.paint, state.paint === "likeness" ? { query: queryOf(state), by: state.by || "default" } : null);
        if (wanted !== this.painted) return;
        this.chart.colours = made.colours;
        fill(this.legend, legend(made.keys));
      }
    } catch (error) {
      this.painted = "";
      complain(error);
    }
    this.chart.draw();
  }

  /** @param {number} i */
  async #named(i) {
    const id = this.map?.ids[i];
    if (!id) {
      this.told.textContent = "";
      return;
    }
    try {
      const { name } = await api.picture(id);
      if (this.chart.hover === i || this.chart.hover < 0) this.told.textContent = name;
    } catch {
      this.told.textContent = "";
    }
  }

  /** @param {number} i */
  #ask(i) {
    const id = this.map?.ids[i];
    if (id) go(asking({ q: id }));
  }

  /** @param {number[]} indices @param {boolean} more */
  #caught(indices, more) {
    const { map } = this;
    if (!map) return;
    const ids = indices.map((i) => map.ids[i]);
    if (more) selection.addPart(ids);
    else selection.set(ids);
    this.#lasso(false);
  }

  #marks() {
    this.chart.selected = new Set(selection.ids().map((id) => this.rows.get(id)).filter((i) => i !== undefined));
    this.chart.draw();
  }

  /** @param {boolean} on */
  #lasso(on) {
    this.chart.lassoing = on;
    this.lasso.setAttribute("aria-pressed", String(on));
    this.canvas.style.cursor = on ? "crosshair" : "grab";
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { chart } = this;
    if (chart.steer(event.key)) {
      if (event.key.startsWith("Arrow")) this.#middle();
    } else if (event.key === "g") this.lay.click();
    else if (event.key === "l") this.#lasso(!chart.lassoing);
    else if (event.key === "Enter") this.#ask(this.#middle());
    else if (event.key === "Escape" && (chart.lassoing || selection.size)) {
      this.#lasso(false);
      selection.clear();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The picture in the middle, which keys act on; it is named. */
  #middle() {
    const i = this.chart.middle();
    this.chart.hover = i;
    this.chart.draw();
    this.#named(i);
    return i;
  }

  async #learn() {
    try {
      const { job } = await api.learnModel({ kind: "map", name: this.map?.name ?? "map", space: this.map ? this.space : null, profile: this.map ? this.profile : "default" });
      this.job.started(job);
    } catch (error) {
      complain(error);
    }
  }
}

/** What part of the map an address shows. @param {State} state @returns {import("./chart.js").Window} */
function windowOf(state) {
  const [x, y, zoom] = state.at.split(",").map(Number);
  return state.at && [x, y, zoom].every(Number.isFinite) && zoom > 0 ? { x, y, zoom } : { x: 0, y: 0, zoom: 1 };
}
