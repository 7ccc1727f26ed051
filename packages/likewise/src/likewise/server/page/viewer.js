// One picture over the whole screen: its own pixels, what the camera wrote, judging and tags.

import { api, messageOf } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, icon } from "./dom.js";
import { bytes, date, decimal, degrees, figures, when } from "./format.js";
import { PictureMarks } from "./marks.js";
import { asking, go, isJudged, shut } from "./state.js";
import { TagPanel } from "./tag-panel.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";
import { Zoom } from "./zoom.js";

/** @typedef {import("./types.js").Item} Item */
/** @typedef {import("./types.js").PictureMore} PictureMore */
/** @typedef {import("./types.js").Shapes["FactsOut"]} Facts */
/**
 * @typedef {object} Around
 * @property {import("./state.js").State["view"]} view the one it is opened over
 * @property {(step: 1|-1) => Promise<string|null>} neighbour the picture before or after in the grid
 * @property {(id: string) => Item|null} find it among what is shown, with its verdict
 * @property {(item: Item, verdict: import("./types.js").Verdict) => Promise<void>} judge
 */

const LARGE = 2048; // pixels of the longer side that the server's large copy has
const SHOW = 4000; // milliseconds a picture stays in a slideshow
const WIDE = 960; // pixels of the window from which the panel is open at first

