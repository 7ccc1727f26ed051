// Pictures at places, on one canvas: pan, zoom, pick, lasso.  It knows nothing of servers or views:
// the served page and the page that ``likewise models map`` writes both draw their map with it, so that
// this file imports nothing.
//
// Smooth at 50,000 pictures because of what is not drawn: the plane is cut into cells as large as a
// picture is drawn, and only the first picture of a cell (points come in order of importance) is
// drawn as one; the others are dots, written as pixels.  Cells lie in the plane, not on the screen,
// so that nothing flickers while one drags.  What was drawn is kept as a layer: while one drags it is
// moved and only the strips that come into sight are drawn; while one zooms it is stretched, and
// drawn again as often as there is time.  A moment after the last movement all is drawn afresh.

/**
 * @typedef {object} Sprite the place in an image where a picture is drawn from
 * @property {CanvasImageSource} image
 * @property {number} x
 * @property {number} y
 * @property {number} width
 * @property {number} height
 */

/**
 * @typedef {object} Hooks
 * @property {(i: number, side: number) => Sprite|null} sprite of a picture, as sharp as there is now
 * @property {(i: number) => void} picked -1: a place where there is no picture
 * @property {(i: number) => void} hovered -1: none
 * @property {() => void} [moved] the window moved
 * @property {(indices: number[], more: boolean) => void} [caught] by the lasso; more: to those before
 */

/** @typedef {{x: number, y: number, zoom: number}} Window its middle, away from that of all; 1 shows all */

const LEAST = 22; // pixels of a picture when all are in sight
const DEEPEST = 400; // times the whole
const REACH = 6; // pixels around a dot that still mean it
const CLICK = 5; // pixels a finger may slip in a click
const CLOSER = 1.35;
const STEP = 80; // pixels an arrow key moves
const GLIDE = 67; // milliseconds in which most of the way is gone
const MORPH = 370; // milliseconds from one layout to another
const SMALL = 70; // pixels: up to here pictures are cut to squares; at twice as many they are whole
const MANY = 1500; // pictures in sight from which speed counts more than beauty
const FAINT = 0.13;
const SHARE = 3; // while moving, a whole drawing has to be so many times as old as it took
const SETTLED = 160; // milliseconds after the last movement

/** @type {Record<string, [number, number]|undefined>} */
const STEPS = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };

