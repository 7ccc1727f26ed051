// The field at the top: words are typed into it, Enter searches.  Tags are completed on the way.

import { api } from "./api.js";
import { fill, h, need, settled } from "./dom.js";
import { asking, current, go, hasPicture, onChange } from "./state.js";
import { t } from "./texts.js";

const COMPLETED = 8; // tags offered at a time
const narrow = matchMedia("(max-width: 79rem)"); // where an example would be cut off

/** @type {(() => void)|null} */
let send = null;
let early = false; // whether somebody pressed Enter while the page was still being made

need("#ask").addEventListener("submit", (event) => {
  event.preventDefault();
  if (send) send();
  else early = true;
});

/** @param {import("./search.js").SearchView} search */
export function listen(search) {
  /** @type {HTMLInputElement} */
  const input = need("#words");
  const list = need("#words-known");

  send = () => {
    const text = input.value.trim();
    search.byKeyboard = Boolean(text); // from the field one goes on among the answers
    // Words join the picture that is in sight, and no other.
    const joins = current().view === "search" && hasPicture(current());
    if (joins) go({ text, without: "", above: null, look: "", why: "" });
    else go(asking({ text }));
    if (text && !search.waiting) search.focusFirst(); // the same words again
  };

  const complete = settled(async () => {
    const [, before, last] = /^(.*?)(\S*)$/s.exec(input.value) ?? ["", "", ""];
    const minus = last.startsWith("-") ? "-" : "";
    const begun = last.slice(minus.length);
    if (!begun) {
      fill(list);
      return;
    }
    try {
      const { items } = await api.tags(begun, COMPLETED);
      fill(list, ...items.map((one) => h("option", { value: `${before}${minus}${one.tag}` })));
    } catch {
      // Without completion one can still type.
    }
  }, 120);
  input.addEventListener("input", () => complete());
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && input.value !== current().text) {
      input.value = current().text;
      event.preventDefault();
      event.stopPropagation();
    }
  });

  let shown = "";
  const show = () => {
    const { text, view } = current();
    const joins = view === "search" && hasPicture(current());
    const said = joins ? t.words : t.shell;
    input.placeholder = narrow.matches ? said.short : said.example;
    // What somebody is typing stays until another search is shown.
    if (document.activeElement !== input || text !== shown) input.value = text;
    shown = text;
  };
  onChange(show);
  narrow.addEventListener("change", show);
  show();
  if (early) send();
}

export function focus() {
  /** @type {HTMLInputElement} */
  const input = need("#words");
  input.focus();
  input.select();
}
