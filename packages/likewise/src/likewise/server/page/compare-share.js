// A link for somebody else's answers: it opens the questions and nothing more.

import { api } from "./api.js";
import { dialog } from "./dialog.js";
import { fill, h, icon } from "./dom.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

const HERE = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** @param {string} profile whose questions @param {() => void} changed */
export async function openShareDialog(profile, changed) {
  const made = dialog(t.compare.askOthers, "share", () => {});
  const name = h("input", { type: "text", id: "share-name", maxlength: "40", required: true, autocomplete: "off" });
  const list = h("div", {});
  let linked = false;
  const form = h("form", { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); if (!linked) add(); } },
    h("p", { class: "soft" }, t.share.how),
    HERE.has(location.hostname) && h("p", { class: "soft" }, t.share.local),
    h("div", { class: "field" }, h("label", { for: "share-name" }, t.share.name), name),
    h("p", { class: "buttons" }, h("button", { class: "main" }, t.share.make)));
  made.body.append(form, list);
  name.focus();

  const add = async () => {
    try {
      const { address } = await api.share(name.value.trim(), profile);
      linked = true;
      const link = new URL(address, location.href).href;
      const field = h("input", { type: "text", readonly: true, value: link, "aria-label": t.share.linkFor(name.value.trim()) });
      fill(form, h("p", {}, t.share.once), field,
        h("p", { class: "buttons" }, h("button", { type: "button", class: "main", onclick: () => copy(link) }, icon("share"), t.share.copy),
          h("button", { type: "button", onclick: () => made.close() }, t.done)));
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
      fill(list, items.length > 0 && h("h3", {}, t.share.working),
        h("ul", { class: "shares" }, ...items.map((one) => h("li", {}, h("span", {}, one.name, " ", h("span", { class: "soft" }, t.share.answered(one.answers))),
          h("button", { type: "button", class: "small", "aria-label": t.share.revokeOf(one.name), onclick: () => close(one.name) }, icon("close"), t.share.revoke)))));
    } catch (error) {
      complain(error);
    }
  };

  /** @param {string} who */
  const close = async (who) => {
    try {
      await api.unshare(who);
      toast(t.share.revoked(who));
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
    toast(t.share.copied);
  } catch {
    toast(t.share.copyByHand);
  }
}
