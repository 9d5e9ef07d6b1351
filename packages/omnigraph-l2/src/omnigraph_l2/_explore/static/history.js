// The list of commits next to their graph. Every panel shows the selected commit.

import { button, byId, data, el, fill, note, problem } from "./dom.js";
import { picture, widthOf } from "./graph.js";
import { ask, isFile } from "./source.js";
import { current, go } from "./state.js";
import { counted, shortId, wholeMoment, when } from "./words.js";

const known = { heads: "", commits: [], branches: [], tags: [], notes: [], more: false };

export function knownHistory() {
  return known;
}

export async function loadHistory() {
  const page = await ask("commits");
  Object.assign(known, page);
  drawCommits();
}

async function loadOlder() {
  const place = byId("older");
  try {
    const page = await ask("commits", { heads: known.heads, offset: known.commits.length });
    if (page.heads === known.heads) page.commits = [...known.commits, ...page.commits];
    Object.assign(known, page);
    drawCommits();
  } catch (error) {
    fill(place, problem(error));
  }
}

// The selected commit: a branch or a tag stands for its commit when the history was read.
export function chosenCommit(at) {
  const [kind, name] = [at.slice(0, at.indexOf(":")), at.slice(at.indexOf(":") + 1)];
  if (kind === "commit") return name;
  if (kind === "tag") return known.tags.find((each) => each.name === name)?.commit ?? null;
  const branch = known.branches.find((each) => each.name === (kind === "branch" ? name : "main"));
  return branch?.head ?? null;
}

export function momentOf(at) {
  const commit = chosenCommit(at);
  return commit === null ? at || "branch:main" : `commit:${commit}`;
}

function labels(commit) {
  const heads = known.branches.filter((each) => each.head === commit.id);
  const tags = known.tags.filter((each) => each.commit === commit.id);
  return [
    ...heads.map((each) => el("span", { class: `label branch lane-${commit.colour}` }, data(each.name))),
    ...tags.map((each) => el("span", { class: "label tag" }, data(each.name))),
  ];
}

function drawCommits() {
  const width = widthOf(known.commits);
  fill(
    byId("commits"),
    known.commits.map((commit) => row(commit, width)),
  );
  markChosen();
  byId("history-count").textContent = known.more
    ? `the newest ${counted(known.commits.length, "commit")}`
    : counted(known.commits.length, "commit");
  const older = isFile() ? note("Older commits are in the repository.") : button("Older commits", loadOlder, { class: "wide" });
  fill(byId("older"), known.more ? older : null);
  fill(byId("notes"), known.notes.map((each) => note(el("bdi", {}, each))));
}

function row(commit, width) {
  const message = commit.message === null ? null : typeof commit.message === "object" ? commit.message.text : commit.message;
  const title = message ? data(message.split("\n", 1)[0], { class: "said" }) : el("span", { class: "said unsaid" }, defaultTitle(commit));
  return el(
    "li",
    { class: "commit" },
    el(
      "button",
      { type: "button", class: "commit-button", "data-id": commit.id, onclick: () => choose(commit.id), onkeydown: walk },
      picture(commit, width),
      el(
        "span",
        { class: "commit-text" },
        el("span", { class: "commit-line" }, ...labels(commit), title),
        el(
          "span",
          { class: "commit-meta" },
          commit.actor === null ? null : data(typeof commit.actor === "object" ? commit.actor.text : commit.actor),
          el("time", { datetime: commit.at, title: wholeMoment(commit.at) }, when(commit.at)),
          el("span", { class: "id" }, shortId(commit.id)),
          el("span", { class: "on" }, "on ", data(commit.branch), commit.deleted ? " (deleted)" : ""),
        ),
      ),
    ),
  );
}

export function defaultTitle(commit) {
  return commit.parent === null ? "first commit" : "no message";
}

export function choose(id) {
  const { panel } = current();
  go({ at: `commit:${id}`, panel: panel === "history" || panel === "verify" ? "changes" : panel });
}

function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const buttons = [...byId("commits").querySelectorAll(".commit-button")];
  const next = buttons[buttons.indexOf(event.currentTarget) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
}

export function markChosen() {
  const chosen = chosenCommit(current().at);
  for (const each of byId("commits").querySelectorAll(".commit-button")) {
    const isChosen = each.dataset.id === chosen;
    if (isChosen) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
}
