// The result of `verify`: what it checked and what it found.

import { button, data, el, note, show } from "./dom.js";
import { ask, isFile } from "./source.js";
import { counted, number } from "./words.js";

const WORDS = { error: "Errors", warning: "Warnings", info: "Information" };
const last = { report: null, duplicates: false, dangling: false };

export async function verifyPanel() {
  const place = el("div", { class: "verified" });
  if (isFile()) {
    show(place, async () => reportView(await ask("verify")));
    return [place];
  }
  const duplicates = el("input", { type: "checkbox", id: "duplicates", checked: last.duplicates });
  const dangling = el("input", { type: "checkbox", id: "dangling", checked: last.dangling });
  const begin = button("Verify", () => run(place, duplicates.checked, dangling.checked), { class: "first" });
  if (last.report) place.append(...reportView(last.report));
  else {
    place.append(
      note("Checks the integrity of the catalog, the branches, the tags, the history and the files of each table. Nothing is written."),
    );
  }
  return [
    el(
      "div",
      { class: "verify-form" },
      begin,
      el("label", {}, duplicates, " also ids and unique values"),
      el("label", {}, dangling, " also both nodes of every edge"),
    ),
    place,
  ];
}

function run(place, duplicates, dangling) {
  show(place, async () => {
    const report = await ask("verify", { duplicates: duplicates ? 1 : null, dangling: dangling ? 1 : null });
    Object.assign(last, { report, duplicates, dangling });
    return reportView(report);
  });
}

function reportView(report) {
  const groups = Object.keys(WORDS)
    .map((severity) => [severity, report.findings.filter((each) => each.severity === severity)])
    .filter(([, found]) => found.length);
  const verdict = report.ok ? "No problems were found." : "Problems were found.";
  return [
    el("p", { class: report.ok ? "verdict good" : "verdict bad" }, verdict),
    groups.map(([severity, found]) => [
      el("h3", { class: severity }, `${WORDS[severity]} `, el("span", { class: "quiet" }, number(found.length))),
      found.map(finding),
    ]).flat(2),
    report.left_out ? note(`${counted(report.left_out, "more finding")}.`) : null,
    el("h3", {}, "Checked"),
    el("dl", { class: "facts small" }, Object.entries(report.checked).map(([name, count]) => el("div", {}, el("dt", {}, data(name)), el("dd", {}, number(count))))),
  ];
}

function finding(found) {
  return el(
    "section",
    { class: `finding ${found.severity}` },
    el("h4", {}, el("code", {}, data(found.kind)), " ", data(found.subject)),
    el("p", {}, data(found.detail)),
    el("p", { class: "remedy" }, "Remedy: ", data(found.remedy)),
  );
}
