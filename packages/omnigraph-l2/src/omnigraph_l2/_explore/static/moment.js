// The selected revision, and the controls to select another one.

import { button, byId, data, el, fill, oneLine } from "./dom.js";
import { chosenCommit, knownHistory } from "./history.js";
import { isFile } from "./source.js";
import { go } from "./state.js";
import { shortId } from "./words.js";

export function drawMoment(state, refresh) {
  const { branches, tags } = knownHistory();
  const at = state.at || "branch:main";
  const group = (label, kind, found) =>
    found.length
      ? el("optgroup", { label }, found.map((each) => option(`${kind}:${each.name}`, each.name, at)))
      : null;
  const named = [group("Branches", "branch", branches), group("Tags", "tag", tags)];
  const isNamed = [...branches.map((each) => `branch:${each.name}`), ...tags.map((each) => `tag:${each.name}`)].includes(at);
  if (!isNamed) {
    const chosen = chosenCommit(at);
    named.unshift(el("optgroup", { label: "Commit" }, option(at, chosen === null ? at : `commit ${shortId(chosen)}`, at)));
  }
  const select = el("select", { id: "moment", onchange: () => go({ at: select.value }) }, named);
  const isNow = at === "branch:main";
  fill(
    byId("looking"),
    el("label", { for: "moment" }, "Revision"),
    select,
    isNow ? null : button("Back to main", () => go({ at: "" }), { class: "back" }),
    isFile() ? null : button("Refresh", refresh, { title: "Read the history again" }),
  );
  document.body.classList.toggle("past", !isNow);
}

function option(value, name, chosen) {
  return el("option", { value, selected: value === chosen }, oneLine(name));
}

export function drawAbout(about) {
  document.title = `${about.name} · OmniGraph`;
  fill(byId("name"), data(about.name));
  fill(byId("uri"), data(about.uri));
}
