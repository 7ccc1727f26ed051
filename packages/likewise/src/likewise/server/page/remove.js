// Removing pictures from the collection: asked once, and twice where files are to be moved too.

import { acted, undoing } from "./actions.js";
import { api } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h } from "./dom.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

const AT_ONCE = 20000; // pictures in one request

/**
 * @param {string[]} pictures
 * @param {() => void} removed
 */
export function openRemove(pictures, removed) {
  const made = dialog(t.remove.ask(pictures.length), "remove", () => {});
  const fromDisk = h("input", { type: "checkbox", id: "remove-files" });
  const cancel = () => h("button", { type: "button", onclick: () => made.close() }, t.cancel);
  const next = h("button", { type: "button", class: "main", onclick: () => (fromDisk.checked ? second() : remove(false)) }, t.remove.remove);
  made.body.append(
    h("p", {}, t.remove.how),
    h("p", { class: "check" }, fromDisk, h("label", { for: "remove-files" }, t.remove.files)),
    h("p", { class: "buttons" }, next, cancel()));
  fromDisk.addEventListener("change", () => {
    next.textContent = fromDisk.checked ? t.remove.removeFiles : t.remove.remove;
  });
  next.focus();

  const second = () => {
    made.heading.textContent = t.remove.askFiles(pictures.length);
    const sure = h("button", { type: "button", class: "main", onclick: () => remove(true) }, t.remove.moveFiles);
    fill(made.body,
      h("p", {}, t.remove.filesHow),
      h("p", { class: "buttons" }, sure, cancel()));
    sure.focus();
  };

  /** @param {boolean} disk */
  const remove = async (disk) => {
    for (const button of made.body.querySelectorAll("button")) button.disabled = true;
    /** @type {number[]} */
    const actions = [];
    let moved = 0;
    let stayed = 0;
    try {
      for (let first = 0; first < pictures.length; first += AT_ONCE) {
        const done = await api.remove({ pictures: pictures.slice(first, first + AT_ONCE), from_disk: disk, sure: disk });
        actions.push(done.action);
        moved += done.moved;
        stayed += done.problems.length;
      }
      made.close();
      toast(t.remove.removed(pictures.length, disk ? moved : null, stayed), undoing(...actions));
    } catch (error) {
      made.close();
      complain(error);
    }
    if (actions.length) {
      removed();
      acted("remove");
    }
  };
}