export class Viewer {
  /** @param {Around} around */
  constructor(around) {
    this.around = around;
    /** @type {ReturnType<typeof dialog>|null} */
    this.open = null;
    this.tags = new TagPanel();
    this.marks = new PictureMarks(async () => {
      const next = (await this.around.neighbour(1)) ?? (await this.around.neighbour(-1));
      if (next) go({ look: next }, { replace: true });
    });
    this.id = "";
    /** @type {PictureMore|null} */
    this.picture = null;
    this.sharp = false; // whether the original was asked for
    this.informed = innerWidth >= WIDE;
    this.playing = 0;
    this.img = h("img", { alt: "", draggable: "false" });
    this.stage = h("div", { class: "stage", tabindex: "-1" }, this.img,
      h("button", { type: "button", class: "round before", "aria-label": t.viewer.before, onclick: () => this.#step(-1) }, icon("left")),
      h("button", { type: "button", class: "round after", "aria-label": t.viewer.after, onclick: () => this.#step(1) }, icon("right")));
    this.zoom = new Zoom(this.stage, this.img, {
      changed: (scale) => this.#scaled(scale),
      swiped: (step) => this.#step(step),
      dropped: () => this.open?.close(),
    });
    this.img.addEventListener("error", () => {
      if (this.img.getAttribute("src")) this.problem.textContent = t.viewer.unreadable;
    });
    this.problem = h("p", { class: "viewer-problem", role: "alert" });
    this.stage.append(this.problem);
    this.facts = h("dl", {});
    this.file = h("p", { class: "buttons" });
    this.panel = h("aside", { class: "about", "aria-label": t.viewer.details, tabindex: "0" }, this.facts, this.marks.el, this.file, this.tags.el);
    this.more = this.#tool("plus", t.tile.more, "+", () => this.#judge("liked"));
    this.less = this.#tool("minus", t.tile.less, "-", () => this.#judge("disliked"));
    this.why = this.#tool("why", t.whyMatched, "w", () => go({ look: "", why: this.id }, { replace: true }));
    this.similar = this.#tool("search", t.findSimilar, "Enter", () => go(asking({ q: this.id })));
    this.play = this.#tool("play", t.viewer.slideshow, "Space", () => this.#play(!this.playing));
    this.pixels = this.#tool("zoom", t.viewer.pixels, "z", () => this.zoom.toggle());
    this.full = this.#tool("full", t.viewer.fullScreen, "f", () => this.#fullScreen());
    this.info = this.#tool("info", t.viewer.details, "i", () => this.#inform(!this.informed));
    this.scaleSaid = h("output", { class: "soft", "aria-label": t.viewer.scale });
    this.tools = h("div", { class: "viewer-tools", role: "toolbar", "aria-label": t.viewer.tools },
      this.scaleSaid, this.more, this.less, this.similar, this.why, this.pixels, this.play, this.full, this.info);
  }

  /** @param {string} name @param {string} label @param {string} key @param {() => void} act */
  #tool(name, label, key, act) {
    return h("button", { type: "button", class: "quiet round", "aria-label": label, title: `${label} (${key})`, "aria-keyshortcuts": key, onclick: act }, icon(name));
  }

  /** @param {import("./state.js").State} state */
  async show(state) {
    const id = state.look;
    if (!id || state.view !== this.around.view) {
      this.id = "";
      this.open?.close();
      return;
    }
    if (id === this.id) return;
    this.id = id;
    if (!this.open) this.#opened();
    const { heading } = /** @type {ReturnType<typeof dialog>} */ (this.open);
    const asked = state.view === "search" && isJudged(state);
    for (const button of [this.more, this.less]) button.hidden = !asked || state.q === id;
    this.why.hidden = !asked || state.q === id;
    this.problem.textContent = "";
    try {
      const picture = await api.picture(id);
      if (this.id !== id) return;
      this.picture = picture;
      this.sharp = false;
      heading.textContent = picture.name;
      this.img.alt = picture.name;
      this.img.src = picture.image;
      this.zoom.show(picture.width, picture.height);
      this.#verdict();
      this.#draw(picture, null);
      this.tags.show(id);
      this.marks.show(id);
      if (this.informed) this.#read(id);
    } catch (error) {
      if (this.id !== id) return;
      heading.textContent = t.viewer.cannot;
      this.picture = null;
      this.img.removeAttribute("src");
      this.problem.textContent = messageOf(error);
    }
  }

  #opened() {
    this.open = dialog("", "viewer", () => {
      this.open = null;
      this.#play(false);
      if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
      if (this.id) {
        this.id = "";
        shut({ look: "" });
      }
    });
    const { el, body, heading } = this.open;
    heading.setAttribute("aria-live", "polite");
    heading.after(this.tools);
    fill(body, this.stage, this.panel);
    this.#inform(this.informed);
    this.stage.focus({ preventScroll: true }); // on no button: Space is the slideshow
    el.addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement) {
      if (event.key === "Escape") {
        this.stage.focus({ preventScroll: true }); // where keys are heard
        event.preventDefault(); // the first Escape leaves the field, the next one the picture
        event.stopPropagation();
      }
      return;
    }
    const { zoom } = this;
    const arrow = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (arrow && zoom.zoomed) zoom.pan(arrow[0] * 80, arrow[1] * 80);
    else if (event.key === "ArrowRight" || event.key === "PageDown") this.#step(1);
    else if (event.key === "ArrowLeft" || event.key === "PageUp") this.#step(-1);
    else if (event.key === "z") zoom.toggle();
    else if (event.key === "0") zoom.whole();
    else if (event.key === " " && !(event.target instanceof HTMLButtonElement && event.target !== this.play)) this.#play(!this.playing);
    else if (event.key === "i") this.#inform(!this.informed);
    else if (event.key === "f") this.#fullScreen();
    else if (event.key === "o") this.open?.close();
    else if (event.key === "e") {
      this.#inform(true);
      this.tags.input.focus();
    } else if ((event.key === "+" || event.key === "=") && !this.more.hidden) this.#judge("liked");
    else if (["-", "_", "−"].includes(event.key) && !this.less.hidden) this.#judge("disliked");
    else if (!this.marks.key(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {1|-1} step */
  async #step(step) {
    const at = this.id;
    const next = await this.around.neighbour(step).catch(() => null);
    if (this.id !== at) return;
    if (next) go({ look: next }, { replace: true });
    else this.#play(false);
  }

  /** @param {boolean} on */
  #play(on) {
    clearInterval(this.playing);
    this.playing = on ? setInterval(() => this.#step(1), SHOW) : 0;
    this.play.setAttribute("aria-pressed", String(on));
    fill(this.play, icon(on ? "pause" : "play"));
  }

  #fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
    // The page, not the dialog: browsers refuse that, and this one fills the page.
    else document.documentElement.requestFullscreen?.().catch(() => toast(t.viewer.noFullScreen));
  }

  /** @param {boolean} on */
  #inform(on) {
    this.informed = on;
    this.panel.hidden = !on;
    this.open?.body.classList.toggle("informed", on);
    this.info.setAttribute("aria-pressed", String(on));
    if (on && this.picture && this.picture.id === this.id) this.#read(this.id);
  }

  /** One pixel of the screen shows more than the large copy has: the original is fetched. @param {number} scale */
  #scaled(scale) {
    const { picture } = this;
    if (!picture) return;
    this.scaleSaid.textContent = t.viewer.scaled(scale);
    this.pixels.setAttribute("aria-pressed", String(this.zoom.zoomed));
    const longer = Math.max(picture.width, picture.height);
    if (this.sharp || longer <= LARGE || scale <= LARGE / longer || !this.zoom.zoomed) return;
    this.sharp = true;
    const sharper = new Image();
    sharper.src = `/api/pictures/${encodeURIComponent(picture.id)}/original`;
    sharper.decode().then(() => {
      if (this.picture === picture) this.img.src = sharper.src;
    }, () => toast(t.viewer.noOriginal, { bad: true }));
  }

  /** @param {import("./types.js").Verdict} verdict */
  async #judge(verdict) {
    const item = this.around.find(this.id);
    if (!item) return;
    await this.around.judge(item, verdict);
    this.#verdict();
  }

