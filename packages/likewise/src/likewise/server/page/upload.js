// Asking about a picture from outside: dropped anywhere, pasted, or picked from a dialog.

import { api } from "./api.js";
import { need } from "./dom.js";
import { asking, go } from "./state.js";
import { t } from "./texts.js";
import { complain, toast } from "./toast.js";

/** @param {File} file */
export async function askAbout(file) {
  const name = file.name || t.upload.unnamed;
  if (file.type && !file.type.startsWith("image/")) {
    toast(t.upload.noPicture(name, file.type), { bad: true });
    return;
  }
  const ask = need("#ask");
  ask.setAttribute("aria-busy", "true");
  try {
    const made = await api.upload(file);
    go(asking({ up: made.upload, size: `${made.width}x${made.height}` }));
  } catch (error) {
    complain(error, name);
  } finally {
    ask.removeAttribute("aria-busy");
  }
}

export function pick() {
  need("#file").click();
}

/** @param {DataTransfer|null} data */
const files = (data) => Boolean(data?.types.includes("Files"));

export function listen() {
  /** @type {HTMLInputElement} */
  const input = need("#file");
  const veil = need("#drop");
  need("#pick").addEventListener("click", pick);
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    input.value = "";
    if (file) askAbout(file);
  });
  let depth = 0; // dragenter and dragleave come for every element that is crossed
  addEventListener("dragenter", (event) => {
    if (!files(event.dataTransfer)) return;
    depth += 1;
    veil.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (!files(event.dataTransfer)) return;
    depth = Math.max(0, depth - 1);
    if (!depth) veil.hidden = true;
  });
  addEventListener("dragover", (event) => {
    if (files(event.dataTransfer)) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    depth = 0;
    veil.hidden = true;
    if (!files(event.dataTransfer)) return;
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) askAbout(file);
  });
  addEventListener("paste", (event) => {
    const item = [...(event.clipboardData?.items ?? [])].find((one) => one.kind === "file");
    const file = item?.getAsFile();
    if (!file) return;
    event.preventDefault();
    askAbout(file);
  });
}
