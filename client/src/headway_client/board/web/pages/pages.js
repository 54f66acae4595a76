// The pages now, jobs, teams and workflows: functions from documents to elements.

import { clock, demand, el, jobLink, owner, seconds, span, svg, table } from "./dom.js";

const PARTS = ["busy", "stopping", "reserved", "warm", "outside", "free"];

export function nowPage(state, now) {
  const { summary } = state;
  return [
    el("section", { "aria-label": "Pools" }, el("h2", {}, "Pools"), summary.pools.map(pool), legend()),
    el("section", { "aria-label": "Waiting" },
      el("h2", {}, `Waiting: ${summary.waiting.length}${summary.moreWaiting ? " of more" : ""}`),
      table([{ name: "#", number: true }, { name: "Job" }, { name: "Priority", number: true }, { name: "Team" }, { name: "Needs" },
        { name: "Start" }, { name: "Why" }],
      summary.waiting.map((job) => [job.place ?? "", jobLink(job.jobName), job.priority, job.team ?? "", demand(job.demand),
        until(expected(state, job), now), job.reason.message]))),
    el("section", { "aria-label": "Running" },
      el("h2", {}, `Running: ${summary.running.length}${summary.moreRunning ? ` and ${summary.moreRunning} more` : ""}`),
      table([{ name: "Job" }, { name: "Priority", number: true }, { name: "Team" }, { name: "Owner" }, { name: "Holds" }, { name: "Ran", number: true },
        { name: "Left", number: true }, { name: "Status" }],
      summary.running.map((job) => [jobLink(job.jobName), job.priority, job.team ?? "", owner(job.owner), demand(job.demand),
        span(now - seconds(job.startedTime)), job.endsBy ? span(seconds(job.endsBy) - now) : "", status(job)]))),
    el("section", { "aria-label": "Events" }, el("h2", {}, "Events"),
      table([{ name: "Time (UTC)" }, { name: "Event" }, { name: "Job" }, { name: "" }],
        summary.events.map((event) => [clock(seconds(event.time)), event.kind, jobLink(event.jobName), event.message]))),
  ];
}

function expected(state, job) {
  const known = (state.forecast?.jobs ?? []).find((each) => each.jobName === job.jobName);
  return known?.expectedStart ?? job.expectedStart ?? job.startBy;
}

function until(time, now) {
  if (!time) return "";
  const left = seconds(time) - now;
  return left <= 0 ? "now" : `in ${span(left)}`;
}

function status(job) {
  if (!job.stopCause) return job.status ?? "launching";
  return job.stopsFor ? el("span", {}, "preempted for ", jobLink(job.stopsFor)) : `stops (${job.stopCause})`;
}

function pool(use) {
  const lent = Math.max(0, use.allocated + use.reserved + use.rogue + use.warm + Math.max(0, use.free) - use.size);
  const parts = { busy: use.allocated - use.stopping, stopping: use.stopping, reserved: use.reserved,
    warm: Math.max(0, use.warm - lent), outside: use.rogue, free: Math.max(0, use.free) };
  const bar = el("div", { class: "bar", role: "img", "aria-label": `${use.allocated} of ${use.size} busy` });
  for (const part of PARTS) {
    const cell = el("i", { class: part, title: `${parts[part]} ${part}` });
    cell.style.setProperty("flex-grow", String(parts[part]));
    bar.append(cell);
  }
  const teams = Object.entries(use.byTeam).filter(([team]) => team).map(([team, count]) => `${team}: ${count}`);
  const notes = [use.pause ? "PAUSED" : "", `${use.allocated} of ${use.size} busy`, `${use.free} free`,
    ...["stopping", "reserved", "warm"].map((part) => (use[part] ? `${use[part]} ${part}` : "")), use.rogue ? `${use.rogue} outside` : "",
    `${use.waiting} waiting`, ...teams];
  return el("div", { class: "pool" }, el("span", {}, use.pool), bar, el("span", { class: "soft" }, notes.filter(Boolean).join(", ")));
}

function legend() {
  return el("p", { class: "legend" }, PARTS.map((part) => el("span", {}, el("i", { class: part }), part)));
}

const JOB_COLUMNS = [{ name: "Job", of: (job) => job.jobName }, { name: "State", of: (job) => (job.held ? "held" : job.jobState) },
  { name: "#", number: true, of: (job) => job.place ?? Infinity }, { name: "Priority", number: true, of: (job) => job.priority },
  { name: "Team", of: (job) => job.team ?? "" }, { name: "Owner", of: (job) => owner(job.owner) }, { name: "Needs", of: (job) => demand(job.demand) },
  { name: "Accepted (UTC)", of: (job) => job.entryTime }, { name: "Reason", of: (job) => job.reason.message }];

export function jobsPage(jobs, view, onsort) {
  const wanted = view.text.toLowerCase();
  const rows = jobs.filter((job) => !wanted || JOB_COLUMNS.some((column) => String(column.of(job)).toLowerCase().includes(wanted)));
  if (view.sort) {
    const { of } = JOB_COLUMNS[view.sort.place];
    rows.sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0) * (view.sort.down ? -1 : 1));
  }
  return table(JOB_COLUMNS, rows.map((job) => JOB_COLUMNS.map((column, place) => {
    if (!place) return jobLink(job.jobName);
    if (column.name === "#") return job.place ?? "";
    if (column.name.startsWith("Accepted")) return clock(seconds(job.entryTime));
    return column.of(job);
  })), { sort: view.sort, onsort });
}

