// Values in tables of rows.

import { data, el } from "./dom.js";

export function cell(value) {
  if (value === null) return el("span", { class: "null" }, "null");
  if (typeof value === "object") {
    return el("span", {}, data(value.text), "…", el("span", { class: "cut" }, ` ${value.whole}`));
  }
  return value === "" ? el("span", { class: "null" }, "empty") : data(value);
}

export function head(columns, ...before) {
  return el(
    "thead",
    {},
    el(
      "tr",
      {},
      ...before,
      columns.map((column) =>
        el(
          "th",
          { scope: "col", class: column.number ? "number" : null },
          data(column.name),
          el("span", { class: "type" }, data(column.type)),
        ),
      ),
    ),
  );
}

export function columnClass(column) {
  return column.number ? "number" : column.name === "id" ? "key" : null;
}
