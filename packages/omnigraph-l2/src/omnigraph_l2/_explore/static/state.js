// The selection. It is part of the address, so back and reload work.

const NAMES = ["at", "table", "filter"];
const listeners = [];

export const PANELS = [
  ["history", "History"],
  ["changes", "Changes"],
  ["tables", "Tables"],
  ["rows", "Rows"],
  ["schema", "Schema"],
  ["verify", "Verify"],
];

export function current() {
  const [panel, query] = window.location.hash.replace(/^#/, "").split("?", 2);
  const given = new URLSearchParams(query ?? "");
  const known = PANELS.some(([name]) => name === panel);
  const state = { panel: known ? panel : "changes" };
  for (const name of NAMES) state[name] = given.get(name) ?? "";
  return state;
}

export function go(changes) {
  const state = { ...current(), ...changes };
  const given = NAMES.filter((name) => state[name]).map((name) => [name, state[name]]);
  const query = new URLSearchParams(given).toString();
  window.location.hash = query ? `${state.panel}?${query}` : state.panel;
}

export function onChange(listener) {
  listeners.push(listener);
}

window.addEventListener("hashchange", () => {
  for (const listener of listeners) listener(current());
});
