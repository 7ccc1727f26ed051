// The folders of the collection as a tree: each opens, and each is a filter that reaches what is
// below it.

import { fill, h, icon } from "./dom.js";
import { count } from "./format.js";
import { t } from "./texts.js";

/** @typedef {import("./types.js").Folder} Folder */

const OPEN_ALL = 24; // folders up to which all are open

export class FolderTree {
  /** @param {(path: string) => void} chosen */
  constructor(chosen) {
    this.chosen = chosen;
    /** @type {Set<string>} */
    this.opened = new Set();
    /** @type {Folder[]} */
    this.folders = [];
    this.current = "";
    this.known = false;
    this.el = h("ul", { class: "folder-tree", "aria-label": t.library.folders });
  }

  /** @param {Folder[]} folders in reading order */
  show(folders) {
    if (!this.known && folders.length) {
      this.known = true;
      const all = folders.length <= OPEN_ALL;
      for (const one of folders) if (all || one.depth === 0) this.opened.add(one.path);
    }
    this.folders = folders;
    this.#draw();
  }

  /** @param {string} path */
  mark(path) {
    if (path === this.current) return;
    this.current = path;
    // What is chosen is seen: the folders above it are open.
    for (const one of this.folders) if (path.startsWith(`${one.path}/`)) this.opened.add(one.path);
    this.#draw();
  }

  #draw() {
    /** @type {HTMLElement[]} the lists that are being filled, by depth */
    const lists = [this.el];
    const focused = document.activeElement instanceof HTMLElement && this.el.contains(document.activeElement) ? document.activeElement.dataset.key : "";
    fill(this.el);
    this.folders.forEach((one, i) => {
      const list = lists[one.depth];
      if (!list) return; // inside a closed one
      const parent = (this.folders[i + 1]?.depth ?? 0) > one.depth;
      const open = this.opened.has(one.path);
      const toggle = parent
        ? h("button", { type: "button", class: "quiet fold-folder", "data-key": `t${one.path}`, "aria-expanded": String(open), "aria-label": t.library.foldersIn(one.name), onclick: () => this.#toggle(one.path) }, icon("right"))
        : h("span", { class: "fold-folder" });
      const chosen = one.path === this.current;
      const name = h("button", { type: "button", class: "quiet folder-name", "data-key": `n${one.path}`, title: one.path, "aria-pressed": String(chosen), "aria-label": t.library.folder(one.name, one.all), onclick: () => this.chosen(chosen ? "" : one.path) },
        h("span", {}, one.name), h("span", { class: "soft" }, count(one.all)));
      const item = h("li", {}, h("div", { class: "folder-line" }, toggle, name));
      list.append(item);
      lists.length = one.depth + 1;
      if (parent && open) {
        const inner = h("ul", {});
        item.append(inner);
        lists.push(inner);
      }
    });
    if (focused) for (const el of this.el.querySelectorAll("button")) if (el.dataset.key === focused) el.focus();
  }

  /** @param {string} path */
  #toggle(path) {
    if (!this.opened.delete(path)) this.opened.add(path);
    this.#draw();
  }
}
