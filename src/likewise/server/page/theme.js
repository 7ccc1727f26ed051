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
