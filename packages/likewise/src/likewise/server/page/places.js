// Places: pictures at the coordinates their files tell, on a chart that is drawn here.  Nothing is
// fetched from anywhere: there is a grid of degrees and no map below it.

import { api, messageOf } from "./api.js";
import { fill, h, icon, settled } from "./dom.js";
import { filtersOf } from "./filters.js";
import { libraryTabs } from "./library-tabs.js";
import * as live from "./live.js";
import { empty } from "./search.js";
import { current, go } from "./state.js";
import { t } from "./texts.js";
import { title } from "./title.js";

/** @typedef {import("./types.js").Shapes["PlacesOut"]} PlacesOut */
/** @typedef {{x: number, y: number, points: number[]}} Cluster in pixels of the canvas, and its pictures */

const CELL = 66; // pixels: pictures nearer than that are drawn as one
const FACE = 52;
const TOOLS = 56; // pixels at the right that buttons stand on
const STEPS = [90, 45, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
const CLOSEST = 400_000; // pixels a degree
const KEPT = 200; // thumbnails
const NEAR = 0.0004; // degrees: pictures that close are at one place

/** Mercator's parallels: near the poles the chart ends. @param {number} latitude */
const upward = (latitude) => {
  const t = Math.max(-85, Math.min(85, latitude)) * Math.PI / 180;
  return Math.log(Math.tan(Math.PI / 4 + t / 2)) * 180 / Math.PI;
};
/** @param {number} y */
const latitudeOf = (y) => (2 * Math.atan(Math.exp(y * Math.PI / 180)) - Math.PI / 2) * 180 / Math.PI;

export class PlacesView {
  constructor() {
    this.canvas = h("canvas", { tabindex: "0", role: "application", "aria-label": t.places.title, "aria-describedby": "places-how" });
    this.told = h("p", { class: "places-told", role: "status" });
    this.said = h("span", { class: "soft", role: "status" });
    this.state = h("div", { class: "state" });
    this.list = h("button", { type: "button", class: "small", onclick: () => this.#list() }, icon("library"), h("span", {}, t.places.list));
    this.frame = h("div", { class: "places-frame" }, this.canvas, this.told,
      h("div", { class: "places-tools" },
        h("button", { type: "button", class: "round", "aria-label": t.map.closer, onclick: () => this.#zoom(1.6) }, icon("plus")),
        h("button", { type: "button", class: "round", "aria-label": t.map.farther, onclick: () => this.#zoom(1 / 1.6) }, icon("minus")),
        h("button", { type: "button", class: "round", "aria-label": t.map.all, onclick: () => this.#fit() }, icon("look"))));
    this.el = h("div", { class: "places-view" },
      h("header", { class: "library-head" }, h("div", { class: "what" }, h("h1", {}, t.places.title), this.said), libraryTabs("places"), h("div", { class: "how" }, this.list)),
      h("p", { id: "places-how", class: "spoken" }, t.places.how),
      this.state, this.frame);
    /** @type {PlacesOut} */
    this.places = { ids: [], latitude: [], longitude: [] };
    /** @type {Float64Array} */
    this.ys = new Float64Array(0);
    this.x = 0; // degrees in the middle
    this.y = 0;
    this.scale = 2; // pixels a degree
    /** @type {Cluster[]} */
    this.clusters = [];
    /** @type {Map<string, ImageBitmap|null>} */
    this.faces = new Map();
    this.loading = 0;
    this.queued = false;
    this.key = "";
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
    }, { passive: false });
    this.#listenToPointers();
    new ResizeObserver(() => this.draw()).observe(this.frame);
    live.on("changed", settled(() => {
      if (current().view === "places") this.#load(true);
    }, 900, 3000));
    document.addEventListener("likewise-theme", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** @param {import("./state.js").State} _ @param {import("./state.js").State|null} before */
  async show(_, before) {
    title(t.places.title);
    if (before?.view !== "places") await this.#load(false);
  }

  /** @param {boolean} again */
  async #load(again) {
    const { box: _, ...filters } = filtersOf(current());
    try {
      const places = await api.places(filters);
      const key = JSON.stringify(filters) + places.ids.join();
      this.said.textContent = t.pictures(places.ids.length);
      this.frame.hidden = this.list.hidden = !places.ids.length;
      fill(this.state, !places.ids.length && empty(t.places.none, t.places.noneHow, t.places.goThere, () => go({ view: "collection" })));
      if (key === this.key && again) return;
      const same = key === this.key;
      this.key = key;
      this.places = places;
      this.ys = Float64Array.from(places.latitude, upward);
      this.canvas.setAttribute("aria-label", t.places.label(places.ids.length));
      if (same || again) this.draw();
      else this.#fit();
    } catch (error) {
      this.frame.hidden = true;
      fill(this.state, empty(t.failed, messageOf(error), t.tryAgain, () => this.#load(false), true));
    }
  }

  // -- where one looks ------------------------------------------------------------------------

  #size() {
    return { width: this.frame.clientWidth, height: this.frame.clientHeight };
  }

  /** Show some pictures, all of them without a list. @param {number[]} [points] */
  #fit(points) {
    const { width, height } = this.#size();
    const { longitude } = this.places;
    let [west, east, south, north] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const i of points ?? longitude.keys()) {
      west = Math.min(west, longitude[i]);
      east = Math.max(east, longitude[i]);
      south = Math.min(south, this.ys[i]);
      north = Math.max(north, this.ys[i]);
    }
    if (west > east || !width) return this.draw();
    this.x = (west + east) / 2;
    this.y = (south + north) / 2;
    const room = 2.2 * FACE;
    // The buttons stand at the right edge: no cluster comes to lie under them.
    this.scale = Math.min((width - room - TOOLS) / Math.max(east - west, 0.01), (height - room) / Math.max(north - south, 0.01), CLOSEST);
    this.#bound();
    this.x += TOOLS / 2 / this.scale;
    this.draw();
  }

  #bound() {
    const { width } = this.#size();
    this.scale = Math.max(width / 400, Math.min(this.scale, CLOSEST));
    this.x = Math.max(-180, Math.min(180, this.x));
    this.y = Math.max(-180, Math.min(180, this.y));
  }

  /** @param {number} factor @param {number} [px] @param {number} [py] what stays where it is */
  #zoom(factor, px, py) {
    const { width, height } = this.#size();
    const dx = (px ?? width / 2) - width / 2;
    const dy = (py ?? height / 2) - height / 2;
    const [x, y] = [this.x + dx / this.scale, this.y - dy / this.scale];
    this.scale *= factor;
    this.#bound();
    this.x = x - dx / this.scale;
    this.y = y + dy / this.scale;
    this.#bound();
    this.draw();
  }

  /** @param {number} dx @param {number} dy pixels */
  #pan(dx, dy) {
    this.x -= dx / this.scale;
    this.y += dy / this.scale;
    this.#bound();
    this.draw();
  }

  /** South, west, north, east of the window. */
  #window() {
    const { width, height } = this.#size();
    const [w, h2] = [width / 2 / this.scale, height / 2 / this.scale];
    return { south: this.y - h2, west: this.x - w, north: this.y + h2, east: this.x + w };
  }

  /** All pictures in the window, in the library. */
  #list() {
    const { south, west, north, east } = this.#window();
    const box = [latitudeOf(south), Math.max(-180, west), latitudeOf(north), Math.min(180, east)];
    go({ view: "library", box: box.map((n) => n.toFixed(5)).join(",") });
  }

  /** @param {Cluster} cluster */
  #open(cluster) {
    const { latitude, longitude } = this.places;
    const lats = cluster.points.map((i) => latitude[i]);
    const lons = cluster.points.map((i) => longitude[i]);
    const box = [Math.min(...lats), Math.min(...lons), Math.max(...lats), Math.max(...lons)];
    const wide = Math.max(box[2] - box[0], box[3] - box[1]);
    if (wide > NEAR && this.scale < CLOSEST / 2) {
      this.#fit(cluster.points);
      return;
    }
    const by = [-1, -1, 1, 1];
    go({ view: "library", box: box.map((n, i) => (n + by[i] * 0.00001).toFixed(5)).join(",") });
  }

  // -- hands ----------------------------------------------------------------------------------

  #listenToPointers() {
    /** @type {Map<number, {x: number, y: number}>} */
    const down = new Map();
    let moved = 0;
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      this.canvas.setPointerCapture(event.pointerId);
      down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      if (down.size === 1) moved = 0;
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const last = down.get(event.pointerId);
      const now = { x: event.offsetX, y: event.offsetY };
      if (!last) {
        this.#name(now.x, now.y);
        return;
      }
      const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
      moved += Math.hypot(now.x - last.x, now.y - last.y);
      if (other) {
        const before = Math.hypot(last.x - other.x, last.y - other.y);
        const after = Math.hypot(now.x - other.x, now.y - other.y);
        if (before > 8) this.#zoom(after / before, other.x, other.y);
      } else if (moved > 4) this.#pan(now.x - last.x, now.y - last.y);
      down.set(event.pointerId, now);
    });
    /** @param {PointerEvent} event */
    const up = (event) => {
      const was = down.delete(event.pointerId);
      if (!was || moved > 4 || event.type === "pointercancel") return;
      const found = this.#clusterAt(event.offsetX, event.offsetY);
      if (found) this.#open(found);
    };
    this.canvas.addEventListener("pointerup", up);
    this.canvas.addEventListener("pointercancel", up);
  }

  /** @param {number} x @param {number} y */
  #clusterAt(x, y) {
    return this.clusters.find((one) => Math.abs(one.x - x) < FACE / 2 + 4 && Math.abs(one.y - y) < FACE / 2 + 4) ?? null;
  }

  /** @param {number} x @param {number} y */
  #name(x, y) {
    const found = this.#clusterAt(x, y);
    this.canvas.style.cursor = found ? "pointer" : "grab";
    if (!found) {
      this.told.textContent = "";
      return;
    }
    const { latitude, longitude } = this.places;
    const i = found.points[0];
    this.told.textContent = t.places.near(found.points.length, latitude[i], longitude[i]);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] };
    const move = moves[/** @type {keyof typeof moves} */ (event.key)];
    if (move) this.#pan(move[0], move[1]);
    else if (event.key === "+" || event.key === "=") this.#zoom(1.6);
    else if (event.key === "-" || event.key === "_") this.#zoom(1 / 1.6);
    else if (event.key === "0") this.#fit();
    else if (event.key === "Enter") this.#list();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // -- drawing --------------------------------------------------------------------------------

  draw() {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      if (this.el.isConnected) this.#draw();
    });
  }

  #draw() {
    const { width, height } = this.#size();
    const sharp = Math.min(devicePixelRatio || 1, 2);
    if (!width || !height) return;
    if (this.canvas.width !== Math.round(width * sharp) || this.canvas.height !== Math.round(height * sharp)) {
      this.canvas.width = Math.round(width * sharp);
      this.canvas.height = Math.round(height * sharp);
    }
    const pen = this.canvas.getContext("2d");
    if (!pen) return;
    const style = getComputedStyle(this.frame);
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.#graticule(pen, width, height, style);
    this.clusters = this.#cluster(width, height);
    for (const cluster of this.clusters) this.#face(pen, cluster, style);
    const { south, west, north, east } = this.#window();
    let inside = 0;
    this.places.longitude.forEach((x, i) => {
      if (x >= west && x <= east && this.ys[i] >= south && this.ys[i] <= north) inside += 1;
    });
    this.list.lastElementChild?.replaceChildren(t.places.listN(inside));
  }

  /** @param {CanvasRenderingContext2D} pen @param {number} width @param {number} height @param {CSSStyleDeclaration} style */
  #graticule(pen, width, height, style) {
    const step = STEPS.findLast((one) => one * this.scale >= 90) ?? STEPS[0];
    const { south, west, north, east } = this.#window();
    const figures = Math.max(0, Math.ceil(-Math.log10(step)));
    pen.lineWidth = 1;
    pen.font = `11px ${style.fontFamily}`;
    pen.strokeStyle = style.borderTopColor;
    pen.fillStyle = getComputedStyle(this.said).color;
    pen.textBaseline = "top";
    for (let x = Math.ceil(Math.max(west, -180) / step) * step; x <= Math.min(east, 180) + 1e-9; x += step) {
      const px = width / 2 + (x - this.x) * this.scale;
      pen.beginPath();
      pen.moveTo(px, 0);
      pen.lineTo(px, height);
      pen.stroke();
      pen.fillText(t.places.longitude(x, figures), px + 4, 4);
    }
    const [low, high] = [latitudeOf(south), latitudeOf(north)];
    for (let lat = Math.ceil(Math.max(low, -85) / step) * step; lat <= Math.min(high, 85) + 1e-9; lat += step) {
      const py = height / 2 - (upward(lat) - this.y) * this.scale;
      pen.beginPath();
      pen.moveTo(0, py);
      pen.lineTo(width, py);
      pen.stroke();
      if (py > 20) pen.fillText(t.places.latitude(lat, figures), 4, py + 3);
    }
  }

  /** Pictures in sight that fall into one cell are one: the first of them stands for it. @param {number} width @param {number} height */
  #cluster(width, height) {
    /** @type {Map<string, {x: number, y: number, points: number[]}>} */
    const cells = new Map();
    this.places.longitude.forEach((lon, i) => {
      const x = width / 2 + (lon - this.x) * this.scale;
      const y = height / 2 - (this.ys[i] - this.y) * this.scale;
      if (x < -FACE || y < -FACE || x > width + FACE || y > height + FACE) return;
      // Cells are fixed to the chart, not to the window: clusters stay while one moves.
      const key = `${Math.floor(lon * this.scale / CELL)} ${Math.floor(this.ys[i] * this.scale / CELL)}`;
      const cell = cells.get(key) ?? { x: 0, y: 0, points: [] };
      cell.x += x;
      cell.y += y;
      cell.points.push(i);
      cells.set(key, cell);
    });
    const found = [...cells.values()].map((one) => ({ x: one.x / one.points.length, y: one.y / one.points.length, points: one.points }));
    found.sort((a, b) => b.points.length - a.points.length);
    // Two that would hide each other are one: the larger takes the smaller in.
    /** @type {Cluster[]} */
    const made = [];
    for (const one of found) {
      const near = made.find((other) => Math.abs(other.x - one.x) < FACE && Math.abs(other.y - one.y) < FACE + 10);
      if (near) near.points.push(...one.points);
      else made.push(one);
    }
    return made;
  }

  /** @param {CanvasRenderingContext2D} pen @param {Cluster} cluster @param {CSSStyleDeclaration} style */
  #face(pen, cluster, style) {
    const { x, y, points } = cluster;
    const half = FACE / 2;
    const image = this.#image(this.places.ids[points[0]]);
    pen.save();
    pen.beginPath();
    pen.roundRect(x - half, y - half, FACE, FACE, 6);
    pen.fillStyle = style.borderTopColor;
    pen.fill();
    pen.save();
    pen.clip();
    if (image) {
      const side = Math.min(image.width, image.height);
      pen.drawImage(image, (image.width - side) / 2, (image.height - side) / 2, side, side, x - half, y - half, FACE, FACE);
    }
    pen.restore();
    pen.lineWidth = 2;
    pen.strokeStyle = "#fff";
    pen.stroke();
    if (points.length > 1) {
      const text = points.length > 999 ? `${Math.floor(points.length / 1000)}k` : String(points.length);
      pen.font = `600 11px ${style.fontFamily}`;
      const wide = Math.max(20, pen.measureText(text).width + 10);
      pen.beginPath();
      pen.roundRect(x + half - wide + 6, y - half - 8, wide, 18, 9);
      pen.fillStyle = "#a24a06";
      pen.fill();
      pen.fillStyle = "#fff";
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText(text, x + half - wide / 2 + 6, y - half + 1.5);
    }
    pen.restore();
  }

  /** @param {string} id */
  #image(id) {
    const found = this.faces.get(id);
    if (found !== undefined || this.loading >= 6) return found ?? null;
    this.faces.set(id, null);
    this.loading += 1;
    fetch(`/api/pictures/${id}/thumbnail?side=160`, { credentials: "same-origin" })
      .then((answer) => (answer.ok ? answer.blob() : Promise.reject(new Error(String(answer.status)))))
      .then((blob) => createImageBitmap(blob))
      .then((image) => {
        this.faces.set(id, image);
        for (const [old, kept] of this.faces) {
          if (this.faces.size <= KEPT) break;
          if (old !== id) {
            kept?.close();
            this.faces.delete(old);
          }
        }
      })
      .catch(() => {}) // a grey square says enough
      .finally(() => {
        this.loading -= 1;
        this.draw();
      });
    return null;
  }
}
