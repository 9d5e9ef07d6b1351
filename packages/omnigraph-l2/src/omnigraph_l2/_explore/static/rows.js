// The rows of a table at a revision, with a filter.

import { cell, columnClass, head } from "./cells.js";
import { button, el, note, oneLine, show } from "./dom.js";
import { momentOf } from "./history.js";
import { ask, isFile } from "./source.js";
import { go } from "./state.js";
import { counted, number } from "./words.js";

const WHY = {
  large: "These rows are large, so the page has few of them.",
  time: "The search takes long. These are the rows found so far.",
};

export async function rowsPanel(state) {
  const at = momentOf(state.at);
  const { tables } = await ask("tables", { at });
  if (!tables.length) return [note("There are no tables at this revision.")];
  const chosen = state.table || tables[0].key;
  const place = el("div", { class: "rows-place" });
  readRows(place, at, chosen, state.filter, [null]);
  return [form(tables, chosen, state.filter), place];
}

function form(tables, chosen, filter) {
  const known = tables.some((each) => each.key === chosen);
  const options = tables.map((each) => el("option", { value: each.key, selected: each.key === chosen }, oneLine(each.key)));
  if (!known) options.unshift(el("option", { value: chosen, selected: true }, oneLine(chosen)));
  const select = el("select", { id: "table", onchange: () => go({ table: select.value, filter: "" }) }, options);
  const field = el("input", {
    id: "filter",
    type: "text",
    value: filter,
    spellcheck: "false",
    autocomplete: "off",
    maxlength: "4000",
    placeholder: isFile() ? "not available in a file" : "for example: age > 30 AND city = 'Oslo'",
    disabled: isFile(),
  });
  const submit = (event) => {
    event.preventDefault();
    go({ filter: field.value.trim(), table: select.value });
  };
  return el(
    "form",
    { class: "rows-form", onsubmit: submit },
    el("div", { class: "field" }, el("label", { for: "table" }, "Table"), select),
    el("div", { class: "field grow" }, el("label", { for: "filter" }, "Rows where"), field),
    isFile() ? null : el("button", { type: "submit", class: "first" }, "Filter"),
    filter ? button("All rows", () => go({ filter: "" })) : null,
  );
}

// `places` has the start of each page so far; the last one is the page to read.
function readRows(place, at, table, filter, places) {
  show(place, async () => {
    const page = await ask("rows", { at, table, filter, from: places[places.length - 1] });
    const back = () => readRows(place, at, table, filter, places.slice(0, -1));
    const on = () => readRows(place, at, table, filter, [...places, page.next]);
    const older = places.length > 1 && !isFile();
    return [
      summary(page, filter),
      page.rows.length ? rowsTable(page) : null,
      page.why === null ? null : note(WHY[page.why]),
      page.left_out ? note(`${counted(page.left_out, "more column")} not shown.`) : null,
      el(
        "div",
        { class: "pages" },
        older ? button("Back", back) : null,
        page.next === null ? null : isFile() ? note("More rows are in the repository.") : button(filter ? "Continue" : "Next rows", on),
      ),
    ];
  });
}

function summary(page, filter) {
  const all = counted(page.of, "row");
  if (!filter) return el("p", { class: "summary" }, page.rows.length < page.of ? `${counted(page.rows.length, "row")} of ${number(page.of)}` : all);
  const searched = page.next === null ? `all ${all} searched` : `${number(page.looked)} of ${all} searched`;
  const found = page.rows.length ? `${counted(page.rows.length, "row")} found` : "no rows found";
  return el("p", { class: "summary" }, `${found}, ${searched}`);
}

function rowsTable(page) {
  const body = page.rows.map((row) =>
    el("tr", {}, row.map((value, n) => el("td", { class: columnClass(page.columns[n]) }, cell(value)))),
  );
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" },
    el("table", { class: "rows" }, head(page.columns), el("tbody", {}, body)),
  );
}
