// Zoom and pan of one picture on its stage: wheel, drag, pinch, double click; a swipe where it is whole.

/**
 * @typedef {object} ZoomLinks
 * @property {(scale: number) => void} changed how many screen pixels one pixel of the picture takes
 * @property {(step: 1|-1) => void} swiped
 * @property {() => void} dropped pulled down, away
 */

const MOST = 8; // screen pixels for one of the picture, at most
const SWIPE = 60; // pixels a finger travels before it is a swipe
const DROP = 120;

export class Zoom {
  /**
   * @param {HTMLElement} stage
   * @param {HTMLImageElement} img
   * @param {ZoomLinks} links
   */
  constructor(stage, img, links) {
    this.stage = stage;
    this.img = img;
    this.links = links;
    this.size = [1, 1];
    this.scale = 1; // 1: all of it fits
    this.at = { x: 0, y: 0 }; // of the picture's middle, from the stage's middle
    /** @type {Map<number, {x: number, y: number}>} */
    this.fingers = new Map();
    this.from = { x: 0, y: 0 };
    this.pinched = false;
    stage.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.by(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0018)), event.clientX, event.clientY);
    }, { passive: false });
    stage.addEventListener("dblclick", (event) => this.toggle(event.clientX, event.clientY));
    stage.addEventListener("pointerdown", (event) => this.#down(event));
    stage.addEventListener("pointermove", (event) => this.#move(event));
    for (const kind of /** @type {const} */ (["pointerup", "pointercancel"])) stage.addEventListener(kind, (event) => this.#up(event));
    new ResizeObserver(() => this.#draw()).observe(stage);
  }

  /** Another picture, whole. @param {number} width @param {number} height */
  show(width, height) {
    this.size = [Math.max(1, width), Math.max(1, height)];
    this.whole();
  }

  whole() {
    this.scale = 1;
    this.at = { x: 0, y: 0 };
    this.#draw();
  }

  get zoomed() {
    return this.scale > 1.001;
  }

  /** CSS pixels of the picture's width when all of it fits; a small picture is not blown up without end. */
  get fitted() {
    const { clientWidth, clientHeight } = this.stage;
    const [width, height] = this.size;
    return Math.max(1, Math.min(clientWidth, (clientHeight * width) / height, 2 * width));
  }

  /** The scale at which one pixel of the picture is one of the screen. */
  get pixels() {
    return this.size[0] / (devicePixelRatio || 1) / this.fitted;
  }

  /** From the whole to its pixels and back. @param {number} [x] @param {number} [y] */
  toggle(x, y) {
    if (this.zoomed) this.whole();
    else this.by(Math.max(this.pixels, 2), x, y);
  }

  /** @param {number} factor @param {number} [x] of the window, what stays where it is @param {number} [y] */
  by(factor, x, y) {
    const box = this.stage.getBoundingClientRect();
    const px = x === undefined ? 0 : x - box.left - box.width / 2;
    const py = y === undefined ? 0 : y - box.top - box.height / 2;
    const next = Math.min(Math.max(1, factor * this.scale), Math.max(2, MOST * this.pixels));
    const ratio = next / this.scale;
    this.at = { x: px + (this.at.x - px) * ratio, y: py + (this.at.y - py) * ratio };
    this.scale = next;
    this.#draw();
  }

  /** @param {number} dx @param {number} dy */
  pan(dx, dy) {
    this.at = { x: this.at.x + dx, y: this.at.y + dy };
    this.#draw();
  }

  #draw() {
    const width = this.fitted;
    const height = (width * this.size[1]) / this.size[0];
    // It never leaves the stage further than its edge.
    const roomX = Math.max(0, (width * this.scale - this.stage.clientWidth) / 2);
    const roomY = Math.max(0, (height * this.scale - this.stage.clientHeight) / 2);
    this.at = { x: Math.min(roomX, Math.max(-roomX, this.at.x)), y: Math.min(roomY, Math.max(-roomY, this.at.y)) };
    Object.assign(this.img.style, { width: `${width}px`, height: `${height}px`, transform: `translate(${this.at.x}px, ${this.at.y}px) scale(${this.scale})` });
    this.stage.classList.toggle("zoomed", this.zoomed);
    this.links.changed(this.scale / this.pixels);
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button || (event.target instanceof Element && event.target.closest("button, a"))) return;
    this.stage.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.fingers.size === 1) {
      this.from = { x: event.clientX, y: event.clientY };
      this.pinched = false;
    } else {
      this.pinched = true;
    }
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    if (this.fingers.size === 2) {
      const [other] = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const ratio = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
      this.by(ratio, (now.x + other.x) / 2, (now.y + other.y) / 2);
      this.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
    } else if (this.zoomed) {
      this.pan(now.x - before.x, now.y - before.y);
    }
    this.fingers.set(event.pointerId, now);
  }

  /** @param {PointerEvent} event */
  #up(event) {
    if (!this.fingers.delete(event.pointerId) || this.fingers.size || this.pinched || this.zoomed || event.type === "pointercancel" || event.pointerType === "mouse") return;
    const dx = event.clientX - this.from.x;
    const dy = event.clientY - this.from.y;
    if (Math.abs(dx) > SWIPE && Math.abs(dx) > 2 * Math.abs(dy)) this.links.swiped(dx < 0 ? 1 : -1);
    else if (dy > DROP && dy > 2 * Math.abs(dx)) this.links.dropped();
  }
}
