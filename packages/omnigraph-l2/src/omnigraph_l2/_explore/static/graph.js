// The lines of the commit graph: one small drawing per commit that connects to its neighbours.

import { svg } from "./dom.js";

export const ROW_HEIGHT = 48;
const LANE = 15;
const MIDDLE = ROW_HEIGHT / 2;
const LANES_AT_MOST = 18;

function laneX(lane) {
  return 12 + Math.min(lane, LANES_AT_MOST) * LANE;
}

export function widthOf(commits) {
  let most = 0;
  for (const each of commits) {
    for (const [lane] of [[each.lane], ...each.through, ...each.above, ...each.below]) {
      most = Math.max(most, lane);
    }
  }
  return laneX(most) + 12;
}

export function picture(commit, width) {
  const own = laneX(commit.lane);
  const line = (path, colour) => svg("path", { d: path, class: `line lane-${colour}` });
  const lines = [
    ...commit.through.map(([lane, colour]) => line(`M${laneX(lane)} 0V${ROW_HEIGHT}`, colour)),
    ...commit.above.map(([lane, colour]) => line(curve(laneX(lane), 0, own, MIDDLE), colour)),
    ...commit.below.map(([lane, colour]) => line(curve(own, MIDDLE, laneX(lane), ROW_HEIGHT), colour)),
  ];
  const kind = commit.merged ? "dot merge" : "dot";
  return svg(
    "svg",
    { class: "graph", width, height: ROW_HEIGHT, viewBox: `0 0 ${width} ${ROW_HEIGHT}`, "aria-hidden": "true" },
    lines,
    svg("circle", { class: `halo lane-${commit.colour}`, cx: own, cy: MIDDLE, r: 9 }),
    svg("circle", { class: `${kind} lane-${commit.colour}`, cx: own, cy: MIDDLE, r: commit.merged ? 4.5 : 5 }),
  );
}

function curve(fromX, fromY, toX, toY) {
  if (fromX === toX) return `M${fromX} ${fromY}V${toY}`;
  const half = (fromY + toY) / 2;
  return `M${fromX} ${fromY}C${fromX} ${half + 4} ${toX} ${half - 4} ${toX} ${toY}`;
}
