// Colours of a map's points: by tag, or by likeness to what is asked.

import { api } from "./api.js";
import { h } from "./dom.js";
import { t } from "./texts.js";

/** @typedef {{colour: string, name: string}} Key */

// Told apart by people who see few colours, on paper and in the dark (after Okabe and Ito).
const KINDS = [[230, 159, 0], [86, 180, 233], [0, 158, 115], [213, 94, 0], [204, 121, 167], [0, 114, 178], [196, 182, 30], [150, 110, 80]];
const NONE = [150, 146, 138];
const NEAR = [224, 120, 10];
const FAR = [70, 110, 150];

/** @param {number[]} rgb @returns {number} as a pixel of a canvas */
const packed = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** @param {number[]} rgb */
const css = (rgb) => `rgb(${rgb.join(" ")})`;

/** @param {number[]} from @param {number[]} to @param {number} part */
const between = (from, to, part) => from.map((value, i) => Math.round(value + (to[i] - value) * part));

/**
 * @param {import("./types.js").MapPoints} map
 * @param {string} by "tags", "likeness" or ""
 * @param {{query: import("./types.js").Query, by: string}|null} asked
 * @returns {Promise<{colours: Uint32Array|null, keys: Key[]}>}
 */
export async function paint(map, by, asked) {
  if (by === "tags") {
    const { tags, counts, points } = await api.mapTags(map.name);
    const kinds = KINDS.map(packed);
    const none = packed(NONE);
    return {
      colours: Uint32Array.from(points, (kind) => (kind < 0 ? none : kinds[kind % kinds.length])),
      keys: [...tags.map((tag, i) => ({ colour: css(KINDS[i % KINDS.length]), name: t.map.tagged(tag, counts[i]) })), { colour: css(NONE), name: t.map.untagged(tags.length > 0) }],
    };
  }
  if (by === "likeness" && asked) {
    const { ranks } = await api.mapLikeness(map.name, asked);
    const none = packed(NONE);
    return {
      // Most of a ranking is far: the square root spreads what is near.
      colours: Uint32Array.from(ranks, (rank) => (rank > 1 ? none : packed(between(NEAR, FAR, Math.sqrt(rank))))),
      keys: [{ colour: css(NEAR), name: t.map.near }, { colour: css(between(NEAR, FAR, 0.5)), name: t.map.between }, { colour: css(FAR), name: t.map.far }],
    };
  }
  return { colours: null, keys: [] };
}

/** @param {Key[]} keys */
export function legend(keys) {
  if (!keys.length) return null;
  return h("ul", {}, ...keys.map(({ colour, name }) => {
    const spot = h("i", { "aria-hidden": "true" });
    spot.style.background = colour;
    return h("li", {}, spot, name);
  }));
}
