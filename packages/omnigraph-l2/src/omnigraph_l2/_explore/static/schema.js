// The types of a revision, as a diagram and as text.

import { data, el, note, svg, visible } from "./dom.js";
import { momentOf } from "./history.js";
import { arrange, boxOf, frameOf, labelBox, lineBetween, loopOf } from "./picture.js";
import { ask } from "./source.js";
import { go } from "./state.js";
import { counted, number, shortNumber } from "./words.js";

const BOXES_AT_MOST = 40;
const NAME_AT_MOST = 26;

export async function schemaPanel(state) {
  const answer = await ask("schema", { at: momentOf(state.at) });
  const nodes = answer.types.filter((each) => each.kind === "node");
  const edges = answer.types.filter((each) => each.kind === "edge");
  if (!answer.types.length) return [note("There are no types at this revision.")];
  const drawn = mostJoined(nodes, edges);
  return [
    drawn.length ? drawing(drawn, edges) : null,
    drawn.length < nodes.length ? note(`The diagram shows the ${drawn.length} types with the most edges of ${number(nodes.length)}.`) : null,
    answer.left_out ? note(`${number(answer.left_out)} more types are not shown.`) : null,
    el("div", { class: "types" }, answer.types.map(inWords)),
  ];
}

function mostJoined(nodes, edges) {
  if (nodes.length <= BOXES_AT_MOST) return nodes;
  const ends = new Map(nodes.map((each) => [each.name, 0]));
  for (const edge of edges) {
    for (const end of [edge.source, edge.target]) if (ends.has(end)) ends.set(end, ends.get(end) + 1);
  }
  return [...nodes].sort((one, other) => ends.get(other.name) - ends.get(one.name)).slice(0, BOXES_AT_MOST);
}

function drawing(nodes, edges) {
  const boxes = nodes.map(boxOf);
  const numbers = new Map(nodes.map((each, n) => [each.name, n]));
  const joined = edges
    .map((edge) => [edge, numbers.get(edge.source), numbers.get(edge.target)])
    .filter(([, source, target]) => source !== undefined && target !== undefined);
  arrange(boxes, joined.filter(([, source, target]) => source !== target).map(([, ...ends]) => ends));
  const lines = [];
  const labels = [];
  for (const [edge, source, target, place] of placed(joined)) {
    const found = source === target ? loopOf(boxes[source], place) : lineBetween(boxes[source], boxes[target], place);
    lines.push(svg("path", { class: "edge", d: found.path, "marker-end": "url(#arrow)" }));
    labels.push(edgeLabel(edge, found.label));
  }
  const frame = frameOf([...boxes, ...labels.map(([box]) => box)]);
  const title = `${counted(nodes.length, "node type")}, connected by ${counted(joined.length, "edge type")}`;
  return el(
    "div",
    { class: "scroll picture", tabindex: "0" },
    svg(
      "svg",
      { viewBox: `${frame.left} ${frame.top} ${frame.width} ${frame.height}`, width: frame.width, height: frame.height, role: "img", "aria-label": title },
      svg(
        "defs",
        {},
        svg(
          "marker",
          { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8, orient: "auto-start-reverse" },
          svg("path", { d: "M0 1L10 5L0 9Z", class: "arrow-head" }),
        ),
      ),
      lines,
      boxes.map(drawnBox),
      labels.map(([, label]) => label),
    ),
  );
}

// Numbers the edges that share both ends, so their lines do not overlap.
function placed(joined) {
  const seen = new Map();
  return joined.map(([edge, source, target]) => {
    const pair = source < target ? `${source} ${target}` : `${target} ${source}`;
    const before = seen.get(pair) ?? 0;
    seen.set(pair, before + 1);
    if (source === target) return [edge, source, target, before];
    const turn = before % 2 ? (before + 1) / 2 : -before / 2;
    return [edge, source, target, source < target ? turn : -turn];
  });
}

function short(text, most = NAME_AT_MOST) {
  const letters = [...visible(text)];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
}

function drawnBox(box) {
  const [left, top] = [box.x - box.width / 2, box.y - box.height / 2];
  const line = (n) => top + 30 + 19 * (n + 1) - 4;
  const open = () => go({ panel: "rows", table: box.type.key, filter: "" });
  return svg(
    "g",
    { class: "box", onclick: open },
    svg("title", {}, visible(`${box.type.key}: ${counted(box.type.rows, "row")}`)),
    svg("rect", { class: "box-back", x: left, y: top, width: box.width, height: box.height, rx: 8 }),
    svg("path", { class: "box-head", d: `M${left} ${top + 30}v-22a8 8 0 0 1 8-8h${box.width - 16}a8 8 0 0 1 8 8v22Z` }),
    svg("text", { class: "box-name", x: left + 12, y: top + 20 }, short(box.type.name)),
    svg("text", { class: "box-count", x: left + box.width - 12, y: top + 20 }, shortNumber(box.type.rows)),
    box.shown.map((property, n) => [
      svg("text", { class: property.required ? "property required" : "property", x: left + 12, y: line(n) }, short(property.name, 18)),
      svg("text", { class: "property-type", x: left + box.width - 12, y: line(n) }, short(property.type, 16)),
    ]).flat(),
    box.more ? svg("text", { class: "property-type more", x: left + 12, y: line(box.shown.length) }, `and ${box.more} more`) : null,
  );
}

function edgeLabel(edge, at) {
  const text = `${short(edge.name)}  ${shortNumber(edge.rows)}`;
  const box = labelBox(text, at);
  const label = svg(
    "g",
    { class: "edge-label", onclick: () => go({ panel: "rows", table: edge.key, filter: "" }) },
    svg("title", {}, visible(`${edge.key}: ${counted(edge.rows, "row")}`)),
    svg("rect", { x: box.x - box.width / 2, y: box.y - box.height / 2, width: box.width, height: box.height, rx: 11 }),
    svg("text", { x: box.x, y: box.y + 4 }, text),
  );
  return [box, label];
}

function inWords(type) {
  const ends = type.kind === "edge" ? el("p", { class: "ends" }, end(type.source), " → ", end(type.target)) : null;
  return el(
    "section",
    { class: "type-card" },
    el("h3", {}, el("span", { class: `kind ${type.kind}` }, type.kind), data(type.name)),
    ends,
    type.properties.length
      ? el("dl", {}, type.properties.map((each) => el("div", {}, el("dt", {}, data(each.name)), el("dd", {}, data(each.type), marks(each)))))
      : el("p", { class: "quiet" }, "no properties"),
    type.left_out ? note(`${number(type.left_out)} more properties.`) : null,
  );
}

function end(name) {
  return name === null ? el("span", { class: "quiet" }, "any node") : data(name);
}

function marks(property) {
  return [
    property.required ? el("span", { class: "badge" }, "required") : null,
    property.unique ? el("span", { class: "badge" }, "unique") : null,
    property.index === null ? null : el("span", { class: "badge" }, data(`${property.index} index`)),
  ];
}
