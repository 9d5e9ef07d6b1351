// Whether the repository is whole: what `verify` looked at, and what it found.

import { button, data, el, note, show } from "./dom.js";
import { ask, isFile } from "./source.js";
import { counted, number } from "./words.js";

const WORDS = { error: "Errors", warning: "Warnings", info: "Information" };
const last = { report: null, duplicates: false, dangling: false };

export async function verifyPanel() {
  const place = el("div", { class: "verified" });
  if (isFile()) {
    show(place, async () => told(await ask("verify")));
    return [place];
  }
  const duplicates = el("input", { type: "checkbox", id: "duplicates", checked: last.duplicates });
  const dangling = el("input", { type: "checkbox", id: "dangling", checked: last.dangling });
  const begin = button("Verify", () => run(place, duplicates.checked, dangling.checked), { class: "first" });
  if (last.report) place.append(...told(last.report));
  else {
    place.append(
      note("Looks whether everything that should hold does: the catalog, branches, tags, the history, and the files of each table. It writes nothing."),
    );
  }
  return [
    el(
      "div",
      { class: "verify-form" },
      begin,
      el("label", {}, duplicates, " ids and unique values, too"),
      el("label", {}, dangling, " both ends of every edge, too"),
    ),
    place,
  ];
}

function run(place, duplicates, dangling) {
  show(place, async () => {
    const report = await ask("verify", { duplicates: duplicates ? 1 : null, dangling: dangling ? 1 : null });
    Object.assign(last, { report, duplicates, dangling });
    return told(report);
  });
}

function told(report) {
  const groups = Object.keys(WORDS)
    .map((severity) => [severity, report.findings.filter((each) => each.severity === severity)])
    .filter(([, found]) => found.length);
  const verdict = report.ok ? "Everything is whole." : "Not everything is whole.";
  return [
    el("p", { class: report.ok ? "verdict good" : "verdict bad" }, verdict),
    groups.map(([severity, found]) => [
      el("h3", { class: severity }, `${WORDS[severity]} `, el("span", { class: "quiet" }, number(found.length))),
      found.map(finding),
    ]).flat(2),
    report.left_out ? note(`${counted(report.left_out, "more finding")}.`) : null,
    el("h3", {}, "Looked at"),
    el("dl", { class: "facts small" }, Object.entries(report.checked).map(([name, count]) => el("div", {}, el("dt", {}, data(name)), el("dd", {}, number(count))))),
  ];
}

function finding(found) {
  return el(
    "section",
    { class: `finding ${found.severity}` },
    el("h4", {}, el("code", {}, data(found.kind)), " ", data(found.subject)),
    el("p", {}, data(found.detail)),
    el("p", { class: "remedy" }, "What to do: ", data(found.remedy)),
  );
}
