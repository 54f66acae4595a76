// The timeline: a lane for each attempt of a pool, the use of the pool above, reserved starts and the forecast right of now.

import { clock, el, safe, svg } from "./dom.js";

const LANE = 14, MAX_LANES = 40, LEFT = 10, WIDTH = 1200, HEAD = 46;
const PLANNED_S = 1800, MAX_AHEAD_S = 7 * 86400;

export function timelinePage(state, timeline, now) {
  const past = Math.max(600, ...timeline.bars.map((bar) => now - bar.start_s).filter((age) => age < 86400));
  const planned = plans(state, now).filter((plan) => plan.at <= now + MAX_AHEAD_S);
  const ahead = Math.max(past / 2, ...planned.map((plan) => plan.at - now + PLANNED_S));
  const begin = now - past, end = now + ahead, middle = LEFT + (WIDTH - 2 * LEFT) * 0.66;
  // The past and the future have scales of their own: what ran for minutes may wait for a day.
  const x = (time) => (time <= now
    ? middle - ((now - Math.max(time, begin)) / past) * (middle - LEFT)
    : middle + ((Math.min(time, end) - now) / ahead) * (WIDTH - LEFT - middle));
  const pools = state.summary.pools.map((pool) => {
    const bars = timeline.bars.filter((bar) => bar.pool === pool.pool && (bar.end_s ?? now) >= begin);
    const own = planned.filter((plan) => plan.pool === pool.pool);
    return el("section", { "aria-label": pool.pool },
      el("h2", {}, pool.pool, " ", el("span", { class: "soft" }, `${pool.allocated} of ${pool.size} busy, ${pool.free} free`)),
      picture(pool, bars, own, timeline.samples, { begin, end, now, x }));
  });
  return [legend(), ...pools, el("p", { class: "soft" },
    `From ${clock(begin)} to ${clock(end)} UTC; the past and the future have scales of their own. ${timeline.note}`)];
}

function plans(state, now) {
  const starts = new Map((state.forecast?.jobs ?? []).map((job) => [job.jobName, job.expectedStart]));
  const found = [];
  for (const job of state.summary.waiting) {
    const time = starts.get(job.jobName) ?? job.expectedStart ?? job.startBy;
    if (!time) continue;
    const kind = starts.get(job.jobName) ?? job.expectedStart ? "forecast" : "reserved start";
    for (const [pool, count] of Object.entries(job.demand)) {
      found.push({ job: job.jobName, pool, count, at: Math.max(now, Date.parse(time) / 1000), kind });
    }
  }
  return found;
}

function picture(pool, bars, planned, samples, { begin, end, now, x }) {
  const lanes = [];
  const rects = [];
  const place = (from, to) => {
    let lane = lanes.findIndex((until) => until <= from);
    if (lane < 0) lane = lanes.push(0) - 1;
    lanes[lane] = to;
    return Math.min(lane, MAX_LANES - 1);
  };
  for (const bar of bars) {
    const to = bar.end_s ?? now;
    rects.push(block(bar.job, place(bar.start_s, to), x(bar.start_s), x(to), bar.outcome,
      `${bar.attempt}: ${bar.count} instances, priority ${bar.priority}${bar.team ? `, ${bar.team}` : ""}, ${bar.outcome}${bar.by ? ` for ${bar.by}` : ""}`));
  }
  for (const plan of planned) {
    const to = Math.min(end, plan.at + PLANNED_S);
    rects.push(block(plan.job, place(plan.at, to), x(plan.at), x(to), "planned", `${plan.job}: ${plan.count} instances, ${plan.kind} ${clock(plan.at)}`));
  }
  const height = HEAD + Math.max(1, Math.min(lanes.length, MAX_LANES)) * LANE + 6;
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `Attempts of ${pool.pool}` },
    use(pool, samples, begin, x), rects,
    svg("line", { class: "now", x1: x(now), x2: x(now), y1: 0, y2: height }),
    svg("text", { x: LEFT, y: 11 }, clock(begin)),
    svg("text", { x: x(now) + 4, y: 11 }, `now, ${clock(now)}`),
    svg("text", { x: WIDTH - LEFT, y: 11, "text-anchor": "end" }, clock(end)));
}

function use(pool, samples, begin, x) {
  const known = samples.filter((each) => each.use[pool.pool] && each.time >= begin);
  return known.slice(0, -1).flatMap((each, index) => {
    const [allocated, reserved, size] = each.use[pool.pool];
    const from = x(each.time), width = Math.max(1, x(known[index + 1].time) - from), scale = 26 / Math.max(1, size, allocated + reserved);
    return [["free", 26], ["reserved", (allocated + reserved) * scale], ["busy", allocated * scale]].map(([kind, height]) =>
      svg("rect", { class: kind, x: from, width, y: 42 - height, height }));
  });
}

function block(job, lane, from, to, kind, title) {
  const width = Math.max(3, to - from), y = HEAD + lane * LANE;
  const inside = width > 7 * job.length && kind !== "planned";
  const after = from + width + 3 + 7 * job.length < WIDTH;
  const label = inside || after || kind === "planned"
    ? { x: inside ? from + 4 : after ? from + width + 3 : from - 3, y: y + LANE - 4, class: inside ? "inside" : null,
      "text-anchor": inside || after ? null : "end" } : null;
  return svg("a", { href: `#job/${encodeURIComponent(job)}` },
    svg("title", {}, title),
    svg("rect", { class: safe(kind), x: from, y, width, height: LANE - 2, rx: 2 }),
    label ? svg("text", label, job) : null);
}

function legend() {
  const kinds = [["busy", "running"], ["preempted", "preempted or stopping"], ["completed", "completed"], ["failed", "failed"],
    ["ended", "stopped or ended"], ["reserved", "reserved"], ["planned", "reserved start or forecast"]];
  return el("p", { class: "legend" }, kinds.map(([kind, text]) => el("span", {}, el("i", { class: kind }), text)));
}
