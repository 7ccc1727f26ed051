// Loaded before the first paint, so that a chosen theme never flashes: the choice is kept in this
// browser, and without one the system decides.
(() => {
  const key = "likewise.theme";
  let chosen = null;
  try {
    chosen = localStorage.getItem(key);
  } catch {
    // Storage may be switched off; the system's theme is then the only one.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();

// Who is quick: a button of the header that is pressed before the page is ready is pressed when it is.
{
  /** @type {HTMLElement|null} */
  let pressed = null;
  const early = (/** @type {Event} */ event) => {
    pressed = event.target instanceof Element ? event.target.closest(".tools button[id]") : null;
  };
  addEventListener("click", early, true);
  addEventListener("likewise-ready", () => {
    removeEventListener("click", early, true);
    pressed?.click();
  }, { once: true });
}
