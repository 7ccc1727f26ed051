// On the page for whoever is not let in: a field for a key, and a button that copies the command.
(() => {
  const form = document.getElementById("sign-in");
  const key = document.getElementById("key");
  const said = document.getElementById("said");
  if (!(form instanceof HTMLFormElement) || !(key instanceof HTMLInputElement) || !said) return;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    said.textContent = "";
    try {
      const answer = await fetch("/sign-in", {
        method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ key: key.value }),
      });
      if (!answer.ok) {
        const { error } = await answer.json();
        said.textContent = error.message.charAt(0).toUpperCase() + error.message.slice(1);
        key.select();
        return;
      }
    } catch {
      said.textContent = said.dataset["away"] ?? "";
      return;
    }
    const place = new URL(location.href);
    place.searchParams.delete("token");
    location.replace(place);
  });
})();
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
