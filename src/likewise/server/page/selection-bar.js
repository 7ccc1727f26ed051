// At the foot of the page while pictures are selected: tag them all at once, or remove them.

import { acted, undoing } from "./actions.js";
import { api } from "./api.js";
import { tagField } from "./completion.js";
import { fill, h, icon } from "./dom.js";
import { count, counted } from "./format.js";
import { openRemove } from "./remove.js";
import { selection } from "./selection.js";
import { complain, toast } from "./toast.js";

const AT_ONCE = 10000; // pictures in one request

export function selectionBar() {
  const said = h("b", { role: "status" });
  const { field, input } = tagField({ label: "Tag for the selected pictures", placeholder: "tag them" });
  const add = h("button", { class: "main small" });
  const untag = h("button", { type: "button", class: "small", onclick: () => say(true) }, "Remove tag");
  const remove = h("button", { type: "button", class: "small", title: "Remove from the collection; the files stay", onclick: () => openRemove(selection.ids(), () => selection.clear()) }, "Remove…");
  const clear = h("button", { type: "button", class: "quiet small", onclick: () => selection.clear() }, icon("close"), "Select none");
  const form = h("form", { class: "selection-bar", hidden: true, "aria-label": "Selected pictures" }, said, field, add, untag, remove, clear);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    say(false);
  });

  /** @param {boolean} off */
  const say = async (off) => {
    const tag = input.value.trim();
    const pictures = selection.ids();
    if (!tag) {
      input.focus();
      return;
    }
    /** @type {number[]} */
    const actions = [];
    /** @type {number[]} lines of the log, where there was too little for an action */
    const lines = [];
    try {
      for (let first = 0; first < pictures.length; first += AT_ONCE) {
        const some = pictures.slice(first, first + AT_ONCE);
        const done = await api.tagMany(off ? { pictures: some, remove: [tag] } : { pictures: some, add: [tag] });
        if (done.action) actions.push(done.action);
        else lines.push(...done.lines);
      }
      input.value = "";
      // Whoever selects next begins anew: what was tagged is not tagged once more, unseen.
      selection.clear();
      const what = off ? `Removed the tag “${tag}” from ${counted(pictures.length, "picture")}.` : `Tagged ${counted(pictures.length, "picture")} “${tag}”.`;
      const more = actions.length ? undoing(...actions) : { label: "Undo", act: () => unsay(lines) };
      toast(actions.length || lines.length ? what : "Nothing changed: they were like that already.", actions.length || lines.length ? more : {});
      acted(off ? "untag" : "tag");
    } catch (error) {
      complain(error);
    }
  };

  /** @param {number[]} lines */
  const unsay = async (lines) => {
    try {
      await api.undoTags(lines);
      acted("tag");
    } catch (error) {
      complain(error);
    }
  };

  selection.onChange(() => {
    form.hidden = !selection.size;
    said.textContent = selection.told();
    fill(add, icon("tag"), `Tag ${count(selection.size)}`);
  });
  return form;
}
