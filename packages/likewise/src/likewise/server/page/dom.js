// Elements in one expression: h("button", {class: "quiet", onclick: go}, icon("plus"), "More").

/** @typedef {string|number|Node|null|undefined|false|readonly (string|number|Node|null|undefined|false)[]} Child */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @template {Element} E
 * @param {E} element
 * @param {Record<string, unknown>} props functions become listeners, true an empty attribute
 * @param {readonly Child[]} children
 * @returns {E}
 */
function dressed(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  put(element, ...children);
  return element;
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props = {}, ...children) {
  return dressed(document.createElement(tag), props, children);
}

/**
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [props]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function s(tag, props = {}, ...children) {
  return dressed(document.createElementNS(SVG, tag), props, children);
}

/**
 * Append what is there to append.
 * @param {Element} element
 * @param {...Child} children
 */
export function put(element, ...children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * @param {Element} element
 * @param {...Child} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  put(element, ...children);
}

/** @param {string} name a symbol of icons.svg */
export function icon(name) {
  return s("svg", { class: "icon", "aria-hidden": "true" }, s("use", { href: `#icon-${name}` }));
}

/** Put the icons into the document, where they stay when the server is gone. */
export async function bringIcons() {
  try {
    const text = await (await fetch("/page/icons.svg")).text();
    const sprite = document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true);
    for (const symbol of sprite.querySelectorAll("symbol")) symbol.id = `icon-${symbol.id}`;
    sprite.setAttribute("hidden", "");
    sprite.setAttribute("aria-hidden", "true");
    document.body.append(sprite);
  } catch {
    // Every button has a name besides; the stream of events tells that the server is gone.
  }
}

/**
 * @template {Element} [E=HTMLElement]
 * @param {string} selector of something that is in index.html
 * @returns {E}
 */
export function need(selector) {
  const found = document.querySelector(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return /** @type {E} */ (/** @type {unknown} */ (found));
}

/** Whether the person asked the system for less movement. */
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/**
 * An action once calls of it have ceased for a while; and, where they do not cease, every so often.
 * @template {unknown[]} A
 * @param {(...args: A) => void} action
 * @param {number} pause milliseconds without a call
 * @param {number} [most] milliseconds a call waits at most
 * @returns {(...args: A) => void}
 */
export function settled(action, pause, most = Infinity) {
  let timer = 0;
  let since = 0; // when the first call came that waits
  return (...args) => {
    clearTimeout(timer);
    since ||= performance.now();
    const wait = Math.min(pause, Math.max(0, since + most - performance.now()));
    timer = setTimeout(() => {
      since = 0;
      action(...args);
    }, wait);
  };
}