export class Chart {
  /** @param {HTMLCanvasElement} canvas @param {Hooks} hooks */
  constructor(canvas, hooks) {
    this.canvas = canvas;
    this.hooks = hooks;
    this.ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    /** What was drawn, without what hovers above it; and one to move it with. */
    this.layer = document.createElement("canvas");
    this.spare = document.createElement("canvas");
    /** @type {{scale: number, ox: number, oy: number, side: number}|null} how the layer was drawn; null: it shows nothing */
    this.drawn = null;
    this.dirty = true; // whether something else than the window changed
    this.settling = 0;
    this.drawnAt = -Infinity;
    this.drawingTook = 0;
    /** @type {Float32Array} where they are now, perhaps on their way */
    this.x = new Float32Array(0);
    /** @type {Float32Array} */
    this.y = new Float32Array(0);
    /** @type {{x: Float32Array, y: Float32Array, toX: Float32Array, toY: Float32Array, side: number, part: number}|null} */
    this.way = null;
    /** @type {Uint32Array|null} 0xAABBGGRR of each point, as a frame around its picture; null: none */
    this.colours = null;
    /** @type {Uint32Array|null} what a picture is drawn as where it is a dot or not there yet; null: ink */
    this.tints = null;
    this.ink = 0xff888888;
    this.accent = "#e08a1e";
    this.most = 168; // pixels of a picture; side by side twice as many
    /** @type {Set<number>} */
    this.selected = new Set();
    /** @type {Set<number>|null} what is looked for: the others are faint; null: nothing is */
    this.matches = null;
    this.hover = -1;
    this.chosen = -1; // drawn above all others
    this.lassoing = false;
    /** @type {number[][]} screen points of a lasso being drawn */
    this.rope = [];
    /** @type {Window} */
    this.window = { x: 0, y: 0, zoom: 1 };
    /** @type {Window|null} where the window glides to */
    this.goal = null;
    this.box = { left: 0, top: 0, width: 1, height: 1 };
    /** Where the outermost pictures are. */
    this.ends = { left: 0, top: 0, right: 1, bottom: 1 };
    this.now = { width: 1, height: 1, scale: 1, ox: 0, oy: 0 };
    /** @type {number|null} room of a picture in the plane, where each has its own */
    this.room = null;
    this.pictured = /** @type {number[]} */ ([]);
    this.waiting = 0;
    this.last = 0;
    this.cost = 0;
    this.seen = 0;
    this.#listen();
    new ResizeObserver(() => this.#resize()).observe(canvas);
  }

  /**
   * @param {Float32Array} x
   * @param {Float32Array} y in order of importance
   * @param {{room?: number|null, glide?: boolean, window?: Window}} [how] room: of each in the plane, where
   *   they lie side by side; glide: the same pictures as before, on their way from where they are
   */
  place(x, y, { room = null, glide = false, window = this.goal ?? this.window } = {}) {
    const before = { x: this.x, y: this.y, side: this.side, ...this.now };
    this.room = room;
    this.x = x;
    this.y = y;
    this.way = null;
    const across = span(x, room === null ? 0.01 : 0);
    const down = span(y, room === null ? 0.01 : 0);
    this.box = { left: across.low, top: down.low, width: across.length, height: down.length };
    this.ends = { left: across.first, top: down.first, right: across.last, bottom: down.last };
    if (!glide) {
      this.selected.clear();
      this.chosen = -1;
    }
    this.hover = -1;
    this.dirty = true;
    this.look(window);
    if (!glide || before.x.length !== x.length || still()) return;
    // In the new plane, where each is on the screen now.
    const { scale, ox, oy } = this.now;
    this.way = {
      x: before.x.map((value) => (value * before.scale + before.ox - ox) / scale),
      y: before.y.map((value) => (value * before.scale + before.oy - oy) / scale),
      toX: x, toY: y, side: before.side, part: 0,
    };
    this.x = this.way.x.slice();
    this.y = this.way.y.slice();
  }

  /** Screen pixels for one unit of the plane when all is in sight. */
  get #fitting() {
    const { clientWidth, clientHeight } = this.canvas;
    return 0.92 * Math.min((clientWidth || 1) / this.box.width, (clientHeight || 1) / this.box.height);
  }

