// Elements, and text of other people made safe to show. Nothing here parses HTML.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu;
const SPACES = /[\t\n\r\v\f\u2028\u2029\u0085]/g;

// As headway.sanitize does: no character can reorder, hide or move what is shown.
export function safe(text) {
  return String(text ?? "").replace(SPACES, " ").replace(HIDDEN, (each) => {
    const code = each.codePointAt(0).toString(16);
    return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u${code.padStart(4, "0")}`;
  });
}

export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : document.createTextNode(safe(child)));
  }
  return element;
}

export function jobLink(name) {
  return el("a", { href: `#job/${encodeURIComponent(name)}` }, name);
}

export function table(columns, rows, { sort = null, onsort = null } = {}) {
  const heads = columns.map((column, place) => {
    const order = sort && sort.place === place ? (sort.down ? "descending" : "ascending") : null;
    const mark = order ? (sort.down ? " ▼" : " ▲") : "";
    const inner = onsort ? el("button", { type: "button", onclick: () => onsort(place) }, column.name + mark) : column.name;
    return el("th", { scope: "col", class: column.number ? "number" : null, "aria-sort": order }, inner);
  });
  const body = rows.map((row) =>
    el("tr", {}, row.map((cell, place) => el("td", { class: columns[place].number ? "number" : null }, cell))));
  return el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, body));
}

export function seconds(time) {
  return time ? Date.parse(time) / 1000 : null;
}

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

// As `headway.durations.in_words`: two units, rounded to the nearest.
export function span(value) {
  if (value < 0) return "over";
  const whole = Math.round(value), largest = UNITS.findIndex(([, unit]) => whole >= 2 * unit || whole === unit);
  if (largest < 0) return value > 0 ? "less than 1 s" : "0 s";
  const [, smallest] = UNITS[Math.min(largest + 1, UNITS.length - 1)];
  let rest = Math.round(whole / smallest) * smallest;
  const parts = [];
  for (const [name, unit] of UNITS.slice(largest)) {
    if (rest >= unit) parts.push(`${Math.floor(rest / unit)} ${name}`);
    rest %= unit;
  }
  return parts.join(" ");
}

export function clock(value) {
  return new Date(value * 1000).toISOString().slice(5, 19).replace("T", " ");
}

// As `headway_client.principals.short_name`: the last word of an ARN.
export function owner(arn) {
  return (arn ?? "").split(/[:/]/).pop();
}

export function demand(of) {
  const parts = Object.entries(of ?? {}).sort().map(([pool, count]) => `${count}\u00a0${pool.replace(/^ml\./, "")}`);
  return parts.join(" + ");
}
