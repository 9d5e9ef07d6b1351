// Elements are created from text, never from markup: content of a repository stays text.

const SVG = "http://www.w3.org/2000/svg";

// Invisible characters, and those that change the direction of text, are shown by their number.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

export function el(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

export function visible(text) {
  return String(text).replace(UNSEEN, (found) => {
    const number = found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `⟨U+${number}⟩`;
  });
}

export function oneLine(text) {
  return visible(text).replace(/\n/g, " ⏎ ").replace(/\t/g, " ⇥ ");
}

// Text from the repository, isolated from the text around it, whatever its direction.
export function data(text, attributes) {
  return el("bdi", { dir: "auto", ...attributes }, oneLine(text));
}

export function byId(id) {
  return document.getElementById(id);
}

// The latest request is shown, whichever answer arrives first.
export async function show(place, work) {
  const turn = (place.turn = (place.turn ?? 0) + 1);
  place.setAttribute("aria-busy", "true");
  const isLast = () => place.turn === turn;
  const waiting = setTimeout(() => isLast() && fill(place, el("p", { class: "waiting" }, "Loading …")), 250);
  let shown;
  try {
    shown = await work();
  } catch (error) {
    shown = [problem(error)];
  }
  clearTimeout(waiting);
  if (!isLast()) return;
  place.removeAttribute("aria-busy");
  fill(place, shown);
}

export function problem(error) {
  const kind = error.kind ?? "page_error";
  return el(
    "div",
    { class: "problem", role: "alert" },
    el("p", { class: "problem-kind" }, visible(kind)),
    el("p", {}, el("bdi", { dir: "auto" }, visible(error.message))),
  );
}

export function note(...children) {
  return el("p", { class: "note" }, ...children);
}

export function button(label, action, attributes) {
  return el("button", { type: "button", onclick: action, ...attributes }, label);
}
