// Pictures at places, on one canvas: pan, zoom, pick, lasso.  It knows nothing of servers or views.
//
// Smooth at 50,000 pictures because of what is not drawn: the plane is cut into cells as large as a
// picture is drawn, and only the first picture of a cell (points come in order of importance) is
// drawn as one; the others are dots, written as pixels.  Cells lie in the plane, not on the screen,
// so that nothing flickers while one drags.

/**
 * @typedef {object} Sprite where a picture is drawn from
 * @property {CanvasImageSource} image
 * @property {number} x
 * @property {number} y
 * @property {number} side of the square in the source
 */

/**
 * @typedef {object} Hooks
 * @property {(i: number, side: number) => Sprite|null} sprite of a picture, as sharp as there is now
 * @property {() => void} moved the window moved
 * @property {(i: number) => void} picked
 * @property {(indices: number[], more: boolean) => void} caught by the lasso; more: to those before
 * @property {(i: number) => void} hovered -1: none
 */

const LEAST = 22; // pixels of a picture when all are in sight
const MOST = 168;
const DEEPEST = 400; // times the whole
const REACH = 6; // pixels around a dot that still mean it

export class Chart {
  /** @param {HTMLCanvasElement} canvas @param {Hooks} hooks */
  constructor(canvas, hooks) {
    this.canvas = canvas;
    this.hooks = hooks;
    this.ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.dots = document.createElement("canvas");
    this.dotsCtx = /** @type {CanvasRenderingContext2D} */ (this.dots.getContext("2d"));
    this.x = new Float32Array(0);
    this.y = new Float32Array(0);
    /** @type {Uint32Array|null} 0xAABBGGRR of each point; null: ink */
    this.colours = null;
    this.ink = 0xff888888;
    this.accent = "#e08a1e";
    this.frame = "#fff";
    /** @type {Set<number>} */
    this.selected = new Set();
    this.hover = -1;
    this.lassoing = false;
    /** @type {number[][]} screen points of a lasso being drawn */
    this.rope = [];
    this.window = { x: 0, y: 0, zoom: 1 };
    this.box = { left: 0, top: 0, width: 1, height: 1 };
    this.now = { width: 1, height: 1, scale: 1, ox: 0, oy: 0 };
    /** @type {number|null} room of a picture in the plane, where each has its own */
    this.room = null;
    this.pictured = /** @type {number[]} */ ([]);
    this.waiting = 0;
    this.cost = 0;
    this.seen = 0;
    this.#listen();
    new ResizeObserver(() => this.#resize()).observe(canvas);
  }

  /**
   * @param {Float32Array} x
   * @param {Float32Array} y in order of importance
   * @param {number|null} [room] of each in the plane, where they lie side by side
   */
  place(x, y, room = null) {
    this.room = room;
    this.x = x;
    this.y = y;
    const [left, width] = span(x, room === null ? 0.01 : 0);
    const [top, height] = span(y, room === null ? 0.01 : 0);
    this.box = { left, top, width, height };
    this.#measure();
    this.selected.clear();
    this.hover = -1;
    this.draw();
  }

  /** Where the plane lies on the screen: asked of the browser once, not for every point. */
  #measure() {
    const width = this.canvas.clientWidth || 1;
    const height = this.canvas.clientHeight || 1;
    const scale = 0.92 * Math.min(width / this.box.width, height / this.box.height) * this.window.zoom;
    const ox = width / 2 - (this.box.left + this.box.width / 2 + this.window.x) * scale;
    const oy = height / 2 - (this.box.top + this.box.height / 2 + this.window.y) * scale;
    this.now = { width, height, scale, ox, oy };
  }

  /** Screen pixels for one unit of the plane. */
  get scale() {
    return this.now.scale;
  }

  /** Pixels a picture is drawn with: it grows slower than the plane, so that neighbours part. */
  get side() {
    if (this.room !== null) return Math.min(2 * MOST, 0.9 * this.room * this.scale);
    return Math.min(MOST, LEAST * Math.sqrt(this.window.zoom) * (this.x.length < 400 ? 1.9 : this.x.length < 3000 ? 1.3 : 1));
  }

