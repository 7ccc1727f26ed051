// The map: pictures on a canvas that can be moved, zoomed and asked.  Places are in units of one
// cell of the grid; "tidy" lays pictures side by side, otherwise each lies at its true place.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const n = data.names.length;
  const by = (id) => document.getElementById(id);
  const canvas = by("map");
  const pen = canvas.getContext("2d");
  const across = Math.floor(data.sheet / data.side);
  const perSheet = across * across;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const GAP = 0.06;

  const sheets = data.sheets.map((uri) => {
    const image = new Image();
    image.onload = draw;
    image.src = uri;
    return image;
  });

  // Both layouts share one world, so that going from one to the other moves pictures only a little.
  const world = { w: data.columns, h: data.rows };
  const xs = new Float32Array(n), ys = new Float32Array(n);
  const tx = new Float32Array(n), ty = new Float32Array(n);
  const ways = { tidy: [new Float32Array(n), new Float32Array(n)], true: [new Float32Array(n), new Float32Array(n)] };
  const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
  for (let i = 0; i < 2 * n; i++) {
    low[i % 2] = Math.min(low[i % 2], data.places[i]);
    high[i % 2] = Math.max(high[i % 2], data.places[i]);
  }
  for (let i = 0; i < n; i++) {
    ways.tidy[0][i] = data.cells[2 * i] + 0.5;
    ways.tidy[1][i] = data.cells[2 * i + 1] + 0.5;
    ways.true[0][i] = 0.5 + (data.places[2 * i] - low[0]) / Math.max(high[0] - low[0], 1) * (world.w - 1);
    ways.true[1][i] = 0.5 + (data.places[2 * i + 1] - low[1]) / Math.max(high[1] - low[1], 1) * (world.h - 1);
  }
  let tidied = true;
  xs.set(ways.tidy[0]); ys.set(ways.tidy[1]);

  const view = { x: world.w / 2, y: world.h / 2, s: 1 };
  let goal = null, morph = 1, chosen = -1, over = -1, matches = null, asked = 0;
  let width = 0, height = 0, ratio = 1, colours = {};

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["paper", "accent", "frame", "ink"]) colours[name] = style.getPropertyValue(`--${name}`).trim();
  }

  function fitted() {
    const edge = Math.min(48, width / 12);
    const s = Math.min((width - 2 * edge) / world.w, (height - 2 * edge) / world.h);
    return { x: world.w / 2, y: world.h / 2, s: Math.max(s, 0.5) };
  }

  function resize() {
    const first = !width;
    ratio = Math.min(window.devicePixelRatio || 1, 2);
    width = window.innerWidth; height = window.innerHeight;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    if (first) Object.assign(view, fitted());
    draw();
  }

  const bounded = (s) => Math.min(Math.max(s, fitted().s * 0.5), Math.max(2.2 * data.side, fitted().s));

  /** Move the eye: at once, or over a quarter of a second. */
  function go(to, smooth = true) {
    to.s = bounded(to.s ?? view.s);
    to.x = Math.min(Math.max(to.x ?? view.x, 0), world.w);
    to.y = Math.min(Math.max(to.y ?? view.y, 0), world.h);
    if (still || !smooth) { goal = null; Object.assign(view, to); } else goal = to;
    draw();
  }

  function zoomAt(factor, px = width / 2, py = height / 2, smooth = false) {
    const from = goal ?? view;
    const s = bounded(from.s * factor);
    const wx = from.x + (px - width / 2) / from.s, wy = from.y + (py - height / 2) / from.s;
    go({ s, x: wx - (px - width / 2) / s, y: wy - (py - height / 2) / s }, smooth);
  }

  function draw() { if (!asked) asked = requestAnimationFrame(frame); }

  function frame() {
    asked = 0;
    let busy = false;
    if (goal) {
      for (const key of ["x", "y", "s"]) view[key] += (goal[key] - view[key]) * 0.22;
      if (Math.abs(goal.s / view.s - 1) < 0.002 && Math.hypot(goal.x - view.x, goal.y - view.y) * view.s < 0.4) {
        Object.assign(view, goal); goal = null;
      } else busy = true;
    }
    if (morph < 1) {
      morph = still ? 1 : Math.min(1, morph + 0.045);
      const t = morph * morph * (3 - 2 * morph);
      const to = ways[tidied ? "tidy" : "true"];
      for (let i = 0; i < n; i++) {
        xs[i] = tx[i] + (to[0][i] - tx[i]) * t;
        ys[i] = ty[i] + (to[1][i] - ty[i]) * t;
      }
      busy = busy || morph < 1;
    }
    paint();
    if (busy) draw();
  }

  /** How large a picture is in cells: crowded true places want smaller ones than the grid. */
  const size = () => {
    const part = tidied ? morph : 1 - morph;
    return (1 - GAP) * part + 0.8 * (1 - part);
  };

  /** Small pictures are cut to squares, so that the grid is full; large ones are shown whole. */
  const whole = (px) => Math.min(Math.max((px - 70) / 70, 0), 1);

  /** Width and height shown of a picture, in its own pixels. */
  function part(i, px) {
    const w = data.frames[3 * i] || data.side, h = data.frames[3 * i + 1] || data.side;
    const least = Math.min(w, h), all = whole(px);
    return [least + (w - least) * all, least + (h - least) * all];
  }

  function box(i, cell) {
    const px = cell * view.s, [w, h] = part(i, px), scale = px / Math.max(w, h);
    return [(xs[i] - view.x) * view.s + width / 2 - (w * scale) / 2,
      (ys[i] - view.y) * view.s + height / 2 - (h * scale) / 2, w * scale, h * scale];
  }

  function paint() {
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, width, height);
    const cell = size();
    for (let i = 0; i < n; i++) if (i !== chosen) paintOne(i, cell);
    if (chosen >= 0) paintOne(chosen, cell * (tidied ? 1.12 : 1.4));
    ring(over, cell, 2); ring(chosen, cell * (tidied ? 1.12 : 1.4), 3);
  }

  function paintOne(i, cell) {
    const [x, y, w, h] = box(i, cell);
    if (x > width || y > height || x + w < 0 || y + h < 0) return;
    pen.globalAlpha = matches && !matches.has(i) ? 0.13 : 1;
    const image = sheets[Math.floor(i / perSheet)];
    const colour = data.frames[3 * i + 2];
    if (Math.max(w, h) < 4 || !image.complete || !data.frames[3 * i]) {
      pen.fillStyle = `rgb(${colour >> 16},${(colour >> 8) & 255},${colour & 255})`;
      pen.fillRect(x, y, Math.max(w, 1.5), Math.max(h, 1.5));
    } else {
      const place = i % perSheet, [pw, ph] = part(i, cell * view.s);
      pen.imageSmoothingQuality = "high";
      pen.drawImage(image, data.side * (place % across) + (data.frames[3 * i] - pw) / 2,
        data.side * Math.floor(place / across) + (data.frames[3 * i + 1] - ph) / 2, pw, ph, x, y, w, h);
      if (w > 24) { pen.lineWidth = 1; pen.strokeStyle = colours.frame; pen.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1); }
    }
    pen.globalAlpha = 1;
  }

  function ring(i, cell, thick) {
    if (i < 0) return;
    const [x, y, w, h] = box(i, cell);
    pen.lineWidth = thick; pen.strokeStyle = colours.accent;
    pen.strokeRect(x - thick / 2, y - thick / 2, w + thick, h + thick);
  }

  /** The picture under a point of the screen, the one drawn last first; -1 where there is none. */
  function under(px, py) {
    const cell = size();
    const inside = (i, by_) => {
      const [x, y, w, h] = box(i, by_);
      return px >= x && py >= y && px <= x + w && py <= y + h;
    };
    if (chosen >= 0 && inside(chosen, cell * 1.12)) return chosen;
    for (let i = n - 1; i >= 0; i--) if ((!matches || matches.has(i)) && inside(i, cell)) return i;
    return -1;
  }

  /** A picture on a small canvas of its own, whole or cut to fill it. */
  function small(target, i, px, fill) {
    target.width = target.height = px * 2;
    const brush = target.getContext("2d"), place = i % perSheet;
    const w = data.frames[3 * i], h = data.frames[3 * i + 1];
    if (!w) return;
    const scale = (px * 2) / (fill ? Math.min(w, h) : Math.max(w, h));
    brush.imageSmoothingQuality = "high";
    brush.drawImage(sheets[Math.floor(i / perSheet)], data.side * (place % across), data.side * Math.floor(place / across),
      w, h, px - (w * scale) / 2, px - (h * scale) / 2, w * scale, h * scale);
  }

  /** Show a picture's name and its nearest; the map moves to it only if it is out of sight. */
  function choose(i, move = false) {
    chosen = i;
    by("card").hidden = i < 0;
    if (i >= 0) {
      by("name").textContent = data.names[i];
      by("said").textContent = data.names[i];
      small(by("big"), i, 128);
      const away = [];
      for (let j = 0; j < n; j++) if (j !== i) away.push([Math.hypot(data.places[2 * j] - data.places[2 * i], data.places[2 * j + 1] - data.places[2 * i + 1]), j]);
      away.sort((a, b) => a[0] - b[0]);
      by("near").replaceChildren(...away.slice(0, 8).map(([, j]) => {
        const button = document.createElement("button"), picture = document.createElement("canvas");
        button.title = data.names[j]; button.setAttribute("aria-label", data.names[j]);
        small(picture, j, 52, true);
        button.append(picture);
        button.onclick = () => choose(j, true);
        return button;
      }));
      if (move) go({ x: xs[i], y: ys[i], s: Math.max(view.s, 60) });
    }
    draw();
  }

  function toggle() {
    tidied = !tidied;
    by("tidy").setAttribute("aria-pressed", String(tidied));
    by("said").textContent = tidied ? "Side by side" : "True places";
    tx.set(xs); ty.set(ys);
    morph = 0;
    draw();
  }

  // -- mouse, pen and fingers ---------------------------------------------------------------
  const touching = new Map();
  let moved = 0;
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    touching.set(e.pointerId, [e.clientX, e.clientY]);
    if (touching.size === 1) moved = 0;
    goal = null;
  });
  canvas.addEventListener("pointermove", (e) => {
    const last = touching.get(e.pointerId);
    if (!last) {
      const now = under(e.clientX, e.clientY);
      if (now !== over) { over = now; canvas.classList.toggle("over", over >= 0); canvas.title = over >= 0 ? data.names[over] : ""; draw(); }
      return;
    }
    const spread = () => { const [a, b] = [...touching.values()]; return [Math.hypot(a[0] - b[0], a[1] - b[1]), (a[0] + b[0]) / 2, (a[1] + b[1]) / 2]; };
    const before = touching.size === 2 ? spread() : null;
    touching.set(e.pointerId, [e.clientX, e.clientY]);
    const dx = e.clientX - last[0], dy = e.clientY - last[1];
    moved += Math.abs(dx) + Math.abs(dy);
    if (before) {
      const after = spread();
      go({ x: view.x - (after[1] - before[1]) / view.s, y: view.y - (after[2] - before[2]) / view.s }, false);
      zoomAt(after[0] / Math.max(before[0], 1), after[1], after[2]);
    } else if (touching.size === 1 && moved > 4) {
      canvas.classList.add("moving");
      go({ x: view.x - dx / view.s, y: view.y - dy / view.s }, false);
    }
  });
  const released = (e) => {
    if (!touching.delete(e.pointerId)) return;
    canvas.classList.remove("moving");
    if (e.type === "pointerup" && moved <= 4 && !touching.size) choose(under(e.clientX, e.clientY));
  };
  canvas.addEventListener("pointerup", released);
  canvas.addEventListener("pointercancel", released);
  canvas.addEventListener("pointerleave", () => { over = -1; draw(); });
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    const step = e.deltaMode === 1 ? 30 : 1;
    zoomAt(Math.exp(-Math.max(-240, Math.min(240, e.deltaY * step)) / 420), e.clientX, e.clientY);
  }, { passive: false });
  canvas.addEventListener("dblclick", (e) => zoomAt(2.2, e.clientX, e.clientY, true));

  // -- keys and buttons ---------------------------------------------------------------------
  const step = () => 120 / view.s;
  const from = () => goal ?? view;
  const keys = {
    "+": () => zoomAt(1.35, undefined, undefined, true), "=": () => keys["+"](),
    "-": () => zoomAt(1 / 1.35, undefined, undefined, true), "_": () => keys["-"](),
    "0": () => go(fitted()), Home: () => go(fitted()), g: toggle, G: toggle,
    ArrowLeft: () => go({ x: from().x - step(), y: from().y, s: from().s }),
    ArrowRight: () => go({ x: from().x + step(), y: from().y, s: from().s }),
    ArrowUp: () => go({ x: from().x, y: from().y - step(), s: from().s }),
    ArrowDown: () => go({ x: from().x, y: from().y + step(), s: from().s }),
    Enter: () => choose(under(width / 2, height / 2)),
    Escape: () => choose(-1), "/": () => by("text").focus(),
  };
  addEventListener("keydown", (e) => {
    if (e.target === by("text")) { if (e.key === "Escape") { by("text").value = ""; look(); canvas.focus(); } return; }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Enter" && e.target !== canvas && e.target !== document.body) return;
    const act = keys[e.key];
    if (act) { e.preventDefault(); act(); }
  });
  by("in").onclick = keys["+"]; by("out").onclick = keys["-"]; by("fit").onclick = keys["0"];
  by("tidy").onclick = toggle; by("close").onclick = () => { choose(-1); canvas.focus(); };

  function look() {
    const text = by("text").value.trim().toLowerCase();
    matches = text ? new Set() : null;
    if (text) data.names.forEach((name, i) => { if (name.toLowerCase().includes(text)) matches.add(i); });
    by("found").textContent = text ? `${matches.size.toLocaleString("en")} of ${n.toLocaleString("en")}` : "";
    draw();
  }
  by("text").addEventListener("input", look);
  by("find").addEventListener("submit", (e) => {
    e.preventDefault();
    if (matches && matches.size) {
      const all = [...matches], next = all[(all.indexOf(chosen) + 1) % all.length];
      choose(next, true);
    }
  });

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });
  addEventListener("resize", resize);
  readColours();
  resize();
  // For tests, and for whoever opens the console.
  window.likewiseMap = { view, choose, toggle, under, counts: () => ({ pictures: n, matches: matches ? matches.size : n, chosen, tidied }) };
})();
