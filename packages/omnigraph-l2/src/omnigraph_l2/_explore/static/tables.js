// The tables of a revision: rows, sizes and growth.

import { button, data, el, fill, note, problem, svg } from "./dom.js";
import { momentOf } from "./history.js";
import { ask, isFile } from "./source.js";
import { go } from "./state.js";
import { bytes, counted, number, shortNumber, when } from "./words.js";

const WIDTH = 120;
const HEIGHT = 28;

export async function tablesPanel(state, offset = 0) {
  const at = momentOf(state.at);
  const page = await ask("tables", { at, offset: offset || null });
  if (!page.count) return [note("There are no tables at this revision.")];
  const size = page.tables.reduce((sum, each) => sum + (each.bytes ?? 0), 0);
  const lines = new Map();
  const body = page.tables.map((table) => row(table, lines));
  if (page.tables.length) drawGrowth(at, lines);
  return [
    el(
      "dl",
      { class: "facts" },
      fact(number(page.count), page.count === 1 ? "table" : "tables"),
      fact(shortNumber(page.nodes), "nodes"),
      fact(shortNumber(page.edges), "edges"),
      page.tables.length === page.count ? fact(bytes(size), "in data files") : null,
      fact(number(page.version), "catalog version"),
    ),
    el(
      "div",
      { class: "scroll", tabindex: "0" },
      el(
        "table",
        { class: "tables" },
        el("thead", {}, el("tr", {}, ["Table", "Rows", "Growth", "Size", "Files", ""].map(heading))),
        el("tbody", {}, body),
      ),
    ),
    paging(state, page, offset),
  ];
}

function heading(name) {
  const isNumber = ["Rows", "Size", "Files"].includes(name);
  return name ? el("th", { scope: "col", class: isNumber ? "number" : null }, name) : el("td", {});
}

function fact(value, name) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

function row(table, lines) {
  const growth = el("td", { class: "growth" });
  lines.set(table.key, growth);
  const open = button("Rows", () => go({ panel: "rows", table: table.key, filter: "" }), { "aria-label": `Rows of ${table.key}` });
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row" },
      el("span", { class: `kind ${table.kind}` }, table.kind),
      data(table.name, { class: "name" }),
      table.problem === null ? null : el("span", { class: "bad" }, data(table.problem)),
    ),
    el("td", { class: "number" }, number(table.rows)),
    growth,
    el("td", { class: "number" }, table.bytes === null ? "?" : bytes(table.bytes)),
    el("td", { class: "number" }, table.fragments === null ? "?" : number(table.fragments)),
    el("td", { class: "go" }, open),
  );
}

async function drawGrowth(at, lines) {
  try {
    const growth = await ask("growth", { at });
    for (const [key, place] of lines) {
      fill(place, sparkline(growth.tables[key] ?? [], growth.moments));
    }
  } catch (error) {
    for (const place of lines.values()) fill(place, el("span", { class: "quiet", title: error.message }, "unknown"));
  }
}

function sparkline(counts, moments) {
  const there = counts.map((count, n) => [n, count]).filter(([, count]) => count !== null);
  if (there.length < 2) return el("span", { class: "quiet" }, "–");
  const most = Math.max(1, ...there.map(([, count]) => count));
  const x = (n) => 2 + (n * (WIDTH - 8)) / (counts.length - 1);
  const y = (count) => HEIGHT - 3 - (count * (HEIGHT - 8)) / most;
  const points = there.map(([n, count]) => `${x(n).toFixed(1)} ${y(count).toFixed(1)}`);
  const [firstN, first] = there[0];
  const [lastN, last] = there[there.length - 1];
  const title = `from ${counted(first, "row")} on ${when(moments[firstN].at)} to ${number(last)} on ${when(moments[lastN].at)}`;
  return svg(
    "svg",
    { class: "spark", width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title },
    svg("title", {}, title),
    svg("path", { class: "area", d: `M${x(firstN)} ${HEIGHT - 2}L${points.join("L")}L${x(lastN)} ${HEIGHT - 2}Z` }),
    svg("path", { class: "trend", d: `M${points.join("L")}` }),
    svg("circle", { class: "end", cx: x(lastN), cy: y(last), r: 2.5 }),
  );
}

function paging(state, page, offset) {
  const rest = page.count - offset - page.tables.length;
  if (isFile()) return rest > 0 ? note(`${number(rest)} more tables are in the repository.`) : null;
  const turn = (to) => async () => {
    const place = document.getElementById("panel");
    try {
      fill(place, await tablesPanel(state, to));
    } catch (error) {
      fill(place, problem(error));
    }
  };
  const size = 100;
  return el(
    "div",
    { class: "pages" },
    offset ? button("Previous tables", turn(Math.max(0, offset - size))) : null,
    rest > 0 ? button(`${number(rest)} more tables`, turn(offset + page.tables.length)) : null,
  );
}