  /** Where the plane lies on the screen: asked of the browser once, not for every point. */
  #measure() {
    const width = this.canvas.clientWidth || 1;
    const height = this.canvas.clientHeight || 1;
    const scale = this.#fitting * this.window.zoom;
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
    const n = this.x.length;
    const side = this.room !== null
      ? Math.min(2 * this.most, 0.9 * this.room * this.scale)
      : Math.min(this.most, LEAST * Math.sqrt(this.window.zoom) * (n < 400 ? 1.9 : n < 3000 ? 1.3 : 1));
    return this.way ? this.way.side + (side - this.way.side) * smooth(this.way.part) : side;
  }

  #resize() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.#measure();
    const { width, height } = this.now;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    for (const one of [this.layer, this.spare]) [one.width, one.height] = [this.canvas.width, this.canvas.height];
    this.dirty = true;
    this.#paint();
  }

  /** Where a point of the plane is on the screen. @param {number} i */
  at(i) {
    const { scale, ox, oy } = this.now;
    return [this.x[i] * scale + ox, this.y[i] * scale + oy];
  }

  /** One cannot get lost: some of it is always near. @param {Window} window @returns {Window} */
  #bounded({ x, y, zoom }) {
    const { box, ends } = this;
    // Side by side they grow to their largest, and then there is nothing more to see.
    const deepest = this.room === null ? DEEPEST : Math.max(1, (2 * this.most) / (0.9 * this.room * this.#fitting));
    const [middle, centre] = [box.left + box.width / 2, box.top + box.height / 2];
    return {
      x: Math.min(ends.right - middle, Math.max(ends.left - middle, x)),
      y: Math.min(ends.bottom - centre, Math.max(ends.top - centre, y)),
      zoom: Math.min(deepest, Math.max(0.5, zoom)),
    };
  }

  /** @param {Window} window @param {boolean} [glide] */
  look(window, glide = false) {
    const next = this.#bounded(window);
    this.goal = glide && !still() ? next : null;
    if (!this.goal) this.window = next;
    this.#measure();
    this.#frame();
  }

  /** All of it. */
  fit() {
    this.#go({ x: 0, y: 0, zoom: 1 }, true);
  }

  /** @param {number} factor @param {number} [px] the screen place that stays @param {number} [py] @param {boolean} [glide] */
  zoom(factor, px = this.now.width / 2, py = this.now.height / 2, glide = false) {
    const from = this.goal ?? this.window;
    const zoom = this.#bounded({ ...from, zoom: from.zoom * factor }).zoom;
    const [before, after] = [this.#fitting * from.zoom, this.#fitting * zoom];
    const [dx, dy] = [px - this.now.width / 2, py - this.now.height / 2];
    this.#go({ x: from.x + dx / before - dx / after, y: from.y + dy / before - dy / after, zoom }, glide);
  }

  /** @param {number} dx screen pixels @param {number} dy @param {boolean} [glide] */
  pan(dx, dy, glide = false) {
    const from = this.goal ?? this.window;
    const scale = this.#fitting * from.zoom;
    this.#go({ ...from, x: from.x - dx / scale, y: from.y - dy / scale }, glide);
  }

  /** Bring a picture to the middle, so large that it can be seen. @param {number} i */
  show(i) {
    const { box } = this;
    const { toX, toY } = this.way ?? { toX: this.x, toY: this.y };
    const enough = this.room === null ? 0 : SMALL / (0.9 * this.room * this.#fitting);
    const { zoom } = this.goal ?? this.window;
    this.#go({ x: toX[i] - box.left - box.width / 2, y: toY[i] - box.top - box.height / 2, zoom: Math.max(zoom, enough) }, true);
  }

  /** @param {Window} window @param {boolean} glide */
  #go(window, glide) {
    this.look(window, glide);
    this.hooks.moved?.();
  }

  /** What the keys of a map do. @param {string} key @returns {boolean} whether this is one of them */
  steer(key) {
    const by = STEPS[key];
    if (by) this.pan(by[0], by[1], true);
    else if (key === "+" || key === "=") this.zoom(CLOSER, undefined, undefined, true);
    else if (key === "-" || key === "−" || key === "_") this.zoom(1 / CLOSER, undefined, undefined, true);
    else if (key === "0" || key === "Home") this.fit();
    else return false;
    return true;
  }

  /** Something else than the window changed: pictures came, colours, what is selected. */
  draw() {
    this.dirty = true;
    this.#frame();
  }

  #frame() {
    this.waiting ||= requestAnimationFrame((time) => {
      this.waiting = 0;
      const moving = this.#move(Math.min(64, time - this.last));
      this.last = time;
      this.#paint();
      if (moving) this.#frame();
    });
  }

  /** A step on the way of the window and of the pictures. @param {number} passed milliseconds @returns {boolean} whether there is more */
  #move(passed) {
    const { goal, way } = this;
    if (goal) {
      const part = 1 - Math.exp(-passed / GLIDE);
      const { x, y, zoom } = this.window;
      this.window = { x: x + (goal.x - x) * part, y: y + (goal.y - y) * part, zoom: zoom + (goal.zoom - zoom) * part };
      const off = Math.hypot(goal.x - this.window.x, goal.y - this.window.y) * this.scale;
      if (off < 0.4 && Math.abs(goal.zoom / this.window.zoom - 1) < 0.002) [this.window, this.goal] = [goal, null];
      this.#measure();
      this.hooks.moved?.();
    }
    if (way) {
      way.part = Math.min(1, way.part + passed / MORPH);
      const part = smooth(way.part);
      for (let i = 0; i < this.x.length; i++) {
        this.x[i] = way.x[i] + (way.toX[i] - way.x[i]) * part;
        this.y[i] = way.y[i] + (way.toY[i] - way.y[i]) * part;
      }
      if (way.part === 1) {
        [this.x, this.y] = [way.toX, way.toY];
        this.way = null;
      }
    }
    return Boolean(this.goal ?? this.way);
  }

  #paint() {
    const began = performance.now();
    const { ctx } = this;
    const { width, height } = this.now;
    if (!this.x.length || !this.canvas.width) {
      ctx.setTransform(1, 0, 0, 1, 0, 0);
      ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
      this.drawn = null;
      return;
    }
    const { side } = this;
    const { found, dots } = this.#cells(width, height);
    this.pictured = found;
    if (!this.#moveLayer(side, dots, began)) this.#drawLayer(side, dots);
    this.#show();
    const ratio = this.canvas.width / width;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    for (const i of new Set([this.chosen, this.hover])) if (i >= 0) this.#picture(ctx, i, side * 1.25, true);
    this.#rope();
    this.cost = performance.now() - began;
    // For whoever cannot look into a canvas: how many pictures are to be seen as such.
    const seen = String(this.seen);
    if (this.canvas.dataset.seen !== seen) this.canvas.dataset.seen = seen;
  }

  /** The layer on the screen, where it belongs by now. */
  #show() {
    const { ctx, drawn, now } = this;
    if (!drawn) return;
    const ratio = this.canvas.width / now.width;
    const stretch = now.scale / drawn.scale;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (Math.abs(stretch - 1) > 1e-6) ctx.setTransform(stretch, 0, 0, stretch, (now.ox - drawn.ox * stretch) * ratio, (now.oy - drawn.oy * stretch) * ratio);
    ctx.imageSmoothingQuality = "low";
    ctx.drawImage(this.layer, 0, 0);
  }

  /** Everything in sight, drawn afresh. @param {number} side @param {number[]} dots */
  #drawLayer(side, dots) {
    const began = performance.now();
    const { width, height, scale, ox, oy } = this.now;
    this.seen = 0;
    this.drawn = { scale, ox, oy, side };
    this.#part(0, 0, width, height, side, dots);
    this.dirty = false;
    this.drawnAt = performance.now();
    this.drawingTook = this.drawnAt - began;
  }

  /**
   * What was drawn, moved or stretched: whether that will do for this frame.
   * @param {number} side @param {number[]} dots @param {number} time
   */
  #moveLayer(side, dots, time) {
    const { drawn, now } = this;
    if (!drawn || this.dirty || this.way) return false;
    const stretch = now.scale / drawn.scale;
    if (Math.abs(stretch - 1) > 1e-6) {
      if (time - this.drawnAt > SHARE * this.drawingTook || stretch > 1.5 || stretch < 0.67) return false;
      this.#settle();
      return true;
    }
    const ratio = this.canvas.width / now.width;
    // By whole pixels of the screen; what is left over is put right when all is drawn afresh.
    const [dx, dy] = [Math.round((now.ox - drawn.ox) * ratio), Math.round((now.oy - drawn.oy) * ratio)];
    if (!dx && !dy) return true;
    const { width, height } = this.canvas;
    if (Math.abs(dx) > width / 2 || Math.abs(dy) > height / 2) return false;
    const spare = /** @type {CanvasRenderingContext2D} */ (this.spare.getContext("2d"));
    spare.setTransform(1, 0, 0, 1, 0, 0);
    spare.clearRect(0, 0, width, height);
    spare.drawImage(this.layer, dx, dy);
    [this.layer, this.spare] = [this.spare, this.layer];
    drawn.ox += dx / ratio;
    drawn.oy += dy / ratio;
    const [px, py] = [dx / ratio, dy / ratio];
    if (px) this.#part(px > 0 ? 0 : now.width + px, 0, Math.abs(px), now.height, side, dots);
    if (py) this.#part(0, py > 0 ? 0 : now.height + py, now.width, Math.abs(py), side, dots);
    this.#settle();
    return true;
  }

  /** When nothing moves any more, all is drawn afresh. */
  #settle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.draw(), SETTLED);
  }

  /**
   * A part of the layer: dots first, pictures above them, the most important ones on top.
   * @param {number} left @param {number} top @param {number} wide @param {number} high
   * @param {number} side @param {number[]} dots
   */
  #part(left, top, wide, high, side, dots) {
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.layer.getContext("2d"));
    const ratio = this.canvas.width / this.now.width;
    const { scale } = this.now;
    const { ox, oy } = this.drawn ?? this.now;
    const { x, y } = this;
    const colours = this.colours ?? this.tints;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, wide, high);
    ctx.clip();
    ctx.clearRect(left, top, wide, high);
    let colour = -1;
    for (const i of dots) {
      const [sx, sy] = [x[i] * scale + ox, y[i] * scale + oy];
      if (sx < left - 2 || sy < top - 2 || sx > left + wide || sy > top + high) continue;
      const wanted = colours ? colours[i] : this.ink;
      if (wanted !== colour) {
        colour = wanted;
        ctx.fillStyle = css(wanted);
      }
      ctx.fillRect(Math.floor(sx), Math.floor(sy), 2, 2);
    }
    ctx.imageSmoothingQuality = this.pictured.length < MANY ? "high" : "low";
    const reach = side / 2 + 3;
    for (let n = this.pictured.length - 1; n >= 0; n--) {
      const i = this.pictured[n];
      const [sx, sy] = [x[i] * scale + ox, y[i] * scale + oy];
      if (sx < left - reach || sy < top - reach || sx > left + wide + reach || sy > top + high + reach) continue;
      this.#picture(ctx, i, side, false, sx, sy);
    }
    ctx.restore();
  }

  /**
   * The first of each cell in sight; everything else becomes a dot.
   * @param {number} width @param {number} height
   */
  #cells(width, height) {
    const { x, y, side, matches } = this;
    const { scale, ox, oy } = this.now;
    const cell = side * 1.08;
    // Whole cells, also where only a part is in sight: which picture stands for a cell must not
    // change while it comes in.
    const edge = 2 * cell;
    const [columns, rows] = [Math.ceil((width + 2 * edge) / cell) + 3, Math.ceil((height + 2 * edge) / cell) + 3];
    const [first, top] = [Math.floor((-ox - edge) / cell), Math.floor((-oy - edge) / cell)];
    const taken = new Uint8Array(columns * rows);
    /** @type {number[]} */
    const found = [];
    /** @type {number[]} */
    const dots = [];
    // What is looked for has its cell first.
    for (const wanted of matches ? [true, false] : [true]) {
      for (let i = 0; i < x.length; i++) {
        if (matches && matches.has(i) !== wanted) continue;
        const px = x[i] * scale;
        const py = y[i] * scale;
        const [sx, sy] = [px + ox, py + oy];
        if (sx < -edge || sy < -edge || sx > width + edge || sy > height + edge) continue;
        const place = (Math.floor(py / cell) - top) * columns + Math.floor(px / cell) - first;
        if (!taken[place]) {
          taken[place] = 1;
          found.push(i);
        } else if (wanted && sx >= -2 && sy >= -2 && sx < width && sy < height) {
          dots.push(i);
        }
      }
    }
    return { found, dots };
  }

  /**
   * @param {CanvasRenderingContext2D} ctx
   * @param {number} i
   * @param {number} side of its longer edge
   * @param {boolean} front before all others
   * @param {number} [sx] where
   * @param {number} [sy]
   */
  #picture(ctx, i, side, front, sx = this.at(i)[0], sy = this.at(i)[1]) {
    const tint = this.tints ? this.tints[i] : this.ink;
    const alpha = this.matches && !this.matches.has(i) && !front ? FAINT : 1;
    const sprite = side < 4 && this.tints ? null : this.hooks.sprite(i, side);
    const cut = sprite && shown(sprite, side);
    const [wide, high] = cut ? [cut.wide, cut.high] : [side, side];
    const [left, top] = [sx - wide / 2, sy - high / 2];
    const picked = this.selected.has(i);
    const colour = this.colours ? this.colours[i] : 0;
    ctx.globalAlpha = alpha;
    if (picked || colour) {
      const edge = picked ? 3 : 2;
      ctx.fillStyle = picked ? this.accent : css(colour);
      ctx.fillRect(left - edge, top - edge, wide + 2 * edge, high + 2 * edge);
    }
    if (sprite && cut) {
      this.seen++;
      ctx.drawImage(sprite.image, cut.x, cut.y, cut.width, cut.height, left, top, wide, high);
    } else {
      ctx.fillStyle = css(tint);
      ctx.globalAlpha = alpha * (this.tints ? 1 : 0.25);
      ctx.fillRect(left, top, wide, high);
    }
    ctx.globalAlpha = 1;
    if (front) {
      ctx.strokeStyle = this.accent;
      ctx.lineWidth = i === this.chosen ? 3 : 2;
      ctx.strokeRect(left - 1, top - 1, wide + 2, high + 2);
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
    const { matches } = this;
    for (const i of this.chosen < 0 ? this.pictured : [this.chosen, ...this.pictured]) {
      const [sx, sy] = this.at(i);
      if (Math.abs(px - sx) <= half && Math.abs(py - sy) <= half && (!matches || matches.has(i))) return i;
    }
    return this.nearest(px, py, REACH);
  }

  /** The picture nearest to the middle, also where the window is still on its way there. */
  middle() {
    const { width, height } = this.now;
    const { x, y } = this.goal ?? this.window;
    return this.nearest(width / 2 + (x - this.window.x) * this.scale, height / 2 + (y - this.window.y) * this.scale);
  }

  /** @param {number} px @param {number} py @param {number} [reach] pixels */
  nearest(px, py, reach = Infinity) {
    const { x, y, matches } = this;
    const { scale, ox, oy } = this.now;
    let best = -1;
    let least = reach * reach;
    for (let i = 0; i < x.length; i++) {
      if (matches && !matches.has(i)) continue;
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
      if (fingers.size === 1) travelled = 0;
      this.goal = null; // whoever takes hold of it stops it
      if (fingers.size === 1 && this.hooks.caught && (this.lassoing || event.shiftKey)) {
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
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
      fingers.set(event.pointerId, now);
      if (this.rope.length) {
        this.rope.push([now.x, now.y]);
        this.#frame();
      } else if (other) {
        // The place between two fingers stays between them.
        const apart = Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
        this.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
        this.zoom(Math.hypot(now.x - other.x, now.y - other.y) / apart, (now.x + other.x) / 2, (now.y + other.y) / 2);
      } else if (travelled >= CLICK) {
        this.pan(now.x - before.x, now.y - before.y);
      }
    });
    /** @param {PointerEvent} event */
    const up = (event) => {
      if (!fingers.delete(event.pointerId)) return;
      const rope = this.rope;
      this.rope = [];
      if (rope.length > 2 && travelled > 8) {
        this.hooks.caught?.(this.inside(rope), event.shiftKey);
      } else if (travelled < CLICK && event.type === "pointerup" && !fingers.size) {
        const { x, y } = spot(event);
        this.hooks.picked(this.find(x, y));
      }
      this.#frame();
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
    this.#frame();
  }
}

