// What this browser remembers of how the page is to look; nothing of it goes to the server.

const KEY = "likewise.settings";

/**
 * @typedef {object} Kept
 * @property {"small"|"medium"|"large"} tiles
 * @property {boolean} developer whether times and technical figures are shown
 */

/** @type {Kept["tiles"][]} */
export const SIZES = ["small", "medium", "large"];

/** @type {Kept} */
const kept = { tiles: "medium", developer: false };

try {
  const read = JSON.parse(localStorage.getItem(KEY) ?? "{}");
  if (SIZES.includes(read.tiles)) kept.tiles = read.tiles;
  kept.developer = read.developer === true;
} catch {
  // Without storage, or with what another version left there, the usual holds.
}

export let tiles = kept.tiles;
export let developer = kept.developer;

// ?developer=1 in an address turns it on for this browser, ?developer=0 off.
const asked = new URLSearchParams(location.search).get("developer");
if (asked !== null) change({ developer: asked === "1" });

/** How many times as high as usual rows of pictures are. */
export const rowScale = () => ({ small: 0.62, medium: 1, large: 1.6 })[tiles];

/** @param {Partial<Kept>} patch */
export function change(patch) {
  Object.assign(kept, patch);
  ({ tiles, developer } = kept);
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // It then lasts as long as the page.
  }
}
