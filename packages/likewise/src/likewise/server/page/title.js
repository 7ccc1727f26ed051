// The title of the tab, written in one place: the view says what it shows, long work how far it is.

let view = "";
let work = "";

/** @param {string} text what the view shows */
export function title(text) {
  view = text;
  write();
}

/** @param {string} text how far long work is; "": none is under way */
export function titleOfWork(text) {
  work = text;
  write();
}

function write() {
  const said = work || view;
  document.title = said ? `${said} · Likewise` : "Likewise";
}
