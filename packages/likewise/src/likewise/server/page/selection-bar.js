// At the foot of the page while pictures are selected: tag them all at once, or remove them.

import { acted, undoing } from "./actions.js";
import { api } from "./api.js";
import { tagField } from "./completion.js";
import { fill, h, icon } from "./dom.js";
import { markButtons } from "./marks.js";
import { openRemove } from "./remove.js";
import { selection } from "./selection.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

const AT_ONCE = 10000; // pictures in one request

export function selectionBar() {
  const said = h("b", { role: "status" });
  const { field, input } = tagField({ label: t.selection.tagFor, placeholder: t.selection.tagThem });
  field.dataset.needs = "judge";
  const add = h("button", { class: "main small", "data-needs": "judge" });
  const untag = h("button", { type: "button", class: "small", "data-needs": "judge", onclick: () => say(true) }, t.selection.untag);
  const remove = h("button", { type: "button", class: "small", "data-needs": "manage", title: t.selection.removeHow, onclick: () => openRemove(selection.ids(), () => selection.clear()) }, t.selection.remove);
  const clear = h("button", { type: "button", class: "quiet small", onclick: () => selection.clear() }, icon("close"), t.selection.none);
  const form = h("form", { class: "selection-bar", hidden: true, "aria-label": t.selection.bar }, said, field, add, untag, markButtons(), remove, clear);
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
      const what = off ? t.selection.untagged(pictures.length, tag) : t.selection.tagged(pictures.length, tag);
      const more = actions.length ? undoing(...actions) : { label: t.undo, act: () => unsay(lines) };
      toast(actions.length || lines.length ? what : t.selection.nothing, actions.length || lines.length ? more : {});
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
    said.textContent = t.selection.selected(selection.parts().map((part) => part.length));
    fill(add, icon("tag"), t.selection.tagN(selection.size));
  });
  return form;
}
