// The changes of a commit: author and message, a summary of each table, and its rows before and after.

import { cell, columnClass, head } from "./cells.js";
import { button, data, el, fill, note, problem, show, visible } from "./dom.js";
import { choose, chosenCommit, defaultTitle, knownHistory } from "./history.js";
import { ask, isFile } from "./source.js";
import { counted, kindOf, nameOf, number, shortId, textOf, when, wholeMoment } from "./words.js";

const KINDS = [
  ["insert", "inserted", "+"],
  ["update", "updated", "~"],
  ["delete", "deleted", "−"],
];

export async function changesPanel(state) {
  const id = chosenCommit(state.at);
  if (id === null) return [note("No commit.")];
  const commit = knownHistory().commits.find((each) => each.id === id) ?? (await ask("commit", { id }));
  const place = el("div", { class: "changed-tables" });
  show(place, () => changedTables(commit));
  return [about(commit), place];
}

function about(commit) {
  const [title, ...rest] = (textOf(commit.message) ?? defaultTitle(commit)).split("\n");
  const parent = (id) => button(shortId(id), () => choose(id), { class: "link id" });
  const facts = [
    ["by", commit.actor === null ? "unknown" : data(textOf(commit.actor))],
    ["at", el("time", { datetime: commit.at, title: wholeMoment(commit.at) }, when(commit.at))],
    ["on", el("span", {}, data(commit.branch), commit.deleted ? " (deleted)" : "")],
    ["commit", el("code", { class: "id" }, visible(commit.id))],
    commit.parent === null ? null : ["after", parent(commit.parent)],
    commit.merged === null ? null : ["merges", parent(commit.merged)],
    commit.run === null ? null : ["run", el("code", {}, data(textOf(commit.run)))],
    commit.operation === null ? null : ["operation", data(textOf(commit.operation))],
  ];
  return el(
    "div",
    { class: "about" },
    el("h2", { class: commit.message === null ? "unsaid" : null }, data(title)),
    rest.length ? el("p", { class: "body" }, el("bdi", { dir: "auto" }, visible(rest.join("\n").trim()))) : null,
    el("dl", {}, facts.filter(Boolean).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
  );
}

async function changedTables(commit) {
  const answer = await ask("changes", { id: commit.id });
  if (!answer.tables.length) return [note("No rows and no types were changed.")];
  const most = Math.max(1, ...answer.tables.map((each) => Math.log1p(touched(each))));
  return [
    el("h3", {}, `${counted(answer.tables.length, "table")} changed`),
    answer.tables.map((each) => changedTable(commit, each, most)),
    answer.left_out ? note(`${number(answer.left_out)} more tables differ.`) : null,
  ];
}

function touched(table) {
  return (table.inserted ?? 0) + (table.updated ?? 0) + (table.deleted ?? 0);
}

function changedTable(commit, table, most) {
  const rows = el("div", { class: "diff", hidden: true });
  const summary = el("span", { class: "counts" }, counts(table, most));
  const name = [el("span", { class: `kind ${kindOf(table.key)}` }, kindOf(table.key)), data(nameOf(table.key), { class: "name" })];
  const open = button(
    name,
    () => {
      rows.hidden = !rows.hidden;
      open.setAttribute("aria-expanded", String(!rows.hidden));
      if (!rows.hidden && !rows.hasChildNodes()) diffRows(rows, commit.id, table, null, 0);
    },
    { class: "opener", "aria-expanded": "false" },
  );
  if (table.inserted === undefined) fill(summary, count(commit, table, summary));
  return el("section", { class: "changed-table" }, el("div", { class: "changed-head" }, open, summary), properties(table), rows);
}

function counts(table, most) {
  if (table.change !== "changed") {
    const word = el("span", { class: `word ${table.change}` }, `table ${table.change}`);
    return touched(table) ? [word, ...bars(table, most)] : [word];
  }
  return bars(table, most);
}

function bars(table, most) {
  const width = (100 * Math.log1p(touched(table))) / most;
  const parts = KINDS.map(([kind, name]) => [kind, name, table[name] ?? 0]).filter(([, , many]) => many);
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  for (const [kind, , many] of parts) {
    const part = el("span", { class: kind });
    part.style.width = `${(width * many) / touched(table)}%`;
    bar.append(part);
  }
  return [...parts.map(([kind, name, many]) => el("span", { class: `count ${kind}` }, `${number(many)} ${name}`)), bar];
}

function count(commit, table, place) {
  const most = table.at_most === null ? "not compared yet" : `up to ${number(table.at_most)} rows differ`;
  const bound = el("span", { class: "quiet" }, most);
  if (isFile()) return [bound];
  const begin = async () => {
    fill(place, el("span", { class: "quiet" }, "comparing …"));
    try {
      const [found] = (await ask("changes", { id: commit.id, table: table.key })).tables;
      fill(place, found ? counts(found, Math.log1p(touched(found)) || 1) : "no changes");
    } catch (error) {
      fill(place, problem(error));
    }
  };
  return [bound, button("Compare", begin, { class: "link" })];
}

function properties(table) {
  const changes = [
    ...(table.added_properties ?? []).map((name) => el("span", { class: "count insert" }, "property ", data(name), " added")),
    ...(table.removed_properties ?? []).map((name) => el("span", { class: "count delete" }, "property ", data(name), " removed")),
  ];
  return changes.length && table.change === "changed" ? el("p", { class: "properties" }, changes) : null;
}

function diffRows(place, id, table, kind, skip) {
  show(place, async () => {
    const page = await ask("changed-rows", { id, table: table.key, kind, skip: skip || null });
    const again = (wanted, from) => () => diffRows(place, id, table, wanted, from);
    const there = KINDS.filter(([, name]) => table[name] !== 0);
    const filters = [[null, "all"], ...there].map(([each, name]) =>
      button(name, again(each, 0), { class: "filter-kind", "aria-pressed": String(each === kind) }),
    );
    return [
      isFile() || there.length < 2 ? null : el("div", { class: "kinds", role: "group", "aria-label": "Kinds of changes" }, filters),
      page.rows.length ? diffTable(page) : note("No rows of this kind."),
      page.left_out ? note(`${counted(page.left_out, "more column")} not shown.`) : null,
      el(
        "div",
        { class: "pages" },
        skip ? button("First rows", again(kind, 0)) : null,
        page.next === null ? null : isFile() ? note("More rows are in the repository.") : button("More rows", again(kind, page.next)),
      ),
    ];
  });
}

function diffTable(page) {
  const rows = page.rows.map((row) => {
    const [, name, sign] = KINDS.find(([kind]) => kind === row.change);
    const shown = row.after ?? row.before;
    return el(
      "tr",
      { class: row.change },
      el("th", { scope: "row", class: "sign" }, el("span", { "aria-hidden": "true" }, sign), el("span", { class: "aside" }, name)),
      page.columns.map((column, n) => {
        if (!row.changed.includes(n)) return el("td", { class: columnClass(column) }, cell(shown[n]));
        return el(
          "td",
          { class: `${columnClass(column) ?? ""} differs` },
          el("del", {}, cell(row.before[n])),
          el("span", { class: "arrow", "aria-hidden": "true" }, " → "),
          el("ins", {}, cell(row.after[n])),
        );
      }),
    );
  });
  const corner = el("td", { class: "sign" });
  return el("div", { class: "scroll", tabindex: "0" }, el("table", { class: "rows" }, head(page.columns, corner), el("tbody", {}, rows)));
}
