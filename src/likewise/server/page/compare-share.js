// A link for somebody else's answers: it opens the questions and nothing more.

import { api } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, icon } from "./dom.js";
import { count } from "./format.js";
import { complain, toast } from "./toast.js";

const HERE = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** @param {string} profile whose questions @param {() => void} changed */
export async function openShareDialog(profile, changed) {
  const made = dialog("Ask others", "share", () => {});
  const name = h("input", { type: "text", id: "share-name", maxlength: "40", required: true, autocomplete: "off" });
  const list = h("div", {});
  let linked = false;
  const form = h("form", { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); if (!linked) add(); } },
    h("p", { class: "soft" }, "Whoever has the link can answer questions under this name, and sees the pictures they are about. Nothing else of the collection opens with it."),
    HERE.has(location.hostname) && h("p", { class: "soft" }, "This server answers on this machine only. For others start it with --host and --name (docs/server.md)."),
    h("div", { class: "field" }, h("label", { for: "share-name" }, "Name of who answers"), name),
    h("p", { class: "buttons" }, h("button", { class: "main" }, "Make a link")));
  made.body.append(form, list);
  name.focus();

  const add = async () => {
    try {
      const { address } = await api.share(name.value.trim(), profile);
      linked = true;
      const link = new URL(address, location.href).href;
      const field = h("input", { type: "text", readonly: true, value: link, "aria-label": `Link for ${name.value.trim()}` });
      fill(form, h("p", {}, "The link is shown this once:"), field,
        h("p", { class: "buttons" }, h("button", { type: "button", class: "main", onclick: () => copy(link) }, icon("share"), "Copy it"),
          h("button", { type: "button", onclick: () => made.close() }, "Done")));
      field.select();
      changed();
      show();
    } catch (error) {
      complain(error);
    }
  };

  const show = async () => {
    try {
      const { items } = await api.shares();
      fill(list, items.length > 0 && h("h3", {}, "Links that work"),
        h("ul", { class: "shares" }, ...items.map((one) => h("li", {}, h("span", {}, one.name, " ", h("span", { class: "soft" }, `${count(one.answers)} answered`)),
          h("button", { type: "button", class: "small", "aria-label": `Close the link of ${one.name}`, onclick: () => close(one.name) }, icon("close"), "Close")))));
    } catch (error) {
      complain(error);
    }
  };

  /** @param {string} who */
  const close = async (who) => {
    try {
      await api.unshare(who);
      toast(`The link of ${who} works no more. What was said stays.`);
      show();
    } catch (error) {
      complain(error);
    }
  };
  show();
}

/** @param {string} link */
async function copy(link) {
  try {
    await navigator.clipboard.writeText(link);
    toast("Copied.");
  } catch {
    toast("It could not be copied by itself: it is selected, press Ctrl C.");
  }
}
