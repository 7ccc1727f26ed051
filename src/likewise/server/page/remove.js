// Removing pictures from the collection: asked once, and twice where files are to be moved too.

import { acted, undoing } from "./actions.js";
import { api } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h } from "./dom.js";
import { count, counted } from "./format.js";
import { complain, toast } from "./toast.js";

const AT_ONCE = 20000; // pictures in one request

/**
 * @param {string[]} pictures
 * @param {() => void} removed
 */
export function openRemove(pictures, removed) {
  const many = counted(pictures.length, "picture");
  const made = dialog(`Remove ${many} from the collection?`, "remove", () => {});
  const fromDisk = h("input", { type: "checkbox", id: "remove-files" });
  const cancel = () => h("button", { type: "button", onclick: () => made.close() }, "Cancel");
  const next = h("button", { type: "button", class: "main", onclick: () => (fromDisk.checked ? second() : remove(false)) }, "Remove");
  made.body.append(
    h("p", {}, "The files stay where they are. Rescanning the folders does not bring the pictures back; Undo does, with their tags and judgements."),
    h("p", { class: "check" }, fromDisk, h("label", { for: "remove-files" }, "Also move their files out of their folders")),
    h("p", { class: "buttons" }, next, cancel()));
  fromDisk.addEventListener("change", () => {
    next.textContent = fromDisk.checked ? "Remove and move files…" : "Remove";
  });
  next.focus();

  const second = () => {
    made.heading.textContent = `Move the files of ${many}?`;
    const sure = h("button", { type: "button", class: "main", onclick: () => remove(true) }, "Move the files");
    fill(made.body,
      h("p", {}, "They leave their folders, and other programs no longer find them there. Nothing is deleted: they go into the folder “removed” inside the collection, and Undo moves them back."),
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
      const files = disk ? ` ${counted(moved, "file")} moved${stayed ? `, ${count(stayed)} could not be` : ""}.` : "";
      toast(`Removed ${many} from the collection.${files}`, undoing(...actions));
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
