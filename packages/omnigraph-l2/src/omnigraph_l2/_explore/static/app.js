// The page: reads the history, draws the tabs, and shows the selected panel.

import { changesPanel } from "./changes.js";
import { byId, el, fill, note, problem, show } from "./dom.js";
import { loadHistory, markChosen } from "./history.js";
import { drawAbout, drawMoment } from "./moment.js";
import { rowsPanel } from "./rows.js";
import { schemaPanel } from "./schema.js";
import { ask, fileNotes } from "./source.js";
import { current, go, onChange, PANELS } from "./state.js";
import { tablesPanel } from "./tables.js";
import { verifyPanel } from "./verify.js";

const SHOWN = {
  history: changesPanel,
  changes: changesPanel,
  tables: tablesPanel,
  rows: rowsPanel,
  schema: schemaPanel,
  verify: verifyPanel,
};

function drawTabs(panel) {
  const tabs = PANELS.map(([name, title]) =>
    el(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        "aria-selected": String(name === panel),
        "aria-controls": "panel",
        tabindex: name === panel ? "0" : "-1",
        onclick: () => go({ panel: name }),
        onkeydown: turn,
      },
      title,
    ),
  );
  const hadFocus = byId("tabs").contains(document.activeElement);
  fill(byId("tabs"), tabs);
  byId("panel").setAttribute("aria-labelledby", `tab-${panel}`);
  if (hadFocus) byId(`tab-${panel}`).focus();
}

function turn(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const there = [...byId("tabs").children].filter((tab) => tab.offsetParent !== null);
  const next = there[(there.indexOf(event.currentTarget) + step + there.length) % there.length];
  go({ panel: next.id.slice("tab-".length) });
}

function draw(state) {
  document.body.dataset.panel = state.panel;
  drawTabs(state.panel);
  drawMoment(state, refresh);
  markChosen();
  show(byId("panel"), () => SHOWN[state.panel](state));
}

async function refresh() {
  try {
    await loadHistory();
    draw(current());
  } catch (error) {
    fill(byId("panel"), problem(error));
  }
}

async function begin() {
  try {
    drawAbout(await ask("about"));
  } catch (error) {
    fill(byId("panel"), problem(error));
    return;
  }
  await refresh();
  byId("notes").append(...fileNotes().map((each) => note(each)));
  onChange(draw);
}

begin();