  #resize() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.#measure();
    const { width, height } = this.now;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.dots.width = width;
    this.dots.height = height;
    this.#paint();
  }

  /** Where a point of the plane is on the screen. @param {number} i */
  at(i) {
    const { scale, ox, oy } = this.now;
    return [this.x[i] * scale + ox, this.y[i] * scale + oy];
  }

  /** @param {{x: number, y: number, zoom: number}} window */
  look(window) {
    this.window = { ...window, zoom: Math.min(DEEPEST, Math.max(0.5, window.zoom)) };
    this.#measure();
    this.draw();
  }

  fit() {
    this.look({ x: 0, y: 0, zoom: 1 });
    this.hooks.moved();
  }

  /** @param {number} factor @param {number} [px] the screen place that stays @param {number} [py] */
  zoom(factor, px, py) {
    const { width, height } = this.now;
    const [dx, dy] = [(px ?? width / 2) - width / 2, (py ?? height / 2) - height / 2];
    const before = this.scale;
    const zoom = Math.min(DEEPEST, Math.max(0.5, this.window.zoom * factor));
    const after = (before / this.window.zoom) * zoom;
    this.look({ x: this.window.x + dx / before - dx / after, y: this.window.y + dy / before - dy / after, zoom });
    this.hooks.moved();
  }

  /** @param {number} dx screen pixels @param {number} dy */
  pan(dx, dy) {
    this.look({ ...this.window, x: this.window.x - dx / this.scale, y: this.window.y - dy / this.scale });
    this.hooks.moved();
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.#paint();
    });
  }

  #paint() {
    const began = performance.now();
    const { ctx } = this;
    const { width, height } = this.now;
    const ratio = this.canvas.width / width;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    if (!this.x.length || !this.dots.width) return;
    this.pictured = this.#cells(width, height);
    ctx.drawImage(this.dots, 0, 0, width, height);
    const { side } = this;
    this.seen = 0;
    // The most important ones last: they lie on top.
    for (let n = this.pictured.length - 1; n >= 0; n--) this.#picture(this.pictured[n], side);
    if (this.hover >= 0) this.#picture(this.hover, side * 1.25);
    this.#rope();
    this.cost = performance.now() - began;
    // For whoever cannot look into a canvas: how many pictures are to be seen as such.
    const seen = String(this.seen);
    if (this.canvas.dataset.seen !== seen) this.canvas.dataset.seen = seen;
  }

  /**
   * The first of each cell in sight; everything else becomes a dot.
   * @param {number} width @param {number} height
   */
  #cells(width, height) {
    const { x, y, side } = this;
    const { scale, ox, oy } = this.now;
    const cell = side * 1.08;
    // Columns of cells that can be in sight, and where the first begins in the plane.
    const [columns, rows] = [Math.ceil(width / cell) + 3, Math.ceil(height / cell) + 3];
    const [first, top] = [Math.floor((-ox - side) / cell), Math.floor((-oy - side) / cell)];
    const taken = new Uint8Array(columns * rows);
    const image = this.dotsCtx.createImageData(this.dots.width, this.dots.height);
    const pixels = new Uint32Array(image.data.buffer);
    const across = this.dots.width;
    const found = [];
    for (let i = 0; i < x.length; i++) {
      const px = x[i] * scale;
      const py = y[i] * scale;
      const [sx, sy] = [px + ox, py + oy];
      if (sx < -side || sy < -side || sx > width + side || sy > height + side) continue;
      const place = (Math.floor(py / cell) - top) * columns + Math.floor(px / cell) - first;
      if (!taken[place]) {
        taken[place] = 1;
        found.push(i);
      } else if (sx >= 1 && sy >= 1 && sx < width - 2 && sy < height - 2) {
        const colour = this.colours ? this.colours[i] : this.ink;
        const at = Math.floor(sy) * across + Math.floor(sx);
        pixels[at] = pixels[at + 1] = pixels[at + across] = pixels[at + across + 1] = colour;
      }
    }
    this.dotsCtx.putImageData(image, 0, 0);
    return found;
  }

  /** @param {number} i @param {number} side */
  #picture(i, side) {
    const { ctx } = this;
    const [sx, sy] = this.at(i);
    const [left, top] = [sx - side / 2, sy - side / 2];
    const sprite = this.hooks.sprite(i, side);
    const chosen = this.selected.has(i);
    const colour = this.colours ? this.colours[i] : 0;
    if (chosen || colour) {
      const wide = chosen ? 3 : 2;
      ctx.fillStyle = chosen ? this.accent : css(colour);
      ctx.fillRect(left - wide, top - wide, side + 2 * wide, side + 2 * wide);
    }
    if (sprite) {
      this.seen++;
      ctx.drawImage(sprite.image, sprite.x, sprite.y, sprite.side, sprite.side, left, top, side, side);
    } else {
      ctx.fillStyle = css(this.ink);
      ctx.globalAlpha = 0.25;
      ctx.fillRect(left, top, side, side);
      ctx.globalAlpha = 1;
    }
    if (i === this.hover) {
      ctx.strokeStyle = this.accent;
      ctx.lineWidth = 2;
      ctx.strokeRect(left - 1, top - 1, side + 2, side + 2);
    }
  }

  #rope() {
    if (this.rope.length < 2) return;
    const { ctx } = this;
    ctx.beginPath();
    for (const [px, py] of this.rope) ctx.lineTo(px, py);
    ctx.closePath();
    ctx.strokeStyle = this.accent;
    ctx.lineWidth = 2;
    ctx.setLineDash([6, 4]);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.globalAlpha = 0.12;
    ctx.fillStyle = this.accent;
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  /** The picture at a place of the screen; -1: none. @param {number} px @param {number} py */
  find(px, py) {
    const half = this.side / 2;
    for (const i of this.pictured) {
      const [sx, sy] = this.at(i);
      if (Math.abs(px - sx) <= half && Math.abs(py - sy) <= half) return i;
    }
    return this.nearest(px, py, REACH);
  }

  /** @param {number} px @param {number} py @param {number} [reach] pixels */
  nearest(px, py, reach = Infinity) {
    const { x, y } = this;
    const { scale, ox, oy } = this.now;
    let best = -1;
    let least = reach * reach;
    for (let i = 0; i < x.length; i++) {
      const dx = px - x[i] * scale - ox;
      const dy = py - y[i] * scale - oy;
      const far = dx * dx + dy * dy;
      if (far < least) {
        best = i;
        least = far;
      }
    }
    return best;
  }

  /** What lies inside a rope. @param {number[][]} rope */
  inside(rope) {
    const found = [];
    const { scale, ox, oy } = this.now;
    const across = rope.map(([px]) => px);
    const down = rope.map(([, py]) => py);
    const [left, right, top, bottom] = [Math.min(...across), Math.max(...across), Math.min(...down), Math.max(...down)];
    for (let i = 0; i < this.x.length; i++) {
      const px = this.x[i] * scale + ox;
      const py = this.y[i] * scale + oy;
      if (px < left || px > right || py < top || py > bottom) continue;
      let within = false;
      for (let a = 0, b = rope.length - 1; a < rope.length; b = a++) {
        const [ax, ay, bx, by] = [across[a], down[a], across[b], down[b]];
        if (ay > py !== by > py && px < ((bx - ax) * (py - ay)) / (by - ay) + ax) within = !within;
      }
      if (within) found.push(i);
    }
    return found;
  }

  #listen() {
    /** @type {Map<number, {x: number, y: number}>} */
    const fingers = new Map();
    let travelled = 0;
    let apart = 0;
    let hovering = 0; // one look a frame, however many events
    /** @type {{x: number, y: number}|null} */
    let over = null;
    const { canvas } = this;
    /** @param {PointerEvent|WheelEvent} event */
    const spot = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { x, y } = spot(event);
      const lines = event.deltaMode === 1 ? 16 : 1;
      this.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0022)), x, y);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, spot(event));
      travelled = 0;
      apart = 0;
      if (fingers.size === 1 && (this.lassoing || event.shiftKey)) {
        const { x, y } = spot(event);
        this.rope = [[x, y]];
      } else {
        this.rope = [];
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = spot(event);
      const before = fingers.get(event.pointerId);
      if (!before) {
        over = now;
        hovering ||= requestAnimationFrame(() => {
          hovering = 0;
          if (over) this.#hovers(this.find(over.x, over.y));
        });
        return;
      }
      travelled += Math.hypot(now.x - before.x, now.y - before.y);
      fingers.set(event.pointerId, now);
      if (this.rope.length) {
        this.rope.push([now.x, now.y]);
        this.draw();
      } else if (fingers.size === 2) {
        const [one, two] = [...fingers.values()];
        const wide = Math.hypot(one.x - two.x, one.y - two.y);
        if (apart) this.zoom(wide / apart, (one.x + two.x) / 2, (one.y + two.y) / 2);
        apart = wide;
      } else {
        this.pan(now.x - before.x, now.y - before.y);
      }
    });
    /** @param {PointerEvent} event */
    const up = (event) => {
      if (!fingers.delete(event.pointerId)) return;
      const rope = this.rope;
      this.rope = [];
      if (rope.length > 2 && travelled > 8) {
        this.hooks.caught(this.inside(rope), event.shiftKey);
      } else if (travelled < 5 && event.type === "pointerup") {
        const { x, y } = spot(event);
        const hit = this.find(x, y);
        if (hit >= 0) this.hooks.picked(hit);
      }
      this.draw();
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => {
      over = null;
      this.#hovers(-1);
    });
  }

  /** @param {number} i */
  #hovers(i) {
    if (i === this.hover) return;
    this.hover = i;
    this.canvas.style.cursor = this.lassoing ? "crosshair" : i >= 0 ? "pointer" : "grab";
    this.hooks.hovered(i);
    this.draw();
  }
}

/**
 * Where nearly all of it is: one picture far out must not make the others small.
 * @param {Float32Array} values
 * @param {number} out share at either end that may lie outside
 */
function span(values, out) {
  if (!values.length) return [0, 1];
  const sorted = values.slice().sort();
  const [low, high] = [sorted[Math.floor(out * values.length)], sorted[Math.ceil((1 - out) * (values.length - 1))]];
  const edge = 0.06 * (high - low);
  return [low - edge, high - low + 2 * edge || 1];
}

/** @param {number} packed 0xAABBGGRR */
const css = (packed) => `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;
