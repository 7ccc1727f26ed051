// On the page for whoever is not let in: a button that copies the command.
(() => {
  const command = document.getElementById("command");
  const button = document.getElementById("copy");
  // Browsers lend the clipboard only to pages of this machine, or to encrypted ones.
  if (!command || !button || !navigator.clipboard) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent ?? "");
      button.textContent = button.dataset["copied"] ?? "";
    } catch {
      getSelection()?.selectAllChildren(command);
      button.textContent = button.dataset["byHand"] ?? "";
    }
  });
})();
