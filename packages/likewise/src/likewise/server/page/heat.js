// Where two pictures are alike: what each place of them adds to the score that ranked, as light.

import { h, icon } from "./dom.js";
import { t } from "./texts.js";

/** @typedef {import("./types.js").Explanation} Explanation */
/** @typedef {NonNullable<Explanation["in_query"]>} Heat */

const DARK = 0.74; // how far a place that adds nothing is darkened
const GLOW = 0.3; // how strongly the warmest place is tinted
const NOTICED = 0.005;

/**
 * @param {Explanation} found
 * @param {{address: string, size: [number, number], name: string}} asked
 * @param {{address: string, size: [number, number], name: string}} picture
 * @param {HTMLElement} closer a button beside the one that shows where
 */
export function heatMaps(found, asked, picture, closer) {
  const both = h("div", { class: "heats" },
    figure(t.askedPicture, found.in_query, asked, found.score),
    figure(picture.name, found.in_picture, picture, found.score));
  const shown = h("button", { type: "button", "aria-pressed": "true", onclick: () => {
    const on = shown.getAttribute("aria-pressed") !== "true";
    shown.setAttribute("aria-pressed", String(on));
    both.classList.toggle("plain", !on);
  } }, icon("why"), t.heat.show);
  return [
    h("p", { class: "lead" }, t.heat.score(found.score), h("span", { class: "soft" }, t.heat.how(found.exact ? "" : found.space))),
    both,
    h("p", { class: "buttons" }, shown, closer),
  ];
}

/**
 * @param {string} title
 * @param {Heat|null} heat
 * @param {{address: string, size: [number, number], name: string}} picture
 * @param {number} total
 */
function figure(title, heat, picture, total) {
  const words = heat ? inWords(heat, total) : "";
  const frame = h("div", { class: "heat", role: "img", "aria-label": t.about(title, words) },
    h("img", { src: picture.address, alt: "", width: picture.size[0], height: picture.size[1] }));
  if (heat) frame.append(light(heat, picture.size));
  return h("figure", {}, frame, h("figcaption", {}, h("b", {}, title), " ", words));
}

/** @param {Heat} heat @param {number} total */
function inWords(heat, total) {
  if (!heat.areas.length) return t.heat.nowhere;
  const rest = total ? heat.rest / total : 0;
  return t.heat.places(heat.areas, rest > NOTICED ? rest : 0);
}

/** A pixel a cell: the browser makes it large, and smooth. @param {Heat} heat @param {[number, number]} size */
function light(heat, size) {
  const [rows, columns] = [heat.cells.length, heat.cells[0].length];
  const canvas = h("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const drawing = canvas.getContext("2d");
  if (drawing) {
    const pixels = drawing.createImageData(columns, rows);
    const most = Math.max(...heat.cells.flat(), 1e-12);
    heat.cells.flat().forEach((value, at) => pixels.data.set(shade(value / most), 4 * at));
    drawing.putImageData(pixels, 0, 0);
  }
  const [x, y, width, height] = heat.box;
  canvas.style.left = `${(100 * x) / size[0]}%`;
  canvas.style.top = `${(100 * y) / size[1]}%`;
  canvas.style.width = `${(100 * width) / size[0]}%`;
  canvas.style.height = `${(100 * height) / size[1]}%`;
  return canvas;
}

/** @param {number} t of the warmest cell; below 0 where it speaks against @returns {[number, number, number, number]} */
function shade(t) {
  if (t < 0) return [12, 22, 70, 255 * Math.min(0.86, DARK + 0.12 * -t)];
  // From dark to clear, then to a warm glow.
  const dark = DARK * Math.max(0, 1 - 1.6 * t);
  return dark > 0 ? [10, 12, 24, 255 * dark] : [255, 140, 20, 255 * GLOW * (1.6 * t - 1) / 0.6];
}
