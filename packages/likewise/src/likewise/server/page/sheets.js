// The pictures of a map, as sharp as they are needed: tiny ones from sheets, near ones each alone.
// What is asked for last is fetched first, a few at a time.

import { api } from "./api.js";

/** @typedef {import("./chart.js").Sprite} Sprite */

const SHARP = 56; // pixels of the screen from which a picture wants a thumbnail of its own
const AT_ONCE = 4;
const AGAIN = 15_000; // milliseconds until what failed is asked for again
const KEPT = 400; // thumbnails

export class Sheets {
  /**
   * @param {import("./types.js").MapPoints} map
   * @param {() => void} arrived
   */
  constructor(map, arrived) {
    this.map = map;
    this.arrived = arrived;
    /** @type {Map<string, ImageBitmap|null>} null: on its way, or it cannot be had */
    this.images = new Map();
    /** @type {Map<string, string>} key to address, the latest wish last */
    this.wishes = new Map();
    this.busy = 0;
    this.over = false;
  }

  /**
   * @param {number} i
   * @param {number} side pixels of the screen
   * @returns {Sprite|null}
   */
  sprite(i, side) {
    const { map } = this;
    if (side * Math.min(devicePixelRatio || 1, 2) > SHARP) {
      const own = this.#get(`p${i}`, `/api/pictures/${map.ids[i]}/thumbnail?side=320`);
      if (own) return { image: own, x: 0, y: 0, width: own.width, height: own.height };
    }
    const number = Math.floor(i / map.on_a_sheet);
    const sheet = this.#get(`s${number}`, api.sheetAddress(map.name, number, map.version));
    if (!sheet) return null;
    const place = i % map.on_a_sheet;
    return { image: sheet, x: (place % map.across) * map.sprite, y: Math.floor(place / map.across) * map.sprite, width: map.sprite, height: map.sprite };
  }

  /** @param {string} key @param {string} address */
  #get(key, address) {
    const found = this.images.get(key);
    if (found !== undefined) return found;
    this.wishes.delete(key);
    this.wishes.set(key, address);
    this.#fetch();
    return null;
  }

  #fetch() {
    if (this.busy >= AT_ONCE || !this.wishes.size || this.over) return;
    const wish = [...this.wishes].at(-1);
    if (!wish) return;
    const [key, address] = wish;
    this.wishes.delete(key);
    this.images.set(key, null);
    this.busy++;
    fetch(address, { credentials: "same-origin" })
      .then((answer) => (answer.ok ? answer.blob() : Promise.reject(new Error(String(answer.status)))))
      .then((blob) => createImageBitmap(blob))
      .then((image) => {
        if (this.over) return image.close();
        this.images.set(key, image);
        this.#forget();
        this.arrived();
      })
      .catch(() => setTimeout(() => this.images.delete(key), AGAIN)) // grey until then
      .finally(() => {
        this.busy--;
        this.#fetch();
      });
    this.#fetch();
  }

  /** Thumbnails beyond the limit go, the oldest first; sheets stay. */
  #forget() {
    let own = 0;
    for (const key of this.images.keys()) own += Number(key.startsWith("p"));
    for (const [key, image] of this.images) {
      if (own <= KEPT) return;
      if (!key.startsWith("p") || !image) continue;
      image.close();
      this.images.delete(key);
      own--;
    }
  }

  /** What was wished for out of sight is not wished for any more. */
  calm() {
    this.wishes.clear();
  }

  close() {
    this.over = true;
    for (const image of this.images.values()) image?.close();
    this.images.clear();
  }
}