/**
 * Where nearly all of it is: one picture far out must not make the others small.
 * @param {Float32Array} values
 * @param {number} out share at either end that may lie outside
 */
function span(values, out) {
  if (!values.length) return { low: 0, length: 1, first: 0, last: 1 };
  const sorted = values.slice().sort();
  const [low, high] = [sorted[Math.floor(out * values.length)], sorted[Math.ceil((1 - out) * (values.length - 1))]];
  const edge = 0.06 * (high - low);
  return { low: low - edge, length: high - low + 2 * edge || 1, first: sorted[0], last: sorted[sorted.length - 1] };
}

/**
 * The part of a picture that is shown: small ones are cut to squares, large ones are seen whole.
 * @param {Sprite} sprite
 * @param {number} side of the longer edge on the screen
 */
function shown({ x, y, width, height }, side) {
  const least = Math.min(width, height);
  const whole = Math.min(1, Math.max(0, (side - SMALL) / SMALL));
  const [w, h] = [least + (width - least) * whole, least + (height - least) * whole];
  const scale = side / Math.max(w, h);
  return { x: x + (width - w) / 2, y: y + (height - h) / 2, width: w, height: h, wide: w * scale, high: h * scale };
}

/** A part of a way, slow at both ends. @param {number} part */
const smooth = (part) => part * part * (3 - 2 * part);

/** Whether the person asked the system for less movement. */
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** @param {number} packed 0xAABBGGRR */
const css = (packed) => `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;