  #verdict() {
    const verdict = this.around.find(this.id)?.verdict;
    this.more.setAttribute("aria-pressed", String(verdict === "liked"));
    this.less.setAttribute("aria-pressed", String(verdict === "disliked"));
  }

  /** @param {string} id */
  async #read(id) {
    try {
      const facts = await api.facts(id);
      if (this.id === id && this.picture) this.#draw(this.picture, facts);
    } catch {
      // What the catalog knows stands there already; the picture itself says where its file is lost.
    }
  }

  /** @param {PictureMore} picture @param {Facts|null} facts */
  #draw(picture, facts) {
    const v = t.viewer;
    /** @type {[string, string|null|undefined|false][]} */
    const rows = [
      [v.taken, picture.date && taken(picture)],
      [v.camera, facts?.camera],
      [v.lens, facts?.lens],
      [v.exposure, facts && exposure(facts)],
      [v.focal, facts?.focal ? v.millimetres(figures(facts.focal), facts.focal_35) : null],
      [v.flash, facts?.flash === null || !facts ? null : facts.flash ? v.flashed : v.notFlashed],
      [v.place, facts && facts.latitude !== null && facts.longitude !== null && v.coordinates(degrees(facts.latitude), degrees(facts.longitude))],
      [v.altitude, facts && facts.altitude !== null && v.metres(decimal(facts.altitude, 0))],
      [v.size, `${t.rail.pixels(picture.width, picture.height)}${facts ? ` · ${bytes(facts.n_bytes)}` : ""}`],
      [v.format, picture.format],
      [v.software, facts?.software],
      [v.file, picture.path],
    ];
    for (const [key, value] of Object.entries(picture.metadata)) {
      if (value !== null && typeof value !== "object" && key !== "camera") rows.push([key, String(value)]);
    }
    fill(this.facts, ...rows.flatMap(([key, value]) => (value ? [h("dt", {}, key), h("dd", {}, value)] : [])));
    fill(this.file,
      h("a", { class: "button small", href: `/api/pictures/${encodeURIComponent(picture.id)}/download`, download: picture.name }, icon("download"), v.download),
      h("button", { type: "button", class: "small", onclick: () => copy(picture.path) }, icon("copy"), v.copyPath),
      facts?.can_reveal && h("button", { type: "button", class: "small", onclick: () => reveal(picture.id) }, icon("folder"), v.reveal));
    // Whoever stood on a button that was drawn anew goes on from the picture, where keys are heard.
    if (this.open && !this.open.el.contains(document.activeElement)) this.stage.focus({ preventScroll: true });
  }
}

/** By the clock of whoever took it, as the library sorts it. @param {PictureMore} picture */
function taken(picture) {
  const source = picture.date_source ? t.library.sources[picture.date_source] : "";
  return `${source ? date(picture.date) : when(picture.date ?? "")}${source ? ` · ${source}` : ""}`;
}

/** @param {Facts} facts */
function exposure(facts) {
  const parts = [];
  if (facts.exposure) parts.push(t.viewer.seconds(facts.exposure < 0.3 ? `1/${Math.round(1 / facts.exposure)}` : figures(facts.exposure)));
  if (facts.aperture) parts.push(t.viewer.aperture(figures(facts.aperture)));
  if (facts.iso) parts.push(t.viewer.iso(facts.iso));
  if (facts.bias) parts.push(t.viewer.bias(decimal(facts.bias, 1)));
  return parts.join(" · ");
}

/** @param {string} path */
async function copy(path) {
  try {
    await navigator.clipboard.writeText(path);
    toast(t.share.copied);
  } catch {
    toast(t.viewer.noCopy(path));
  }
}

/** @param {string} id */
async function reveal(id) {
  try {
    await api.reveal(id);
  } catch (error) {
    complain(error);
  }
}
