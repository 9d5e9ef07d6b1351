// Numbers, sizes and times as text.

const NUMBERS = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const WHOLE = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const STEP = 1024;

export function number(value) {
  return NUMBERS.format(value);
}

export function shortNumber(value) {
  return SHORT.format(value);
}

export function counted(value, what) {
  return `${number(value)} ${what}${value === 1 ? "" : "s"}`;
}

export function bytes(value) {
  let unit = 0;
  while (value >= STEP && unit < UNITS.length - 1) {
    value /= STEP;
    unit += 1;
  }
  return `${unit ? Number(value.toPrecision(3)) : value} ${UNITS[unit]}`;
}

export function when(moment) {
  return DAY.format(new Date(moment));
}

export function wholeMoment(moment) {
  return WHOLE.format(new Date(moment));
}

export function shortId(id) {
  return id.slice(-8);
}

export function nameOf(key) {
  return key.slice(key.indexOf(":") + 1);
}

export function kindOf(key) {
  return key.slice(0, key.indexOf(":"));
}

export function textOf(cell) {
  return cell !== null && typeof cell === "object" ? `${cell.text}…` : cell;
}