export function teamsPage(summary) {
  const budgets = budgetTable(summary.budgets ?? []);
  if (!summary.teams.length) return [el("p", {}, "The configuration has no teams."), ...budgets];
  // Only where past use counts among teams.
  const remembers = summary.teams.some((team) => team.usedLately !== null && team.usedLately !== undefined);
  const rows = summary.teams.flatMap((team) => {
    const pools = [...new Set(["guaranteed", "limit", "used", "waiting"].flatMap((part) => Object.keys(team[part])))].sort();
    return (pools.length ? pools : [""]).map((name) => [team.team || "(none)", name, team.guaranteed[name] ?? 0, team.limit[name] ?? "",
      team.used[name] ?? 0, team.borrowed[name] ?? 0, team.waiting[name] ?? 0, team.weight,
      ...(remembers ? [`${Math.round((team.usedLately ?? 0) * 100)} %`] : [])]);
  });
  return [el("h2", {}, "Teams"), table([{ name: "Team" }, { name: "Pool" }, { name: "Guaranteed", number: true }, { name: "Limit", number: true },
    { name: "Used", number: true }, { name: "Borrowed", number: true }, { name: "Waiting", number: true }, { name: "Weight", number: true },
    ...(remembers ? [{ name: "Used lately", number: true }] : [])], rows), ...budgets];
}

function budgetTable(budgets) {
  if (!budgets.length) return [];
  const rows = budgets.map((budget) => [budget.name, [budget.team, budget.owner, budget.tag].filter(Boolean).join(", "), budget.period,
    budget.amount + budget.granted, Math.round(budget.used * 10) / 10, `${Math.round(budget.used / (budget.amount + budget.granted) * 100)} %`,
    budget.spentUntil ? clock(seconds(budget.spentUntil)) : ""]);
  return [el("h2", {}, "Budgets"), table([{ name: "Budget" }, { name: "Of" }, { name: "Period" }, { name: "Amount", number: true },
    { name: "Used", number: true }, { name: "Part", number: true }, { name: "Spent until" }], rows)];
}

export function workflowsPage(jobs) {
  const arrays = jobs.filter((job) => job.array);
  const members = new Map();
  for (const job of jobs) {
    for (const each of job.dependsOn ?? []) members.set(each.job, members.get(each.job) ?? null);
    if (job.dependsOn?.length) members.set(job.jobName, job);
  }
  for (const job of jobs) if (members.has(job.jobName)) members.set(job.jobName, job);
  return [
    el("h2", {}, "Dependencies"), members.size ? graph(members) : el("p", {}, "No job depends on another one."),
    el("h2", {}, "Arrays"), arrays.length ? table([{ name: "Array" }, { name: "Members", number: true }, { name: "At once", number: true },
      { name: "Not made", number: true }, { name: "Completed", number: true }, { name: "Failed", number: true }, { name: "Stopped", number: true }],
    arrays.map(({ jobName, array }) => [jobLink(jobName), array.count, array.atOnce, array.unmade, array.completed, array.failed, array.stopped]))
      : el("p", {}, "No array has members left."),
  ];
}

function graph(members) {
  const depth = new Map();
  const level = (name, seen = new Set()) => {
    if (depth.has(name)) return depth.get(name);
    if (seen.has(name)) return 0;
    seen.add(name);
    const found = Math.max(0, ...(members.get(name)?.dependsOn ?? []).map((each) => 1 + level(each.job, seen)));
    depth.set(name, found);
    return found;
  };
  const rows = new Map(), place = new Map();
  for (const name of members.keys()) {
    const column = level(name), row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    place.set(name, { x: 10 + column * 240, y: 10 + row * 46 });
  }
  const width = 240 * Math.max(...[...rows.keys()].map((each) => each + 1)) + 10, height = 46 * Math.max(...rows.values()) + 20;
  const edges = [], nodes = [];
  for (const [name, job] of members) {
    const { x, y } = place.get(name);
    for (const each of job?.dependsOn ?? []) {
      const from = place.get(each.job);
      edges.push(svg("path", { class: "edge", d: `M ${from.x + 200} ${from.y + 16} C ${from.x + 220} ${from.y + 16} ${x - 20} ${y + 16} ${x} ${y + 16}` },
        svg("title", {}, `${name} after ${each.job} (${each.condition})`)));
    }
    nodes.push(svg("a", { href: `#job/${encodeURIComponent(name)}` }, svg("rect", { class: "node", x, y, width: 200, height: 32, rx: 4 }),
      svg("text", { x: x + 6, y: y + 14 }, name.length > 30 ? `${name.slice(0, 29)}…` : name),
      svg("text", { x: x + 6, y: y + 27, class: "soft" }, job ? (job.held ? "held" : job.jobState) : "ended")));
  }
  return svg("svg", { viewBox: `0 0 ${Math.max(width, 800)} ${height}`, role: "group", "aria-label": "Dependencies" }, edges, nodes);
}
