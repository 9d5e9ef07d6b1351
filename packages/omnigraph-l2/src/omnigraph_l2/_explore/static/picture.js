// The geometry of a schema diagram: boxes for node types, lines for edge types.
//
// Boxes repel each other and edges attract them; the same schema gives the same diagram.

const WIDTH_OF_A_LETTER = 7.3;
const HEIGHT_OF_A_LABEL = 22;
const HEAD = 30;
const LINE = 19;
const PROPERTIES_AT_MOST = 8;
const GAP = 64;
const ROOM_FOR_A_LABEL = 170;
const ROUNDS = 400;

export function boxOf(type) {
  const shown = type.properties.slice(0, PROPERTIES_AT_MOST);
  const more = type.properties.length + type.left_out - shown.length;
  const letters = Math.max(type.name.length + 8, ...shown.map((each) => each.name.length + each.type.length + 3));
  return {
    type,
    shown,
    more,
    width: Math.min(250, Math.max(140, letters * WIDTH_OF_A_LETTER + 24)),
    height: HEAD + (shown.length + (more ? 1 : 0)) * LINE + (shown.length || more ? 10 : 0),
    x: 0,
    y: 0,
  };
}

// Sets the positions of the boxes; `links` are pairs of box numbers.
export function arrange(boxes, links) {
  const radius = 90 + boxes.length * 45;
  const turn = boxes.length > 2 ? -Math.PI / 2 : 0;
  boxes.forEach((box, n) => {
    const angle = (2 * Math.PI * n) / boxes.length + turn;
    box.x = boxes.length > 1 ? 1.4 * radius * Math.cos(angle) : 0;
    box.y = boxes.length > 1 ? radius * Math.sin(angle) : 0;
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    const heat = 1 - round / ROUNDS;
    pull(boxes, links, 0.06 * heat);
    push(boxes, heat);
  }
  const joined = new Set(links.flatMap(([one, other]) => [`${one} ${other}`, `${other} ${one}`]));
  for (let round = 0; round < 200 && separate(boxes, joined); round += 1);
}

function pull(boxes, links, strength) {
  for (const [one, other] of links) {
    const [a, b] = [boxes[one], boxes[other]];
    const wanted = (a.width + b.width) / 2 + ROOM_FOR_A_LABEL;
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const distance = Math.hypot(dx, dy) || 1;
    const step = (strength * (distance - wanted)) / distance;
    a.x += dx * step;
    a.y += dy * step;
    b.x -= dx * step;
    b.y -= dy * step;
  }
  for (const box of boxes) {
    box.x *= 1 - 0.01 * strength;
    box.y *= 1 - 0.03 * strength;
  }
}

function push(boxes, heat) {
  for (let one = 0; one < boxes.length; one += 1) {
    for (let other = one + 1; other < boxes.length; other += 1) {
      const [a, b] = [boxes[one], boxes[other]];
      const [dx, dy] = [b.x - a.x || 1, b.y - a.y || 1];
      const near = Math.max(Math.hypot(dx, dy), 30);
      const force = (heat * 9000) / (near * near);
      a.x -= (dx / near) * force;
      a.y -= (dy / near) * force;
      b.x += (dx / near) * force;
      b.y += (dy / near) * force;
    }
  }
}

// Moves boxes apart that are too close; returns whether there were any.
function separate(boxes, joined) {
  let moved = false;
  for (let one = 0; one < boxes.length; one += 1) {
    for (let other = one + 1; other < boxes.length; other += 1) {
      const [a, b] = [boxes[one], boxes[other]];
      const room = joined.has(`${one} ${other}`) ? ROOM_FOR_A_LABEL : GAP;
      const overX = (a.width + b.width) / 2 + room - Math.abs(b.x - a.x);
      const overY = (a.height + b.height) / 2 + GAP + 20 - Math.abs(b.y - a.y);
      if (overX <= 0 || overY <= 0) continue;
      moved = true;
      if (overX < overY) {
        const step = (overX / 2 + 0.5) * (b.x < a.x ? -1 : 1);
        a.x -= step;
        b.x += step;
      } else {
        const step = (overY / 2 + 0.5) * (b.y < a.y ? -1 : 1);
        a.y -= step;
        b.y += step;
      }
    }
  }
  return moved;
}

// The rectangle that contains all boxes and labels.
export function frameOf(boxes) {
  const margin = 24;
  const left = Math.min(...boxes.map((box) => box.x - box.width / 2)) - margin;
  const top = Math.min(...boxes.map((box) => box.y - box.height / 2)) - margin;
  const right = Math.max(...boxes.map((box) => box.x + box.width / 2)) + margin;
  const bottom = Math.max(...boxes.map((box) => box.y + box.height / 2)) + margin;
  return { left: Math.floor(left), top: Math.floor(top), width: Math.ceil(right - left), height: Math.ceil(bottom - top) };
}

// The line from one box to another; `turn` bends lines apart that share both ends.
export function lineBetween(a, b, turn) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const distance = Math.hypot(dx, dy) || 1;
  const bend = 34 * turn;
  const middle = { x: (a.x + b.x) / 2 - (dy / distance) * bend * 2, y: (a.y + b.y) / 2 + (dx / distance) * bend * 2 };
  const start = border(a, middle);
  const end = border(b, middle);
  return {
    path: `M${round(start.x)} ${round(start.y)}Q${round(middle.x)} ${round(middle.y)} ${round(end.x)} ${round(end.y)}`,
    label: { x: (start.x + 2 * middle.x + end.x) / 4, y: (start.y + 2 * middle.y + end.y) / 4 },
  };
}

// The line from a box to itself: at each of the four corners, then larger ones.
export function loopOf(box, number) {
  const right = number % 4 === 0 || number % 4 === 3 ? 1 : -1;
  const down = number % 4 > 1 ? 1 : -1;
  const size = 30 + 34 * Math.floor(number / 4);
  const corner = { x: box.x + (right * box.width) / 2, y: box.y + (down * box.height) / 2 };
  const at = (x, y) => `${round(corner.x + right * x)} ${round(corner.y + down * y)}`;
  return {
    path: `M${at(-24, 3)}C${at(-24, size * 1.6)} ${at(size * 1.8, size * 1.2)} ${at(4, -14)}`,
    label: { x: corner.x + right * 22, y: corner.y + down * size * 0.96 },
  };
}

function border(box, towards) {
  const [dx, dy] = [towards.x - box.x, towards.y - box.y];
  const scale = Math.min(
    dx ? (box.width / 2 + 3) / Math.abs(dx) : Infinity,
    dy ? (box.height / 2 + 3) / Math.abs(dy) : Infinity,
  );
  return Number.isFinite(scale) ? { x: box.x + dx * scale, y: box.y + dy * scale } : { x: box.x, y: box.y };
}

function round(value) {
  return value.toFixed(1);
}

// The box of a label around a point.
export function labelBox(text, at) {
  return { x: at.x, y: at.y, width: text.length * WIDTH_OF_A_LETTER + 20, height: HEIGHT_OF_A_LABEL };
}
