// The map that ``likewise models map`` writes: names, neighbours and a field to find by, around the same
// canvas as in the served page.  There is no server to ask: chart.js is put in before this script,
// and all it shows is in the page.

import { Chart } from "../../server/page/chart.js";

/**
 * @typedef {object} Data
 * @property {number} side pixels of a small picture
 * @property {number} sheet pixels a side of a sheet of them
 * @property {number} columns of the grid where they lie side by side
 * @property {number} rows
 * @property {string[]} names
 * @property {number[]} places x and y of each
 * @property {number[]} cells column and row of each
 * @property {number[]} frames width, height and mean colour of each; no width: it could not be read
 * @property {string[]} sheets
 */

/**
 * @template {Element} E
 * @param {string} id
 * @param {new () => E} kind
 * @returns {E}
 */
function by(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}

/** @type {Data} */
const data = JSON.parse(by("data", HTMLScriptElement).text);
const n = data.names.length;
const canvas = by("map", HTMLCanvasElement);
const [card, said, text] = [by("card", HTMLElement), by("said", HTMLElement), by("text", HTMLInputElement)];
const across = Math.floor(data.sheet / data.side);
const perSheet = across * across;
const NEAREST = 8;

const chart = new Chart(canvas, {
  sprite,
  picked: (i) => choose(i),
  hovered: (i) => { canvas.title = data.names[i] ?? ""; },
});
chart.most = 1.1 * data.side; // more would show its pixels
chart.tints = Uint32Array.from({ length: n }, (_, i) => {
  const rgb = data.frames[3 * i + 2];
  return ((255 << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
});

const sheets = data.sheets.map((uri) => {
  const image = new Image();
  image.onload = () => chart.draw();
  image.src = uri;
  return image;
});

/** @param {number} i @returns {import("../../server/page/chart.js").Sprite|null} */
function sprite(i) {
  const [image, place] = [sheets[Math.floor(i / perSheet)], i % perSheet];
  const [width, height] = [data.frames[3 * i], data.frames[3 * i + 1]];
  if (!width || !image.complete) return null;
  return { image, x: data.side * (place % across), y: data.side * Math.floor(place / across), width, height };
}

/** Every other of a list. @param {number[]} pairs @param {0|1} which @param {(value: number) => number} [as] */
const half = (pairs, which, as = (value) => value) => Float32Array.from({ length: n }, (_, i) => as(pairs[2 * i + which]));

/** Places spread over as many cells as the grid has: from one layout to the other is not far. @param {0|1} which @param {number} cells */
function spread(which, cells) {
  let [low, high] = [Infinity, -Infinity];
  for (let i = which; i < 2 * n; i += 2) [low, high] = [Math.min(low, data.places[i]), Math.max(high, data.places[i])];
  return half(data.places, which, (place) => ((place - low) / Math.max(high - low, 1)) * (cells - 1));
}

let tidied = false;
/** @param {boolean} glide */
function lay(glide) {
  tidied = !tidied;
  if (tidied) chart.place(half(data.cells, 0), half(data.cells, 1), { room: 1, glide });
  else chart.place(spread(0, data.columns), spread(1, data.rows), { glide });
  by("tidy", HTMLElement).setAttribute("aria-pressed", String(tidied));
}

function toggle() {
  lay(true);
  said.textContent = tidied ? "Side by side" : "True places";
}

/** A picture on a small canvas of its own, whole or cut to fill it. @param {HTMLCanvasElement} target @param {number} i @param {number} px @param {boolean} [fill] */
function small(target, i, px, fill = false) {
  target.width = target.height = px * 2;
  const pen = target.getContext("2d");
  const from = sprite(i);
  if (!pen || !from) return;
  const { image, x, y, width, height } = from;
  const scale = (px * 2) / (fill ? Math.min(width, height) : Math.max(width, height));
  pen.imageSmoothingQuality = "high";
  pen.drawImage(image, x, y, width, height, px - (width * scale) / 2, px - (height * scale) / 2, width * scale, height * scale);
}

/** Show a picture's name and its nearest. @param {number} i @param {boolean} [move] the map goes there too */
function choose(i, move = false) {
  chart.chosen = i;
  card.hidden = i < 0;
  if (i >= 0) {
    by("name", HTMLElement).textContent = data.names[i];
    said.textContent = data.names[i];
    small(by("big", HTMLCanvasElement), i, 128);
    const [x, y] = [data.places[2 * i], data.places[2 * i + 1]];
    const away = data.names.map((_, j) => Math.hypot(data.places[2 * j] - x, data.places[2 * j + 1] - y));
    const near = [...away.keys()].filter((j) => j !== i).sort((a, b) => away[a] - away[b]);
    by("near", HTMLElement).replaceChildren(...near.slice(0, NEAREST).map(neighbour));
    if (move) chart.show(i);
  }
  chart.draw();
}

/** @param {number} j */
function neighbour(j) {
  const button = document.createElement("button");
  const picture = document.createElement("canvas");
  button.title = data.names[j];
  button.setAttribute("aria-label", data.names[j]);
  small(picture, j, 52, true);
  button.append(picture);
  button.onclick = () => choose(j, true);
  return button;
}

/** Make the names that hold what is typed stand out. */
function look() {
  const wanted = text.value.trim().toLowerCase();
  chart.matches = wanted ? new Set([...data.names.keys()].filter((i) => data.names[i].toLowerCase().includes(wanted))) : null;
  by("found", HTMLElement).textContent = chart.matches ? `${chart.matches.size.toLocaleString("en")} of ${n.toLocaleString("en")}` : "";
  chart.draw();
}

/** @type {Record<string, (() => void)|undefined>} beside those of the chart */
const keys = {
  g: toggle, G: toggle, Enter: () => choose(chart.middle()), Escape: () => choose(-1), "/": () => text.focus(),
};
addEventListener("keydown", (event) => {
  if (event.target === text) {
    if (event.key !== "Escape") return;
    text.value = "";
    look();
    canvas.focus();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && event.target !== canvas && event.target !== document.body) return;
  const act = keys[event.key];
  if (act) act();
  else if (!chart.steer(event.key)) return;
  event.preventDefault();
});
by("in", HTMLElement).onclick = () => chart.steer("+");
by("out", HTMLElement).onclick = () => chart.steer("-");
by("fit", HTMLElement).onclick = () => chart.fit();
by("tidy", HTMLElement).onclick = toggle;
by("close", HTMLElement).onclick = () => {
  choose(-1);
  canvas.focus();
};
canvas.addEventListener("dblclick", (event) => chart.zoom(2.2, event.clientX, event.clientY, true));
text.addEventListener("input", look);
by("find", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  const all = [...chart.matches ?? []];
  if (all.length) choose(all[(all.indexOf(chart.chosen) + 1) % all.length], true);
});

/** A canvas has no colours of its own. */
function colour() {
  chart.accent = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  chart.draw();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", colour);
colour();
lay(false);
// For tests, and for whoever opens the console.
Object.assign(window, { likewiseMap: { chart, choose, toggle, get tidied() { return tidied; } } });
